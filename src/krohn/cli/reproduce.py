"""`krohn reproduce`: one experiment of the paper, from runs to table and figure."""

import sys
from pathlib import Path
from typing import Any

import click

import krohn
from krohn.cli.options import FOLDER, STORE, FiniteFloat, typed_options
from krohn.cli.output import emit, json_option, note


@click.command()
@click.argument("name")
@click.option("--scale", default="smoke", help="smoke, small or paper.")
@click.option("--engine", default="local", help="local, or ray for a Ray cluster.")
@STORE
@click.option("--device", type=click.Choice(["cpu", "cuda"]), help="Default: the GPU if there is one.")
@click.option(
    "--time-limit", type=FiniteFloat(min=0), help="Stop after this many seconds; the rest is done next time."
)
@click.option("--only", default="", show_default=False, help="Tasks to run, separated by commas.")
@click.option(
    "--where",
    multiple=True,
    help="Run only these settings, for example depth=4,8 or model=GPT; may be repeated.",
)
@click.option(
    "--sequences", type=click.IntRange(min=1), help="Train each replicate on this many sequences instead."
)
@click.option("--also", type=FOLDER, help="atlas: automata of this folder beside those that krohn generates.")
@click.option("--figures", type=FOLDER, help="Default: beside the store.")
@click.option("--keep-weights", is_flag=True, help="Keep the weights of finished runs beside the store.")
@click.option("--checkpoints", help="Folder of unfinished runs, or none. Default: beside the store.")
@click.option("--show", is_flag=True, help="Print from the store; run nothing.")
@click.option("--markdown", is_flag=True, help="Print the table alone, as Markdown.")
@json_option
def command(
    name: str,
    scale: str,
    store_path: Path,
    figures: Path | None,
    show: bool,
    markdown: bool,
    as_json: bool,
    checkpoints: str | None,
    keep_weights: bool,
    **options: Any,
) -> None:
    """Rerun experiment NAME of the paper: depth, curves, stability, attention, indirect, incomplete, ood,
    length or positions; or taught (hints after each block), lasting (a looped block) or atlas (thousands
    of automata), which are not in the paper.

    \b
    Example:  krohn reproduce depth --scale smoke --only Grid4
    """
    folder = checkpoints or str(store_path.parent / "checkpoints")
    # Absolute: cluster workers have other working directories.
    options["directory"] = None if folder == "none" else Path(folder).absolute()
    result = krohn.reproduce(
        name,
        scale,
        store=store_path if "--store" in typed_options() else None,
        figures=figures,
        show=show,
        keep=keep_weights,
        progress=not as_json and sys.stderr.isatty(),
        say=note,
        must_draw=figures is not None,
        **options,
    )
    for line in result.remarks():
        note(line)
    emit(result.to_json(), as_json=as_json, text=result.markdown if markdown else result.text)
    if result.failures:
        note(f"error: {len(result.failures)} runs failed; what is done is stored: see the lines above")
        raise click.exceptions.Exit(2)
