"""The proof for words of every length: all float vectors that any word reaches, layer by layer, each decoded.

A layer is searched breadth first over pairs (state of the machine of the layers above, its own vector), under
every letter. If no new pair appears, the layers so far are a finite machine from letters to what they hand
on, bit for bit. States of it that hand on the same for ever are merged: what no later layer sees is
forgotten. The last machine gives logits, and is run beside the automaton: nothing about the construction is
assumed, and a wrong answer comes with a shortest wrong word. Zero has no sign.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import InvalidInput
from krohn.recurrent.cells import Cell, Floats, Stage, Sums, grain_of
from krohn.recurrent.chunks import same_in_chunks

MAX_VECTORS = 200_000
MAX_LEVELS = 2_000
"""Letters of the longest words that the search of a layer goes through."""
Integers = npt.NDArray[np.int64]
UNKNOWN = -1
"""A state of a machine that was not searched any more."""
MAX_ROUNDS = 300
"""Rounds of telling states apart; a machine that takes more is kept as it is."""


@dataclass(frozen=True)
class Closure:
    """What the search found.

    Attributes:
        every_length: proved for words of every length.
        layers: pairs of a state of the layers above and a vector that were reached, for each layer.
        margin: the least lead of the right logit.
        any_order: whether each order of adding gives the same floats; else only the order of this check.
        chunked: whether the chunked form gives the same floats, too; none if there is no such form.
        horizon: all words up to this length were run right; none if the search is not about this type.
        counterexample: a shortest wrong word with the state it gives, if there is one.
    """

    every_length: bool
    layers: tuple[int, ...]
    margin: float
    any_order: bool
    horizon: int | None
    counterexample: tuple[tuple[int, ...], int] | None
    chunked: bool | None = None

    @property
    def vectors(self) -> int:
        """Pairs of all layers."""
        return sum(self.layers)

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
            "vectors_by_layer": list(self.layers),
            "margin": self.margin,
            "any_order": self.any_order,
            "chunked": self.chunked,
            "horizon": self.horizon,
            "counterexample": wrong,
        }


BITS = {"float32": 24, "bfloat16": 8}
"""Significant bits of the formats in which proofs are made."""


def close(cell: Cell, automaton: Semiautomaton, limit: int = MAX_VECTORS, dtype: str = "float32") -> Closure:
    """Searches each layer until nothing new appears or more than ``limit`` pairs are reached.

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
    machine, stages, layers = letters_of(cell), cell.stages(), list[int]()

    def rounds() -> bool:  # then the type reaches other floats than these
        return dtype != "float32" and not cell.sums.settled

    for stage in stages:
        machine = behind(machine, stage, limit, rounds)
        layers.append(machine.reached)
        if rounds():
            return Closure(False, tuple(layers), 0.0, False, None, None)
        machine = machine.forgetting() if stage is not stages[-1] else machine
    found = _compared(machine, automaton, tuple(layers), any_order=cell.sums.settled)
    return replace(found, chunked=same_in_chunks(cell, cell.sums)) if found.every_length else found


@dataclass(frozen=True)
class Machine:
    """From letters to vectors: ``follow[s, a]`` is the next state, ``vectors[given[s, a]]`` is handed on.

    It starts in state 0; ``reached`` counts pairs, those that were not searched any more included.
    """

    follow: Integers
    given: Integers
    vectors: Floats
    reached: int

    def forgetting(self) -> "Machine":
        """The same from letters to vectors, with states merged that hand on the same for ever."""
        classes, count = _numbered(self.given)
        for _ in range(MAX_ROUNDS):
            known = np.where(self.follow == UNKNOWN, UNKNOWN, classes[self.follow])
            finer, more = _numbered(np.column_stack([classes, known]))
            if more == count:
                _, first = np.unique(classes, return_index=True)
                return replace(self, follow=known[first], given=self.given[first])
            classes, count = finer, more
        return self


def _numbered(rows: Integers) -> tuple[Integers, int]:
    """Equal rows by one number each, the first row's is 0; and how many there are."""
    _, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    order = np.empty(len(first), dtype=np.int64)
    order[np.argsort(first)] = np.arange(len(first))
    return order[inverse.reshape(-1)], len(first)


def letters_of(cell: Cell) -> Machine:
    """The machine before the first layer: a letter hands on its own numbers."""
    count = cell.num_letters
    return Machine(np.zeros((1, count), np.int64), np.arange(count)[None], cell.letters(), 1)


def behind(machine: Machine, stage: Stage, limit: int, hopeless: Callable[[], bool]) -> Machine:
    """The machine with one more layer: breadth first over its states and the layer's vectors."""
    pairs, handed = _Numbers(), _Numbers()
    states, carried = np.zeros(1, np.int64), np.zeros((1, stage.size), np.float32)
    pairs.of(states, carried)
    follow: list[Integers] = []
    given: list[Integers] = []
    while len(states) and len(pairs) <= limit and len(follow) < MAX_LEVELS:
        columns, outs, origins, fresh = [], [], [], []
        for letter in range(machine.follow.shape[1]):
            with np.errstate(all="ignore"):  # what is infinite or no number never leads
                after, out = stage.step(machine.vectors[machine.given[states, letter]], carried)
                after, out = after + np.float32(0), out + np.float32(0)
            target, before = machine.follow[states, letter], len(pairs)
            columns.append(pairs.of(target, after))
            outs.append(handed.of(np.zeros(len(out), np.int64), out))
            found, places = np.unique(columns[-1], return_index=True)
            new = places[found >= before]
            origins.append(target[new])
            fresh.append(after[new])
        follow.append(np.stack(columns, axis=1))
        given.append(np.stack(outs, axis=1))
        states, carried = np.concatenate(origins), np.concatenate(fresh)
        if hopeless():
            break
    ways = np.concatenate(follow)
    ways = np.where(ways < len(ways), ways, UNKNOWN)  # pairs behind the last level have no row
    return Machine(ways, np.concatenate(given), handed.rows(), len(pairs))


class _Numbers:
    """Pairs of a state and a vector, numbered as they come."""

    def __init__(self) -> None:
        self._number: dict[tuple[int, bytes], int] = {}

    def __len__(self) -> int:
        return len(self._number)

    def of(self, states: Integers, vectors: Floats) -> Integers:
        """The number of each pair; unknown if the state is."""
        found = [
            UNKNOWN
            if state == UNKNOWN
            else self._number.setdefault((state, row.tobytes()), len(self._number))
            for state, row in zip(states.tolist(), vectors, strict=True)
        ]
        return np.array(found, dtype=np.int64)

    def rows(self) -> Floats:
        """The vectors in the order of their numbers."""
        rows = [np.frombuffer(row, np.float32) for _, row in self._number]
        return np.array(rows, dtype=np.float32)


def _compared(
    machine: Machine, automaton: Semiautomaton, layers: tuple[int, ...], *, any_order: bool
) -> Closure:
    """Runs the whole network's machine beside the automaton, breadth first, and decodes every answer."""
    came: dict[tuple[int, int], tuple[tuple[int, int], int] | None] = {(0, automaton.start): None}
    front, margin, length = [(0, automaton.start)], np.inf, 0
    while front:
        states, truth = np.array(front).T
        after: list[tuple[int, int]] = []
        for letter in range(automaton.num_letters):
            right = automaton.table[truth, letter]
            with np.errstate(all="ignore"):
                lead, got = _lead(machine.vectors[machine.given[states, letter]], right)
            if not (lead > 0).all():
                wrong = int(np.flatnonzero(~(lead > 0))[0])
                word = (*_way(came, front[wrong]), letter)
                return Closure(False, layers, float(lead[wrong]), False, length, (word, int(got[wrong])))
            margin = min(margin, float(lead.min()))
            for pair, target in zip(
                front, zip(machine.follow[states, letter].tolist(), right.tolist(), strict=True), strict=True
            ):
                if target not in came:
                    came[target] = (pair, letter)
                    after.append(target)
        length += 1
        if any(state == UNKNOWN for state, _ in after):
            return Closure(False, layers, margin, False, length, None)
        front = after
    return Closure(True, layers, margin, any_order, None, None)


def _way(
    came: dict[tuple[int, int], tuple[tuple[int, int], int] | None], pair: tuple[int, int]
) -> tuple[int, ...]:
    """The letters by which a pair was first reached."""
    word: list[int] = []
    while (step := came[pair]) is not None:
        pair, letter = step
        word.append(letter)
    return tuple(reversed(word))


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
