"""Permutation groups Sₙ and Aₙ acting on themselves, with the generator sets found in the wild.

A state is an arrangement of n people on n chairs, in lexicographic order; the letter ``a`` seats the
person of chair ``a[i]`` on chair ``i``: ``new[i] = state[a[i]]``. This is the regular action of the group.
"""

import itertools
import math
import re

import numpy as np
import numpy.typing as npt

from krohn.automata.limits import capped_factorial, check_size
from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import InvalidInput, UnknownName

Permutation = tuple[int, ...]


def symmetric(n: int, letters: str = "paper") -> Semiautomaton:
    """Sₙ on its n! elements; ``letters`` names a generator set or lists permutations."""
    if n < 1:
        raise InvalidInput(f"a symmetric group Sn must have n ≥ 1; got S{n}: write S3, S4, S5")
    check_size(f"S{n}", capped_factorial(n), 1)
    return _acting_on_itself(f"S{n}", arrangements(n), generator_set("S", n, letters))


def alternating(n: int, letters: str = "paper") -> Semiautomaton:
    """Aₙ on its n!/2 even permutations; ``letters`` names a generator set or lists even permutations."""
    if n < 3:
        raise InvalidInput(f"an alternating group An must have n ≥ 3; got A{n}: write A4, A5")
    check_size(f"A{n}", capped_factorial(n) // 2, 1)
    everyone = arrangements(n)
    return _acting_on_itself(f"A{n}", everyone[is_even(everyone)], generator_set("A", n, letters))


def permutation_reset(n: int, letters: str = "minimal") -> Semiautomaton:
    """Sₙ with, besides generators, one reset letter per element (the releases' permutation_reset task).

    A generator ``g`` renames people, ``new[i] = g[state[i]]``; a reset letter ``=p`` leads every state to p.
    """
    if n < 1:
        raise InvalidInput(f"PermResetn must have n ≥ 1; got PermReset{n}: write PermReset5")
    check_size(f"PermReset{n}", capped_factorial(n), capped_factorial(n))
    states = arrangements(n)
    chosen = generator_set("S", n, letters)
    columns = [_rank(np.array(g)[states]) for g in chosen]
    resets = [np.full(len(states), target) for target in range(len(states))]
    names = _one_line(states)
    return Semiautomaton(
        np.stack([*resets, *columns], axis=1),
        state_names=names,
        letter_names=(*(f"={p}" for p in names), *_one_line(np.array(chosen))),
        name=f"PermReset{n}",
    )


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
    odd = [p for p in chosen if not bool(is_even(np.array([p]))[0])]
    if group == "A" and odd:
        raise InvalidInput(
            f"the letters of A{n} must be even permutations; {_one_line(np.array(odd))[0]} is odd"
        )
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


def _lexicographic(group: str, n: int, count: int) -> list[Permutation]:
    """The first ``count`` elements of the group in lexicographic order."""
    everyone = itertools.permutations(range(n))
    if group == "A":
        everyone = (p for p in everyone if bool(is_even(np.array([p]))[0]))  # type: ignore[assignment]
    return list(itertools.islice(everyone, count))


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


def arrangements(n: int) -> npt.NDArray[np.int32]:
    """All n! arrangements, one a row, in lexicographic order."""
    rows = np.zeros((1, 1), dtype=np.int32)
    for size in range(2, n + 1):
        # Prefix each first value v, and close the gap it leaves among the values of the rest.
        blocks = []
        for first in range(size):
            rest = rows + (rows >= first)
            blocks.append(np.column_stack([np.full(len(rows), first, dtype=np.int32), rest]))
        rows = np.concatenate(blocks)
    return rows.astype(np.int32)


def is_even(rows: npt.NDArray[np.integer]) -> npt.NDArray[np.bool_]:
    """Whether each row is an even permutation, by the number of its inversions."""
    inversions = np.zeros(len(rows), dtype=np.int64)
    for i, j in itertools.combinations(range(rows.shape[1]), 2):
        inversions += rows[:, i] > rows[:, j]
    return np.equal(inversions % 2, 0)


def _rank(rows: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    """The place of each row in lexicographic order (its Lehmer code)."""
    n = rows.shape[1]
    rank = np.zeros(len(rows), dtype=np.int64)
    for i in range(n):
        smaller_later = (rows[:, i + 1 :] < rows[:, i : i + 1]).sum(axis=1)
        rank += smaller_later * math.factorial(n - 1 - i)
    return rank


def _one_line(rows: npt.NDArray[np.integer]) -> tuple[str, ...]:
    separator = "" if rows.shape[1] <= 10 else "."
    return tuple(separator.join(map(str, row)) for row in rows.tolist())


def _acting_on_itself(name: str, states: npt.NDArray[np.int32], letters: list[Permutation]) -> Semiautomaton:
    check_size(name, len(states), len(letters))
    place = np.full(math.factorial(states.shape[1]), -1, dtype=np.int64)
    place[_rank(states)] = np.arange(len(states))
    columns = [place[_rank(states[:, list(letter)])] for letter in letters]
    return Semiautomaton(
        np.stack(columns, axis=1),
        state_names=_one_line(states),
        letter_names=_one_line(np.array(letters)),
        name=name,
    )
