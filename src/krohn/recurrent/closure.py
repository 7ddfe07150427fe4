"""Searches for a proof for words of every length (``check.closure``), or for a counterexample."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.certify.certificate import Counterexample, SecondOpinion
from krohn.certify.proof import checkable_table
from krohn.certify.search import all_words, first_wrong
from krohn.check import closure
from krohn.check.cells import Cell
from krohn.check.chunks import same_in_chunks
from krohn.check.closure import MAX_PAIRS, WORK
from krohn.check.recurrent_rules import DTYPES as DTYPES
from krohn.check.sums import ANY, CHUNKS, LEFT
from krohn.check.verdict import Budget, Refused
from krohn.errors import InvalidInput
from krohn.recurrent.recurrent_network import states_of

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
        counterexample: a wrong word, if known; confirmed by a run.
        chunked: whether the chunked form gives the same floats; ``None`` if there is no such form.
        reason: why there is no proof.
        searched: what the checker's search went through, which is the proof.
    """

    every_length: bool
    layers: tuple[int, ...]
    margin: float
    order: str
    horizon: int | None = None
    counterexample: Counterexample | None = None
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

    def to_json(self) -> dict[str, Any]:
        """What it adds to a verdict."""
        return {
            "vectors": self.vectors,
            "vectors_by_layer": list(self.layers),
            "order": self.order,
            "any_order": self.any_order,
            "chunked": self.chunked,
            "horizon": self.horizon,
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
    return replace(result, counterexample=run_all(cell, automaton)[1])


def _searched(cell: Cell, automaton: Semiautomaton, limit: int, dtype: str, order: str) -> Closure:
    """The search in one summation order; a word it cannot prove is run, as it may be a counterexample."""
    try:
        with np.errstate(all="ignore"):
            result = closure.close(cell, checkable_table(automaton), dtype, order, limit, budget=Budget(WORK))
    except Refused as refusal:
        return Closure(False, (), 0.0, order, reason=str(refusal))
    built = Closure(result.proved, result.layers, result.margin, order, result.horizon, searched=result)
    if result.proved:
        chunked = order == ANY and same_in_chunks(cell, result.notes) if CHUNKS in cell.orders else None
        return replace(built, horizon=None, order=CHUNKS if chunked else order, chunked=chunked)
    if result.doubt is None:
        return replace(built, reason=f"more than {built.vectors - 1:,} vectors are reached")
    got, wanted = int(states_of(cell, np.array([result.doubt]))[0, -1]), int(automaton.run(result.doubt)[-1])
    wrong = Counterexample(result.doubt, wanted, got) if got != wanted else None
    return replace(built, counterexample=wrong, reason="the right logit does not lead after some word")


def run_all(
    cell: Cell, automaton: Semiautomaton, most: int = SHORT_WORDS
) -> tuple[SecondOpinion, Counterexample | None]:
    """Runs all words of the largest length with at most ``most`` words (length 1 at least)."""
    letters, length = automaton.num_letters, 1
    while letters > 1 and letters ** (length + 1) <= most:
        length += 1
    words = all_words(letters, length)
    first, wrong = first_wrong(partial(states_of, cell), automaton, words)
    return SecondOpinion(length, len(words), wrong), first
