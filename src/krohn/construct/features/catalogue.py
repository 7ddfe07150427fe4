"""Candidate features: counts, latest symbols, look-backs, and places of earliest and latest symbols."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any

from krohn.automata.semiautomaton import Semiautomaton
from krohn.construct.features.feature import (
    AnnotatedLetters,
    BackFeature,
    Count,
    EndPlace,
    Feature,
    Latest,
    Place,
    PlaceCount,
)
from krohn.network.program import Meaning

MAX_MODULUS = 12
MAX_PERIOD = 16
FEW_SYMBOLS = 4
MAX_BACK = 3

Class = tuple[frozenset[int], Meaning]


def moduli(automaton: Semiautomaton) -> list[int]:
    """Lengths of cycles of letters, and small numbers."""
    result = {2, 3}
    for letter in automaton.letters:
        for state in range(automaton.num_states):
            seen: dict[int, int] = {}
            while state not in seen:
                seen[state] = len(seen)
                state = letter[state]
            result.add(len(seen) - seen[state])
    return sorted(m for m in result if 2 <= m <= MAX_MODULUS)


def letter_classes(annotated: AnnotatedLetters) -> list[Class]:
    """Sets of letters: all subsets if few, else singletons, their complements, and letters that act alike."""
    automaton = annotated.automaton
    count = automaton.num_letters
    everything = frozenset(range(count))
    sets: list[frozenset[int]] = [everything]
    if count <= FEW_SYMBOLS:
        sets += [frozenset(c) for size in range(1, count) for c in combinations(range(count), size)]
    else:
        sets += [frozenset([x]) for x in everything] + [everything - {x} for x in everything]
        for state in range(automaton.num_states):
            sets.append(frozenset(x for x in everything if set(automaton.letters[x]) == {state}))
            sets.append(frozenset(x for x in everything if automaton.step(state, x) == state))
    names = automaton.letter_names
    return [(s, listed(names[x] for x in sorted(s))) for s in dict.fromkeys(sets) if s]


def listed(names: Iterable[str]) -> Meaning:
    """These letters."""
    return Meaning("letters", letters=tuple(names))


def symbol_classes(annotated: AnnotatedLetters) -> list[Class]:
    """Sets of annotated letters: by what is known of the state, by letter and annotation."""
    symbols = range(len(annotated.rows))
    after = [{q for _, q in moves} for moves in annotated.moves]
    known = [s for s in symbols if len(after[s]) == 1]
    named: dict[frozenset[int], Meaning] = {}
    names = [(name,) for name in annotated.automaton.letter_names]

    def add(members: Iterable[int], kind: str, **given: Any) -> None:
        result = frozenset(members)
        if result and len(result) < len(symbols) and result not in named:
            named[result] = Meaning(kind, **given)

    add(known, "settling")
    for q in range(annotated.automaton.num_states):
        add((s for s in known if after[s] == {q}), "settling one", state=q)
        add((s for s in symbols if q in after[s]), "allowing", state=q)
        add((s for s in symbols if q not in after[s]), "excluding", state=q)
    moving = [s for s in symbols if any(p != q for p, q in annotated.moves[s])]
    shown = [list(column) for column in zip(*annotated.rows, strict=True)]
    notes = [
        (c, value, feature.meaning)
        for c, feature in enumerate(annotated.features, 1)
        for value in sorted({*shown[c]})
    ]
    for x in range(annotated.automaton.num_letters):
        own = [s for s in symbols if shown[0][s] == x]
        add((s for s in own if s in moving), "some that move", number=x, letters=names[x])
        for c, value, note in notes:
            about = {"start": x, "letters": names[x], "number": c, "residue": value, "of": (note,)}
            add((s for s in own if shown[c][s] == value), "noted letter", **about)
    return list(named.items())


Sizes = Sequence[tuple[int, bool]]
"""What counts are reduced to: (size, clamped or not)."""


def heads_over(
    classes: Sequence[Class], counts: Sizes, rhythms: Sequence[int], num_symbols: int, backs: int
) -> Iterator[Feature]:
    """Every kind of head over every class."""
    for members, name in classes:
        if len(members) < num_symbols:
            yield from (Count(members, size, clamped, name) for size, clamped in counts)
            numbers = {symbol: number for number, symbol in enumerate(sorted(members))}
            yield Latest(tuple(numbers.items()), name)
            yield from (EndPlace(members, m, name, early) for m in rhythms for early in (1, 2))
            yield from (EndPlace(members, m, name, end="earliest") for m in rhythms)
    for distance in range(1, backs + 1):
        yield BackFeature(distance, num_symbols)


def one_layer_catalogue(annotated: AnnotatedLetters) -> list[Feature]:
    """Features of the plain letters that one layer of heads can see."""
    automaton = annotated.automaton
    rhythms = moduli(automaton)
    counts = [(m, False) for m in rhythms]
    counts += [(top + 1, True) for top in range(1, min(automaton.num_states, 4) + 1)]
    longer = sorted({m * k for m in rhythms for k in (1, 2, m) if m * k <= MAX_PERIOD})
    result: list[Feature] = [Place(1, m) for m in longer]
    result += [Place(top, 1) for top in range(2, min(automaton.num_states, 4) + 1)]
    result += heads_over(letter_classes(annotated), counts, rhythms, automaton.num_letters, MAX_BACK)
    result += [
        PlaceCount((frozenset(), *sets), 1, len(sets), m, False, name, automaton.letter_names)
        for sets, name in alternating(automaton)
        for m in rhythms
    ]
    letters = range(automaton.num_letters)
    return result + [letters_at(automaton, place, frozenset([x])) for place in (1, 2) for x in letters]


def letters_at(automaton: Semiautomaton, place: int, members: frozenset[int]) -> PlaceCount:
    """Whether one of the members occurs at that place."""
    sets = (frozenset[int](),) * place + (members, frozenset[int]())
    names = automaton.letter_names
    here = Meaning("at place", letters=tuple(names[x] for x in sorted(members)), number=place)
    return PlaceCount(sets, place + 1, 1, 2, True, here, names)


def alternating(automaton: Semiautomaton) -> Iterator[tuple[tuple[frozenset[int], ...], Meaning]]:
    """One letter at odd places and another at even places, for every pair of letters."""
    names = automaton.letter_names
    for x, y in combinations(range(automaton.num_letters), 2):
        both = (listed([names[x]]), listed([names[y]]))
        yield (frozenset([x]), frozenset([y])), Meaning("alternating", of=both)


def two_layer_catalogue(annotated: AnnotatedLetters) -> list[Feature]:
    """Features of annotated letters that the second layer can see."""
    automaton = annotated.automaton
    counts = [(m, False) for m in moduli(automaton)] + [(2, True), (3, True)]
    return list(heads_over(symbol_classes(annotated), counts, (), len(annotated.rows), 1))
