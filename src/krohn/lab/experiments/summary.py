"""Summary statistics over replicates: the columns common to all tables."""

from collections.abc import Sequence
from math import sqrt
from statistics import fmean, median, stdev
from typing import Any

from krohn.lab.experiments.experiment import ResultCell, Row
from krohn.lab.experiments.record import Record
from krohn.lab.interpret.findings import wilson

SOLVED = 0.99  # token accuracy: the paper's threshold


def accuracies(records: Sequence[Record]) -> list[float]:
    """Each replicate's token accuracy on the test set, with the weights of its best evaluation."""
    return [record.accuracy for record in records]


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
    replicates were given up, so that median and mean are not informative. ``one_set``: an older run without a
    test set.
    """
    values = accuracies(cell.records)
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
        "one_set": not all(record.tested for record in cell.records),
    }


def _word_accuracy(record: Record) -> float | None:
    result = record.metrics.get("test", record.metrics).get("sequence_accuracy")
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
    "one_set": ("‡", "chosen and reported on one set of words"),
}


def marks_of(row: Row) -> str:
    """The marks for what happened to a run."""
    return "".join(sign for name, (sign, _) in REMARKS.items() if row.get(name))


def remarks_on(rows: Sequence[Row]) -> list[str]:
    """What the marks in these rows mean."""
    return [f"{sign} {text}" for name, (sign, text) in REMARKS.items() if any(row.get(name) for row in rows)]


def note_on(caption: str, rows: Sequence[Row]) -> str:
    """A figure's note: its caption, and what the marks in it mean."""
    return "\n".join([caption, *remarks_on(rows)])


def learning_rate(record: Record) -> float:
    """The learning rate of this replicate: rates are assigned round-robin."""
    rates = record.config["optimizer"]["lr"]
    return float(rates[record.replicate % len(rates)])


def series_at(
    cell: ResultCell, evaluation: str, kind: str = "token"
) -> tuple[list[float], list[list[float]]]:
    """The x values of an evaluation, and for each replicate that has it the accuracies there."""
    outcome: list[Any] = [r.evaluations[evaluation] for r in cell.records if evaluation in r.evaluations]
    if not outcome:
        return [], []
    return list(outcome[0]["at"]), [list(result[kind]) for result in outcome]


def mean_series(cell: ResultCell, evaluation: str) -> tuple[list[float], list[float], list[float]]:
    """x values, mean over replicates and standard error of an evaluation along one axis."""
    places, rows = series_at(cell, evaluation)
    pairs = [mean_and_error([row[index] for row in rows]) for index in range(len(places))]
    return places, [mean for mean, _ in pairs], [error for _, error in pairs]
