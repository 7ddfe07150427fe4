"""Words unlike those of training: other distributions, greater lengths (Figure 6, Appendices B.2.3, B.2.4).

Two experiments on networks that are trained once and evaluated in every way: ``ood`` on C2, ``length`` on
Dyck4,2 too. Each requests both kinds of evaluation, so that whichever runs first serves the other.
"""

from collections.abc import Sequence
from statistics import fmean

from krohn.lab.experiments.experiment import Experiment, Figures, Label, PlannedRun, ResultCell, Row
from krohn.lab.experiments.names import Scale
from krohn.lab.experiments.settings import GPT, LSTM, SOLVED_STOP, Settings, by_scale, plan_product
from krohn.lab.experiments.summary import SOLVED, mean_series, note_on, series_at, sort_cells, table_by
from krohn.lab.figures.charts import Line, Panel, line_chart
from krohn.lab.interpret.evaluation import AccuracyAlong

DEEP, SHIFTED, NO_POSITIONS = "GPT, 8 layers", "GPT, shifted positions", "GPT, no positions"
SHIFTED_BOS, NO_POSITIONS_BOS = "GPT, shifted positions, BOS", "GPT, no positions, BOS"
GPT_BOS = "GPT, BOS"  # the control: sinusoidal positions, as GPT has
SCRATCHPAD, RECENCY = "scratchpad", "scratchpad + recency"
# For parity the paper names 8 layers; a recurrent solution needs only to step the automaton.
LAYERS = by_scale(1, 4, 8)
SETTINGS: Settings = {
    "length": by_scale(8, 40, 40),
    "layers": LAYERS,
    "sequences": by_scale(8 * 12, 400_000, 2_000_000),
    "replicates": by_scale(2, 10, 25),
    "stop_at": 0.9999,
}
MORE_REPLICATES = {"replicates": by_scale(2, 25, 25)}
ON_SCRATCHPAD = {"scratchpad": True, "sequences": by_scale(8 * 12, 100_000, 500_000), "stop_at": None}
# What each network has of its own. The recency bias of Press et al. takes the place of a position encoding.
# Beside sinusoidal positions it does not hold: C2 at T = 10 on 2 layers, three of three replicates right at
# 10 fell to 66–69% at 40, where three of three without positions stayed at 100%.
VARIANTS: dict[str, Settings] = {
    LSTM: {"model": LSTM} | MORE_REPLICATES,
    RECENCY: {"positions": "none", "recency": True} | ON_SCRATCHPAD,
    GPT: MORE_REPLICATES,
    DEEP: {"layers": LAYERS[Scale.PAPER]},
    SHIFTED: {"positions": "shifted"},
    SHIFTED_BOS: {"positions": "shifted", "bos": True},
    NO_POSITIONS: {"positions": "none"},
    NO_POSITIONS_BOS: {"positions": "none", "bos": True},
    SCRATCHPAD: ON_SCRATCHPAD,
    GPT_BOS: {"bos": True},
}
LENGTHENED = tuple(name for name in VARIANTS if name != GPT_BOS)
COINS = (LSTM, RECENCY, GPT, DEEP, GPT_BOS, SHIFTED, SHIFTED_BOS, NO_POSITIONS_BOS)
# Every evaluation that makes sense: by length, and of C2 by other coins and by the number of ones.
FULL = (
    AccuracyAlong(name="length", at=tuple(range(8, 129, 8)), sequences=1024),
    AccuracyAlong(name="probability", at=tuple(round(0.05 * n, 2) for n in range(1, 20)), sequences=1024),
    AccuracyAlong(name="ones", at=tuple(range(0, 41, 2)), sequences=1024),
)
TINY = (
    AccuracyAlong(name="length", at=(4, 8, 16), sequences=16),
    AccuracyAlong(name="probability", at=(0.05, 0.5, 0.95), sequences=16),
    AccuracyAlong(name="ones", at=(0, 4, 8), sequences=16),
)
TASKS: dict[str, Settings] = {
    "Dyck4,2": {"spec": "Dyck4,2", "measured": by_scale(TINY[:1], FULL[:1], FULL[:1])},
    "C2": {"spec": "C2", "measured": by_scale(TINY, FULL, FULL)},
}
ORDER = {"task": tuple(TASKS), "model": tuple(VARIANTS)}
_SCRATCHPADS = "scratchpads see a quarter of the sequences; recency takes the place of a position encoding"
DEPARTURES = {
    Scale.SMALL: (
        "4 layers instead of 8 unless stated; 10 replicates but of GPT with 4 layers and LSTM; "
        f"{_SCRATCHPADS}; {SOLVED_STOP}"
    ),
    Scale.PAPER: f"8 layers on Dyck4,2 too; {_SCRATCHPADS}; {SOLVED_STOP}",
}


def plan(scale: Scale, names: Sequence[str], tasks: dict[str, Settings]) -> list[PlannedRun]:
    """The networks on each task, in this order; none deeper where all have 8 layers, or all are tiny."""
    models = {name: VARIANTS[name] for name in names if name != DEEP or scale is Scale.SMALL}
    return plan_product(scale, {"model": models, "task": tasks}, SETTINGS)


def by_length(cell: ResultCell) -> Row:
    """Mean and best accuracy at the trained length, at twice and at the greatest length."""
    places, means, _ = mean_series(cell, "length")
    _, all_rows = series_at(cell, "length")
    trained, row = int(cell.records[0].config["task"]["length"]), {}
    for place in (trained, 2 * trained, places[-1] if places else 0):
        if place in places:
            index = places.index(place)
            row[f"mean_at_{place}"] = round(means[index], 5)
            row[f"max_at_{place}"] = round(max(values[index] for values in all_rows), 5)
    return row


def by_coin(cell: ResultCell) -> Row:
    """In distribution, and the worst mean accuracy over all shares and over all counts of ones."""
    row: Row = {}
    for evaluation in ("probability", "ones"):
        places, means, _ = mean_series(cell, evaluation)
        if places:
            worst = min(range(len(places)), key=means.__getitem__)
            row |= {f"worst_by_{evaluation}": round(means[worst], 5), f"at_{evaluation}": places[worst]}
    return row | _by_the_solved(cell)


def _by_the_solved(cell: ResultCell) -> Row:
    """Mean accuracy of the replicates that solve the task, at few ones and at the largest count."""
    places, rows = series_at(cell, "ones")
    able = [row for row, record in zip(rows, cell.records, strict=False) if record.accuracy >= SOLVED]
    if not able:
        return {}
    few = [place for place in (2, 4, 8) if place in places]
    return {
        f"solved_at_{place}": round(fmean(row[places.index(place)] for row in able), 5)
        for place in (*few, places[-1])
    }


def holds(label: Label) -> bool:
    """Whether the paper's network generalises."""
    return label["model"] in (LSTM, RECENCY)


def draw_lengths(cells: Sequence[ResultCell], scale: Scale) -> Figures:
    """Mean accuracy with standard error by length, one panel for each task."""
    panels = []
    for task in TASKS:
        own = [cell for cell in cells if cell.label["task"] == task]
        trained = [int(cell.records[0].config["task"]["length"]) for cell in own]
        panels += _panel(own, "length", task, "length of the word", [(max(trained, default=0), "trained")])
    return {"length": line_chart(panels, note=note_on(cells, scale))} if panels else {}


def draw_coins(cells: Sequence[ResultCell], scale: Scale) -> Figures:
    """Mean accuracy with standard error, by the share of ones and by their count."""
    panels = [
        *_panel(cells, "probability", "C2, other coins", "Pr[1]", [(0.5, "trained")]),
        *_panel(cells, "ones", "C2, count of ones", "ones in the word", []),
    ]
    return {"ood": line_chart(panels, note=note_on(cells, scale))} if panels else {}


def _panel(
    cells: Sequence[ResultCell], evaluation: str, title: str, axis: str, guides: list[tuple[float, str]]
) -> list[Panel]:
    """The mean of each network along an axis; no panel where nothing was evaluated."""
    series = [(cell.label["model"], *mean_series(cell, evaluation)) for cell in sort_cells(cells, ORDER)]
    lines = [Line(name=name, x=x, y=y, error=error) for name, x, y, error in series if x]
    if not lines:
        return []
    y_axis = "mean accuracy, standard error"
    return [Panel(title=title, x_axis=axis, y_axis=y_axis, lines=lines, guides=guides)]


LENGTH: Experiment = Experiment(
    name="length",
    title="Longer words than in training",
    claim="only LSTM and scratchpad + recency hold beyond the trained length",
    plan=lambda scale: plan(scale, LENGTHENED, TASKS),
    table=table_by(
        ORDER,
        columns=by_length,
        paper=lambda label: "100% at every length" if holds(label) else "falls beyond the trained length",
    ),
    draw=draw_lengths,
    departures=DEPARTURES,
)
OOD: Experiment = Experiment(
    name="ood",
    title="C2 away from the training distribution",
    claim="GPT fails off Pr[1] = 0.5; LSTM and scratchpad + recency stay at 100%",
    plan=lambda scale: plan(scale, COINS, {"C2": TASKS["C2"]}),
    table=table_by(
        ORDER,
        columns=by_coin,
        paper=lambda label: "100% everywhere" if holds(label) else "fails away from 0.5",
    ),
    draw=draw_coins,
    departures=DEPARTURES,
)
