"""What a first layer may note beside each letter, simplest first: the annotations of two-layer plans."""

from collections.abc import Iterator
from itertools import combinations

from krohn.automata.semiautomaton import Semiautomaton
from krohn.construct.features.annotated import Annotated
from krohn.construct.features.back import Back
from krohn.construct.features.catalogue import letter_classes, moduli
from krohn.construct.features.counts import Count
from krohn.construct.features.feature import Feature
from krohn.construct.features.latest import Latest
from krohn.construct.features.latest_place import LatestPlace
from krohn.construct.features.place import Place

PAIRED, TRIPLED = 18, 10
"""How many of the simplest notes are tried in pairs, and in threes."""


def first_layers(plain: Annotated) -> Iterator[tuple[Feature, ...]]:
    """Sets of one, two and three notes."""
    notes = list(_notes(plain))
    yield from ((note,) for note in notes)
    yield from combinations(notes[:PAIRED], 2)
    yield from combinations(notes[:TRIPLED], 3)


def _notes(plain: Annotated) -> Iterator[Feature]:
    automaton = plain.automaton
    count, cycles = automaton.num_letters, moduli(automaton)
    names = automaton.letter_names
    singles = [(frozenset([x]), names[x]) for x in range(count)]
    yield Back(1, count)
    yield Place(1, 2)
    yield from (Count(members, m, False, name) for m in cycles for members, name in singles)
    for members, name in letter_classes(plain):
        if 1 < len(members) < count or (count == 2 and len(members) == 1):
            yield Latest(tuple((x, n) for n, x in enumerate(sorted(members))), name)
    yield from (LatestPlace(members, 2, name) for members, name in singles)
    yield from (Count(members, 2, True, name) for members, name in singles)
    yield from (Place(1, m) for m in cycles if m > 2)
    yield Back(2, count)
    yield from (LatestPlace(members, m, name) for m in cycles if m > 2 for members, name in singles)
    yield from (Count(members, 3, True, name) for members, name in singles)
    if automaton.num_states <= 5:
        square = automaton.num_states**2
        yield from (Count(members, square, False, name) for members, name in singles)


def merged_letters(automaton: Semiautomaton) -> tuple[Semiautomaton, tuple[int, ...]]:
    """Letters that act alike on reachable states made one; and the class of each letter."""
    order = [automaton.start]
    for state in order:
        order += [q for q in dict.fromkeys(automaton.table[state].tolist()) if q not in order]
    columns = [tuple(automaton.step(q, x) for q in order) for x in range(automaton.num_letters)]
    number = {column: index for index, column in enumerate(dict.fromkeys(columns))}
    classes = tuple(number[column] for column in columns)
    first = [classes.index(index) for index in range(len(number))]
    names = tuple(automaton.letter_names[x] for x in first)
    smaller = Semiautomaton(automaton.table[:, first], automaton.start, automaton.state_names, names)
    return smaller, classes
