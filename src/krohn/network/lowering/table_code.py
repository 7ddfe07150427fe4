"""The linear code y = Σ cᵢ·vᵢ by which a table of several inputs becomes a staircase of one.

A code must separate rows with different outputs; rows that cannot occur are don't-cares. Among mixed
radix codes in every order and codes with small coefficients, the one with the fewest steps is taken.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, permutations, product

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]

MAX_CODE_ENTRIES = 400_000
MAX_ORDERS = 120


@dataclass(frozen=True, eq=False)
class TableCode:
    """``coefficients`` per input, the distinct codes in order, and the outputs at each."""

    coefficients: tuple[int, ...]
    points: Integers
    values: Integers

    @property
    def steps(self) -> int:
        """Changes of value along the line."""
        return int((np.diff(self.values, axis=0) != 0).any(axis=1).sum())


def best_code(given: Integers, results: Integers, inexact: Sequence[bool] = ()) -> TableCode:
    """The code with the fewest steps for rows ``given[row, input] → results[row, output]``.

    Tie-breaker: the smallest coefficients, which amplify errors least. Where some inputs are ``inexact``, the
    code that amplifies their errors least comes first.
    """
    candidates = _candidates(given)[: max(1, MAX_CODE_ENTRIES // len(given))]
    steps = _steps(candidates, given, results)
    sizes = np.abs(candidates)
    amplified = np.where(
        steps < np.iinfo(np.int64).max,
        sizes @ np.array(inexact or [False] * sizes.shape[1]),
        np.iinfo(np.int64).max,
    )
    best = candidates[np.lexsort((sizes.max(axis=1), steps, amplified))[0]]
    codes = given @ best
    points, first = np.unique(codes, return_index=True)
    return TableCode(tuple(best.tolist()), points, results[first])


def _steps(candidates: Integers, given: Integers, results: Integers) -> Integers:
    """Steps of each candidate; infinitely many where rows with different outputs have one code."""
    _, label = np.unique(results, axis=0, return_inverse=True)
    codes = candidates @ given.T
    order = np.argsort(codes, axis=1, kind="stable")
    same = np.diff(np.take_along_axis(codes, order, axis=1), axis=1) == 0
    changes = np.diff(label.reshape(-1)[order], axis=1) != 0
    steps: Integers = changes.sum(axis=1)
    steps[(same & changes).any(axis=1)] = np.iinfo(np.int64).max
    return steps


def _candidates(given: Integers) -> Integers:
    """Mixed radix codes in every order first (one of them always separates), then small coefficients."""
    spans = given.max(axis=0) - given.min(axis=0) + 1
    count = len(spans)
    result = []
    for order in islice(permutations(range(count)), MAX_ORDERS):
        coefficients, radix = [0] * count, 1
        for index in order:
            coefficients[index] = radix
            radix *= int(spans[index])
        result.append(tuple(coefficients))
    reach = {1: 1, 2: 8, 3: 4, 4: 2}.get(count, 1)
    if count <= 6:
        # Of a code and its negative, the one whose first coefficient is positive: the greater of two tuples.
        result += [c for c in product(range(-reach, reach + 1), repeat=count) if c > (0,) * count]
    return np.array(list(dict.fromkeys(result)), dtype=np.int64)
