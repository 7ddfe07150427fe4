"""`krohn reproduce`: one experiment of the paper, from runs to table and figure."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from krohn.base.notebook import table
from krohn.cli.options import FiniteFloat
from krohn.cli.output import emit, json_option, note
from krohn.errors import InvalidInput
from krohn.lab.experiments.names import check_engine, check_experiment, parse_scale

if TYPE_CHECKING:
    from krohn.lab.experiments.reproduction import Reproduction

# Columns that machines read from --json but that would make a table too wide for a terminal.
_HIDDEN = {"standard_error", "partial", "halved", "one_set", "length", "lr_of_best"}
_HIDDEN |= {"reach", "reached_low", "reached_high"}  # shown in the column of those that reached 99%


@click.command()
@click.argument("name")
@click.option("--scale", default="smoke", show_default=True, help="smoke, small or paper.")
@click.option("--engine", default="local", show_default=True, help="local, or ray for a Ray cluster.")
@click.option(
    "--store",
    "store_path",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("runs/results.sqlite"),
    show_default=True,
    help="The file that keeps the results.",
)
@click.option("--device", type=click.Choice(["cpu", "cuda"]), help="Default: the GPU if there is one.")
@click.option(
    "--time-limit",
    type=FiniteFloat(min=0),
    help="Stop after this many seconds; the rest is done next time.",
)
@click.option("--only", default="", help="Tasks to run, separated by commas.")
@click.option(
    "--where",
    multiple=True,
    help="Run only these settings, for example depth=4,8 or model=GPT; may be repeated.",
)
@click.option(
    "--sequences", type=click.IntRange(min=1), help="Train each replicate on this many sequences instead."
)
@click.option(
    "--figures", type=click.Path(file_okay=False, path_type=Path), help="Default: beside the store."
)
@click.option("--keep-weights", is_flag=True, help="Keep the weights of finished runs beside the store.")
@click.option("--checkpoints", help="Folder of unfinished runs, or none. Default: beside the store.")
@click.option("--show", is_flag=True, help="Print from the store; run nothing.")
@click.option("--markdown", is_flag=True, help="Print the table alone, as Markdown.")
@json_option
def command(
    name: str,
    scale: str,
    engine: str,
    store_path: Path,
    figures: Path | None,
    show: bool,
    markdown: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Rerun experiment NAME of the paper: depth, curves, stability, attention, indirect, incomplete, ood,
    length or positions. Others are not in the paper: networks (small ones to look inside), sample (random
    automata by depth), expressivity (small recurrent networks), taught (hints after each block).

    \b
    Example:  krohn reproduce depth --scale smoke --only Grid4
    """
    check_experiment(name)
    check_engine(engine)
    parse_scale(scale)
    if show and (options["only"] or options["where"] or options["sequences"]):
        raise InvalidInput("--show prints what is stored: give --only, --where and --sequences without it")
    if show and _is_default("store_path") and not store_path.exists():
        result = _committed(name, scale, store_path, figures)
    else:
        result = _from_store(name, scale, store_path, figures, show, as_json, {**options, "engine": engine})
    for line in _remarks(result):
        note(line)
    emit(
        _payload(result, scale),
        as_json=as_json,
        text=lambda: _markdown(result) if markdown else _text(result),
    )
    if result.report.errors:
        note(f"error: {len(result.report.errors)} runs failed; what is done is stored: see the lines above")
        raise click.exceptions.Exit(2)


def _from_store(
    name: str,
    scale: str,
    store_path: Path,
    figures: Path | None,
    show: bool,
    as_json: bool,
    options: dict[str, Any],
) -> "Reproduction":
    from krohn.lab.experiments.reproduction import reproduce
    from krohn.lab.experiments.store import Store

    chosen = None if show else _sweep_options(name, scale, store_path, as_json, options)
    with Store(store_path, writable=not show) as store:
        place = figures or store_path.parent / "figures"
        # The table is printed even if the store's folder is not writable.
        return reproduce(
            name, scale, store, figures=place, options=chosen, say=note, must_draw=figures is not None
        )


def _committed(name: str, scale: str, missing: Path, figures: Path | None) -> "Reproduction":
    """The committed results, unchanged; figures are redrawn only on request."""
    from krohn.lab.experiments.stored_runs import committed_figures, committed_results, store_of

    file = committed_results(name, scale, missing)
    from krohn.lab.experiments.reproduction import reproduce

    note(f"from {file}; {missing} does not exist")
    with store_of(file) as store:
        result = reproduce(name, scale, store, figures=figures)
    return result if figures is not None else replace(result, figures=committed_figures(file, name, scale))


def _is_default(option: str) -> bool:
    return click.get_current_context().get_parameter_source(option) is ParameterSource.DEFAULT


def _sweep_options(name: str, scale: str, store_path: Path, as_json: bool, options: dict[str, Any]) -> Any:
    from krohn.lab.experiments.all_experiments import experiment
    from krohn.lab.experiments.experiment import Selection
    from krohn.lab.experiments.sweep import SweepOptions

    planned = experiment(name).plan(parse_scale(scale))
    where = {"task": options["only"]} if options["only"] else {}
    for text in options["where"]:
        part, _, values = (piece.strip() for piece in text.partition("="))
        where[part] = f"{where[part]},{values}" if part in where else values
    selection = {
        part: split_names(values, {str(run.label.get(part)) for run in planned})
        for part, values in where.items()
    }
    folder = options["checkpoints"] or str(store_path.parent / "checkpoints")
    return SweepOptions(
        engine=options["engine"],
        device=options["device"],
        # Absolute: cluster workers have other working directories.
        directory=None if folder == "none" else Path(folder).absolute(),
        keep=options["keep_weights"],
        time_limit=options["time_limit"],
        selection=Selection(where=selection, sequences=options["sequences"]),
        progress=not as_json and sys.stderr.isatty(),
    )


def split_names(text: str, known: set[str]) -> tuple[str, ...]:
    """Names separated by commas, where a known name such as Dyck4,2 may itself have one."""
    result: list[str] = []
    pieces = [piece.strip() for piece in text.split(",")]
    while pieces:
        # The longest run of pieces that is a known name; a lone piece is taken as it stands.
        size = next((n for n in range(len(pieces), 0, -1) if _joined(pieces[:n], known)), 1)
        result.append(_joined(pieces[:size], known) or pieces[0])
        pieces = pieces[size:]
    return tuple(result)


def _joined(pieces: list[str], known: set[str]) -> str:
    """The known name that the pieces spell, with or without a space after the comma; empty if none."""
    return next((name for comma in (",", ", ") if (name := comma.join(pieces)) in known), "")


def _remarks(found: "Reproduction") -> list[str]:
    from krohn.lab.experiments.record import conflict_lines

    report = found.report
    untested = f", {report.untested} trained but not scored on test words (‡)" if report.untested else ""
    begun = report.partial - report.untested
    lines = [f"{report.done} of {report.runs} runs done{untested}, {begun} begun"]
    lines += [f"run failed: {error}" for error in report.errors]
    return lines + conflict_lines(report.conflicts)


def _payload(found: "Reproduction", scale: str) -> dict[str, Any]:
    pictures = [str(path) for path in found.figures]
    return {
        "experiment": found.experiment,
        "scale": scale,
        "runs": found.report.runs,
        "done": found.report.done,
        "partial": found.report.partial,
        "errors": found.report.errors,
        "caption": found.caption,
        "claim": found.claim,
        "departures": found.departures,
        "table": found.table,
        "figure": next((path for path in pictures if path.endswith(".svg")), None),
        "figures": pictures,
    }


def _text(found: "Reproduction") -> str:
    from krohn.lab.experiments.summary import remarks_on

    lines = [f"{found.title} ({found.caption})", f"the paper: {found.claim}"]
    lines += [f"departures: {found.departures}", ""]
    if found.table:
        lines += [table(*columns_of(found.table)), *remarks_on(found.table)]
    lines += [f"figure: {path}" for path in found.figures]
    return "\n".join(lines)


def columns_of(rows: list[dict[str, Any]]) -> tuple[list[str], list[list[object]]]:
    """Header and cells as people read them."""
    names = dict.fromkeys(column for row in rows for column in row)
    lengths = {row.get("length") for row in rows}  # named in the caption if there is one
    shown = {"length"} if len(lengths) > 1 else set()
    columns = [column for column in names if column not in _HIDDEN - shown]
    cells = [[cell_text(column, row) for column in columns] for row in rows]
    return ["reach 99%" if column == "reached" else column.replace("_", " ") for column in columns], cells


def _markdown(result: "Reproduction") -> str:
    """The table for a README, with its caption; tasks by depth where the experiment has depths."""
    from krohn.lab.experiments.summary import remarks_on

    if not result.table:
        return result.caption
    deep = all("depth" in row for row in result.table)
    header, cells = depth_table(result.table) if deep else columns_of(result.table)
    lines: list[list[object]] = [[*header], ["---"] * len(header), *cells]
    text = ["| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines]
    remarks = [result.caption]
    if deep:
        remarks.append(
            "letters / words of the test set that the best replicate has right, per cent, bold from 99 "
            f"(replicates that reach 99 / replicates; 95% intervals: {_intervals(result.table)})"
        )
    return "\n".join([*text, "", "; ".join([*remarks, *remarks_on(result.table)])])


def _intervals(rows: list[dict[str, Any]]) -> str:
    """For example ``0/6 0–39%, 1/6 3–56%``: the intervals of the shares in the table."""
    shares = {(row["replicates"], row["reached"]): row for row in rows}
    return ", ".join(
        f"{reached}/{count} {100 * row['reached_low']:.0f}–{100 * row['reached_high']:.0f}%"
        for (count, reached), row in sorted(shares.items())
    )


def depth_table(rows: list[dict[str, Any]]) -> tuple[list[str], list[list[object]]]:
    """Header and cells of the depth map: a row for each task, a column for each depth."""
    from krohn.lab.experiments.summary import marks_of
    from krohn.lab.figures.charts import percent

    depths = sorted({row["depth"] for row in rows})
    tasks: dict[str, dict[int, str]] = {}
    for row in rows:
        best = percent(row["max_accuracy"])
        shown = f"**{best}**" if row["max_accuracy"] >= 0.99 else best
        if row["word_accuracy"] is not None:
            shown += f" / {percent(row['word_accuracy'])}"
        share = f"({row['reached']}/{row['replicates']})"
        name = f"{row['task']}, {row['sheet']}" if "sheet" in row else row["task"]
        tasks.setdefault(name, {})[row["depth"]] = f"{shown} {share}{marks_of(row)}"
    cells: list[list[object]] = [
        [task, *(of.get(depth, "") for depth in depths)] for task, of in tasks.items()
    ]
    return ["task", *(f"L = {depth}" for depth in depths)], cells


def cell_text(column: str, row: dict[str, Any]) -> object:
    """One cell as people read it."""
    from krohn.lab.experiments.summary import marks_of, success_text

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
        return f"{100 * value:.2f}%"
    return value
