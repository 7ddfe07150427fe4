"""`krohn results`: list, show, merge, export and import stored runs."""

from pathlib import Path
from typing import Any

import click

from krohn.base.notebook import table
from krohn.cli.output import emit, json_option, note
from krohn.errors import counted

_STORE = click.option(
    "--store",
    "store_path",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("runs/results.sqlite"),
    show_default=True,
    help="The file that keeps the results.",
)
_FILE = click.Path(dir_okay=False, path_type=Path)


@click.group()
def command() -> None:
    """List, show, merge, export and import stored runs.

    \b
    Example:  krohn results merge other.sqlite --store runs/results.sqlite

    Each of them takes --json.
    """


@command.command("list")
@_STORE
@json_option
def list_runs(store_path: Path, as_json: bool) -> None:
    """List the runs of every experiment.

    \b
    Example:  krohn results list --store runs/results.sqlite
    """
    from krohn.lab.experiments.store import Store
    from krohn.lab.experiments.stored_runs import results

    rows = results.list(store_path)
    with Store(store_path, writable=False) as store:
        records = len(store.records())
    payload = {"store": str(store_path), "records": records, "runs": rows}
    emit(payload, as_json=as_json, text=lambda: _listing(rows))


def _listing(rows: list[dict[str, Any]]) -> str:
    header = ["experiment", "scale", "run", "cell", "done", "max accuracy"]
    cells = [
        [
            row["experiment"],
            row["scale"],
            row["run"],
            ", ".join(map(str, row["label"].values())),
            f"{row['done']}/{row['replicates']}",
            "" if row["max_accuracy"] is None else f"{100 * row['max_accuracy']:.2f}%",
        ]
        for row in rows
    ]
    return table(header, cells)


@command.command("show")
@click.argument("run_id")
@_STORE
@json_option
def show_run(run_id: str, store_path: Path, as_json: bool) -> None:
    """Show one run whole; RUN_ID may be the start of its id.

    \b
    Example:  krohn results show 3f2a --store runs/results.sqlite
    """
    from krohn.lab.experiments.stored_runs import results

    payload = results.show(run_id, store_path).to_json()
    emit(payload, as_json=as_json, text=lambda: _run_text(payload))


def _run_text(payload: dict[str, Any]) -> str:
    lines = [f"run {payload['run']}"]
    for name in ("config", "environment"):
        lines.append(name)
        lines += [f"  {key}: {value}" for key, value in payload[name].items()]
    rows = [
        [
            row["replicate"],
            row["status"],
            f"{row['sequences']:,}",
            f"{100 * row['metrics']['accuracy']:.2f}%",
            _tested(row["metrics"]),
            row["finished"],
        ]
        for row in payload["replicates"]
    ]
    header = ["replicate", "status", "sequences", "held-out accuracy", "test accuracy", "finished"]
    return "\n".join([*lines, table(header, rows)])


def _tested(metrics: dict[str, Any]) -> str:
    """Accuracy on the test set; older records have none."""
    return f"{100 * metrics['test']['accuracy']:.2f}%" if "test" in metrics else ""


@command.command("merge")
@click.argument("others", nargs=-1, required=True, type=_FILE)
@_STORE
@json_option
def merge(others: tuple[Path, ...], store_path: Path, as_json: bool) -> None:
    """Join the stores OTHERS into the store.

    Nothing is lost or duplicated; results that disagree are reported.

    \b
    Example:  krohn results merge a.sqlite b.sqlite --store runs/results.sqlite
    """
    from krohn.lab.experiments.record import conflict_lines
    from krohn.lab.experiments.stored_runs import results

    done = results.merge(others, store_path)
    for line in conflict_lines(done.conflicts):
        note(line)
    result = [vars(conflict) for conflict in done.conflicts]
    payload = {"store": str(store_path), "added": done.added, "records": done.records, "conflicts": result}
    text = f"{done.added} records added, {done.records} in {store_path}, {counted(len(result), 'conflict')}"
    emit(payload, as_json=as_json, text=lambda: text)


@command.command("export")
@click.option("--out", type=_FILE, required=True, help="The text file to write, JSON lines.")
@click.option("--experiment", "name", help="One experiment only.")
@click.option("--scale", help="One scale only.")
@_STORE
@json_option
def export(out: Path, name: str | None, scale: str | None, store_path: Path, as_json: bool) -> None:
    """Write results as text that can be committed.

    The same store gives the same bytes.

    \b
    Example:  krohn results export --experiment depth --scale small --out results/depth-small.jsonl
    """
    from krohn.lab.experiments.stored_runs import results

    count = results.export(out, store_path, experiment=name, scale=scale)
    emit(
        {"records": count, "file": str(out)},
        as_json=as_json,
        text=lambda: f"{count} records written to {out}",
    )


@command.command("import")
@click.argument("files", nargs=-1, required=True, type=_FILE)
@_STORE
@json_option
def import_files(files: tuple[Path, ...], store_path: Path, as_json: bool) -> None:
    """Read exported text back into the store.

    \b
    Example:  krohn results import results/depth-small.jsonl --store runs/results.sqlite
    """
    from krohn.lab.experiments.record import conflict_lines
    from krohn.lab.experiments.stored_runs import results

    done = results.import_(files, store_path)
    for line in conflict_lines(done.conflicts):
        note(line)
    payload = {"read": done.read, "records": done.records, "store": str(store_path)}
    emit(payload, as_json=as_json, text=lambda: f"{done.read} records read, {done.records} in {store_path}")
