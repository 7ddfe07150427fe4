"""Sinusoidal against linear position encodings, at the trained length and at twice that (Figure 10)."""

from collections.abc import Sequence

from krohn.lab.experiments.experiment import Experiment, Figures, ResultCell, Row
from krohn.lab.experiments.names import Scale
from krohn.lab.experiments.settings import SOLVED_STOP, Settings, by_scale, plan_product
from krohn.lab.experiments.summary import mean_series, note_on, table_by
from krohn.lab.figures.charts import Bar, bar_chart
from krohn.lab.interpret.evaluation import AccuracyAlong

ENCODINGS = ("sinusoidal", "linear")
TASKS: dict[str, Settings] = {
    "Grid9": {"spec": "Grid9"},
    "abab accept": {"spec": "abab@accept", "target": "observation", "distribution": "periodic:01:0.5"},
}
SETTINGS: Settings = {
    "length": by_scale(8, 40, 40),
    "layers": by_scale(1, 4, 8),
    "sequences": by_scale(8 * 12, 240_000, 2_000_000),
    "replicates": by_scale(2, 10, 25),
    "stop_at": 0.9995,
    "measured": by_scale(
        (AccuracyAlong(name="length", at=(8, 16), sequences=16),),
        (AccuracyAlong(name="length", at=(40, 80)),),
        (AccuracyAlong(name="length", at=(40, 80)),),
    ),
}


def at_twice(cell: ResultCell) -> Row:
    """Mean accuracy at T and at 2T."""
    row: Row = {}
    for name, mean, error in zip(("T", "2T"), *mean_series(cell, "length")[1:], strict=False):
        row |= {f"mean_at_{name}": round(mean, 5), f"error_at_{name}": round(error, 5)}
    return row


table = table_by(
    {"task": None, "positions": ENCODINGS},
    columns=at_twice,
    paper=lambda label: "linear loses less from T to 2T",
)


def draw(cells: Sequence[ResultCell], scale: Scale) -> Figures:
    """Bars at T and 2T."""
    bars = [
        Bar(f"{row['task']}, {name}", row["positions"], row[f"mean_at_{name}"], row[f"error_at_{name}"])
        for row in table(cells)
        for name in ("T", "2T")
        if f"mean_at_{name}" in row
    ]
    title = "Position encodings within and beyond the trained length"
    chart = bar_chart(bars, title=title, y_axis="mean accuracy, standard error", note=note_on(cells, scale))
    return {"positions": chart} if bars else {}


EXPERIMENT: Experiment = Experiment(
    name="positions",
    title="Sinusoidal against linear positions",
    claim="alike or sinusoidal better at T; linear loses less from T to 2T",
    plan=lambda scale: plan_product(scale, {"task": TASKS, "positions": ENCODINGS}, SETTINGS),
    table=table,
    draw=draw,
    departures={
        Scale.SMALL: f"4 layers, 10 replicates; {SOLVED_STOP}",
        Scale.PAPER: f"8 layers; {SOLVED_STOP}",
    },
)
