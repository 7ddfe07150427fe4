"""Candidate features: counts, latest symbols, look-backs, and comparisons of two positions.

Of the two positions each is the earliest or latest of a class, which may depend on the place. Letter and
place are added in the embedding, so one head finds "a at odd places", but not "a at odd or b at even places".
Two heads find one position each, their difference is one channel, and the MLP sees its sign, or whether it is
1; and where the later one stands, modulo a period.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations, product
from typing import Any, Literal

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
    Symbols,
    Value,
    folded,
    place_register,
)
from krohn.construct.tight.draft import ProgramDraft
from krohn.network.operations import Row
from krohn.network.program import Meaning


@dataclass(frozen=True)
class Mark:
    """The earliest or latest position with one of the members, at places of one residue (period 1: any)."""

    members: frozenset[int]
    end: Literal["earliest", "latest"]
    label: Meaning
    period: int = 1
    residue: int = 0

    @property
    def meaning(self) -> Meaning:
        """Where it stands, in words and in names."""
        end = "last" if self.end == "latest" else "first"
        if self.period == 1:
            return Meaning(end, of=(self.label,))
        return Meaning(f"{end} in rhythm", of=(self.label,), residue=self.residue, modulus=self.period)

    def moves(self, holds: bool, symbol: int, place: int) -> bool:
        """Whether the mark moves to this position."""
        if self.end == "earliest" and holds:
            return False
        return symbol in self.members and place % self.period == self.residue

    def flags(self, draft: ProgramDraft, symbols: Symbols) -> list[str]:
        """Registers that are all 1 where the mark may stand."""
        flags = [symbols.flag(draft, self.members, 0, Meaning("is", of=(self.label,)))]
        if self.period > 1:
            cycle = [int(place % self.period == self.residue) for place in range(1, self.period + 1)]
            rhythm = Meaning("rhythm", residue=self.residue, modulus=self.period)
            flags.append(draft.places(rhythm, (0,), cycle))
        return flags


@dataclass(frozen=True)
class Order:
    """Whether the first mark stands ``lead`` (0 or 1) positions after the second: 2; later: 4; earlier: 0.

    An absent mark stands at 0.
    """

    first: Mark
    second: Mark
    lead: int = 0
    early: int = 1

    @property
    def start(self) -> Value:
        """Both at 0, the current position."""
        return (2 - 2 * self.lead, False, False, *(True, True)[: 2 * self.lead])

    @property
    def period(self) -> int:
        """The common period of both marks; 1 if they ignore places."""
        return max(self.first.period, self.second.period)

    @property
    def meaning(self) -> Meaning:
        """Which of the marks stands later."""
        return Meaning("order", of=(self.first.meaning, self.second.meaning), start=self.lead or None)

    @property
    def cost(self) -> float:
        """Two heads."""
        return 2.0 + 0.02 * self.period + 0.1 * self.lead

    def step(self, value: Value, symbol: int, place: int) -> Value:
        """The shown value, which marks are present, and with a lead which of them are here."""
        shown, *there = value
        here = folded(place, self.early, self.period)
        one, two = (
            mark.moves(result, symbol, here)
            for mark, result in zip((self.first, self.second), there, strict=False)
        )
        if one and two:
            shown = 2 - 2 * self.lead
        elif one:  # the second mark stands one position back if it was the one before
            shown = 2 if self.lead and there[3] else 4
        elif two:
            shown = 0
        return shown, there[0] or one, there[1] or two, *(one, two)[: 2 * self.lead]

    def show(self, value: Value) -> Row:
        """The comparison alone."""
        return (value[0],)

    def registers(self, draft: ProgramDraft, symbols: Symbols) -> tuple[str, ...]:
        """The flags of both marks, and their positions compared."""
        return self.compared(draft, [mark.flags(draft, symbols) for mark in (self.first, self.second)])

    def compared(self, draft: ProgramDraft, flags: Sequence[Sequence[str]]) -> tuple[str, ...]:
        """Three times the difference, minus the lead, clamped to −2 … 2: no difference is near a kink."""
        marks = [
            draft.end_write(own, mark.end, draft.position(), Meaning("position of", of=(mark.meaning,)))
            for own, mark in zip(flags, (self.first, self.second), strict=True)
        ]
        distance = replace(self.meaning, kind="distance")
        apart = draft.linear([(marks[0], 1), (marks[1], -1)], 0, (-1, 1), distance, kind="wide")
        return (draft.clamp([(apart, 3)], 2 - 3 * self.lead, 0, 4, self.meaning),)


@dataclass(frozen=True)
class LaterPlace:
    """The folded position of the mark that stands later, 0 if there is none; their periods divide it."""

    first: Mark
    second: Mark
    period: int
    early: int = 1

    @property
    def order(self) -> Order:
        """Which of the two is later."""
        return Order(self.first, self.second)

    @property
    def start(self) -> tuple[Value, int]:
        """No mark yet."""
        return self.order.start, 0

    @property
    def meaning(self) -> Meaning:
        """Where the later one stands."""
        return Meaning("later place", of=(self.first.meaning, self.second.meaning), modulus=self.period)

    @property
    def cost(self) -> float:
        """Two heads, and a larger table."""
        return 2.2 + 0.02 * self.period

    def step(self, value: Value, symbol: int, place: int) -> Value:
        """The mark that moves is the later one."""
        ordered, held = value
        after = self.order.step(ordered, symbol, place)
        moved = any(
            mark.moves(bool(result), symbol, place)
            for mark, result in zip((self.first, self.second), ordered[1:], strict=True)
        )
        return after, folded(place, self.early, self.period) if moved else held

    def show(self, value: Value) -> Row:
        """The folded position."""
        return (value[1],)

    def registers(self, draft: ProgramDraft, symbols: Symbols) -> tuple[str, ...]:
        """The heads that compare positions also copy the places; a table selects one of them."""
        flags = [mark.flags(draft, symbols) for mark in (self.first, self.second)]
        (ahead,) = self.order.compared(draft, flags)
        held = place_register(draft, self.early, self.period)
        places = [
            draft.end_write(own, mark.end, held, Meaning("place of", of=(mark.meaning,), modulus=self.period))
            for own, mark in zip(flags, (self.first, self.second), strict=True)
        ]
        target, values = draft.fresh(self.meaning), range(self.period + 1)
        rows: dict[Row, Row] = {
            (later, one, two): (one if later == 4 else two if later == 0 else max(one, two),)
            for later, one, two in product((0, 2, 4), values, values)
        }
        draft.table((ahead, *places), (target,), rows)
        return (target.name,)


MAX_MODULUS = 12
MAX_PERIOD = 16
FEW_SYMBOLS = 4
MAX_BACK = 3
MOST_COMPARED = 9
"""Classes whose earliest and latest members are compared."""
ENDS: tuple[Literal["earliest", "latest"], ...] = ("latest", "earliest")

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


def compared_positions(annotated: AnnotatedLetters) -> list[Feature]:
    """Features that take two heads: comparisons of positions, and the later of two."""
    automaton = annotated.automaton
    result = [*orders(letter_classes(annotated), automaton.num_letters)]
    return result + list(later_places(automaton, moduli(automaton)))


def pattern_catalogue(annotated: AnnotatedLetters) -> list[Feature]:
    """Features for regex patterns: letters that may come once, only at first, or directly after another."""
    names = annotated.automaton.letter_names[:MOST_COMPARED]
    marks = [[Mark(frozenset([x]), end, listed([name])) for end in ENDS] for x, name in enumerate(names)]
    result: list[Feature] = []
    for (latest, _), name in zip(marks, names, strict=True):
        result += [Count(latest.members, size, True, latest.label) for size in (3, 2)]
        later = (frozenset[int](), frozenset[int](), latest.members)
        from_second = Meaning("from place", letters=(name,), number=2)
        result.append(PlaceCount(later, 2, 1, 3, True, from_second, names))
    for (latest, _), (_, earliest) in permutations(marks, 2):
        result += [Order(latest, earliest, lead) for lead in (0, 1)]
    return result


def orders(classes: Sequence[Class], num_symbols: int) -> Iterator[Feature]:
    """Earliest and latest members of two classes compared; of two letters also at odd and at even places."""
    places = ((1, 0), (2, 1), (2, 0)) if num_symbols == 2 else ((1, 0),)
    marks = [
        Mark(members, end, name, period, residue)
        for members, name in classes[:MOST_COMPARED]
        if len(members) < num_symbols
        for period, residue in places
        for end in ENDS
    ]
    for first, second in combinations(marks, 2):
        if first.members != second.members or first.end != second.end:
            yield Order(first, second)


def later_places(automaton: Semiautomaton, rhythms: Sequence[int]) -> Iterator[Feature]:
    """The latest of one of two letters at odd, of the other at even places, modulo twice a rhythm."""
    names = automaton.letter_names
    for x, y in permutations(range(automaton.num_letters), 2) if automaton.num_letters == 2 else ():
        odd, even = (
            Mark(frozenset([letter]), "latest", listed([names[letter]]), 2, residue)
            for letter, residue in ((x, 1), (y, 0))
        )
        yield from (LaterPlace(odd, even, 2 * m) for m in rhythms if 2 * m <= MAX_MODULUS)


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
