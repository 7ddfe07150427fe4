"""``krohn extract``: the automaton that a network computes."""

from pathlib import Path

import click

import krohn
from krohn.cli.options import SPEC, TOKENS, NetworkFolder, OutputFile, device, effort, reading
from krohn.cli.output import emit, json_option, note
from krohn.errors import InvalidInput


@click.command()
@click.argument("directory", type=NetworkFolder())
@click.option(
    "--length",
    "-T",
    type=click.IntRange(min=1),
    help="Ask for words of up to this many letters.  [default: the longest with 99% right]",
)
@click.option("--out", type=OutputFile(".json", ".jff"), help="Write the automaton to this file.")
@click.option(
    "--max-states",
    type=click.IntRange(min=1),
    default=100,
    help="The most states; if more are needed, the best automaton within.",
)
@effort("How much work running all words may take; 10 allows ten times the work.")
@device("Where a trained network is run.")
@click.option(
    "--by",
    type=click.Choice(["words", "states"]),
    default="words",
    help="Ask for answers, or read clusters of the stream of a GPT-2 of transformers.",
)
@click.option(
    "--automaton", "spec", type=SPEC, help="For a GPT-2 of transformers: the automaton it should compute."
)
@TOKENS
@reading
@json_option
def command(
    directory: Path,
    length: int | None,
    out: Path | None,
    max_states: int,
    effort: float,
    device: str,
    by: str,
    spec: str | None,
    tokens: Path | None,
    as_json: bool,
) -> int:
    """Extract the automaton that the network in DIRECTORY computes on words up to a length.

    DIRECTORY is a network that krohn compiled, exported or trained, or a GPT-2 that transformers saved: that
    one needs --automaton, for the names of letters and states. All words up to --length are run, and the
    smallest automaton that answers as the network does on all of them is the result. If it has more than
    --max-states states, the best one within them is, with the share of words on which it agrees and a
    shortest one on which it does not. Exit status 0: they agree on all words. 1: they differ, or not all
    words of --length letters could be run; then fresh ones were.

    \b
    Example:  krohn compile C2 --length 8 --out nets/c2
              krohn extract nets/c2 --length 8 --out c2.json
    """
    if not directory.is_dir():
        raise InvalidInput(f"{directory} must be the directory of a network; there is none")
    meant = None if spec is None else krohn.parse_spec(spec)
    result = krohn.extract(
        directory,
        length,
        automaton=meant,
        tokens=tokens,
        max_states=max_states,
        effort=effort,
        device=device,
        by=by,
    )
    if out is not None:
        krohn.dump_automaton(result.automaton, out)
        note(f"wrote {out}")
    emit(result.to_json(out), as_json=as_json, text=result.text)
    return int(not result.equivalent)
