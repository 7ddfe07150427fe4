"""Generator sets of Sₙ and Aₙ: the common ones by name, and any list of permutations."""

import itertools
import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from krohn.automata.sizes import capped_factorial, check_size
from krohn.errors import InvalidInput, UnknownName

Permutation = tuple[int, ...]


def generator_set(group: str, n: int, letters: str) -> list[Permutation]:
    """The permutations that ``letters`` stands for: ``NAME``, ``NAME,COUNT``, or a list of permutations."""
    first, _, count = letters.partition(",")
    if first in _SETS:
        chosen = _SETS[first](group, n)
        if not count:
            return chosen
        if not count.isdecimal() or not 1 <= int(count[:9]) <= len(chosen):
            raise InvalidInput(
                f"the number of letters after {first!r} must lie in 1–{len(chosen)}; got {count!r}"
            )
        return chosen[: int(count)]
    chosen = [parse_permutation(item.strip(), n) for item in letters.split(",")]
    if len(set(chosen)) < len(chosen):
        raise InvalidInput(f"the permutations of a generator set must be distinct; got {letters!r}")
    even = even_rows(np.array(chosen)).tolist()
    if group == "A" and not all(even):
        odd = one_line(chosen[even.index(False)])
        raise InvalidInput(f"the letters of A{n} must be even permutations; {odd} is odd")
    return chosen


def parse_permutation(text: str, n: int) -> Permutation:
    """Reads ``12340`` (images of 0…n−1, n ≤ 10) or cycles such as ``(0 1)(2 3 4)``, 0-based."""
    if re.fullmatch(r"\d+", text) and n <= 10:
        image = tuple(map(int, text))
    elif re.fullmatch(r"(\(\s*\d{1,6}(\s+\d{1,6})*\s*\))+", text):
        image = _from_cycles(text, n)
    else:
        known = ", ".join(_SETS)
        raise UnknownName(
            f"letters must be one of {known}, or permutations such as 12340 or (0 1)(2 3); got {text!r}"
        )
    if sorted(image) != list(range(n)):
        raise InvalidInput(f"a permutation must move each of 0–{n - 1} to a place of its own; got {text!r}")
    return image


def _from_cycles(text: str, n: int) -> Permutation:
    image = list(range(n))
    for cycle in re.findall(r"\(([^)]*)\)", text):
        points = list(map(int, cycle.split()))
        if max(points) >= n or len(set(points)) < len(points):
            raise InvalidInput(f"a cycle must list distinct points of 0–{n - 1}; got ({cycle})")
        # Cycles multiply left to right: the map so far comes first, then this cycle.
        follow = dict(zip(points, [*points[1:], points[0]], strict=True))
        image = [follow.get(point, point) for point in image]
    return tuple(image)


def _shift(n: int) -> Permutation:
    return (*range(1, n), 0)


def _swap(n: int) -> Permutation:
    return (1, 0, *range(2, n)) if n > 1 else (0,)


def _three_cycle(n: int, i: int) -> Permutation:
    image = list(range(n))
    image[0], image[1], image[i] = 1, i, 0
    return tuple(image)


def _distinct(*permutations: Permutation) -> list[Permutation]:
    return list(dict.fromkeys(permutations))


def _first_nine(n: int) -> list[Permutation]:
    """Of Sₙ, in lexicographic order."""
    return list(itertools.islice(itertools.permutations(range(n)), 9))


def _beside_generators(n: int) -> list[Permutation]:
    """The first nine without the identity, the swap and the cycle."""
    return [p for p in _first_nine(n) if p not in (tuple(range(n)), _swap(n), _shift(n))]


def _minimal(group: str, n: int) -> list[Permutation]:
    if group == "A":
        return [_three_cycle(n, i) for i in range(2, n)]
    return _distinct(_swap(n), _shift(n))


def _paper(group: str, n: int) -> list[Permutation]:
    if group == "A":
        return _minimal(group, n)
    return _distinct(*_minimal("S", n), *_beside_generators(n)[:6])


def _release_2023(group: str, n: int) -> list[Permutation]:
    identity = tuple(range(n))
    if group == "A":
        return [identity, *_minimal(group, n)]
    # With more than three actions the released code overwrites the swap of the first two.
    return _distinct(identity, _shift(n), *_beside_generators(n))[:8]


def _repository_2026(group: str, n: int) -> list[Permutation]:
    identity = tuple(range(n))
    if group == "A":
        return [identity, *_minimal(group, n)]
    return _distinct(identity, _shift(n), _swap(n), *_first_nine(n))[:8]


def _adjacent(group: str, n: int) -> list[Permutation]:
    if group == "A":
        raise InvalidInput(
            f"swaps of neighbours are odd, so they cannot be letters of A{n}: use S{n}:adjacent"
        )
    swaps = [(*range(i), i + 1, i, *range(i + 2, n)) for i in range(n - 1)]
    return swaps or [(0,)]


def _all(group: str, n: int) -> list[Permutation]:
    order = capped_factorial(n)
    order = order // 2 if group == "A" else order
    check_size(f"{group}{n}:all", order, order)
    everyone = arrangements(n)
    return list(map(tuple, (everyone[even_rows(everyone)] if group == "A" else everyone).tolist()))


_SETS = {
    "paper": _paper,
    "minimal": _minimal,
    "release2023": _release_2023,
    "repo2026": _repository_2026,
    "all": _all,
    "adjacent": _adjacent,
}


def one_line(permutation: Sequence[int]) -> str:
    """The images of 0, 1, …, run together where each is one digit."""
    return ("" if len(permutation) <= 10 else ".").join(map(str, permutation))


def arrangements(n: int) -> npt.NDArray[np.int32]:
    """All n! arrangements, one per row, in lexicographic order."""
    images = itertools.chain.from_iterable(itertools.permutations(range(n)))
    return np.fromiter(images, np.int32).reshape(-1, n)


def even_rows(rows: npt.NDArray[np.integer]) -> npt.NDArray[np.bool_]:
    """Whether each row is an even permutation, by the number of its inversions."""
    inversions = np.zeros(len(rows), dtype=np.int64)
    for i, j in itertools.combinations(range(rows.shape[1]), 2):
        inversions += rows[:, i] > rows[:, j]
    return np.equal(inversions % 2, 0)
