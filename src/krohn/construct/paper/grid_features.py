"""Which comparison bits can occur in Theorem 3: the rows of variant (ii).

Looking back from t, the visited sums around z_t form an interval that grows by one on the left or on the
right at a time. So the ages are an interleaving of the left and the right sums; a side may end early (never
visited), but not both, because the padding visited S + 1 sums.

The bits compare left sum a with right sum b for a + b = S and S + 1 only, and an unmatched head repeats its
inner neighbour. So they depend on the first S steps back through their number of lefts and the length of
the last run, and on how many sums are visited on each side: O(S⁴) interleavings stand for all C(2S, S).
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache

Interleaving = tuple[int, int, tuple[int, ...]]
"""Visited sums on the left, on the right (at most S each), and which steps back were left."""


@lru_cache(maxsize=32)
def attainable_features(
    walls: int, comparisons: tuple[tuple[int, int], ...]
) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]:
    """Distinct bit vectors over all interleavings, and the state each belongs to."""
    found: dict[tuple[int, ...], int] = {}
    for left, right, chosen in representative_interleavings(walls):
        ages = interleaved_ages(walls, left, right, chosen)
        bits = tuple(int(ages[a] > ages[b]) for a, b in comparisons)
        state = state_from_ages(walls, left, right, ages)
        assert found.setdefault(bits, state) == state, "features must decide the state"
    rows = tuple(sorted(found))
    return rows, tuple(found[row] for row in rows)


def representative_interleavings(walls: int) -> Iterator[Interleaving]:
    """One for every value of (lefts in the first S steps, last run, sums visited on each side)."""
    for lefts in range(walls + 1):
        for steps in set(_first_steps(lefts, walls - lefts)):
            for left in range(lefts, walls + 1):
                for right in range(walls - lefts, walls + 1):
                    whole = steps + "L" * (left - lefts)
                    yield left, right, tuple(i for i, side in enumerate(whole) if side == "L")


def _first_steps(lefts: int, rights: int) -> Iterator[str]:
    """Words with these numbers of L and R, one for every kind and length of the last run."""
    for run in range(1, rights + 1):
        if lefts or run == rights:
            yield "R" * (rights - run) + "L" * lefts + "R" * run
    for run in range(1, lefts + 1):
        if rights or run == lefts:
            yield "L" * (lefts - run) + "R" * rights + "L" * run


def interleaved_ages(walls: int, left: int, right: int, chosen: Sequence[int]) -> list[int]:
    """Ages of heads 0 … 2S: 0 in the middle, growing outwards, an unmatched head repeating its neighbour."""
    lefts = sorted(chosen)
    rights = [turn for turn in range(left + right) if turn not in set(chosen)]
    outward = [[0, *(turn + 1 for turn in side)] for side in (lefts, rights)]
    padded = [side + [side[-1]] * (walls + 1 - len(side)) for side in outward]
    return padded[0][::-1] + padded[1][1:]


def state_from_ages(walls: int, left: int, right: int, ages: Sequence[int]) -> int:
    """S − #{s : head s−1 is older than head s+S}, an unmatched head being older than any."""
    oldest = len(ages)
    final = [age + (oldest if walls - s > left or s - walls > right else 0) for s, age in enumerate(ages)]
    return walls - sum(final[s - 1] > final[s + walls] for s in range(1, walls + 1))
