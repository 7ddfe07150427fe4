"""The proof for words of every length: all float vectors that any word reaches, each one decoded.

Breadth first over pairs (vector, automaton state) from the start, under every letter. If no new pair
appears, every word of every length is run right, bit for bit; nothing about the construction is assumed. If
the read-out of a pair is wrong, the way to it is a shortest wrong word. Zero has no sign.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import InvalidInput
from krohn.recurrent.cells import Cell, Sums, grain_of

MAX_VECTORS = 200_000


@dataclass(frozen=True)
class Closure:
    """What the search found.

    Attributes:
        every_length: proved for words of every length.
        vectors: pairs of vector and state that were reached.
        margin: the least lead of the right logit.
        any_order: whether each order of adding gives the same floats; else only the order of this check.
        horizon: all words up to this length were run right; none if the search is not about this type.
        counterexample: a shortest wrong word with the state it gives, if there is one.
    """

    every_length: bool
    vectors: int
    margin: float
    any_order: bool
    horizon: int | None
    counterexample: tuple[tuple[int, ...], int] | None

    def to_json(self, automaton: Semiautomaton) -> dict[str, Any]:
        """Plain data with names."""
        wrong = None
        if self.counterexample is not None:
            word, got = self.counterexample
            wrong = {
                "letters": [automaton.letter_names[letter] for letter in word],
                "got": automaton.state_names[got],
                "expected": automaton.state_names[automaton.run(word)[-1]],
            }
        return {
            "certified": self.every_length,
            "every_length": self.every_length,
            "vectors": self.vectors,
            "margin": self.margin,
            "any_order": self.any_order,
            "horizon": self.horizon,
            "counterexample": wrong,
        }


BITS = {"float32": 24, "bfloat16": 8}
"""Significant bits of the formats in which proofs are made."""


def close(cell: Cell, automaton: Semiautomaton, limit: int = MAX_VECTORS, dtype: str = "float32") -> Closure:
    """Searches until nothing new appears, something is wrong, or more than ``limit`` pairs are reached.

    In bfloat16 nothing may be rounded: then the floats are those of float32, which the search computes.
    """
    bits = BITS[dtype]
    cell = replace(
        cell, sums=Sums(bits=bits, settled=all(_fits(part, bits) for part in cell.tensors.values()))
    )
    sizes = (cell.num_letters, cell.num_states)
    if sizes != (automaton.num_letters, automaton.num_states):
        raise InvalidInput(
            f"the network must have the automaton's {automaton.num_letters} letters and "
            f"{automaton.num_states} states; it has {sizes[0]} and {sizes[1]}"
        )
    states = np.zeros((1, cell.size), dtype=np.float32)
    truth = np.array([automaton.start])
    words: list[tuple[int, ...]] = [()]
    seen = {(states[0].tobytes(), automaton.start)}
    margin, length = np.inf, 0
    while len(words):
        fresh: list[tuple[npt.NDArray[np.float32], int, tuple[int, ...]]] = []
        for letter in range(automaton.num_letters):
            right = automaton.table[truth, letter]
            with np.errstate(all="ignore"):  # what is infinite or no number never leads
                after, logits = cell.answer(states, letter)
                after = after + np.float32(0)
                lead, got = _lead(logits, right)
            if dtype != "float32" and not cell.sums.settled:  # the type reaches other floats than these
                return Closure(False, len(seen), 0.0, False, None, None)
            if not (lead > 0).all():
                wrong = int(np.flatnonzero(~(lead > 0))[0])
                word = (*words[wrong], letter)
                return Closure(False, len(seen), float(lead[wrong]), False, length, (word, int(got[wrong])))
            margin = min(margin, float(lead.min()))
            for index, (vector, state) in enumerate(zip(after, right.tolist(), strict=True)):
                if (vector.tobytes(), state) not in seen:
                    seen.add((vector.tobytes(), state))
                    fresh.append((vector, state, (*words[index], letter)))
        length += 1
        if len(seen) > limit:
            return Closure(False, len(seen), margin, False, length, None)
        states = np.array([vector for vector, _, _ in fresh], dtype=np.float32).reshape(-1, cell.size)
        truth = np.array([state for _, state, _ in fresh], dtype=np.int64)
        words = [word for _, _, word in fresh]
    return Closure(True, len(seen), margin, cell.sums.settled, None, None)


def _fits(numbers: npt.NDArray[np.float32], bits: int) -> bool:
    """Whether no number has more significant bits."""
    wide = numbers.astype(np.float64)
    return bool((np.abs(wide) <= grain_of(wide[..., None], -1) * 2.0**bits).all())


def _lead(
    logits: npt.NDArray[np.float32], right: npt.NDArray[np.integer[Any]]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """How far the right logit is ahead of all others, and which one is largest; NaN never leads."""
    rows = np.arange(len(logits))
    others = logits.astype(np.float64)
    own = others[rows, right].copy()
    others[rows, right] = -np.inf
    rival = others.max(axis=1) if logits.shape[1] > 1 else np.full(len(logits), -np.inf)
    got = np.where(own > rival, right, others.argmax(axis=1))
    return own - rival, got
