"""Generator sets of Sₙ and Aₙ: those found in the wild by name, and any list of permutations."""

import itertools
import re
from collections.abc import Iterator, Sequence

from krohn.automata.limits import capped_factorial, check_size
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
    chosen = [parse_permutation(item, n) for item in _items(letters)]
    if len(set(chosen)) < len(chosen):
        raise InvalidInput(f"the permutations of a generator set must be distinct; got {letters!r}")
    odd = [permutation for permutation in chosen if not _is_even(permutation)]
    if group == "A" and odd:
        raise InvalidInput(f"the letters of A{n} must be even permutations; {one_line(odd[0])} is odd")
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
        before = image.copy()
        # Cycles multiply left to right: the map so far comes first, then this cycle.
        follow = dict(zip(points, [*points[1:], points[0]], strict=True))
        image = [follow.get(point, point) for point in before]
    return tuple(image)


def _items(text: str) -> list[str]:
    return [item.strip() for item in text.split(",")]


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


def _is_even(permutation: Permutation) -> bool:
    return sum(a > b for a, b in itertools.combinations(permutation, 2)) % 2 == 0


def _lexicographic(group: str, n: int, count: int) -> list[Permutation]:
    """The first ``count`` elements of the group in lexicographic order."""
    everyone: Iterator[Permutation] = itertools.permutations(range(n))
    return list(itertools.islice(filter(_is_even, everyone) if group == "A" else everyone, count))


def _minimal(group: str, n: int) -> list[Permutation]:
    if group == "A":
        return [_three_cycle(n, i) for i in range(2, n)]
    return _distinct(_swap(n), _shift(n))


def _paper(group: str, n: int) -> list[Permutation]:
    if group == "A":
        return _minimal(group, n)
    identity = tuple(range(n))
    others = [p for p in _lexicographic("S", n, 9) if p not in (identity, _swap(n), _shift(n))]
    return _distinct(*_minimal("S", n), *others[:6])


def _release_2023(group: str, n: int) -> list[Permutation]:
    identity = tuple(range(n))
    if group == "A":
        return [identity, *_minimal(group, n)]
    # With more than three actions the released code overwrites the swap of the first two.
    others = [p for p in _lexicographic("S", n, 9) if p not in (identity, _swap(n), _shift(n))]
    return _distinct(identity, _shift(n), *others)[:8]


def _repository_2026(group: str, n: int) -> list[Permutation]:
    identity = tuple(range(n))
    if group == "A":
        return [identity, *_minimal(group, n)]
    return _distinct(identity, _shift(n), _swap(n), *_lexicographic("S", n, 9))[:8]


def _all(group: str, n: int) -> list[Permutation]:
    order = capped_factorial(n)
    order = order // 2 if group == "A" else order
    check_size(f"{group}{n}:all", order, order)
    return _lexicographic(group, n, order)


_SETS = {
    "paper": _paper,
    "minimal": _minimal,
    "release2023": _release_2023,
    "repo2026": _repository_2026,
    "all": _all,
}


def one_line(permutation: Sequence[int]) -> str:
    """The images of 0, 1, …, run together where each is one digit."""
    return ("" if len(permutation) <= 10 else ".").join(map(str, permutation))
