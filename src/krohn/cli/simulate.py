"""``krohn simulate``: words in, states out, by the automaton itself."""

from collections.abc import Iterator
from typing import Any

import click
import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.simulation import simulate
from krohn.automata.zoo import parse_spec
from krohn.cli.output import emit, json_option
from krohn.cli.words_on_stdin import read_words

_FEW = 8  # number of words of one length up to which a plain loop beats an array operation per position


@click.command()
@click.argument("spec")
@click.option("--observe", is_flag=True, help="Print the observations φ(q) instead of the states.")
@json_option
def command(spec: str, observe: bool, as_json: bool) -> None:
    """Read words from standard input, one on each line, and print the state after each letter.

    Letters are separated by spaces, or written together if each is one character (abb).

    \b
    Example:  echo "a b a b" | krohn simulate abab
    """
    automaton = parse_spec(spec)
    names = _labels(automaton, observe)
    lines = (
        [names[state] for state in states]
        for words in read_words(automaton.letter_names)
        for states in run_all(automaton, words)
    )
    if as_json:
        payload: dict[str, Any] = {"automaton": automaton.name, "states": list(lines)}
        emit(payload, as_json=True, text=str)
        return
    for line in lines:
        click.echo(" ".join(line))


def _labels(automaton: Semiautomaton, observe: bool) -> tuple[str, ...]:
    if not observe:
        return automaton.state_names
    if automaton.observe is None:
        raise click.UsageError(
            f"--observe needs an automaton with an observation map; {automaton.name} has none"
        )
    return tuple(map(str, automaton.observe))


def run_all(automaton: Semiautomaton, words: list[list[int]]) -> Iterator[list[int]]:
    """States of every word, words of one length at a time in one batch, in the order given."""
    by_length: dict[int, list[int]] = {}
    for index, word in enumerate(words):
        by_length.setdefault(len(word), []).append(index)
    answers: list[list[int]] = [[] for _ in words]
    for length, places in by_length.items():
        if len(places) <= _FEW:
            for place in places:
                answers[place] = automaton.run(words[place])
            continue
        batch = np.array([words[place] for place in places], dtype=np.int64).reshape(len(places), length)
        for place, states in zip(places, simulate(automaton, batch).tolist(), strict=True):
            answers[place] = states
    return iter(answers)
