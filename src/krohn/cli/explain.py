"""``krohn explain``: the meaning of a compiled network's parts, and their values on a word."""

from pathlib import Path

import click

import krohn
from krohn.cli.options import NetworkFolder, OutputFile
from krohn.cli.output import emit, json_option, note


@click.command()
@click.argument("directory", type=NetworkFolder())
@click.argument("word", nargs=-1)
@click.option(
    "--out",
    type=OutputFile(".parquet", ".json", ".svg"),
    help="Write to F.json or, for a word, to F.parquet or F.svg.",
)
@json_option
def command(directory: Path, word: tuple[str, ...], out: Path | None, as_json: bool) -> None:
    """Explain the registers, heads and tables of a compiled network, and their values on a word.

    Letters are separated by spaces. Positions are those of the network: the prompt ⊥ comes first. A
    head's entry is the position it attends to, or the range of those it averages over.

    \b
    Example:  krohn compile D6 --length 16 --out nets/d6
              krohn explain nets/d6
              krohn explain nets/d6 toggle drive toggle --out d6.svg
    """
    view = krohn.explain(directory, " ".join(word)) if word else krohn.explain(directory)
    if out is not None:
        view.save(out)
    emit(view.to_json(), as_json=as_json, text=view.text)
    if out is not None:
        note(f"written: {out}")
