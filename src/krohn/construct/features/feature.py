"""A feature: a finite value that one head (and the MLP after it) can hold after every word.

A feature is a small machine over the symbols at a position (letters, or letters annotated by the features of
the layer before) and the place of the position. Every gadget is defined twice: as a machine
(``start``, ``step``, ``show``) for proofs, and as operations of a program (``registers``), over
registers of the symbols, for weights.

The simplest are counts of the symbols of a class, modulo a number or clamped: one uniform head for all, and
one for each kind of place where the class depends on the place. One head finds the symbol some positions
back, the latest of a class (it prefers members, and among them the latest), or a folded position: exact at
first, then modulo a period; here, which needs no head, or at the earliest or latest of a class.

``AnnotatedLetters`` are the symbols that features make of letters: what the layer after them sees.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from math import lcm
from typing import Any, Literal, Protocol

from krohn.automata.semiautomaton import Semiautomaton
from krohn.construct.tight.draft import ProgramDraft
from krohn.construct.tight.finite import Finite
from krohn.errors import LimitExceeded
from krohn.network.operations import Row
from krohn.network.program import Meaning

Value = Any
"""Hashable; each feature reads the values that it makes itself."""


@dataclass(frozen=True, eq=False)
class Symbols:
    """``number[row]`` is the symbol that heads see where input registers hold the row; BOS has its own."""

    inputs: tuple[str, ...]
    number: Mapping[Row, int]
    at_bos: Row
    registers: dict[frozenset[tuple[Row, int]], str] = field(default_factory=dict)

    @property
    def bos(self) -> int:
        """The number of BOS."""
        return max(self.number.values()) + 1

    def flag(self, draft: ProgramDraft, members: Set[int], at_bos: int, meaning: Meaning) -> str:
        """A register that is 1 on the members, and has the given value at BOS."""
        return self.label(draft, {x: int(x in members) for x in self.number.values()}, at_bos, meaning)

    def label(self, draft: ProgramDraft, labels: Mapping[int, int], at_bos: int, meaning: Meaning) -> str:
        """A register with a label for every symbol; symbols without one have the label of BOS."""
        rows = {row: labels.get(symbol, at_bos) for row, symbol in self.number.items()}
        rows[self.at_bos] = at_bos
        if len(set(rows.values())) == 1:
            value = rows[self.at_bos]
            return draft.source(draft.fresh(meaning), [value] * draft.num_letters, value)
        key = frozenset(rows.items())
        if key not in self.registers:  # features over the same symbols share a register
            self.registers[key] = Finite(self.inputs, rows).register(draft, meaning)
        return self.registers[key]


class Feature(Protocol):
    """The interface of a gadget; ``early`` and ``period`` say which positions look alike to it."""

    @property
    def meaning(self) -> Meaning:
        """What its register means."""

    @property
    def cost(self) -> float:
        """Approximate number of heads; cheaper features are tried first."""

    @property
    def early(self) -> int:
        """From this position on, positions that differ by the period look alike."""

    @property
    def period(self) -> int:
        """1 for a feature that ignores positions."""

    @property
    def start(self) -> Value:
        """The value before the first letter."""

    def step(self, value: Value, symbol: int, place: int) -> Value:
        """The value after one more symbol, at the given position (counted from 1)."""

    def show(self, value: Value) -> Row:
        """What its registers hold."""

    def registers(self, draft: ProgramDraft, symbols: Symbols) -> tuple[str, ...]:
        """Writes the operations; returns the registers that hold ``show``."""


def folded(place: int, early: int, period: int) -> int:
    """The first position that looks like this one."""
    return place if place < early + period else early + (place - early) % period


def common_rhythm(features: Iterable[Feature]) -> tuple[int, int]:
    """The position from which all of them repeat, and the period."""
    early, period = 1, 1
    for feature in features:
        early, period = max(early, feature.early), lcm(period, feature.period)
    return early, period


class OneNumber:
    """A feature whose value is the one number that its register holds."""

    def show(self, value: Value) -> Row:
        """The number itself."""
        return (value,)


class CountingFeature(OneNumber):
    """What all counts share: meaning and reduction (modulo ``size``, or to at most ``size − 1``)."""

    size: int
    clamped: bool
    label: Meaning

    @property
    def meaning(self) -> Meaning:
        """A remainder, a count up to a bound, or whether there was one at all."""
        if not self.clamped:
            return Meaning("count", of=(self.label,), modulus=self.size)
        if self.size == 2:
            return Meaning("ever", of=(self.label,))
        return Meaning("count up to", of=(self.label,), number=self.size - 1)

    def _reduce(self, count: int) -> int:
        return min(count, self.size - 1) if self.clamped else count % self.size

    def _written(self, draft: ProgramDraft, terms: list[tuple[str, int]]) -> tuple[str, ...]:
        """The register of a sum, reduced."""
        if self.clamped:
            return (draft.clamp(terms, 0, 0, self.size - 1, self.meaning),)
        return (draft.modulo(terms, self.size, self.meaning),)


@dataclass(frozen=True)
class Count(CountingFeature):
    """``count mod size`` or ``min(count, size − 1)`` of the members."""

    members: frozenset[int]
    size: int
    clamped: bool
    label: Meaning
    early: int = 1
    period: int = 1
    start: int = 0

    @property
    def cost(self) -> float:
        """One head, shared by all counts."""
        return 0.9 + 0.02 * self.size

    def step(self, value: Value, symbol: int, place: int) -> int:
        """Counts the members."""
        return self._reduce(value + (symbol in self.members))

    def registers(self, draft: ProgramDraft, symbols: Symbols) -> tuple[str, ...]:
        """A prefix sum of a flag, reduced."""
        flag = symbols.flag(draft, self.members, 0, Meaning("is", of=(self.label,)))
        return self._written(draft, [(draft.prefix_sum(flag), 1)])


@dataclass(frozen=True)
class PlaceCount(CountingFeature):
    """``members[p]`` counts at folded position p (index 0, BOS, counts nothing)."""

    members: tuple[frozenset[int], ...]
    early: int
    period: int
    size: int
    clamped: bool
    label: Meaning
    names: tuple[str, ...]
    start: int = 0

    @property
    def cost(self) -> float:
        """One head for every set of letters counted at some place."""
        return len(set(self.members) - {frozenset()}) + 0.02 * self.size

    def step(self, value: Value, symbol: int, place: int) -> int:
        """Counts the members of this place."""
        return self._reduce(value + (symbol in self.members[folded(place, self.early, self.period)]))

    def registers(self, draft: ProgramDraft, symbols: Symbols) -> tuple[str, ...]:
        """A sum for every set of letters over the places that count it, added up and reduced."""
        terms = []
        for number, letters in enumerate(sorted(set(self.members) - {frozenset()}, key=sorted)):
            counts = [int(members == letters) for members in self.members]
            listed = Meaning("letters", letters=tuple(self.names[x] for x in sorted(letters)))
            meaning = draft.fresh(Meaning("place flag", number=number + 1, of=(self.label, listed)))
            flag = draft.places(meaning, counts[: self.early], counts[self.early :])
            held = symbols.flag(draft, letters, 0, Meaning("is", of=(listed,)))
            terms.append((draft.place_sum(flag, held), 1))
        if len(terms) > 1:  # the heads add into one channel
            total = draft.linear(terms, 0, (0, 1), Meaning("number", of=(self.label,)), kind="wide")
            terms = [(total, 1)]
        return self._written(draft, terms)


@dataclass(frozen=True)
class BackFeature:
    """The symbol ``distance`` positions back; where the word is shorter, ``before`` if given, else BOS."""

    distance: int
    num_symbols: int
    before: int | None = None
    early: int = 1
    period: int = 1

    @property
    def start(self) -> tuple[int, ...]:
        """Only what precedes the word."""
        return (self.num_symbols if self.before is None else self.before,) * (self.distance + 1)

    @property
    def meaning(self) -> Meaning:
        """A symbol some positions back."""
        return Meaning("back", number=self.distance, of=(Meaning("symbol"),))

    @property
    def cost(self) -> float:
        """One head, with one more position code than others."""
        return 1.0 + 0.02 * self.distance

    def step(self, value: Value, symbol: int, place: int) -> Value:
        """A queue of the last symbols."""
        return (*value[1:], symbol)

    def show(self, value: Value) -> Row:
        """The oldest in the queue."""
        return (value[0],)

    def registers(self, draft: ProgramDraft, symbols: Symbols) -> tuple[str, ...]:
        """A look-back of the symbol's number."""
        at_bos = symbols.bos if self.before is None else self.before
        held = symbols.label(draft, {x: x for x in symbols.number.values()}, at_bos, Meaning("symbol"))
        return (draft.look_back(held, self.distance),)


@dataclass(frozen=True)
class Latest(OneNumber):
    """``labels`` gives a small number to every member; before the first member the value is their count."""

    labels: tuple[tuple[int, int], ...]
    label: Meaning
    early: int = 1
    period: int = 1

    @property
    def start(self) -> int:
        """No member yet."""
        return len({number for _, number in self.labels})

    @property
    def meaning(self) -> Meaning:
        """Which member came last."""
        return Meaning("latest letter", of=(self.label,))

    @property
    def cost(self) -> float:
        """One head of its own."""
        return 1.0 + 0.01 * len(self.labels)

    def step(self, value: Value, symbol: int, place: int) -> Value:
        """Members replace the value."""
        return dict(self.labels).get(symbol, value)

    def registers(self, draft: ProgramDraft, symbols: Symbols) -> tuple[str, ...]:
        """A memory of labels, written where the flag is 1."""
        labels = dict(self.labels)
        flag = symbols.flag(draft, labels.keys(), 1, Meaning("writes", of=(self.label,)))
        held = symbols.label(draft, labels, self.start, Meaning("label", of=(self.label,)))
        return (draft.latest_write(flag, held, self.meaning),)


@dataclass(frozen=True)
class Place(OneNumber):
    """Position t, folded: t while t < early + period, then the position that looks like it."""

    early: int
    period: int
    start: int = 0

    @property
    def meaning(self) -> Meaning:
        """The position, folded."""
        return folded_position(self.early, self.period)

    @property
    def cost(self) -> float:
        """No head, but a larger table."""
        return 0.1 + 0.02 * (self.early + self.period)

    def step(self, value: Value, symbol: int, place: int) -> int:
        """Advances the clock."""
        return folded(place, self.early, self.period)

    def registers(self, draft: ProgramDraft, symbols: Symbols) -> tuple[str, ...]:
        """A part of the position encoding."""
        return (place_register(draft, self.early, self.period),)


def place_register(draft: ProgramDraft, early: int, period: int) -> str:
    """The register of folded positions, created once."""
    return draft.places(folded_position(early, period), range(early), range(early, early + period))


def folded_position(early: int, period: int) -> Meaning:
    """What that register means."""
    if early == 1:
        return Meaning("position from 1", modulus=period)
    return Meaning("folded position", start=early, modulus=period)


@dataclass(frozen=True)
class EndPlace(OneNumber):
    """The folded position of the latest or earliest member, 0 before the first."""

    members: frozenset[int]
    period: int
    label: Meaning
    early: int = 1
    end: Literal["latest", "earliest"] = "latest"
    start: int = 0

    @property
    def meaning(self) -> Meaning:
        """Where the first or the last member stands, folded."""
        mark = Meaning("last" if self.end == "latest" else "first", of=(self.label,))
        if self.early == 1:
            return Meaning("residue of", of=(mark,), modulus=self.period)
        return Meaning("folded place of", of=(mark,), modulus=self.period, start=self.early)

    @property
    def cost(self) -> float:
        """One head, and a larger table."""
        return (1.0 + 0.05 * self.early if self.end == "latest" else 1.1) + 0.02 * self.period

    def step(self, value: Value, symbol: int, place: int) -> Value:
        """Members move it here; the earliest stays where it is."""
        if symbol not in self.members or (value and self.end == "earliest"):
            return value
        return folded(place, self.early, self.period)

    def registers(self, draft: ProgramDraft, symbols: Symbols) -> tuple[str, ...]:
        """A memory of positions; that of the earliest is written once."""
        held = place_register(draft, self.early, self.period)
        if self.end == "latest":
            flag = symbols.flag(draft, self.members, 1, Meaning("writes", of=(self.label,)))
            return (draft.latest_write(flag, held, self.meaning),)
        flag = symbols.flag(draft, self.members, 0, Meaning("is", of=(self.label,)))
        return (draft.end_write([flag], "earliest", held, self.meaning),)


MAX_ANNOTATED = 20_000


@dataclass(frozen=True, eq=False)
class AnnotatedLetters:
    """The symbols (letter, what the features show after it) that can occur, and the moves that go with each.

    ``moves[s]`` are the pairs (state before, state after) that occur with symbol s. In a state of ``ends``
    words end: what follows does not matter.
    """

    automaton: Semiautomaton
    features: tuple[Feature, ...]
    rows: tuple[Row, ...]
    moves: tuple[frozenset[tuple[int, int]], ...]
    ends: frozenset[int] = frozenset()

    @cached_property
    def number(self) -> dict[Row, int]:
        """Symbols by letter and shown values."""
        return {row: number for number, row in enumerate(self.rows)}

    def start(self) -> tuple[Value, ...]:
        """The values before the first letter."""
        return tuple(feature.start for feature in self.features)

    def step(self, values: tuple[Value, ...], letter: int, place: int) -> tuple[tuple[Value, ...], int]:
        """The values after a letter, and the symbol there."""
        after, row = _move(self.features, values, letter, place)
        return after, self.number[row]

    def symbols_of(self, word: Sequence[int]) -> list[int]:
        """The symbols along a word."""
        values, result = self.start(), []
        for place, letter in enumerate(word, 1):
            values, symbol = self.step(values, letter, place)
            result.append(symbol)
        return result


def annotate(automaton: Semiautomaton, features: Sequence[Feature]) -> AnnotatedLetters:
    """All symbols that occur; refuses machines that are too large."""
    early, period = common_rhythm(features)
    start = (0, automaton.start, tuple(feature.start for feature in features))
    seen, queue = {start}, [start]
    moves: dict[Row, set[tuple[int, int]]] = {}
    for place, state, values in queue:
        here = folded(place + 1, early, period)
        for letter in range(automaton.num_letters):
            after, row = _move(features, values, letter, here)
            target = automaton.step(state, letter)
            moves.setdefault(row, set()).add((state, target))
            following = (here, target, after)
            if following not in seen:
                seen.add(following)
                queue.append(following)
        if len(seen) > MAX_ANNOTATED:
            raise LimitExceeded(f"annotated letters need more than {MAX_ANNOTATED:,} states")
    rows = sorted(moves)
    result = tuple(frozenset(moves[row]) for row in rows)
    return AnnotatedLetters(automaton, tuple(features), tuple(rows), result)


def _move(
    features: Sequence[Feature], values: tuple[Value, ...], letter: int, place: int
) -> tuple[tuple[Value, ...], Row]:
    after = tuple([f.step(value, letter, place) for f, value in zip(features, values, strict=True)])
    shown = [x for f, new in zip(features, after, strict=True) for x in f.show(new)]
    return after, (letter, *shown)
