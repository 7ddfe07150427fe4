"""Which comparison bits can occur in Theorem 3: the rows of variant (ii).

Looking back from t, the visited sums around z_t form an interval that grows by one on the left or on the
right at a time. So the ages are an interleaving of the left and the right sums; a side may end early (never
visited), but not both, because the padding visited S + 1 sums.
"""

import itertools
from collections.abc import Sequence
from functools import lru_cache


@lru_cache(maxsize=32)
def attainable_features(
    walls: int, comparisons: tuple[tuple[int, int], ...]
) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]:
    """Distinct bit vectors over all interleavings, and the state each belongs to."""
    found: dict[tuple[int, ...], int] = {}
    for left in range(walls + 1):
        for right in range(walls - left, walls + 1):
            for chosen in itertools.combinations(range(left + right), left):
                ages = interleaved_ages(walls, left, right, chosen)
                bits = tuple(int(ages[a] > ages[b]) for a, b in comparisons)
                state = state_from_ages(walls, left, right, ages)
                assert found.setdefault(bits, state) == state, "features must decide the state"
    rows = tuple(sorted(found))
    return rows, tuple(found[row] for row in rows)


def interleaved_ages(walls: int, left: int, right: int, chosen: Sequence[int]) -> list[int]:
    """Ages of the heads 0 … 2S: 0 in the middle, growing outwards, an unmatched head repeating its
    neighbour.
    """
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
