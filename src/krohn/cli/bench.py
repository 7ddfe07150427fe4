"""``krohn bench``: the old name of ``krohn card``."""

from pathlib import Path

import click

from krohn.cli.output import emit, json_option, note


@click.command()
@click.option("--module", "layer", required=True, metavar="PKG:FACTORY", help="LAYER of krohn card.")
@click.option("--task", "tasks", multiple=True, help="An automaton; repeat for several.")
@click.option(
    "--seeds", type=click.IntRange(min=1), default=3, show_default=True, help="Networks for each automaton."
)
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="A folder for the card.")
@json_option
def command(layer: str, tasks: tuple[str, ...], seeds: int, out: Path | None, as_json: bool) -> None:
    """Print the card of a layer: the old name of krohn card, which has the other options.

    \b
    Example:  krohn bench --module my_layer:make --task C2
    """
    from krohn.lab.cards.card import TASKS, card

    note("krohn bench is now krohn card LAYER; this name will go")
    result = card(layer, tasks or TASKS, seeds=seeds, out=out, tell=note)
    emit(result.to_json(), as_json=as_json, text=result.text)
