"""Congruences of an automaton as label tuples: ``labels[q]`` is the class of q, numbered by first state."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations, islice
from math import isqrt

from krohn.automata.quotients import finest_congruence
from krohn.automata.semiautomaton import Transformation
from krohn.base.portable import Budget

Partition = tuple[int, ...]
Principal = dict[Partition, tuple[int, int]]

_STARTS = 6  # principal congruences used as starting points for maximal ones


@lru_cache(maxsize=8_192)  # several searches need the same ones
def principal_congruence(letters: tuple[Transformation, ...], left: int, right: int) -> Partition:
    """The finest congruence that joins two states."""
    return finest_congruence(letters, [(left, right)])


def join(letters: Sequence[Transformation], first: Partition, second: Partition) -> Partition:
    """The finest congruence coarser than both."""
    leaders: dict[int, int] = {}
    pairs = [(leaders.setdefault(label, state), state) for state, label in enumerate(second)]
    return finest_congruence(letters, pairs, first)


def meet_is_trivial(first: Partition, second: Partition) -> bool:
    """Whether no two states lie together in both."""
    return len(set(zip(first, second, strict=True))) == len(first)


def closure_cost(letters: Sequence[Transformation]) -> int:
    """Units of work that one congruence takes."""
    return 1 + len(letters[0]) * (len(letters) + 2) // 2


def principal_congruences(letters: tuple[Transformation, ...], max_pairs: int, budget: Budget) -> Principal:
    """The non-trivial principal congruences with a pair that generates each, coarsest first.

    With many pairs of states or little budget, only those of a sample: they may use a fifth of the
    remaining budget.
    """
    cost = closure_cost(letters)
    pairs = list(pairs_of(letters, max(1, budget.pieces(5 * cost, max_pairs))))
    budget.spend(cost * len(pairs))
    result: Principal = {}
    for pair in pairs:
        result.setdefault(principal_congruence(letters, *pair), pair)
    order = sorted((labels for labels in result if max(labels) > 0), key=lambda labels: (max(labels), labels))
    return {labels: result[labels] for labels in order}


def subdirect_parts(
    letters: Sequence[Transformation], principal: Principal, budget: Budget
) -> tuple[Partition, ...]:
    """Congruences with trivial meet, each maximal among those that keep some pair of states apart.

    This is Birkhoff's subdirect representation; an irreducible automaton gives the equality alone.
    """
    size = len(letters[0])
    parts: list[Partition] = []
    codes: list[tuple[int, ...]] = [()] * size
    while len(set(codes)) < size:
        first: dict[tuple[int, ...], int] = {}
        # Two states that all parts so far identify: the next part keeps them apart.
        apart = next(
            (first[code], state) for state, code in enumerate(codes) if first.setdefault(code, state) != state
        )
        parts.append(_grow(letters, tuple(range(size)), principal, budget, apart))
        codes = [(*code, label) for code, label in zip(codes, parts[-1], strict=True)]
    return tuple(parts)


def _grow(
    letters: Sequence[Transformation],
    labels: Partition,
    principal: Principal,
    budget: Budget,
    apart: tuple[int, int] | None = None,
) -> Partition:
    """The congruence joined with one principal congruence after another.

    Skips joins that would identify all states, or the two that must stay separate.
    """
    cost = closure_cost(letters)
    for other, (left, right) in principal.items():
        if labels[left] == labels[right] or (apart is not None and other[apart[0]] == other[apart[1]]):
            continue  # already contained, or not allowed
        budget.spend(cost)
        united = join(letters, labels, other)
        if max(united) > 0 and (apart is None or united[apart[0]] != united[apart[1]]):
            labels = united
    return labels


def congruences(
    letters: Sequence[Transformation],
    principal: Principal,
    subdirect: Sequence[Partition],
    max_count: int,
    budget: Budget,
) -> list[Partition]:
    """At most ``max_count`` congruences: parts of the subdirect representation, principal ones, joins."""
    result = dict.fromkeys(part for part in subdirect if max(part) + 1 < len(part))
    single, cost = list(principal), closure_cost(letters)
    for labels in single[:_STARTS]:
        result.setdefault(_grow(letters, labels, principal, budget))
    half = max(1, (max_count - len(result)) // 2)
    # The coarsest have the smallest quotients, the finest the smallest blocks: take from both ends.
    for labels in single if len(single) <= 2 * half else [*single[:half], *single[-half:]]:
        result.setdefault(labels)
    queue = list(result)
    for position, labels in enumerate(queue):
        for other in queue[:position]:
            if len(result) >= max_count:
                return list(result)
            budget.spend(cost)
            united = join(letters, labels, other)
            if max(united) > 0 and united not in result:
                result[united] = None
                queue.append(united)
    return list(result)


def pairs_of(letters: Sequence[Transformation], limit: int) -> Iterator[tuple[int, int]]:
    """All pairs of states; if too many, the pairs (state, successor) and an even sample of all."""
    size = len(letters[0])
    total = size * (size - 1) // 2
    if total <= limit:
        yield from combinations(range(size), 2)
        return
    # States that a letter connects generate the finest congruences, which all others are joins of.
    moved = [[(min(q, x), max(q, x)) for q, x in enumerate(letter) if x != q] for letter in letters]
    half = max(1, limit // 2)
    near = dict.fromkeys(
        pairs[turn * len(pairs) // limit] for turn in range(half) for pairs in moved if turn < len(pairs)
    )
    yield from islice(near, half)
    for number in range(0, total, -(-2 * total // limit)):  # index into combinations(range(size), 2)
        left = total - 1 - number
        row = (isqrt(8 * left + 1) - 1) // 2
        yield size - 2 - row, size - 1 - left + row * (row + 1) // 2
