"""``krohn extract``: the automaton that a network computes."""

from importlib.util import find_spec
from pathlib import Path

import click

import krohn
from krohn.base.extras import to_install
from krohn.cli.options import SPEC, TOKENS, NetworkFolder, OutputFile, device, effort
from krohn.cli.output import emit, json_option, note
from krohn.errors import InvalidInput, MissingDependency


@click.command()
@click.argument("directory", type=NetworkFolder())
@click.option(
    "--length",
    "-T",
    type=click.IntRange(min=1),
    required=True,
    help="Compare on all words of up to this many letters.",
)
@click.option("--out", type=OutputFile(".json", ".jff"), help="Write the automaton to this file.")
@click.option(
    "--max-states",
    type=click.IntRange(min=1),
    default=100,
    help="Stop learning at a hypothesis of more states.",
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
@json_option
def command(
    directory: Path,
    length: int,
    out: Path | None,
    max_states: int,
    effort: float,
    device: str,
    by: str,
    spec: str | None,
    tokens: Path | None,
    as_json: bool,
) -> int:
    """Learn the automaton that the network in DIRECTORY computes on words up to a length.

    DIRECTORY is a network that krohn compiled, exported or trained, or a GPT-2 that transformers saved: that
    one needs --automaton, for the names of letters and states. The automaton is found by active learning
    and compared with the network on every word up to --length. Exit status 0: they agree. 1: they differ, and
    a larger automaton would be needed.

    \b
    Example:  krohn extract results/networks/c2-gpt --length 8 --out c2.json && krohn analyze c2.json
    """
    if not directory.is_dir():
        raise InvalidInput(f"{directory} must be the directory of a network; there is none")
    if find_spec("aalpy") is None:
        raise MissingDependency(f"krohn extract needs AALpy: {to_install('extract')}")
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
    emit(result.to_json(length, out), as_json=as_json, text=lambda: result.text(length))
    return int(not result.equivalent)
