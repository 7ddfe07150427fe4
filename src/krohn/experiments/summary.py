"""Numbers over replicates: what every table says of a cell."""

from collections.abc import Sequence
from math import sqrt
from statistics import fmean, median, stdev
from typing import Any

from krohn.experiments.experiment import Cell, Row
from krohn.experiments.record import Record


def accuracies(records: Sequence[Record]) -> list[float]:
    """Each replicate's token accuracy on held-out words, at its best evaluation."""
    return [float(record.metrics["accuracy"]) for record in records]


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard error; one value alone has error 0."""
    error = stdev(values) / sqrt(len(values)) if len(values) > 1 else 0.0
    return fmean(values), error


def summary(cell: Cell) -> Row:
    """Maximum, median and mean accuracy, replicates, sequences, and what befell the run on its way.

    ``partial``: stopped before its last sequence. ``halved``: the worse replicates were given up on the way,
    so that median and mean say little.
    """
    values = accuracies(cell.records)
    mean, error = mean_and_error(values)
    best = max(cell.records, key=lambda record: float(record.metrics["accuracy"]))
    return {
        "max_accuracy": round(max(values), 5),
        "median_accuracy": round(median(values), 5),
        "mean_accuracy": round(mean, 5),
        "standard_error": round(error, 5),
        "replicates": len(values),
        "sequences": max(record.sequences for record in cell.records),
        "length": int(cell.records[0].config["task"]["length"]),
        "lr_of_best": learning_rate(best),
        "partial": any(record.status == "partial" for record in cell.records),
        "halved": "halving" in cell.records[0].config,
    }


REMARKS = {
    "partial": ("*", "stopped before its last sequence"),
    "halved": ("†", "by halves: most replicates were given up early"),
}


def marks_of(row: Row) -> str:
    """The signs of what befell a run."""
    return "".join(sign for name, (sign, _) in REMARKS.items() if row.get(name))


def remarks_on(rows: Sequence[Row]) -> list[str]:
    """What the signs in these rows mean."""
    return [f"{sign} {text}" for name, (sign, text) in REMARKS.items() if any(row.get(name) for row in rows)]


def note_on(caption: str, rows: Sequence[Row]) -> str:
    """A figure's note: its caption, and what the signs in it mean."""
    return "\n".join([caption, *remarks_on(rows)])


def learning_rate(record: Record) -> float:
    """The rate this replicate was trained with: rates are dealt out in turn."""
    rates = record.config["optimizer"]["lr"]
    return float(rates[record.replicate % len(rates)])


def series_at(cell: Cell, evaluation: str, kind: str = "token") -> tuple[list[float], list[list[float]]]:
    """The places an evaluation looked at, and for each replicate that has it the accuracies there."""
    found: list[Any] = [r.evaluations[evaluation] for r in cell.records if evaluation in r.evaluations]
    if not found:
        return [], []
    return list(found[0]["at"]), [list(result[kind]) for result in found]


def mean_series(
    cell: Cell, evaluation: str, kind: str = "token"
) -> tuple[list[float], list[float], list[float]]:
    """Places, mean over replicates, and standard error, of an evaluation along one change."""
    places, rows = series_at(cell, evaluation, kind)
    pairs = [mean_and_error([row[index] for row in rows]) for index in range(len(places))]
    return places, [mean for mean, _ in pairs], [error for _, error in pairs]
