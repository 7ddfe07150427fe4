"""What ``krohn circuit`` says: the sizes of a circuit, and whether it answers as its network does."""

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.base.notebook import table
from krohn.errors import counted
from krohn.network.compiled import CompiledNetwork
from krohn.paper.threshold_circuit import letters_as_bits
from krohn.paper.threshold_gates import Circuit

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
