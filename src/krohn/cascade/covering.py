"""The exact proof that a cascade covers its automaton: for every chain, every state and every letter.

For one letter a, a pair (P, P′) stands for all pairs of chains that agree with it so far: P is the set
reached in the chain before the letter, P′ in the chain after it. From (Q, Q) the check follows every
choice of tile in P and what the cascade answers in P′, from the top level down, until P′ is a single state
{q′}; then P·a = {q′} must hold, and so for every q of P. The pairs are finitely many, each is visited once,
so the answer is exact: a chain of either side is a path of pairs.
P·a ⊆ P′ is checked on the way, for a fault as high up as possible: tiles only shrink, so a state
outside stays outside.

Nothing here is shared with the builder: images are recomputed from the transition table, and the
dependency function is only called.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from krohn.base.portable import Budget, BudgetSpent, unlimited
from krohn.cascade.skeleton import Skeleton
from krohn.errors import LimitExceeded

MAX_PAIRS = 20_000_000
PAIR_COST = 5  # units of work per pair

Pair = tuple[int, int]


class CascadeLike(Protocol):
    """What the check needs: sets with tiles and depths, and the dependency function under test."""

    @property
    def skeleton(self) -> Skeleton:
        """The image sets, their tiles and levels."""

    def update(self, source: int, letter: int, target: int) -> int | tuple[int, ...]:
        """A reset to a tile, or a permutation of tiles."""


@dataclass(frozen=True, slots=True)
class CoveringReport:
    """What the check found.

    Attributes:
        holds: whether the cascade covers the automaton.
        num_pairs: how many (source set, target set, letter) triples were examined.
        fault: the first error, in words; empty when the covering holds.
        reset_sets: the target sets that some letter resets, over all chains.
    """

    holds: bool
    num_pairs: int
    fault: str = ""
    reset_sets: frozenset[int] = frozenset()


def check_covering(
    cascade: CascadeLike, *, max_pairs: int = MAX_PAIRS, budget: Budget | None = None
) -> CoveringReport:
    """Examines every triple; reports the first fault."""
    budget = unlimited() if budget is None else budget
    allowed = budget.pieces(PAIR_COST, max_pairs)
    try:
        report = _examine(cascade, allowed)
    except LimitExceeded:
        if allowed == max_pairs:
            raise
        budget.spend(allowed * PAIR_COST)
        raise BudgetSpent("the covering check takes more work than is left; raise --effort") from None
    budget.spend(min(report.num_pairs, allowed) * PAIR_COST)
    return report


def _examine(cascade: CascadeLike, max_pairs: int) -> CoveringReport:
    frame = cascade.skeleton
    fault = _chain_fault(frame)
    if fault:
        return CoveringReport(False, 0, fault)
    upwards = sorted(range(frame.num_sets), key=frame.depth.__getitem__, reverse=True)
    valid: set[tuple[int, ...]] = set()
    reset: set[int] = set()
    count = 0
    for letter in range(frame.automaton.num_letters):
        walk = _LetterWalk(cascade, letter, valid, reset)
        walk.find_images(upwards)
        fault = walk.first_fault(max_pairs - count)
        count += walk.num_pairs
        if fault:
            break
    return CoveringReport(not fault, count, fault, frozenset(reset))


def _chain_fault(frame: Skeleton) -> str:
    """Every chain must end, every state must be the end of one, and tiles must be deeper than their set."""
    masks, depth = frame.masks, frame.depth
    if masks[0] != (1 << frame.automaton.num_states) - 1:
        return "set 0 is not the set of all states"
    for number, tiles in enumerate(frame.tiles):
        mask, union = masks[number], 0
        if not tiles:
            if mask & (mask - 1) or not mask:
                return f"set {number} has {mask.bit_count()} states and no tile"
            continue
        for tile in tiles:
            union |= masks[tile]
            if depth[tile] <= depth[number]:
                return f"tile {tile} of set {number} is not deeper than its set"
        if union != mask:
            return f"the tiles of set {number} do not cover exactly its states"
    return ""


class _LetterWalk:
    """The walk over pairs for one letter."""

    def __init__(
        self, cascade: CascadeLike, letter: int, valid: set[tuple[int, ...]], reset: set[int]
    ) -> None:
        self.cascade, self.frame, self.letter = cascade, cascade.skeleton, letter
        self.valid = valid  # the permutations seen so far, of any degree
        self.reset = reset  # the sets that were the target of a reset so far
        self.images = [0] * self.frame.num_sets
        self.num_pairs = 0

    def find_images(self, upwards: Sequence[int]) -> None:
        """Masks of P·a from the transition table: of states first, then of unions of tiles."""
        frame, images = self.frame, self.images
        column = frame.automaton.letters[self.letter]
        masks, all_tiles = frame.masks, frame.tiles
        for number in upwards:
            tiles = all_tiles[number]
            if not tiles:
                images[number] = 1 << column[masks[number].bit_length() - 1]
                continue
            image = 0
            for tile in tiles:
                image |= images[tile]
            images[number] = image

    def first_fault(self, max_pairs: int) -> str:
        """The first pair at which the cascade and the automaton disagree, in words."""
        masks, tiles, images = self.frame.masks, self.frame.tiles, self.images
        depth = self.frame.depth
        update, letter = self.cascade.update, self.letter
        queue: list[Pair] = [(0, 0)]
        seen = {(0, 0)}
        for source, target in queue:
            goal = masks[target]
            if images[source] | goal != goal:
                return self._escape(source, target)
            outer = tiles[target]
            if not outer:
                continue  # P·a = {q′}: every state of P goes there, along any chain
            inner = tiles[source]
            below: Iterable[Pair] | str
            if inner and depth[source] < depth[target]:
                below = [(tile, target) for tile in inner]
            else:
                below = self._below(source, target, update(source, letter, target))
                if isinstance(below, str):
                    return below
            for following in below:
                if following not in seen:
                    seen.add(following)
                    queue.append(following)
            if len(seen) > max_pairs:
                raise LimitExceeded(
                    f"the covering check must examine at most {MAX_PAIRS} pairs of sets; more were reached; "
                    "lower --effort (effort= in Python) or reduce the automaton"
                )
        self.num_pairs = len(seen)
        return ""

    def _below(self, source: int, target: int, change: int | tuple[int, ...]) -> Iterable[Pair] | str:
        """The pairs after what the cascade answered, a reset or a permutation, or what is wrong with it."""
        inner, goal = self.frame.tiles[source], self.frame.tiles[target]
        if isinstance(change, int):
            if not 0 <= change < len(goal):
                return f"{self._at(source, target)}: reset to tile {change} of {len(goal)}"
            self.reset.add(target)
            return ((source, goal[change]),)
        if self.frame.depth[source] != self.frame.depth[target]:
            return f"{self._at(source, target)}: a permutation of a coordinate that is inactive before"
        known = change in self.valid or sorted(change) == list(range(len(change)))
        if not (known and len(change) == len(inner) == len(goal)):
            return f"{self._at(source, target)}: {change} is not a permutation of the tiles"
        self.valid.add(change)
        return zip(inner, map(goal.__getitem__, change), strict=True)

    def _at(self, source: int, target: int) -> str:
        name = self.frame.automaton.letter_names[self.letter]
        return f"letter {name}, source set {source}, target set {target}"

    def _escape(self, source: int, target: int) -> str:
        automaton = self.frame.automaton
        goal = self.frame.states(target)
        state = next(
            state for state in self.frame.states(source) if automaton.step(state, self.letter) not in goal
        )
        names = automaton.state_names
        after = names[automaton.step(state, self.letter)]
        return (
            f"{self._at(source, target)}: state {names[state]} goes to {after}, which is not in the target "
            f"set {{{', '.join(names[inner] for inner in goal)}}}"
        )
