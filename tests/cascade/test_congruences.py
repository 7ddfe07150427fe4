"""Congruences against the definition: relations on pairs of states, closed by hand until nothing changes."""

from collections.abc import Iterable
from itertools import combinations
from random import Random

from every import every
from krohn.automata.semiautomaton import Transformation
from krohn.base.portable import unlimited
from krohn.cascade.congruences import (
    Partition,
    congruences,
    join,
    meet_is_trivial,
    principal_congruence,
    principal_congruences,
    subdirect_parts,
)


def renumber(labels: Iterable[int]) -> Partition:
    """The labels numbered in the order of their first states."""
    given = list(labels)
    first = sorted(set(given), key=given.index)
    return tuple(first.index(label) for label in given)


def random_letters(seed: int) -> tuple[Transformation, ...]:
    random = Random(seed)
    size, count = random.randint(2, 7), random.randint(1, 3)
    return tuple(tuple(random.randrange(size) for _ in range(size)) for _ in range(count))


def finest(letters: tuple[Transformation, ...], pairs: list[tuple[int, int]]) -> Partition:
    """The least relation that is an equivalence and holds the pairs and their images."""
    size = len(letters[0])
    together = {(q, q) for q in range(size)} | {*pairs}
    while True:
        more = {(b, a) for a, b in together} | {(a, d) for a, b in together for c, d in together if b == c}
        more |= {(m[a], m[b]) for a, b in together for m in letters}
        if more <= together:
            return renumber(min(b for b in range(size) if (a, b) in together) for a in range(size))
        together |= more


def is_congruence(letters: tuple[Transformation, ...], labels: Partition) -> bool:
    places = range(len(labels))
    alike = [(p, q) for p in places for q in places if labels[p] == labels[q]]
    return all(labels[m[p]] == labels[m[q]] for m in letters for p, q in alike)


@every("seed", range(25))
def test_the_congruence_of_a_pair_is_the_finest_that_joins_it(seed: int) -> None:
    letters = random_letters(seed)
    for pair in combinations(range(len(letters[0])), 2):
        assert principal_congruence(letters, *pair) == finest(letters, [pair])


@every("seed", range(25))
def test_a_join_is_the_finest_congruence_above_both(seed: int) -> None:
    letters = random_letters(100 + seed)
    states = range(len(letters[0]))
    single = [principal_congruence(letters, 0, q) for q in states[1:]]
    for one, other in combinations(single, 2):
        pairs = [
            (p, q) for labels in (one, other) for p, q in combinations(states, 2) if labels[p] == labels[q]
        ]
        assert join(letters, one, other) == finest(letters, pairs)
        assert join(letters, other, one) == join(letters, one, other)


@every("seed", range(25))
def test_parts_of_the_subdirect_representation_tell_all_states_apart(seed: int) -> None:
    letters = random_letters(200 + seed)
    budget = unlimited()
    principal = principal_congruences(letters, 1_000, budget)
    parts = subdirect_parts(letters, principal, budget)
    assert len(set(zip(*parts, strict=True))) == len(letters[0])
    assert all(is_congruence(letters, part) for part in parts)
    result = congruences(letters, principal, parts, 30, budget)
    assert len(result) == len(set(result)) <= 30
    assert all(is_congruence(letters, labels) and max(labels) > 0 for labels in result)
    if len(parts) == 2:
        assert meet_is_trivial(*parts)


@every("seed", range(10))
def test_every_congruence_of_a_small_automaton_is_a_join_of_principal_ones(seed: int) -> None:
    """All partitions of at most five states, tried one by one."""
    letters = random_letters(300 + seed)
    size = min(5, len(letters[0]))
    letters = tuple(tuple(q % size for q in letter[:size]) for letter in letters)
    pairs = list(combinations(range(size), 2))
    for labels in {renumber(f) for f in _functions(size)}:
        if is_congruence(letters, labels):
            built = tuple(range(size))
            for p, q in pairs:
                if labels[p] == labels[q]:
                    built = join(letters, built, principal_congruence(letters, p, q))
            assert built == labels


def _functions(size: int) -> list[tuple[int, ...]]:
    result: list[tuple[int, ...]] = [()]
    for _ in range(size):
        result = [(*f, value) for f in result for value in range(size)]
    return result
