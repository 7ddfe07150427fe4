"""``krohn extract``: the automaton that a network computes."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from krohn.automata.files import dump_automaton
from krohn.automata.zoo import FILES, parse_spec
from krohn.base.atomic import check_output
from krohn.base.extras import to_install
from krohn.cli.options import FiniteFloat, NetworkFolder
from krohn.cli.output import emit, json_option, note
from krohn.errors import InvalidInput, MissingDependency, counted


@click.command()
@click.argument("directory", type=NetworkFolder())
@click.option(
    "--length",
    "-T",
    type=click.IntRange(min=1),
    required=True,
    help="Compare on all words of up to this many letters.",
)
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), help="Write the automaton to this file."
)
@click.option(
    "--max-states",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    help="Stop learning at a hypothesis of more states.",
)
@click.option(
    "--effort",
    type=FiniteFloat(min=0, min_open=True),
    default=1.0,
    show_default=True,
    help="How much work running all words may take; 10 allows ten times the work.",
)
@click.option(
    "--device",
    type=click.Choice(["cpu", "cuda"]),
    default="cpu",
    show_default=True,
    help="Where the network is run.",
)
@click.option("--automaton", "spec", help="For a GPT-2 of transformers: the automaton it should compute.")
@click.option(
    "--tokens",
    type=click.Path(dir_okay=False, path_type=Path),
    help="For a GPT-2 of transformers: JSON with the tokens of letters and states.  [default: their numbers]",
)
@json_option
def command(
    directory: Path,
    length: int,
    out: Path | None,
    max_states: int,
    effort: float,
    device: str,
    spec: str | None,
    tokens: Path | None,
    as_json: bool,
) -> None:
    """Learn the automaton that the network in DIRECTORY computes on words up to a length.

    DIRECTORY is a run of krohn train, a network of krohn compile, or a GPT-2 that transformers saved: that
    one needs --automaton, for the names of letters and states. The automaton is found by active learning
    and compared with the network on every word up to --length. Exit status 0: they agree. 1: they differ, and
    a larger automaton would be needed.

    \b
    Example:  krohn extract results/networks/c2-gpt --length 8 --out c2.json && krohn analyze c2.json
    """
    if not directory.is_dir():
        raise InvalidInput(f"{directory} must be the directory of a network; there is none")
    if out is not None:
        check_output(out, *FILES)  # fail early
    if find_spec("aalpy") is None:
        raise MissingDependency(f"krohn extract needs AALpy: {to_install('extract')}")
    from krohn.lab.interpret.extraction import answers_of, extract

    meant = None if spec is None else parse_spec(spec)
    answers = answers_of(directory, effort, device, meant, tokens)
    result = extract(answers, length, max_states)
    if out is not None:
        dump_automaton(result.automaton, out)
        note(f"wrote {out}")
    names = answers.automaton.letter_names
    payload: dict[str, Any] = {
        "states": result.automaton.num_states,
        "equivalent": result.difference is None,
        "length": length,
        "agrees_to": result.agrees,
        "counterexample": _named(result.difference, names),
        "task": {"equivalent": result.mistake is None, "counterexample": _named(result.mistake, names)},
        "out": None if out is None else str(out),
    }
    emit(payload, as_json=as_json, text=lambda: _text(payload))
    if not payload["equivalent"]:
        raise click.exceptions.Exit(1)


def _named(word: tuple[int, ...] | None, names: tuple[str, ...]) -> dict[str, Any] | None:
    return None if word is None else {"word": list(word), "letters": [names[letter] for letter in word]}


def _text(payload: dict[str, Any]) -> str:
    lines = [f"an automaton of {counted(payload['states'], 'state')}"]
    if payload["equivalent"]:
        lines.append(f"it answers as the network does on all words of up to {payload['length']} letters")
    else:
        shown = " ".join(payload["counterexample"]["letters"])
        lines.append(
            f"it answers as the network does on all words of up to {payload['agrees_to']} letters, "
            f"but not on: {shown}"
        )
    mistake = payload["task"]["counterexample"]
    if mistake is None:
        lines.append("it is the automaton of the task, on words of every length")
    else:
        lines.append(f"it differs from the automaton of the task on: {' '.join(mistake['letters'])}")
    return "\n".join(lines)
