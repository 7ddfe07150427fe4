"""A circuit of threshold gates, its values, and what ``krohn circuit`` says of it.

The gates stand in an order in which each reads earlier wires only. Wire 0 is always 0, wire 1 always 1, then
come the inputs, then the gates.
"""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.base.notebook import table
from krohn.errors import counted
from krohn.network.compiled import CompiledNetwork

FALSE, TRUE = 0, 1


CHUNK = 1 << 26  # products held at once in one evaluation step


Bits = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Circuit:
    """Gates in an order in which each reads earlier wires only; ``outputs[t][q]`` is a wire."""

    inputs: int
    sources: tuple[npt.NDArray[np.int64], ...]
    weights: tuple[npt.NDArray[np.int64], ...]
    thresholds: tuple[int, ...]
    levels: tuple[int, ...]
    outputs: tuple[tuple[int, ...], ...]
    network: CompiledNetwork | None = field(default=None, repr=False, compare=False)
    """That it was made from, if any."""

    def report(self, seed: int = 0) -> "CircuitReport":
        """What ``krohn circuit`` prints: its sizes, and whether it answers as its network does."""
        assert self.network is not None, "a report compares a circuit with its network"
        return CircuitReport(self.network, self, seed)

    @property
    def depth(self) -> int:
        """Gates on the longest path."""
        return max(self.levels, default=0)

    @property
    def gates(self) -> int:
        """How many gates there are, inputs not counted."""
        return len(self.thresholds)

    @property
    def wires(self) -> int:
        """Inputs of all gates together."""
        return sum(map(len, self.sources))

    @property
    def largest_weight(self) -> int:
        """The largest weight or threshold."""
        return max(
            (int(max(abs(w).max(), abs(t))) for w, t in zip(self.weights, self.thresholds, strict=True)),
            default=0,
        )

    def evaluate(self, inputs: Bits) -> Bits:
        """Outputs ``[word, position, state]`` for input bits ``[word, input]``, level by level."""
        values = np.zeros((2 + self.inputs + self.gates, len(inputs)), dtype=np.int8)
        values[TRUE] = 1
        values[2 : 2 + self.inputs] = inputs.T
        levels = np.array(self.levels)
        for level in range(1, self.depth + 1):
            for part in self._parts(np.flatnonzero(levels == level), len(inputs)):
                lengths = [len(self.sources[gate]) for gate in part]
                sources = np.concatenate([self.sources[gate] for gate in part])
                weights = np.concatenate([self.weights[gate] for gate in part])
                sums = np.add.reduceat(
                    weights[:, None] * values[sources], np.cumsum([0, *lengths[:-1]]), axis=0
                )
                reached = sums >= np.array([self.thresholds[gate] for gate in part])[:, None]
                values[2 + self.inputs + part] = reached
        result: Bits = values[np.array(self.outputs)].transpose(2, 0, 1) == 1
        return result

    def _parts(self, gates: npt.NDArray[np.int64], words: int) -> Iterable[npt.NDArray[np.int64]]:
        sizes = np.cumsum([len(self.sources[gate]) * max(words, 1) for gate in gates])
        return np.split(gates, np.flatnonzero(np.diff(sizes // CHUNK)) + 1)


ALL_WORDS = 4_096
"""All words up to the length for which there are no more than this are run."""


LONG_WORDS = 64


@dataclass(frozen=True)
class CircuitReport:
    """A circuit beside the network it was made from, compared on short words and on long random ones."""

    network: CompiledNetwork
    circuit: Circuit
    seed: int

    @cached_property
    def words(self) -> npt.NDArray[np.int64]:
        """All short words, and long random ones."""
        return words_to_compare(self.network, len(self.circuit.outputs), self.seed)

    @cached_property
    def counterexample(self) -> list[int] | None:
        """A word on which circuit and network differ, up to the first letter where they do."""
        network, circuit = self.network, self.circuit
        for part in np.array_split(self.words, max(1, circuit.wires * len(self.words) // 10**8)):
            bits = circuit.evaluate(letters_as_bits(part, network.automaton.num_letters))
            differ = (bits.argmax(axis=-1) != network.run(part)) | (bits.sum(axis=-1) != 1)
            if differ.any():
                word, letter = map(int, np.argwhere(differ)[0])
                return [int(value) for value in part[word, : letter + 1]]
        return None

    def to_json(self) -> dict[str, Any]:
        """One JSON object."""
        network, circuit, wrong = self.network, self.circuit, self.counterexample
        names = network.automaton.letter_names
        return {
            "automaton": network.automaton.name,
            "length": self.words.shape[1],
            "layers": network.transformer.depth,
            "depth": circuit.depth,
            "gates": circuit.gates,
            "wires": circuit.wires,
            "largest_weight": circuit.largest_weight,
            "inputs": circuit.inputs,
            "words_checked": len(self.words),
            "agrees": wrong is None,
            "counterexample": None if wrong is None else [names[letter] for letter in wrong],
        }

    def text(self) -> str:
        """Sizes, gates by level, and the verdict."""
        payload, circuit = self.to_json(), self.circuit
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


def words_to_compare(network: CompiledNetwork, length: int, seed: int) -> npt.NDArray[np.int64]:
    """All short words, prolonged by their first letter, and long random ones."""
    letters = network.automaton.num_letters
    short = max(n for n in range(1, length + 1) if n == 1 or letters**n <= ALL_WORDS)
    every = np.array([*itertools.islice(itertools.product(range(letters), repeat=short), ALL_WORDS)])
    prolonged = np.concatenate([every, np.repeat(every[:, :1], length - short, axis=1)], axis=1)
    chance = np.random.default_rng(seed).integers(0, letters, (LONG_WORDS, length))
    words = np.concatenate([prolonged, chance])
    return words[np.sort(np.unique(words, axis=0, return_index=True)[1])]  # each once


def letters_as_bits(words: npt.NDArray[Any], num_letters: int) -> npt.NDArray[np.bool_]:
    """Words ``[word, position]`` as the inputs of a circuit."""
    bits: npt.NDArray[np.bool_] = words[:, :, None] == np.arange(num_letters)
    return bits.reshape(len(words), -1)
