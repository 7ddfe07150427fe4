"""Sinusoidal against linear position encodings, at the trained length and at twice that (Figure 10)."""

from collections.abc import Sequence

from krohn.lab.experiments.experiment import Experiment, PlannedRun, ResultCell, Row
from krohn.lab.experiments.names import Scale
from krohn.lab.experiments.settings import SOLVED_STOP, gpt, run
from krohn.lab.experiments.summary import mean_series, summary
from krohn.lab.figures.charts import Bar, bar_chart
from krohn.lab.figures.style import Figure
from krohn.lab.interpret.evaluation import AccuracyByLength
from krohn.lab.tasks.task_config import TaskConfig

ENCODINGS = ("sinusoidal", "linear")
LENGTH = {Scale.SMOKE: 8, Scale.SMALL: 40, Scale.PAPER: 40}
LAYERS = {Scale.SMOKE: 1, Scale.SMALL: 4, Scale.PAPER: 8}
SEQUENCES = {Scale.SMOKE: 8 * 12, Scale.SMALL: 240_000, Scale.PAPER: 2_000_000}
REPLICATES = {Scale.SMOKE: 2, Scale.SMALL: 10, Scale.PAPER: 25}


def plan(scale: Scale) -> list[PlannedRun]:
    """Grid9 by its states, (abab)* by its accepting state."""
    length = LENGTH[scale]
    tasks = {
        "Grid9": TaskConfig(spec="Grid9", length=length),
        "abab accept": TaskConfig(
            spec="abab@accept", length=length, target="observation", distribution="periodic:01:0.5"
        ),
    }
    judged = 16 if scale is Scale.SMOKE else 2048
    return [
        PlannedRun(
            config=run(
                scale,
                task,
                gpt(scale, LAYERS[scale], positions=encoding),
                sequences=SEQUENCES[scale],
                replicates=REPLICATES[scale],
                stop_at=0.9995,
            ),
            label={"task": name, "positions": encoding},
            evaluations=(AccuracyByLength(lengths=(length, 2 * length), sequences=judged),),
        )
        for name, task in tasks.items()
        for encoding in ENCODINGS
    ]


def table(cells: Sequence[ResultCell]) -> list[Row]:
    """Mean accuracy at T and at 2T."""
    rows = []
    for cell in cells:
        row = {**cell.label, **summary(cell)}
        _, means, errors = mean_series(cell, "length")
        for name, mean, error in zip(("T", "2T"), means, errors, strict=False):
            row |= {f"mean_at_{name}": round(mean, 5), f"error_at_{name}": round(error, 5)}
        rows.append(row | {"paper": "linear loses less from T to 2T"})
    return sorted(rows, key=lambda row: (row["task"], ENCODINGS.index(row["positions"])))


def draw(cells: Sequence[ResultCell], caption: str) -> dict[str, Figure]:
    """Bars at T and 2T."""
    bars = [
        Bar(
            group=f"{row['task']}, {name}",
            series=row["positions"],
            value=row[f"mean_at_{name}"],
            error=row[f"error_at_{name}"],
        )
        for row in table(cells)
        for name in ("T", "2T")
        if f"mean_at_{name}" in row
    ]
    if not bars:
        return {}
    bars.sort(key=lambda bar: bar.group.split(",")[0])
    title = "Position encodings within and beyond the trained length"
    return {"positions": bar_chart(bars, title=title, y_axis="mean accuracy, standard error", note=caption)}


EXPERIMENT = Experiment(
    name="positions",
    title="Sinusoidal against linear positions",
    claim="alike or sinusoidal better at T; linear extrapolates better to 2T",
    plan=plan,
    table=table,
    draw=draw,
    departures={
        Scale.SMALL: f"4 layers, 10 replicates; {SOLVED_STOP}",
        Scale.PAPER: f"8 layers; {SOLVED_STOP}",
    },
)
