"""`krohn results`: list, show, merge, export and import stored runs."""

from pathlib import Path

import click

import krohn
from krohn.cli.options import FILE, STORE
from krohn.cli.output import emit, json_option, note
from krohn.errors import counted


@click.group()
def command() -> None:
    """List, show, merge, export and import stored runs.

    \b
    Example:  krohn results merge other.sqlite --store runs/results.sqlite

    Each of them takes --json.
    """


@command.command("list")
@STORE
@json_option
def list_runs(store_path: Path, as_json: bool) -> None:
    """List the runs of every experiment.

    \b
    Example:  krohn results list --store runs/results.sqlite
    """
    rows = krohn.results.list(store_path)
    payload = {"store": str(store_path), "records": rows.records, "runs": rows}
    emit(payload, as_json=as_json, text=rows.text)


@command.command("show")
@click.argument("run_id")
@STORE
@json_option
def show_run(run_id: str, store_path: Path, as_json: bool) -> None:
    """Show one run whole; RUN_ID may be the start of its id.

    \b
    Example:  krohn results show 3f2a --store runs/results.sqlite
    """
    stored = krohn.results.show(run_id, store_path)
    emit(stored.to_json(), as_json=as_json, text=stored.text)


@command.command("merge")
@click.argument("others", nargs=-1, required=True, type=FILE)
@STORE
@json_option
def merge(others: tuple[Path, ...], store_path: Path, as_json: bool) -> None:
    """Join the stores OTHERS into the store.

    Nothing is lost or duplicated; results that disagree are reported.

    \b
    Example:  krohn results merge a.sqlite b.sqlite --store runs/results.sqlite
    """
    done = krohn.results.merge(others, store_path)
    for line in done.remarks():
        note(line)
    result = [vars(conflict) for conflict in done.conflicts]
    payload = {"store": str(store_path), "added": done.added, "records": done.records, "conflicts": result}
    text = f"{done.added} records added, {done.records} in {store_path}, {counted(len(result), 'conflict')}"
    emit(payload, as_json=as_json, text=lambda: text)


@command.command("export")
@click.option("--out", type=FILE, required=True, help="The text file to write, JSON lines.")
@click.option("--experiment", "name", help="One experiment only.")
@click.option("--scale", help="One scale only.")
@STORE
@json_option
def export(out: Path, name: str | None, scale: str | None, store_path: Path, as_json: bool) -> None:
    """Write results as text that can be committed.

    The same store gives the same bytes.

    \b
    Example:  krohn results export --experiment depth --scale small --out results/depth-small.jsonl
    """
    count = krohn.results.export(out, store_path, experiment=name, scale=scale)
    emit(
        {"records": count, "file": str(out)},
        as_json=as_json,
        text=lambda: f"{count} records written to {out}",
    )


@command.command("import")
@click.argument("files", nargs=-1, required=True, type=FILE)
@STORE
@json_option
def import_files(files: tuple[Path, ...], store_path: Path, as_json: bool) -> None:
    """Read exported text back into the store.

    \b
    Example:  krohn results import results/depth-small.jsonl --store runs/results.sqlite
    """
    done = krohn.results.import_(files, store_path)
    for line in done.remarks():
        note(line)
    payload = {"read": done.read, "records": done.records, "store": str(store_path)}
    emit(payload, as_json=as_json, text=lambda: f"{done.read} records read, {done.records} in {store_path}")
