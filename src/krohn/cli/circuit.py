"""``krohn circuit``: a compiled network as a circuit of threshold gates, for words of one length."""

from pathlib import Path

import click

import krohn
from krohn.base.files import Folder
from krohn.cli.output import emit, json_option
from krohn.errors import InvalidInput


@click.command()
@click.argument("target", metavar="SPEC|DIR")
@click.option(
    "--length",
    "-T",
    type=click.IntRange(min=1),
    help="Letters of a word; not needed for a network in a directory.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, help="Seed of the long random words of the check."
)
@json_option
def command(target: str, length: int | None, seed: int, as_json: bool) -> int:
    """Turn a compiled network into threshold gates and compare the two (the upper half of Theorem 4).

    A gate is 1 if the weighted sum of its inputs reaches its threshold. If the network is a cascade or has
    features, the depth stays bounded as words get longer, and the size grows polynomially; a scan has
    ⌈log₂ T⌉ layers. The circuit is compared with the network on short words and on long random ones, which
    is a test and no proof; exit status 1 if they differ.

    \b
    Example:  krohn circuit S4 --length 32
    """
    if length is None and Folder(Path(target)).kind is None:
        raise InvalidInput("a circuit reads words of one length; choose it with --length")
    report = krohn.circuit(target, length).report(seed)
    emit(report.to_json(), as_json=as_json, text=report.text)
    return int(report.counterexample is not None)
