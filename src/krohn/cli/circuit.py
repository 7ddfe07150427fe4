"""``krohn circuit``: a compiled network as a circuit of threshold gates, for words of one length."""

import itertools
from pathlib import Path
from typing import Any

import click
import numpy as np
import numpy.typing as npt

from krohn.automata.zoo import parse_spec
from krohn.base.folder import COMPILED, Folder
from krohn.base.notebook import table
from krohn.cli.output import emit, json_option
from krohn.construct.compiling import compile
from krohn.errors import InvalidInput, counted
from krohn.network.compiled import CompiledNetwork
from krohn.network.storage import load
from krohn.paper.threshold_circuit import letters_as_bits, threshold_circuit
from krohn.paper.threshold_gates import Circuit

ALL_WORDS = 4_096
"""All words up to the length for which there are no more than this are run."""
LONG_WORDS = 64


@click.command()
@click.argument("target", metavar="SPEC|DIR")
@click.option(
    "--length",
    "-T",
    type=click.IntRange(min=1),
    help="Letters of a word; not needed for a network in a directory.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Seed of the long random words of the check.",
)
@json_option
def command(target: str, length: int | None, seed: int, as_json: bool) -> None:
    """Turn a compiled network into threshold gates and compare the two (the upper half of Theorem 4).

    A gate is 1 if the weighted sum of its inputs reaches its threshold. If the network is a cascade or has
    features, the depth stays bounded as words get longer, and the size grows polynomially; a scan has
    ⌈log₂ T⌉ layers. The circuit is compared with the network on short words and on long random ones, which
    is a test and no proof; exit status 1 if they differ.

    \b
    Example:  krohn circuit S4 --length 32
    """
    network = _network(target, length)
    circuit = threshold_circuit(network, length)
    words = _words(network, length or network.length, seed)
    wrong = _first_difference(network, circuit, words)
    names = network.automaton.letter_names
    payload = {
        "automaton": network.automaton.name,
        "length": words.shape[1],
        "layers": network.transformer.depth,
        "depth": circuit.depth,
        "gates": circuit.gates,
        "wires": circuit.wires,
        "largest_weight": circuit.largest_weight,
        "inputs": circuit.inputs,
        "words_checked": len(words),
        "agrees": wrong is None,
        "counterexample": None if wrong is None else [names[letter] for letter in wrong],
    }
    emit(payload, as_json=as_json, text=lambda: _text(payload, circuit))
    if wrong is not None:
        click.get_current_context().exit(1)


def _network(target: str, length: int | None) -> CompiledNetwork:
    if Folder(Path(target)).kind == COMPILED:
        return load(target)
    if length is None:
        raise InvalidInput("a circuit reads words of one length; choose it with --length")
    return compile(parse_spec(target), length)


def _words(network: CompiledNetwork, length: int, seed: int) -> npt.NDArray[np.int64]:
    """All short words, prolonged by their first letter, and long random ones."""
    letters = network.automaton.num_letters
    short = max(n for n in range(1, length + 1) if n == 1 or letters**n <= ALL_WORDS)
    every = np.array([*itertools.islice(itertools.product(range(letters), repeat=short), ALL_WORDS)])
    prolonged = np.concatenate([every, np.repeat(every[:, :1], length - short, axis=1)], axis=1)
    chance = np.random.default_rng(seed).integers(0, letters, (LONG_WORDS, length))
    words = np.concatenate([prolonged, chance])
    return words[np.sort(np.unique(words, axis=0, return_index=True)[1])]  # each once


def _first_difference(
    network: CompiledNetwork, circuit: Circuit, words: npt.NDArray[np.int64]
) -> list[int] | None:
    """A word on which circuit and network differ, up to the first letter where they do."""
    for part in np.array_split(words, max(1, circuit.wires * len(words) // 10**8)):
        bits = circuit.evaluate(letters_as_bits(part, network.automaton.num_letters))
        differ = (bits.argmax(axis=-1) != network.run(part)) | (bits.sum(axis=-1) != 1)
        if differ.any():
            word, letter = map(int, np.argwhere(differ)[0])
            return [int(value) for value in part[word, : letter + 1]]
    return None


def _text(payload: dict[str, Any], circuit: Circuit) -> str:
    counts = np.bincount(np.array(circuit.levels, dtype=np.int64), minlength=circuit.depth + 1)[1:]
    rows = [(level, int(count)) for level, count in enumerate(counts, 1)]
    verdict = (
        f"the same states as the network on {counted(payload['words_checked'], 'word')}"
        if payload["agrees"]
        else f"differs from the network after: {' '.join(payload['counterexample'])}"
    )
    layers = counted(payload["layers"], "layer")
    become = "becomes" if payload["layers"] == 1 else "become"
    title = (
        f"{payload['automaton']}, words of {counted(payload['length'], 'letter')}: {layers} {become} "
        f"depth {circuit.depth}, {circuit.gates:,} threshold gates, {circuit.wires:,} wires, "
        f"weights up to {circuit.largest_weight}"
    )
    return "\n".join([title, table(("level", "gates"), rows), verdict])
