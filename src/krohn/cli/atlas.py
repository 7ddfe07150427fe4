"""``krohn atlas``: what trained networks made of 3,382 automata; and all small automata with their depth."""

from pathlib import Path
from typing import Any

import click

import krohn
from krohn.cli.options import OutputFile, effort
from krohn.cli.output import emit, json_option, note, show_share
from krohn.errors import InvalidInput


@click.command()
@click.option("--class", "class_", default="", help="Networks for automata of this class, such as aperiodic.")
@click.option("--kind", default="", help="Networks for automata of this kind, such as groups.")
@click.option("--positions", default="", help="Networks with these positions: sinusoidal or none.")
@click.option("--out", type=OutputFile(".parquet", ".csv"), help="Write these rows to this file.")
@click.option("--states", type=click.IntRange(2, 8), help="List automata of 2 to this many states instead.")
@click.option("--letters", type=click.IntRange(1, 6), help="--states: number of letters.")
@click.option(
    "--sample", type=click.IntRange(1), help="Draw this many at random instead, all with --states states."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Seed of the sample.")
@effort("How hard to search for plans; 10 allows ten times the work.")
@json_option
def command(
    class_: str,
    kind: str,
    positions: str,
    out: Path | None,
    states: int | None,
    letters: int | None,
    sample: int | None,
    seed: int,
    effort: float,
    as_json: bool,
) -> None:
    """Show which automata small Transformers learned, class by class, or filter the rows.

    With --states and --letters: all automata with 2 to STATES states up to isomorphism, all of them reachable
    from the start, or a sample; with class, depth and lower bound for long words.

    \b
    Example:  krohn atlas --class aperiodic --positions none
              krohn atlas --states 2 --letters 2
              krohn atlas --states 4 --letters 2 --sample 10 --json
    """
    chosen: dict[str, Any] = {"class_": class_, "kind": kind, "positions": positions}
    rows: Any = krohn.atlas(
        states, letters, **chosen, sample=sample, seed=seed, effort=effort, progress=show_share
    )
    if states is None:
        if out is not None:
            rows.save(out)
            note(f"wrote {out}")
        emit({"table": rows.rows()}, as_json=as_json, text=rows.text)
        return
    if out is not None:
        raise InvalidInput("--out writes rows of trained networks: leave out --states and --letters")
    optimal = sum(row["optimal"] for row in rows)
    payload = {"states": states, "letters": letters, "automata": rows, "optimal": optimal}
    emit(payload, as_json=as_json, text=rows.text)
