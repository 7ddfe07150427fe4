"""Searches for a proof for words of every length (``check.closure``), or for a counterexample."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.automata.semiautomaton import Semiautomaton
from krohn.check import closure
from krohn.check.cells import Cell
from krohn.check.chunks import same_in_chunks
from krohn.check.closure import MAX_PAIRS, WORK
from krohn.check.reader import Automaton
from krohn.check.recurrent_rules import DTYPES as DTYPES
from krohn.check.sums import ANY, CHUNKS, LEFT
from krohn.check.verdict import Budget, Refused
from krohn.errors import InvalidInput
from krohn.nearest_float import stated
from krohn.recurrent.running import states_of

SHORT_WORDS = 5_000
"""Words to run if a proof is refused."""
LEFT_PAIRS = 1_000
"""Limit on the pairs of a layer for sums from left to right. Such closures in the zoo have at most 193; a
network that reaches more keeps rounding to new values, and only balls can prove it."""


@dataclass(frozen=True)
class Closure:
    """What the search found.

    Attributes:
        every_length: proved for words of every length.
        layers: for each layer, the reached pairs of a state of the layers above and a box.
        margin: the least lead of the right logit.
        order: the summation order for which it holds.
        horizon: all words up to this length are right in that order; ``None`` if nothing was searched.
        counterexample: a wrong word with the state it gives, if known; confirmed by a run.
        chunked: whether the chunked form gives the same floats; ``None`` if there is no such form.
        reason: why there is no proof.
        searched: what the checker's search went through, which is the proof.
    """

    every_length: bool
    layers: tuple[int, ...]
    margin: float
    order: str
    horizon: int | None = None
    counterexample: tuple[tuple[int, ...], int] | None = None
    chunked: bool | None = None
    reason: str = ""
    searched: closure.Closure | None = None

    @property
    def vectors(self) -> int:
        """Pairs of all layers."""
        return sum(self.layers)

    @property
    def any_order(self) -> bool:
        """Whether it is proved for every summation order."""
        return self.every_length and self.order != LEFT

    def to_json(self, automaton: Semiautomaton) -> dict[str, Any]:
        """Plain data with names."""
        wrong = None
        if self.counterexample is not None:
            word, got = self.counterexample
            wrong = {
                "letters": [automaton.letter_names[letter] for letter in word],
                "got": automaton.state_names[got] if got >= 0 else "no number",
                "expected": automaton.state_names[automaton.run(word)[-1]],
            }
        return {
            "certified": self.every_length,
            "every_length": self.every_length,
            "vectors": self.vectors,
            "vectors_by_layer": list(self.layers),
            "margin": stated(self.margin),
            "order": self.order,
            "any_order": self.any_order,
            "chunked": self.chunked,
            "horizon": self.horizon,
            "reason": self.reason or None,
            "counterexample": wrong,
        }


def close(cell: Cell, automaton: Semiautomaton, limit: int = MAX_PAIRS, dtype: str = "float32") -> Closure:
    """Tries sums in any order first, then, where rounding depends on it, from left to right."""
    sizes = (cell.num_letters, cell.num_states)
    if sizes != (automaton.num_letters, automaton.num_states):
        raise InvalidInput(
            f"the network must have the automaton's {automaton.num_letters} letters and "
            f"{automaton.num_states} states; it has {sizes[0]} and {sizes[1]}"
        )
    result = _searched(cell, automaton, limit, dtype, ANY)
    if not result.every_length and not result.layers and LEFT in cell.orders and dtype == "float32":
        result = _searched(cell, automaton, min(limit, LEFT_PAIRS), dtype, LEFT)
    if result.every_length or result.counterexample is not None:
        return result
    return replace(result, counterexample=shortest_wrong(cell, automaton))


def _searched(cell: Cell, automaton: Semiautomaton, limit: int, dtype: str, order: str) -> Closure:
    """The search in one summation order; a word it cannot prove is run, as it may be a counterexample."""
    try:
        with np.errstate(all="ignore"):
            result = closure.close(cell, checkable(automaton), dtype, order, limit, budget=Budget(WORK))
    except Refused as refusal:
        return Closure(False, (), 0.0, order, reason=str(refusal))
    built = Closure(result.proved, result.layers, result.margin, order, result.horizon, searched=result)
    if result.proved:
        chunked = order == ANY and same_in_chunks(cell, result.notes) if CHUNKS in cell.orders else None
        return replace(built, horizon=None, order=CHUNKS if chunked else order, chunked=chunked)
    if result.doubt is None:
        return replace(built, reason=f"more than {built.vectors - 1:,} vectors are reached")
    word = np.array([result.doubt])
    got, wanted = int(states_of(cell, word)[0, -1]), automaton.run(result.doubt)[-1]
    wrong = (result.doubt, got) if got != wanted else None
    return replace(built, counterexample=wrong, reason="the right logit does not lead after some word")


def checkable(automaton: Semiautomaton) -> Automaton:
    """The automaton as the checker reads it."""
    return Automaton(automaton.table.astype(np.int64), int(automaton.start), np.arange(automaton.num_states))


def shortest_wrong(
    cell: Cell, automaton: Semiautomaton, most: int = SHORT_WORDS
) -> tuple[tuple[int, ...], int] | None:
    """A shortest wrong word among all short ones, with the state it gives."""
    words, truth = all_words(automaton, most)
    got = states_of(cell, words)
    lengths, rows = np.nonzero((got != truth).T)
    if not len(lengths):
        return None
    end, row = int(lengths[0]) + 1, int(rows[0])
    return tuple(words[row, :end].tolist()), int(got[row, end - 1])


def all_words(automaton: Semiautomaton, most: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """All words of the largest length with at most ``most`` words (length 1 at least), and their states."""
    letters, length = automaton.num_letters, 1
    while letters > 1 and letters ** (length + 1) <= most:
        length += 1
    codes = np.arange(letters**length)
    words = codes[:, None] // letters ** np.arange(length)[::-1] % letters
    truth = np.empty_like(words)
    state = np.full(len(words), automaton.start)
    for t in range(length):
        state = truth[:, t] = automaton.table[state, words[:, t]]
    return words, truth
