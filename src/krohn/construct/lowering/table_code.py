"""The linear code y = Σ cᵢ·vᵢ by which a table of several inputs becomes a staircase of one.

A code must separate rows with different outputs; rows that cannot occur are don't-cares. Among mixed
radix codes in every order and codes with small coefficients, the one with the fewest steps is taken.
"""

from dataclasses import dataclass
from itertools import islice, permutations, product

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]

MAX_ENTRIES = 400_000
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


def best_code(given: Integers, results: Integers) -> TableCode:
    """The code with the fewest steps for rows ``given[row, input] → results[row, output]``.

    Among equals the one with the smallest coefficients: it amplifies errors least.
    """
    candidates = _candidates(given)[: max(1, MAX_ENTRIES // len(given))]
    steps = _steps(candidates, given, results)
    sizes = np.abs(candidates).max(axis=1)
    best = candidates[np.lexsort((sizes, steps))[0]]
    codes = given @ best
    points, first = np.unique(codes, return_index=True)
    return TableCode(tuple(best.tolist()), points, results[first])


def _steps(candidates: Integers, given: Integers, results: Integers) -> Integers:
    """Steps of each candidate; infinitely many where rows with different outputs have one code."""
    _, label = np.unique(results, axis=0, return_inverse=True)
    codes = given @ candidates.T
    order = np.argsort(codes, axis=0, kind="stable")
    same = np.diff(np.take_along_axis(codes, order, axis=0), axis=0) == 0
    changes = np.diff(label.reshape(-1)[order], axis=0) != 0
    steps: Integers = changes.sum(axis=0)
    steps[(same & changes).any(axis=0)] = np.iinfo(np.int64).max
    return steps


def _candidates(given: Integers) -> Integers:
    """Mixed radix codes in every order first (one of them always separates), then small coefficients."""
    spans = given.max(axis=0) - given.min(axis=0) + 1
    count = len(spans)
    found = []
    for order in islice(permutations(range(count)), MAX_ORDERS):
        coefficients, radix = [0] * count, 1
        for index in order:
            coefficients[index] = radix
            radix *= int(spans[index])
        found.append(tuple(coefficients))
    reach = {1: 1, 2: 8, 3: 4, 4: 2}.get(count, 1)
    if count <= 6:
        found += [c for c in product(range(-reach, reach + 1), repeat=count) if any(c) and _leading(c) > 0]
    return np.array(list(dict.fromkeys(found)), dtype=np.int64)


def _leading(coefficients: tuple[int, ...]) -> int:
    return next(c for c in coefficients if c)
