"""Plans over events: heads see contexts, then events; layers of any number.

A context is a clamp of a sum of flags, one for each letter of it, that heads fetch from so many positions
back; where letters are skipped, from so many letters of the tier back. Events are sums of contexts, features
of events are written by themselves, and one table reads the state off the context and the features.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.suffixes import BEGIN, Word
from krohn.base.portable import Budget, BudgetSpent
from krohn.construct.features.cheapest_set import finish_rows
from krohn.construct.features.event_features import (
    Departures,
    EventCount,
    EventFeature,
    Members,
    Subsequence,
    all_of,
)
from krohn.construct.features.event_search import explore, few_features
from krohn.construct.features.events import EventMachine, Integers, event_machine
from krohn.construct.features.plans import merged_letters
from krohn.construct.features.read_off import read_by_boxes
from krohn.construct.request import Proposal, Request
from krohn.construct.tight.draft import ProgramDraft
from krohn.errors import LimitExceeded, Unsupported, counted
from krohn.network.operations import Row
from krohn.network.program import Meaning, Program

FEW_ROWS, FEW_CONTEXTS = 64, 100
"""Rows that are read by one staircase; contexts whose letters have a flag each."""

Labels = Mapping[Word, int]
"""A number for each context, or for some of them: elsewhere it does not matter."""


def coarsest(labels: Labels) -> dict[Word, int]:
    """The fewest suffixes that determine the label: where contexts agree, their suffix stands for them."""
    result: dict[Word, int] = {}
    todo: list[tuple[Word, list[Word]]] = [((), list(labels))]
    while todo:
        suffix, words = todo.pop()
        shown = {labels[word] for word in words}
        if len(shown) == 1:
            result[suffix] = shown.pop()
            continue
        longer: dict[Word, list[Word]] = {}
        for word in words:
            longer.setdefault(word[len(word) - len(suffix) - 1 :], []).append(word)
        todo += sorted(longer.items(), reverse=True)
    return result


class EventWriter:
    """Registers of letters, contexts and events, each made once."""

    def __init__(
        self, draft: ProgramDraft, machine: EventMachine, alike: Sequence[int], names: Sequence[str]
    ):
        self.draft, self.machine, self.alike, self.names = draft, machine, alike, names
        self.skips = len(machine.tier) < machine.event.shape[1]
        self.letters: dict[Members, str] = {}
        self.earlier: dict[tuple[Members, int], str] = {}
        self.flags: dict[Members, str] = {}
        self.keys: tuple[str, str] | None = None

    def _named(self, members: Members) -> Meaning:
        return Meaning("letters", letters=tuple(self.names[letter] for letter in sorted(members)))

    def letter(self, members: Members) -> str:
        """1 at these letters; BEGIN stands for BOS."""
        if members not in self.letters:
            values = [int(letter in members) for letter in self.alike]
            self.letters[members] = self.draft.source(
                self.draft.fresh(self._what(members)), values, int(BEGIN in members)
            )
        return self.letters[members]

    def back(self, members: Members, distance: int) -> str:
        """Whether one of the letters stands so many positions back; of the tier, where some are skipped."""
        if (members, distance) not in self.earlier:
            own, draft = self.letter(members), self.draft
            if not self.skips:
                made = draft.look_back(own, distance) if distance else own
            elif not distance:
                what = Meaning("latest on tier", of=(self._what(members),))
                made = draft.latest_write(self._on_tier(1), own, what)
            else:
                key, latest = self._key(), self.back(members, 0)
                target = Meaning("back on tier", number=distance, of=(self._what(members),))
                made = draft.latest_match(key, key, -distance, latest, target)
            self.earlier[members, distance] = made
        return self.earlier[members, distance]

    def _what(self, members: Members) -> Meaning:
        return Meaning("begins") if members == {BEGIN} else Meaning("is", of=(self._named(members),))

    def _on_tier(self, at_bos: int) -> str:
        meaning = Meaning("on tier", number=at_bos)
        if meaning.name not in self.draft.sources:
            tier = {*self.machine.tier}
            self.draft.source(meaning, [int(letter in tier) for letter in self.alike], at_bos)
        return meaning.name

    def _key(self) -> str:
        """The number of letters of the tier, on a circle that is longer than any context."""
        if self.keys is None:
            modulus = max(2, self.machine.context.longest + 1)
            total = self.draft.prefix_sum(self._on_tier(0))
            number = self.draft.modulo([(total, 1)], modulus, Meaning("number on tier", modulus=modulus))
            circle: dict[Row, int] = {(value,): value for value in range(modulus)}
            key = self.draft.circle_of(
                (number,), circle, modulus, Meaning("number on circle", modulus=modulus)
            )
            self.keys = number, key
        return self.keys[1]

    @cached_property
    def bits(self) -> tuple[Members, ...]:
        """Sets of letters that number the letters of contexts in binary; none where contexts are few.

        What comes before the word has number 0. A flag for each letter at each distance takes less of the
        MLP, bits take fewer channels.
        """
        if len(self.machine.context.words) <= FEW_CONTEXTS:
            return ()
        order = [BEGIN, *self.machine.tier]
        many = (len(order) - 1).bit_length()
        return tuple(
            frozenset(letter for number, letter in enumerate(order) if number >> bit & 1)
            for bit in range(many)
        )

    def context(self, word: Word, before: int, letters: Members | None, meaning: Meaning) -> str:
        """1 after this context; with ``before`` 1, if these letters follow it."""
        flags = [] if letters is None else [self.letter(letters)]
        none: list[str] = []
        for place, letter in enumerate(reversed(word)):
            if not self.bits:
                flags.append(self.back(frozenset([letter]), place + before))
            for members in self.bits:
                (flags if letter in members else none).append(self.back(members, place + before))
        return all_of(self.draft, flags, meaning, none)

    def event(self, members: Members) -> str:
        """1 at these events: a sum of exclusive cases, each a letter after a context."""
        if members not in self.flags:
            cases = [
                self.context(word, 1, letters, Meaning("letter after context", of=(self._named(letters),)))
                for letters, word in self._cases(members)
            ]
            if not cases:
                self.flags[members] = self.letter(frozenset())
            elif len(cases) == 1:
                self.flags[members] = cases[0]
            else:
                meaning = Meaning("event", number=len(self.flags))
                self.flags[members] = self.draft.linear([(case, 1) for case in cases], 0, (0, 1), meaning)
        return self.flags[members]

    def _cases(self, members: Members) -> Iterator[tuple[Members, Word]]:
        """Letters after a suffix of contexts; letters that go with the same suffixes are joined."""
        by_suffixes: dict[tuple[Word, ...], set[int]] = {}
        for letter in self.machine.tier:
            column = zip(self.machine.context.words, self.machine.event[:, letter].tolist(), strict=True)
            labels = {word: int(event in members) for word, event in column if event >= 0}
            suffixes = sorted(word for word, label in coarsest(labels).items() if label) if labels else []
            if suffixes:
                by_suffixes.setdefault(tuple(suffixes), set()).add(letter)
        for words, letters in by_suffixes.items():
            yield from ((frozenset(letters), word) for word in words)

    def window(self, labels: Labels) -> str:
        """What the context after the letter says of the state, as a number."""
        words = coarsest(labels)
        cases = [
            (self.context(word, 0, None, Meaning("context", number=number)), label)
            for number, (word, label) in enumerate(words.items())
            if label
        ]
        return self.draft.linear(cases, 0, (0, max(words.values())), Meaning("window"))


@dataclass(frozen=True, eq=False)
class EventLayers:
    """Contexts, events and features of events, and the rows that they determine."""

    machine: EventMachine
    features: tuple[EventFeature, ...]
    letters: tuple[int, ...]
    names: tuple[str, ...]
    num_outputs: int
    rows: dict[Row, int]

    @cached_property
    def window(self) -> Integers:
        """[context]: a number for what it says of the state, 0 for what most contexts say."""
        return window_labels(self.machine)

    @cached_property
    def program(self) -> Program:
        """The operations, and a read-out by one table."""
        draft = ProgramDraft(len(self.letters))
        writer = EventWriter(draft, self.machine, self.letters, self.names)
        held, at_bos = list[str](), list[int]()
        if self.window.any():
            told = zip(self.machine.context.words, self.window.tolist(), strict=True)
            labels = {word: label for word, label in told if label >= 0}
            held.append(writer.window(labels))
            at_bos.append(max(0, int(self.window[self.machine.contexts[0]])))
        for number, feature in enumerate(self.features, 1):
            held.append(feature.register(draft, writer.event, number))
            at_bos.append(0)
        if len(self.rows) > FEW_ROWS:
            return read_by_boxes(draft, held, self.rows, self.num_outputs)
        return finish_rows(draft, tuple(held), self.rows, tuple(at_bos), self.num_outputs)

    @property
    def size(self) -> int:
        """Rows of tables, registers and heads."""
        layers = self.program.layers
        return len(self.rows) + len(self.program.registers) + sum(len(layer.attention) for layer in layers)

    @property
    def titles(self) -> tuple[str, ...]:
        """What the layers see, in words."""
        longest = self.machine.context.longest
        lines: list[str] = []
        if longest:
            tier = (
                " that can change the state" if len(self.machine.tier) < self.machine.event.shape[1] else ""
            )
            lines.append(f"the last {counted(longest, 'letter')}{tier}")
        lines += [_title(feature, "letters" if self.machine.plain else "events") for feature in self.features]
        return tuple(lines) or ("the letter",)


def _title(feature: EventFeature, what: str) -> str:
    if isinstance(feature, EventCount):
        return f"{what} of one kind, counted up to {feature.top}"
    if isinstance(feature, Subsequence):
        return f"{len(feature.sets)} {what} in order"
    assert isinstance(feature, Departures)
    return f"the first {what} that leave {counted(len(feature.leave), 'class', 'classes')}"


def window_labels(machine: EventMachine) -> Integers:
    """[context]: contexts that agree on the state in each class where both occur share a number."""
    says: list[dict[int, int]] = [{} for _ in machine.context.words]
    for state, context in zip(machine.states.tolist(), machine.contexts.tolist(), strict=True):
        says[context][int(machine.part[state])] = state
    joined: list[dict[int, int]] = []
    labels = []
    for mine in says:
        if not mine:
            labels.append(-1)
            continue
        for number, other in enumerate(joined):
            if all(other.get(part, state) == state for part, state in mine.items()):
                other.update(mine)
                labels.append(number)
                break
        else:
            labels.append(len(joined))
            joined.append(dict(mine))
    result = np.array(labels)
    numbers, counts = np.unique(result[result >= 0], return_counts=True)
    most = numbers[counts.argmax()]
    swap = np.arange(len(joined))
    swap[[0, most]] = most, 0
    return np.where(result >= 0, swap[result], -1)


def event_plan(automaton: Semiautomaton, budget: Budget, *, merge: bool) -> EventLayers:
    """Contexts and features that determine the state; raises the reason if there are none."""
    merged, letters = merged_letters(automaton)
    machine = event_machine(merged, budget, merge=merge)
    features, wanted = tuple(few_features(machine, budget)), automaton.outputs
    window = window_labels(machine)
    product = explore(machine.pairs, machine.event[machine.contexts], 0, features, budget, most=MOST_ROWS)
    shown = [*([window[machine.contexts[product.nodes]]] if window.any() else []), *product.values]
    shown = shown or [np.zeros(len(product.nodes), dtype=np.int64)]
    columns = np.column_stack([*shown, machine.states[product.nodes]])
    rows: dict[Row, int] = {}
    for *row, state in np.unique(columns, axis=0).tolist():
        known = rows.setdefault(tuple(row), wanted[machine.order[state]])
        assert known == wanted[machine.order[state]], "contexts and features determine the state"
    plan = EventLayers(machine, features, letters, automaton.letter_names, len(automaton.output_names), rows)
    if not features and not plan.window.any():
        raise Unsupported("what does not change needs no features")
    return plan


EVENTS, MOST_ROWS = 10_000_000, 200_000
"""Units of work at effort 1; combinations of a state, a context and the values of all features."""
FEW_LAYERS = 3


def event_proposals(request: Request, budget: Budget) -> Iterator[Proposal]:
    """Features of letters in context, in as many layers as they take.

    Where every component is one state, larger classes are tried only if many layers are needed.
    """
    automaton, own = request.automaton, Budget(EVENTS * request.effort)
    plans: list[EventLayers] = []
    reasons: list[str] = []
    for merge in (False, True):
        if plans and plans[0].machine.acyclic and plans[0].program.depth <= FEW_LAYERS:
            break
        try:
            plans.append(event_plan(automaton, own, merge=merge))
        except BudgetSpent as error:
            budget.give_up("a search for features of events")
            reasons.append(str(error))
        except (LimitExceeded, Unsupported) as error:
            reasons.append(str(error))
    if not plans:
        raise Unsupported(reasons[0])
    best = min(plans, key=lambda plan: (plan.program.depth, plan.size))
    yield Proposal("features", best.program.depth, lambda: best.program, best.titles)
