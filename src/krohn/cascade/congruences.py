"""Congruences of an automaton as label tuples: ``labels[q]`` is the class of q, numbered by first state.

Letters may be partial: −1 marks a place where a letter is free. A partition is a congruence if the
defined images of a class lie in one class; then every letter can be completed so that it respects it.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from krohn.automata.semiautomaton import Transformation
from krohn.work import Work

Partition = tuple[int, ...]

_STARTS = 6  # principal congruences from which a maximal one is grown


def principal_congruence(letters: Sequence[Transformation], left: int, right: int) -> Partition:
    """The finest congruence that joins two states."""
    return _closure(letters, list(range(len(letters[0]))), [(left, right)])


def join(letters: Sequence[Transformation], first: Partition, second: Partition) -> Partition:
    """The finest congruence coarser than both."""
    leaders: dict[int, int] = {}
    pairs = [(leaders.setdefault(label, state), state) for state, label in enumerate(second)]
    return _closure(letters, _leaders(first), pairs)


def _leaders(labels: Partition) -> list[int]:
    first: dict[int, int] = {}
    return [first.setdefault(label, state) for state, label in enumerate(labels)]


def _closure(letters: Sequence[Transformation], leader: list[int], pairs: list[tuple[int, int]]) -> Partition:
    """Union-find; a class carries one defined image per letter, and a union joins those images."""

    def find(state: int) -> int:
        while leader[state] != state:
            leader[state] = state = leader[leader[state]]
        return state

    images = [list(letter) for letter in letters]
    for state, first in enumerate(leader):
        for image in images:
            if image[first] < 0:
                image[first] = image[state]
    queue = list(pairs)
    while queue:
        one, other = queue.pop()
        left, right = find(one), find(other)
        if left == right:
            continue
        if right < left:
            left, right = right, left
        leader[right] = left
        for image in images:
            if image[left] < 0:
                image[left] = image[right]
            elif image[right] >= 0:
                queue.append((image[left], image[right]))
    return numbered([find(state) for state in range(len(leader))])


def numbered(labels: Iterable[int]) -> Partition:
    """The labels renumbered 0, 1, … in order of appearance."""
    order: dict[int, int] = {}
    return tuple([order.setdefault(label, len(order)) for label in labels])


def meet_is_trivial(first: Partition, second: Partition) -> bool:
    """Whether no two states lie together in both."""
    return len(set(zip(first, second, strict=True))) == len(first)


def closure_cost(letters: Sequence[Transformation]) -> int:
    """Units of work that one congruence takes."""
    return len(letters[0]) * (len(letters) + 2)


def principal_congruences(letters: Sequence[Transformation], max_pairs: int, work: Work) -> list[Partition]:
    """The non-trivial principal congruences, coarsest first; of an even sample of pairs if there are many.

    A tenth of the work that is left may go into them.
    """
    cost = closure_cost(letters)
    pairs = list(_pairs(len(letters[0]), max(1, work.pieces(10 * cost, max_pairs))))
    work.spend(cost * len(pairs))
    made = {principal_congruence(letters, *pair) for pair in pairs}
    return sorted((labels for labels in made if max(labels) > 0), key=lambda labels: (max(labels), labels))


def subdirect_parts(
    letters: Sequence[Transformation], principal: Sequence[Partition], work: Work
) -> tuple[Partition, ...]:
    """Congruences with trivial meet, each maximal among those that keep some pair of states apart.

    This is Birkhoff's subdirect representation; an irreducible automaton gives the equality alone.
    """
    size, cost = len(letters[0]), closure_cost(letters)
    parts: list[Partition] = []
    codes: list[tuple[int, ...]] = [()] * size
    while len(set(codes)) < size:
        first: dict[tuple[int, ...], int] = {}
        left, right = next(
            (first[code], state) for state, code in enumerate(codes) if first.setdefault(code, state) != state
        )
        labels = tuple(range(size))
        for other in principal:
            if other[left] != other[right]:
                work.spend(cost)
                united = join(letters, labels, other)
                labels = labels if united[left] == united[right] else united
        parts.append(labels)
        codes = [(*code, label) for code, label in zip(codes, labels, strict=True)]
    return tuple(parts)


def congruences(
    letters: Sequence[Transformation],
    principal: Sequence[Partition],
    subdirect: Sequence[Partition],
    max_count: int,
    work: Work,
) -> list[Partition]:
    """At most ``max_count`` congruences: parts of the subdirect representation, principal ones, joins."""
    found = dict.fromkeys(part for part in subdirect if max(part) + 1 < len(part))
    cost = closure_cost(letters)
    for labels in principal[:_STARTS]:
        work.spend(cost * len(principal))
        found.setdefault(_maximal(letters, labels, principal))
    half = max(1, (max_count - len(found)) // 2)
    # The coarsest have the smallest quotients, the finest the smallest blocks: take from both ends.
    for labels in principal if len(principal) <= 2 * half else [*principal[:half], *principal[-half:]]:
        found.setdefault(labels)
    queue = list(found)
    for position, labels in enumerate(queue):
        for other in queue[:position]:
            if len(found) >= max_count:
                return list(found)
            work.spend(cost)
            united = join(letters, labels, other)
            if max(united) > 0 and united not in found:
                found[united] = None
                queue.append(united)
    return list(found)


def _maximal(letters: Sequence[Transformation], labels: Partition, others: Sequence[Partition]) -> Partition:
    """A coarsest congruence above the given one, short of joining all states, made of the others."""
    for other in others:
        united = join(letters, labels, other)
        if max(united) > 0:
            labels = united
    return labels


def _pairs(size: int, limit: int) -> Iterator[tuple[int, int]]:
    """All pairs of states, or an even sample of them."""
    total = size * (size - 1) // 2
    stride = max(1, -(-total // limit))
    for index, pair in enumerate(combinations(range(size), 2)):
        if index % stride == 0:
            yield pair
