"""Accuracy against the share of states that are revealed (Figure 5b, Appendix B.2.2)."""

from collections.abc import Sequence
from itertools import chain, groupby, product
from operator import itemgetter

from krohn.lab.experiments.experiment import Experiment, Figures, PlannedRun, ResultCell
from krohn.lab.experiments.names import Scale
from krohn.lab.experiments.recipes import depth
from krohn.lab.experiments.settings import GPT, LSTM, SOLVED_STOP, Settings, by_scale, plan_product
from krohn.lab.experiments.summary import marks_of, note_on, table_by
from krohn.lab.figures.charts import Line, Panel, line_chart

REVEAL = by_scale((1.0, 0.25), (1.0, 0.3, 0.1, 0.03), (1.0, 0.5, 0.25, 0.125, 0.0625, 0.03125))
"""Shares of the states: log spacing as in the figure; its exact values are not in the text."""
# By curriculum S5 at T = 100 takes too long for the small scale, so it is shown on shorter words; at T = 100
# it has the depth map's recipe with Muon, and from all labels the map's own run.
TASKS: dict[str, Settings] = {
    "C2": {"spec": "C2", "length": by_scale(8, 100, 100), "layers": by_scale(2, 2, 8)},
    "S5": {"spec": "S5", "length": by_scale(6, 40, 100), "layers": by_scale(2, 8, 16)},
}
SETTINGS: Settings = {
    "sequences": by_scale(8 * 10, 240_000, 5_000_000),
    "replicates": by_scale(2, 10, 25),
    "stop_at": 0.9995,
}
MUON, LSTM_LONGER, LSTM_100 = "GPT, Muon", "LSTM, more words", "LSTM, 100 letters"
SMALL: dict[tuple[str, str], Settings] = {
    ("C2", GPT): depth.BY_ADAMW,
    ("S5", GPT): depth.BY_ADAMW
    | {
        "sequences": 40_000 * 64,
        "replicates": 4,
        "lr": (2e-4, 3e-4),
        "evaluations": 80,
        "curriculum": True,
        "halving": 5000,
        "halving_least": 1,
    },
    ("S5", MUON): depth.BY_MUON | {"spec": "S5", "length": 100, "layers": 8, "replicates": 2},
    ("C2", MUON): depth.BY_MUON
    | {"spec": "C2", "length": 100, "layers": depth.DOUBLING_DEPTH, "replicates": 2},
    ("S5", LSTM_LONGER): {
        "model": LSTM, "spec": "S5", "length": 40, "sequences": 40_000 * 64, "replicates": 4,
    },
    ("S5", LSTM_100): {
        "model": LSTM, "spec": "S5", "length": 100, "sequences": 16_000 * 64, "replicates": 4,
    },
}  # fmt: skip
"""At scale small, settings with which GPT learns the task from all labels: C2 by the depth map's AdamW
recipe, S5 by curriculum. By Muon each share reads the words of the map's first replicates; C2 has the layers
with which all six pass from all labels. LSTMs on S5 read at most as many words as the GPT beside them.
"""
OF_THE_MAP = {(task, MUON, 1.0): {"replicates": depth.BY_MUON["replicates"]} for task in ("S5", "C2")}
"""From all labels these are runs of the depth map, with as many replicates: they are not made twice."""


def plan(scale: Scale) -> list[PlannedRun]:
    """C2 before S5, LSTM before GPT, full supervision first."""
    networks = {
        (task, model): own | {"model": model} for (task, own), model in product(TASKS.items(), (LSTM, GPT))
    }
    if scale is Scale.SMALL:
        networks = {key: networks.get(key, {}) | SMALL.get(key, {}) for key in {**networks, **SMALL}}
    return plan_product(scale, {("task", "model"): networks, "reveal": REVEAL[scale]}, SETTINGS, OF_THE_MAP)


SPARSER = "degrades as labels get sparser"
CLAIMS = {("C2", GPT): "holds", ("C2", MUON): "holds", ("S5", GPT): SPARSER, ("S5", MUON): SPARSER}
"""What the paper shows of each row; of all others it shows perfect curves."""
table = table_by(
    {"task": None, "model": None, "reveal": sorted({*chain(*REVEAL.values())}, reverse=True)},
    paper=lambda label: CLAIMS.get((label["task"], label["model"]), "perfect at every share"),
)


def draw(cells: Sequence[ResultCell], scale: Scale) -> Figures:
    """Accuracy of the selected replicate by share: with halving, means are not informative."""
    lines: dict[str, list[Line]] = {}
    for (task, length, model), rows in groupby(table(cells), itemgetter("task", "length", "model")):
        shares, best, marks = zip(*((r["reveal"], r["max_accuracy"], marks_of(r)) for r in rows), strict=True)
        line = Line(name=model, x=shares, y=best, marks=marks)
        lines.setdefault(f"{task}, T = {length}", []).append(line)
    x_axis, y_axis = "share of states revealed", "accuracy of the best replicate"
    panels = [
        Panel(title=title, x_axis=x_axis, y_axis=y_axis, lines=own, log_x=True)
        for title, own in lines.items()
    ]
    return {"incomplete": line_chart(panels, note=note_on(cells, scale))}


EXPERIMENT: Experiment = Experiment(
    name="incomplete",
    title="Learning from incomplete state sequences",
    claim="GPT degrades on S5 as labels get sparser, and not on C2; LSTM stays perfect",
    plan=plan,
    table=table,
    draw=draw,
    departures={
        Scale.SMALL: (
            "GPT by halves, batch 64, cosine schedule: C2 with 2 layers, 24,000 steps, 6 replicates, "
            "learning rates 2, 3 and 4e-4; S5 at T = 40 with 8 layers, 40,000 steps, 4 replicates, learning "
            "rates 2 and 3e-4, by curriculum; at T = 100 by the recipe of `depth` with Muon, S5 with 8 "
            "layers and C2 with 7, 2 replicates of each share below 1; LSTM with 10 replicates, on S5 with "
            f"more words or 100 letters 4; {SOLVED_STOP}"
        ),
        Scale.PAPER: (f"8 layers for C2 and 16 for S5, shares from 1 down to 1/32; {SOLVED_STOP}"),
    },
)
