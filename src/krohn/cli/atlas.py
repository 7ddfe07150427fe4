"""``krohn atlas``: all small automata with their classes and the layers they need."""

from collections import Counter
from typing import Any

import click

from krohn.automata.small import require_listable, sampled_automata, small_automata
from krohn.base.notebook import table
from krohn.cli.output import emit, json_option, show_share
from krohn.construct.depth_bounds import AtlasEntry, atlas
from krohn.depth.layer_size import LayerSize


@click.command()
@click.option(
    "--states", type=click.IntRange(2, 8), required=True, help="List automata of 2 up to this many states."
)
@click.option("--letters", type=click.IntRange(1, 6), required=True, help="Number of letters.")
@click.option(
    "--sample", type=click.IntRange(1), help="Draw this many at random instead, all with --states states."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the sample.")
@click.option(
    "--effort",
    type=float,
    default=1.0,
    show_default=True,
    help="How hard to search for plans; 10 allows ten times the work.",
)
@json_option
def command(states: int, letters: int, sample: int | None, seed: int, effort: float, as_json: bool) -> None:
    """List all small automata up to isomorphism, with class, depth and lower bound for long words.

    These are all automata with 2 to STATES states, all of them reachable from the start, or a sample.

    \b
    Example:  krohn atlas --states 2 --letters 2
              krohn atlas --states 4 --letters 2 --sample 10 --json
    """
    if sample is not None:
        chosen = sampled_automata(states, letters, sample, seed)
    else:
        require_listable(states, letters)  # before the smaller ones are listed
        chosen = [automaton for count in range(2, states + 1) for automaton in small_automata(count, letters)]
    entries = []
    for entry in atlas(chosen, effort):
        entries.append(entry)
        show_share(len(entries), len(chosen))
    payload: dict[str, Any] = {
        "states": states,
        "letters": letters,
        "automata": [entry.to_json() for entry in entries],
        "optimal": sum(entry.depth.optimal for entry in entries),
    }
    emit(payload, as_json=as_json, text=lambda: _text(entries))


def _text(entries: list[AtlasEntry]) -> str:
    rows = [(_written(entry), *_bounds(entry), ", ".join(entry.classes)) for entry in entries]
    counts = Counter((entry.depth.lower, entry.depth.upper or 0) for entry in entries)
    summary = [(low, high or "?", number) for (low, high), number in sorted(counts.items())]
    listing = table(("next states", "depth", "at least", "beyond T", "classes"), rows)
    size = f"at least: layers that words of more than T letters need, if each has {LayerSize()}."
    return f"{listing}\n\n{size}\n\n{table(('at least', 'depth', 'automata'), summary)}"


def _bounds(entry: AtlasEntry) -> tuple[str, str, str]:
    depth = entry.depth
    upper = "?" if depth.upper is None else str(depth.upper)
    return upper, str(depth.lower), f"{depth.lower_beyond:,}" if depth.lower else ""


def _written(entry: AtlasEntry) -> str:
    """One group of digits for each state: where the letters lead."""
    return " ".join("".join(map(str, row)) for row in entry.automaton.table.tolist())
