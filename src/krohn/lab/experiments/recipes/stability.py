"""What stabilises training: dropout, weight averaging, a plateau scheduler (Appendix B.1.1)."""

from collections.abc import Iterator, Sequence
from typing import Any

from krohn.lab.experiments.experiment import Experiment, PlannedRun, ResultCell, Row
from krohn.lab.experiments.names import Scale
from krohn.lab.experiments.settings import gpt, run
from krohn.lab.experiments.summary import marks_of, mean_and_error, note_on, summary
from krohn.lab.figures.charts import Bar, bar_chart
from krohn.lab.figures.style import Figure
from krohn.lab.tasks.task_config import TaskConfig

TASKS = ("D8", "Q8", "Dyck4,2", "Grid9")
DROPOUT = (0.0, 0.1, 0.2, 0.3)
EMA = (0.85, 0.9, 0.95)
# The paper's values of the patience are not in the text; these span two powers of four.
PATIENCE = (2, 8, 32)
# The paper's dropout is GPT-2's, on attention weights too, and its runs are long: a million words here.
# Embeddings start at 0.02 in the library it used, at 1 here.
LONG = {
    "none": {},
    "residual .1": {"dropout": 0.1},
    "residual and attention .1": {"dropout": 0.1, "attention_dropout": 0.1},
    "embedding std .02": {"embedding_std": 0.02},
}
LONG_TASKS = ("D8", "Q8")
# The value at which each factor is off.
OFF = {"dropout": 0.0, "EMA": 0.0, "patience": 32, "long training": "none"}
LONG_SEQUENCES = {Scale.SMOKE: 8 * 8, Scale.SMALL: 1_000_000, Scale.PAPER: 5_000_000}
LAYERS = {Scale.SMOKE: 1, Scale.SMALL: 4, Scale.PAPER: 8}
SEQUENCES = {Scale.SMOKE: 8 * 8, Scale.SMALL: 80_000, Scale.PAPER: 1_000_000}
LENGTH = {Scale.SMOKE: 8, Scale.SMALL: 40, Scale.PAPER: 100}
REPLICATES = {Scale.SMOKE: 2, Scale.SMALL: 10, Scale.PAPER: 20}


def plan(scale: Scale) -> list[PlannedRun]:
    """Each setting is changed alone; dropout 0 and EMA .9 are one and the same run."""
    short = [
        _planned(scale, task, factor, value, options)
        for task in TASKS
        for factor, value, options in _settings()
    ]
    return short + [_long(scale, task, name) for task in LONG_TASKS for name in LONG]


def _long(scale: Scale, task: str, name: str) -> PlannedRun:
    """Dropout in long training; at scale small with batch 64 and a cosine schedule."""
    settings: dict[str, Any] = {"replicates": REPLICATES[scale]}
    if scale is Scale.SMALL:
        settings = {"replicates": 6, "lr": (2e-4, 3e-4, 4e-4), "batch": 64, "schedule": "cosine"}
    network = gpt(scale, LAYERS[scale], **LONG[name])
    task_config = TaskConfig(spec=task, length=LENGTH[scale])
    config = run(scale, task_config, network, sequences=LONG_SEQUENCES[scale], **settings)
    return PlannedRun(config=config, label={"task": task, "factor": "long training", "value": name})


def _settings() -> Iterator[tuple[str, float, dict[str, Any]]]:
    for rate in DROPOUT:
        yield "dropout", rate, {}
    yield "EMA", 0.0, {"ema": 0.0}
    for decay in EMA:
        yield "EMA", decay, {"ema": decay}
    for patience in PATIENCE:
        yield "patience", patience, {"schedule": "plateau", "patience": patience}


def _planned(scale: Scale, task: str, factor: str, value: float, options: dict[str, Any]) -> PlannedRun:
    config = run(
        scale,
        TaskConfig(spec=task, length=LENGTH[scale]),
        gpt(scale, LAYERS[scale], dropout=value if factor == "dropout" else 0.0),
        sequences=SEQUENCES[scale],
        replicates=REPLICATES[scale],
        **options,
    )
    return PlannedRun(config=config, label={"task": task, "factor": factor, "value": value})


def table(cells: Sequence[ResultCell]) -> list[Row]:
    """One row for each task and setting."""
    claims = {"dropout": ".1 helps D8 and Q8, hurts Dyck and Grid", "EMA": "helps; .85–.95 alike"}
    claims |= {"patience": "more can help", "long training": "dropout .1 helps D8 and Q8"}
    rows = []
    for cell in cells:
        row = {**cell.label, **summary(cell), **paired(cell, _without(cell, cells))}
        rows.append(row | {"paper": claims[cell.label["factor"]]})
    return sorted(rows, key=lambda row: (row["factor"], TASKS.index(row["task"]), _place(row["value"])))


def _without(cell: ResultCell, cells: Sequence[ResultCell]) -> ResultCell | None:
    """The cell with the same task and factor in which the factor is off."""
    wanted = {**cell.label, "value": OFF[cell.label["factor"]]}
    return next((other for other in cells if dict(other.label) == wanted), None)


def gains(cell: ResultCell, without: ResultCell) -> list[float]:
    """Differences in points from the cell in which the factor is off, replicate by replicate.

    Replicates with the same index start from the same weights and read the same words, so that paired
    differences are more precise than differences of means.
    """
    off = {record.replicate: record.accuracy for record in without.records}
    return [100 * (record.accuracy - off[record.replicate]) for record in cell.records]


def paired(cell: ResultCell, without: ResultCell | None) -> Row:
    """Mean gain with its error, and how many replicates gain."""
    if without is None or without is cell:
        return {}
    result = gains(cell, without)
    mean, error = mean_and_error(result)
    return {
        "paired": f"{mean:+.2f} ± {error:.2f}",
        "better": f"{sum(gain > 0 for gain in result)} of {len(result)}",
    }


def _place(value: float | str) -> float:
    return list(LONG).index(value) if isinstance(value, str) else value


def draw(cells: Sequence[ResultCell], caption: str) -> dict[str, Figure]:
    """Mean accuracy with standard error in long training.

    The effects of the other factors are too small for bars: the table has the paired differences.
    """
    rows = [row for row in table(cells) if row["factor"] == "long training"]
    bars = [
        Bar(
            group=row["task"],
            series=row["value"],
            value=row["mean_accuracy"],
            error=row["standard_error"],
            mark=marks_of(row),
        )
        for row in rows
    ]
    if not bars:
        return {}
    note = note_on(_caption(caption, rows), rows)
    chart = bar_chart(bars, title="Long training", y_axis="mean accuracy, standard error", note=note)
    return {"stability-long-training": chart}


def _caption(caption: str, rows: Sequence[Row]) -> str:
    """What the runs of one figure have in common: short and long training share no settings."""
    words = " or ".join(f"{count:,}" for count in sorted({row["sequences"] for row in rows}))
    replicates = " or ".join(map(str, sorted({row["replicates"] for row in rows})))
    scale = caption.split(",")[0]
    return f"{scale}, {replicates} replicates, {words} sequences each, T = {rows[0]['length']}"


EXPERIMENT = Experiment(
    name="stability",
    title="Dropout, EMA and patience",
    claim="dropout .1 helps the groups and hurts Dyck and Grid; EMA helps, whatever its decay",
    plan=plan,
    table=table,
    draw=draw,
    departures={
        Scale.SMALL: (
            "4 layers, T = 40, 10 replicates; a plateau schedule in the rows of patience alone; long "
            "training: 6 replicates, batch 64, learning rates 2, 3 and 4e-4 on a cosine schedule"
        ),
        Scale.PAPER: "8 layers, 20 replicates, the values of patience",
    },
)
