"""What ``krohn reproduce`` prints: the table of an experiment for a terminal and as Markdown."""

from typing import Any

from krohn.lab.experiments.summary import SOLVED, marks_of, remarks_on, success_text
from krohn.lab.figures.charts import percent

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
