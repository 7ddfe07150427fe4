"""Summary statistics over replicates, the columns common to all tables, and how tables are printed."""

from collections.abc import Callable, Mapping, Sequence
from math import sqrt
from statistics import fmean, median, stdev
from typing import Any

from krohn.lab.experiments.experiment import Label, ResultCell, Row
from krohn.lab.experiments.names import Scale
from krohn.lab.experiments.record import Record
from krohn.lab.figures.charts import percent
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


# What ``krohn reproduce`` prints: the table of an experiment for a terminal and as Markdown.


# Columns that machines read from --json but that would make a table too wide for a terminal.
_HIDDEN = {"standard_error", "partial", "halved", "length", "lr_of_best"}
_HIDDEN |= {"reach", "reached_low", "reached_high"}  # shown in the column of those that reached 99%


def columns_of(rows: list[dict[str, Any]]) -> tuple[list[str], list[list[object]]]:
    """Header and cells as people read them."""
    names = dict.fromkeys(column for row in rows for column in row)
    lengths = {row.get("length") for row in rows}  # named in the caption if there is one
    hidden = _HIDDEN - ({"length"} if len(lengths) > 1 else set())
    columns = [column for column in names if column not in hidden]
    cells = [[cell_text(column, row) for column in columns] for row in rows]
    return ["reach 99%" if column == "reached" else column.replace("_", " ") for column in columns], cells


def shown(rows: list[dict[str, Any]], *, bold: bool) -> tuple[list[str], list[list[object]], list[str]]:
    """Header, cells and remarks: a row for each cell, or of the depth map, which says *solved*, a task."""
    if not all({"depth", "solved"} <= row.keys() for row in rows):
        return *columns_of(rows), remarks_on(rows)
    legend = "letters / words of the test set that the best replicate has right, per cent"
    legend += ", bold from 99" if bold else ""
    legend += f" (replicates that reach 99 / replicates; 95% intervals: {_intervals(rows)}); blank: not run"
    return *depth_table(rows, bold=bold), [legend, *remarks_on(rows)]


def markdown(rows: list[dict[str, Any]], caption: str) -> str:
    """The table for a README, with its caption."""
    if not rows:
        return caption
    header, cells, remarks = shown(rows, bold=True)
    lines: list[list[object]] = [[*header], ["---"] * len(header), *cells]
    text = ["| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines]
    return "\n".join([*text, "", "; ".join([caption, *remarks])])


def _intervals(rows: list[dict[str, Any]]) -> str:
    """For example ``0/6 0–39%, 1/6 3–56%``: the intervals of the shares in the table."""
    shares = {(row["replicates"], row["reached"]): row for row in rows}
    return ", ".join(
        f"{reached}/{count} {100 * row['reached_low']:.0f}–{100 * row['reached_high']:.0f}%"
        for (count, reached), row in sorted(shares.items())
    )


def depth_table(rows: list[dict[str, Any]], *, bold: bool) -> tuple[list[str], list[list[object]]]:
    """Header and cells of the depth map: a row for each task, a column for each depth."""
    depths = sorted({row["depth"] for row in rows})
    tasks: dict[str, dict[int, str]] = {}
    for row in rows:
        best = percent(row["max_accuracy"])
        text = f"**{best}**" if bold and row["max_accuracy"] >= SOLVED else best
        if row["word_accuracy"] is not None:
            text += f" / {percent(row['word_accuracy'])}"
        share = f"({row['reached']}/{row['replicates']})"
        name = f"{row['task']}, {row['sheet']}" if "sheet" in row else row["task"]
        tasks.setdefault(name, {})[row["depth"]] = f"{text} {share}{marks_of(row)}"
    cells: list[list[object]] = [
        [task, *(of.get(depth, "") for depth in depths)] for task, of in tasks.items()
    ]
    return ["task", *(f"L = {depth}" for depth in depths)], cells


def cell_text(column: str, row: dict[str, Any]) -> object:
    """One cell as people read it."""
    value = row.get(column, "")
    if column == "reached":
        return success_text(row)
    if value is None:
        return ""
    if column == "words_read":
        return f"{value:,}"
    if column == "sequences":
        return f"{value:,}{marks_of(row)}"
    if column in ("median_accuracy", "mean_accuracy") and row.get("halved"):
        return ""  # not informative for replicates given up at different times
    if isinstance(value, float) and ("accuracy" in column or "_at_" in column or column == "paper"):
        return f"{percent(value, 2)}%"
    return value
