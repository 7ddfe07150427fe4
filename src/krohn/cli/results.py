"""`krohn results`: list, show and export stored runs."""

from pathlib import Path

import click

import krohn
from krohn.cli.options import FILE, STORE
from krohn.cli.output import emit, json_option, note


@click.group()
def command() -> None:
    """List, show and export stored runs. Stores are joined by copying their files into one folder.

    \b
    Example:  krohn results list --store runs/results

    Each of them takes --json.
    """


@command.command("list")
@STORE
@json_option
def list_runs(store_path: Path, as_json: bool) -> None:
    """List the runs of every experiment.

    \b
    Example:  krohn results list --store runs/results
    """
    rows = krohn.results.list(store_path)
    for line in rows.remarks():
        note(line)
    payload = {"store": str(store_path), "records": rows.records, "runs": rows}
    emit(payload, as_json=as_json, text=rows.text)


@command.command("show")
@click.argument("run_id")
@STORE
@json_option
def show_run(run_id: str, store_path: Path, as_json: bool) -> None:
    """Show one run whole; RUN_ID may be the start of its id.

    \b
    Example:  krohn results show 3f2a --store runs/results
    """
    stored = krohn.results.show(run_id, store_path)
    emit(stored.to_json(), as_json=as_json, text=stored.text)


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
