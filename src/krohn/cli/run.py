"""``krohn run``: words in, states out, by a compiled network."""

import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np

from krohn.automata.semiautomaton import letter_numbers
from krohn.cli.options import NetworkFolder
from krohn.cli.output import emit, json_option
from krohn.cli.words_on_stdin import read_words
from krohn.errors import InvalidInput
from krohn.functions import Forward, forward_of, runnable
from krohn.network.compiled import CompiledNetwork
from krohn.network.forward import CASTS

# Letters handled in one batch.
BATCH_LETTERS = 1 << 16


@click.command()
@click.argument("directory", type=NetworkFolder())
@click.argument("word", nargs=-1, metavar="[LETTER]...")
@click.option(
    "--dtype",
    type=click.Choice(list(CASTS)),
    default="float64",
    show_default=True,
    help="Float format of weights and activations.",
)
@click.option("--device", default="numpy", show_default=True, help="numpy, or a torch device: cpu, cuda.")
@click.option(
    "--chunks",
    is_flag=True,
    help="On a torch device: a recurrent network reads many letters at once, as in training.",
)
@json_option
def command(
    directory: Path, word: tuple[str, ...], dtype: str, device: str, chunks: bool, as_json: bool
) -> None:
    """Print the state after each letter of a word, or of words from standard input, one on each line.

    Letters are separated by spaces, or written together if each is one character (abb). A recurrent network
    runs in float32, one letter after the other; on a torch device it is the network that krohn train trains.
    Chunks round elsewhere: krohn verify --chunks says whether they are proved too.

    \b
    Example:  krohn compile abab --length 16 --out nets/abab
              krohn run nets/abab a b a b
              echo "a b a b" | krohn run nets/abab
    """
    network = runnable(directory)
    forward = forward_of(network, dtype, device, chunks=chunks)
    letters = network.automaton.letter_names
    longest = network.length if isinstance(network, CompiledNetwork) else math.inf
    given = [[letter_numbers(" ".join(word), letters)]] if word else read_words(letters)
    batches = _fitting(given, longest)
    lines = (network.names(states) for words in batches for states in _run_all(words, forward))
    if as_json:
        payload: dict[str, Any] = {"directory": str(directory), "states": list(lines)}
        emit(payload, as_json=True, text=str)
        return
    for line in lines:
        click.echo(" ".join(line))


def _fitting(batches: Iterable[list[list[int]]], longest: float) -> Iterator[list[list[int]]]:
    """The batches, up to the first word that is too long for the network."""
    line = 0
    for words in batches:
        for word in words:
            line += 1
            if len(word) > longest:
                raise InvalidInput(
                    f"words must have at most {longest} letters here; line {line} has {len(word)}; "
                    f"compile with --length {len(word)} or more"
                )
        yield words


def _run_all(words: list[list[int]], forward: Forward) -> list[list[int]]:
    """States of every word, words of one length together, in the order given."""
    by_length: dict[int, list[int]] = {}
    for index, word in enumerate(words):
        by_length.setdefault(len(word), []).append(index)
    answers: list[list[int]] = [[] for _ in words]
    for length, places in by_length.items():
        size = max(1, BATCH_LETTERS // max(1, length))
        for first in range(0, len(places) if length else 0, size):
            chosen = places[first : first + size]
            batch = np.array([words[place] for place in chosen], dtype=np.int64)
            for place, states in zip(chosen, forward(batch).tolist(), strict=True):
                answers[place] = states
    return answers
