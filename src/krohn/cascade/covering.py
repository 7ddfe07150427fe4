"""The exact proof that a cascade covers its automaton: for every chain, every state and every letter.

For one letter a, a pair (P, P′) stands for all pairs of chains that agree with it so far: P is the set
reached in the chain before the letter, P′ in the chain after it. From (Q, Q) the checker follows every
choice of tile in P and what the cascade answers in P′, always at the shallower of the two, until both
are single states; then {q}·a = {q′} must hold. The pairs are finitely many, each is visited once, so
the answer is exact: a chain of either side is a path of pairs. P·a ⊆ P′ is checked on the way, for a
witness as high up as possible.

Nothing here is shared with the builder: images are recomputed from the transition table, and the
dependency function is only called.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from krohn.cascade.skeleton import Skeleton
from krohn.errors import LimitExceeded

MAX_PAIRS = 20_000_000

Pair = tuple[int, int]


class CascadeLike(Protocol):
    """What the check needs: sets with tiles and depths, and the dependency function under test."""

    @property
    def skeleton(self) -> Skeleton:
        """The sets."""

    def update(self, source: int, letter: int, target: int) -> int | tuple[int, ...]:
        """A reset to a tile, or a permutation of tiles."""


@dataclass(frozen=True, slots=True)
class CoveringReport:
    """What the check found.

    Attributes:
        holds: whether the cascade covers the automaton.
        num_pairs: how many (source set, target set, letter) triples were examined.
        witness: the first thing that is wrong, in words; empty when the covering holds.
    """

    holds: bool
    num_pairs: int
    witness: str = ""


def check_covering(cascade: CascadeLike, *, max_pairs: int = MAX_PAIRS) -> CoveringReport:
    """Examines every triple and reports the first witness of a broken cascade."""
    fault = _chain_fault(cascade)
    count = 0
    letters = range(cascade.skeleton.automaton.num_letters) if not fault else ()
    for letter in letters:
        walk = _LetterWalk(cascade, letter, max_pairs - count)
        fault = walk.first_fault()
        count += walk.num_pairs
        if fault:
            break
    return CoveringReport(not fault, count, fault)


def _chain_fault(cascade: CascadeLike) -> str:
    """Every chain must end, and every state must be the end of one."""
    frame = cascade.skeleton
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
                return f"tile {tile} of set {number} is not deeper than it"
        if union != mask:
            return f"the tiles of set {number} do not cover exactly its states"
    return ""


class _LetterWalk:
    """The walk over pairs for one letter."""

    def __init__(self, cascade: CascadeLike, letter: int, max_pairs: int) -> None:
        frame = cascade.skeleton
        self.cascade = cascade
        self.letter = letter
        self.name = frame.automaton.letter_names[letter]
        self.masks, self.depth, self.tiles = frame.masks, frame.depth, frame.tiles
        self.bottom = frame.num_levels
        self.max_pairs = max_pairs
        self.num_pairs = 0
        column: Sequence[int] = frame.automaton.table[:, letter].tolist()
        self.images = self._images(column)

    def _images(self, column: Sequence[int]) -> list[int]:
        """Masks of P·a, state by state, from the transition table alone."""
        images = []
        for mask in self.masks:
            image = 0
            while mask:
                low = mask & -mask
                image |= 1 << column[low.bit_length() - 1]
                mask ^= low
            images.append(image)
        return images

    def first_fault(self) -> str:
        """The first pair at which the cascade and the automaton disagree, in words."""
        start = (0, 0)
        seen, queue = {start}, [start]
        masks, images, bottom, depth = self.masks, self.images, self.bottom, self.depth
        for pair in queue:
            source, target = pair
            if images[source] & ~masks[target]:
                return self._escape(pair)
            if depth[source] == bottom and depth[target] == bottom:
                continue
            below = self._below(source, target)
            if isinstance(below, str):
                return below
            for following in below:
                if following not in seen:
                    seen.add(following)
                    queue.append(following)
            if len(seen) > self.max_pairs:
                raise LimitExceeded(
                    f"the covering check must examine at most {MAX_PAIRS} pairs of sets; more were reached; "
                    "lower --max-sets (max_sets= in Python) or reduce the automaton"
                )
        self.num_pairs = len(seen)
        return ""

    def _below(self, source: int, target: int) -> Iterator[Pair] | list[Pair] | str:
        """The pairs one step further down, or what is wrong with the answer of the cascade."""
        tiles, depth = self.tiles, self.depth
        level = depth[target]
        if depth[source] < level:
            return [(tile, target) for tile in tiles[source]]
        change = self.cascade.update(source, self.letter, target)
        goal = tiles[target]
        if isinstance(change, int):
            if not 0 <= change < len(goal):
                return f"{self._at(source, target)}: reset to tile {change} of {len(goal)}"
            tile = goal[change]
            return [(source, tile)] if depth[source] > level else [(inner, tile) for inner in tiles[source]]
        if depth[source] > level:
            return f"{self._at(source, target)}: a permutation of a coordinate that is inactive before"
        if sorted(change) != list(range(len(goal))) or len(change) != len(tiles[source]):
            return f"{self._at(source, target)}: {change} is not a permutation of the tiles"
        return zip(tiles[source], [goal[value] for value in change], strict=True)

    def _at(self, source: int, target: int) -> str:
        return f"letter {self.name}, source set {source}, target set {target}"

    def _escape(self, pair: Pair) -> str:
        frame = self.cascade.skeleton
        outside = self.images[pair[0]] & ~self.masks[pair[1]]
        state = next(
            state
            for state in frame.states(pair[0])
            if outside >> frame.automaton.step(state, self.letter) & 1
        )
        names = frame.automaton.state_names
        after = names[frame.automaton.step(state, self.letter)]
        return (
            f"{self._at(*pair)}: state {names[state]} goes to {after}, which is not in the target set "
            f"{{{', '.join(names[inner] for inner in frame.states(pair[1]))}}}"
        )
