"""``krohn run``: words in, states out, by a compiled network."""

import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
import numpy.typing as npt

from krohn.base.folder import COMPILED, RECURRENT, Folder
from krohn.cli.output import emit, json_option
from krohn.cli.words_on_stdin import read_words
from krohn.errors import InvalidInput
from krohn.network.compiled import CompiledNetwork
from krohn.network.forward import CASTS
from krohn.network.storage import load
from krohn.recurrent.recurrent_network import RecurrentNetwork
from krohn.recurrent.recurrent_network import load as load_recurrent

Forward = Callable[[npt.NDArray[np.int64]], npt.NDArray[np.int64]]
# Letters handled in one batch.
BATCH_LETTERS = 1 << 16


@click.command()
@click.argument("directory", type=click.Path(path_type=Path))
@click.option(
    "--dtype",
    type=click.Choice(list(CASTS)),
    default="float64",
    show_default=True,
    help="Float format of weights and activations.",
)
@click.option("--device", default="numpy", show_default=True, help="numpy, or a torch device: cpu, cuda.")
@json_option
def command(directory: Path, dtype: str, device: str, as_json: bool) -> None:
    """Read words from standard input, one on each line, and print the state after each letter.

    Letters are separated by spaces, or written together if each is one character (abb). A recurrent network
    runs in float32; on a torch device it is the network that krohn train trains.

    \b
    Example:  krohn compile abab --length 16 --out nets/abab
              echo "a b a b" | krohn run nets/abab
    """
    kind = Folder(directory).require("run needs", COMPILED, RECURRENT)
    network = load_recurrent(directory) if kind == RECURRENT else load(directory)
    forward = _forward(network, dtype, device)
    names = network.automaton.output_names
    longest = math.inf if isinstance(network, RecurrentNetwork) else network.length
    batches = _fitting(read_words(network.automaton.letter_names), longest)
    lines = ([names[state] for state in states] for words in batches for states in _run_all(words, forward))
    if as_json:
        payload: dict[str, Any] = {"directory": str(directory), "states": list(lines)}
        emit(payload, as_json=True, text=str)
        return
    for line in lines:
        click.echo(" ".join(line))


def _forward(network: CompiledNetwork | RecurrentNetwork, dtype: str, device: str) -> Forward:
    """A function from words to states: the numpy pass, or the module on a torch device."""
    if isinstance(network, RecurrentNetwork):
        if device == "numpy":
            return network.run
        from krohn.lab.cards.recurrent_modules import states_in_training

        return states_in_training(network.cell, device)
    if device == "numpy":
        return lambda words: network.run(words, dtype)
    from krohn.lab.bridge import states_on_device

    return states_on_device(network, dtype, device)


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
