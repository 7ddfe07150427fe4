"""``krohn atlas``: all small automata with their classes and the layers they need."""

import click

import krohn
from krohn.cli.options import effort
from krohn.cli.output import emit, json_option, show_share


@click.command()
@click.option(
    "--states", type=click.IntRange(2, 8), required=True, help="List automata of 2 up to this many states."
)
@click.option("--letters", type=click.IntRange(1, 6), required=True, help="Number of letters.")
@click.option(
    "--sample", type=click.IntRange(1), help="Draw this many at random instead, all with --states states."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Seed of the sample.")
@effort("How hard to search for plans; 10 allows ten times the work.")
@json_option
def command(states: int, letters: int, sample: int | None, seed: int, effort: float, as_json: bool) -> None:
    """List all small automata up to isomorphism, with class, depth and lower bound for long words.

    These are all automata with 2 to STATES states, all of them reachable from the start, or a sample.

    \b
    Example:  krohn atlas --states 2 --letters 2
              krohn atlas --states 4 --letters 2 --sample 10 --json
    """
    rows = krohn.atlas(states, letters, sample=sample, seed=seed, effort=effort, progress=show_share)
    optimal = sum(row["optimal"] for row in rows)
    payload = {"states": states, "letters": letters, "automata": rows, "optimal": optimal}
    emit(payload, as_json=as_json, text=rows.text)
