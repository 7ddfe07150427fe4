"""Summary statistics over replicates, the columns common to all tables, and how tables are printed."""

from collections.abc import Callable, Mapping, Sequence
from math import sqrt
from statistics import fmean, median, stdev
from typing import Any

from krohn.lab.experiments.experiment import Label, ResultCell, Row
from krohn.lab.experiments.names import Scale
from krohn.lab.experiments.record import Record
from krohn.lab.interpret.findings import wilson

SOLVED = 0.99  # token accuracy: the paper's threshold


def best_of(records: Sequence[Record]) -> Record:
    """The replicate selected on the validation set; its test accuracy plays no part in the choice."""
    return max(records, key=lambda record: float(record.metrics["accuracy"]))


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard error; one value alone has error 0."""
    error = stdev(values) / sqrt(len(values)) if len(values) > 1 else 0.0
    return fmean(values), error


def summary(cell: ResultCell) -> Row:
    """Statistics of a cell's replicates on the test set, and what happened to the run.

    ``max_accuracy`` and ``word_accuracy`` are those of the replicate selected on the validation set.
    ``reached``: replicates with 99% token accuracy on the test set, with Wilson's interval; one that was
    given up early counts as a failure. ``partial``: stopped before its last sequence. ``halved``: the worse
    replicates were given up, so that median and mean are not informative.
    """
    values = [record.accuracy for record in cell.records]  # with the weights of its best evaluation
    mean, error = mean_and_error(values)
    best = best_of(cell.records)
    return {
        "max_accuracy": round(best.accuracy, 5),
        "word_accuracy": _word_accuracy(best),
        "median_accuracy": round(median(values), 5),
        "mean_accuracy": round(mean, 5),
        "standard_error": round(error, 5),
        **_success(cell.records),
        "replicates": len(values),
        "sequences": max(record.sequences for record in cell.records),
        "length": int(cell.records[0].config["task"]["length"]),
        "lr_of_best": learning_rate(best),
        "partial": any(record.status == "partial" for record in cell.records),
        "halved": "halving" in cell.records[0].config,
    }


def _word_accuracy(record: Record) -> float | None:
    result = record.metrics["test"].get("sequence_accuracy")
    return None if result is None else round(float(result), 5)


def _success(records: Sequence[Record]) -> Row:
    """The number of replicates that reach 99%, with Wilson's interval."""
    reached = sum(record.accuracy >= SOLVED for record in records)
    low, high = wilson(reached, len(records))
    return {"reached": reached, "reached_low": round(low, 5), "reached_high": round(high, 5)}


def success_text(row: Row) -> str:
    """For example ``7 of 10 (40–89%)``."""
    span = f"{100 * row['reached_low']:.0f}–{100 * row['reached_high']:.0f}%"
    return f"{row['reached']} of {row['replicates']} ({span})"


REMARKS = {
    "partial": ("*", "stopped before its last sequence"),
    "halved": ("†", "by halves: most replicates were given up early, so that more might reach 99%"),
}


def marks_of(row: Row) -> str:
    """The marks for what happened to a run."""
    return "".join(sign for name, (sign, _) in REMARKS.items() if row.get(name))


def remarks_on(rows: Sequence[Row]) -> list[str]:
    """What the marks in these rows mean."""
    return [f"{sign} {text}" for name, (sign, text) in REMARKS.items() if any(row.get(name) for row in rows)]


def caption_of(cells: Sequence[ResultCell], scale: Scale) -> str:
    """Actual scale, replicates and sequences."""
    if not cells:
        return f"scale {scale}: no runs yet"
    replicates = [len(cell.records) for cell in cells]
    seen = [max(record.sequences for record in cell.records) for cell in cells]
    lengths = sorted({int(cell.records[0].config["task"]["length"]) for cell in cells})
    return (
        f"scale {scale}, {_range(replicates)} replicates, {_range(seen)} sequences each, "
        f"T = {', '.join(map(str, lengths))}"
    )


def _range(values: Sequence[int]) -> str:
    low, high = f"{min(values):,}", f"{max(values):,}"
    return low if low == high else f"{low}–{high}"


def note_on(cells: Sequence[ResultCell], scale: Scale) -> str:
    """A figure's note: the caption of the cells that it draws, and what the marks in it mean."""
    return "\n".join([caption_of(cells, scale), *remarks_on([summary(cell) for cell in cells])])


def learning_rate(record: Record) -> float:
    """The learning rate of this replicate: rates are assigned round-robin."""
    rates = record.config["optimizer"]["lr"]
    return float(rates[record.replicate % len(rates)])


def series_at(cell: ResultCell, evaluation: str) -> tuple[list[float], list[list[float]]]:
    """The x values of an evaluation, and for each replicate that has it the accuracies there."""
    outcome: list[Any] = [r.evaluations[evaluation] for r in cell.records if evaluation in r.evaluations]
    if not outcome:
        return [], []
    return list(outcome[0]["at"]), [list(result["token"]) for result in outcome]


def mean_series(cell: ResultCell, evaluation: str) -> tuple[list[float], list[float], list[float]]:
    """x values, mean over replicates and standard error of an evaluation along one axis."""
    places, rows = series_at(cell, evaluation)
    pairs = [mean_and_error([row[index] for row in rows]) for index in range(len(places))]
    return places, [mean for mean, _ in pairs], [error for _, error in pairs]


Order = Mapping[str, Sequence[Any] | None]
"""Parts of a label by which cells are sorted, each with its values in order; ``None``: as they are."""


def sort_cells(cells: Sequence[ResultCell], order: Order) -> list[ResultCell]:
    """The cells sorted by their labels."""

    def place(cell: ResultCell) -> list[Any]:
        values = [(cell.label.get(part), known) for part, known in order.items()]
        return [value if known is None else known.index(value) for value, known in values]

    return sorted(cells, key=place)


def table_by(
    order: Order,
    *,
    columns: Callable[[ResultCell], Row] = lambda cell: {},
    paper: Callable[[Label], object],
) -> Callable[[Sequence[ResultCell]], list[Row]]:
    """A table with a row for each cell: label, summary, the experiment's own columns, what the paper says."""

    def table(cells: Sequence[ResultCell]) -> list[Row]:
        return [
            {**cell.label, **summary(cell), **columns(cell), "paper": paper(cell.label)}
            for cell in sort_cells(cells, order)
        ]

    return table
