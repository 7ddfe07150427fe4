"""Features of events: how many came, which came in order, and by which the first classes were left.

Each is a small machine over events, its meaning (``after``, ``values``), and operations of a program, its
weights (``register``). The operations bound their own rounding: sums, memories and clamps of small numbers.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from krohn.construct.features.events import Flags, Integers
from krohn.construct.tight.draft import ProgramDraft
from krohn.network.program import Meaning

Members = frozenset[int]
Flag = Callable[[Members], str]
"""The register that is 1 at these events, and 0 at BOS."""


class EventFeature(ABC):
    """A machine over events that starts with value 0."""

    @property
    @abstractmethod
    def key(self) -> tuple[object, ...]:
        """Features with one key are equal."""

    @property
    @abstractmethod
    def after(self) -> Integers:
        """[value, event]: the next value."""

    @property
    @abstractmethod
    def layers(self) -> int:
        """Layers of heads over events."""

    @abstractmethod
    def register(self, draft: ProgramDraft, flag: Flag, number: int) -> str:
        """Writes the operations; the register that holds the value. ``number`` tells features apart."""

    def values(self, events: Sequence[int]) -> list[int]:
        """The values along a sequence of events, the first one included."""
        result = [0]
        for event in events:
            result.append(int(self.after[result[-1], event]))
        return result

    @cached_property
    def stays(self) -> Flags:
        """[value]: whether no event changes it."""
        fixed: Flags = (self.after == np.arange(len(self.after))[:, None]).all(axis=1)
        return fixed


@dataclass(frozen=True, eq=False)
class EventCount(EventFeature):
    """How many of the members came, up to ``top``."""

    members: Members
    top: int
    events: int

    @property
    def layers(self) -> int:
        """One."""
        return 1

    @property
    def key(self) -> tuple[object, ...]:
        """The members and the bound."""
        return "count", tuple(sorted(self.members)), self.top

    @cached_property
    def after(self) -> Integers:
        """One more at members, below the bound."""
        result = np.tile(np.arange(self.top + 1)[:, None], (1, self.events))
        result[: self.top, sorted(self.members)] += 1
        return result

    def register(self, draft: ProgramDraft, flag: Flag, number: int) -> str:
        """A prefix sum, clamped."""
        total = draft.prefix_sum(flag(self.members))
        return draft.clamp([(total, 1)], 0, 0, self.top, Meaning("events counted", number=number))


@dataclass(frozen=True, eq=False)
class Subsequence(EventFeature):
    """How many of the sets have been met in order, each at a later event than the one before.

    A layer finds the earliest place where the first j sets are met, and the latest member of set j + 1: two
    sets a layer. Where set j + 1 shares members with set j + 2, the next layer starts from j + 1.
    """

    sets: tuple[Members, ...]
    events: int

    @property
    def key(self) -> tuple[object, ...]:
        """The sets."""
        return "subsequence", tuple(tuple(sorted(each)) for each in self.sets)

    @cached_property
    def after(self) -> Integers:
        """One more at members of the next set."""
        result = np.tile(np.arange(len(self.sets) + 1)[:, None], (1, self.events))
        for stage, members in enumerate(self.sets):
            result[stage, sorted(members)] = stage + 1
        return result

    @cached_property
    def layers(self) -> int:
        """One for two sets, as far as neighbours are disjoint."""
        stage, result = 0, 1
        while len(self.sets) - stage > 2:
            stage, result = stage + (1 if self._meets(stage + 1) else 2), result + 1
        return result

    def _meets(self, stage: int) -> bool:
        return bool(self.sets[stage] & self.sets[stage + 1])

    def register(self, draft: ProgramDraft, flag: Flag, number: int) -> str:
        """The parts found layer by layer, added up: a later one is 0 until those before are complete."""
        parts: list[tuple[str, int]] = []
        stage, mark = 0, flag(self.sets[0])
        while True:
            ever = draft.end_write([mark], "earliest", mark, Meaning("met", number=number))
            if stage + 1 == len(self.sets):
                parts.append((ever, 1))
                break
            last = stage + 2 == len(self.sets)
            if last or not self._meets(stage + 1):
                after = stands_after(draft, flag(self.sets[stage + 1]), mark, number)
                both = Meaning("two met", number=number)
                parts.append((draft.clamp([(ever, 2), (after, 1)], -1, 0, 2, both), 1))
                if last:
                    break
                needed = [flag(self.sets[stage + 2]), ever, after]
                stage += 2
            else:
                parts.append((ever, 1))
                needed = [flag(self.sets[stage + 1]), ever]
                if self._meets(stage):  # one place must not count for both
                    needed.append(stands_after(draft, anything(draft), mark, number))
                stage += 1
            mark = all_of(draft, needed, Meaning("next mark", number=number))
        if len(parts) == 1:
            return parts[0][0]
        return draft.clamp(parts, 0, 0, len(self.sets), Meaning("met in order", number=number))


@dataclass(frozen=True, eq=False)
class Departures(EventFeature):
    """Which classes of a path were left for the next one, and by other events than those.

    ``leave[j]`` are the events that leave class j of the path, ``good[j]`` those that lead to the next one.
    The value is j in class j, and ``len(leave) + 1 + j`` for ever once class j was left for another.
    """

    leave: tuple[Members, ...]
    good: tuple[Members, ...]
    events: int

    @property
    def key(self) -> tuple[object, ...]:
        """Both lists of sets."""
        return "departures", *(
            tuple(tuple(sorted(each)) for each in part) for part in (self.leave, self.good)
        )

    @property
    def layers(self) -> int:
        """One for each class that is left."""
        return len(self.leave)

    @cached_property
    def after(self) -> Integers:
        """Onwards at a good event, off the path at another one that leaves."""
        count = len(self.leave)
        result = np.tile(np.arange(2 * count + 1)[:, None], (1, self.events))
        for stage, (leave, good) in enumerate(zip(self.leave, self.good, strict=True)):
            result[stage, sorted(leave)] = count + 1 + stage
            result[stage, sorted(good)] = stage + 1
        return result

    def register(self, draft: ProgramDraft, flag: Flag, number: int) -> str:
        """Each layer finds the earliest event that leaves the class, and whether it was a good one."""
        count = len(self.leave)
        terms: list[tuple[str, int]] = []
        mark = flag(self.leave[0])
        for stage, good in enumerate(self.good):
            left = draft.end_write([mark], "earliest", mark, Meaning("met", number=number))
            right = left
            if good != self.leave[stage]:
                right = draft.end_write([mark], "earliest", flag(good), Meaning("left well", number=number))
            terms += [(left, count + 1), (right, -count)]
            if stage + 1 < count:
                needed = [flag(self.leave[stage + 1]), right]
                if good != self.leave[stage]:
                    needed.append(left)
                if good & self.leave[stage + 1]:
                    needed.append(stands_after(draft, anything(draft), mark, number))
                mark = all_of(draft, needed, Meaning("next mark", number=number))
        return draft.clamp(terms, 0, 0, 2 * count, Meaning("left in order", number=number))


def anything(draft: ProgramDraft) -> str:
    """A flag at every letter."""
    meaning = Meaning("any letter")
    if meaning.name not in draft.sources:
        draft.source(meaning, [1] * draft.num_letters, 0)
    return meaning.name


def all_of(draft: ProgramDraft, flags: Sequence[str], meaning: Meaning, none: Sequence[str] = ()) -> str:
    """1 where all flags are 1 and those of ``none`` are 0: a clamp that is flat around whole numbers passes
    no error on.
    """
    names = list(dict.fromkeys(flags))
    if len(names) == 1 and not none:
        return names[0]
    terms = [*((name, 3) for name in names), *((name, -3) for name in dict.fromkeys(none))]
    return draft.clamp(terms, 2 - 3 * len(names), 0, 1, meaning)


def stands_after(draft: ProgramDraft, late: str, early: str, number: int) -> str:
    """Whether the latest place with one flag stands after the earliest with another: two heads of one layer.

    Three times their difference, less 1, is clamped to 0 … 1: no difference is near a kink.
    """
    ends: tuple[tuple[str, Literal["earliest", "latest"], str, str], ...] = (
        (early, "earliest", "place of mark", late),
        (late, "latest", "latest place", early),
    )
    places = [
        draft.end_write([own], end, draft.position(), Meaning(kind, number=number), beside=[other])
        for own, end, kind, other in ends
    ]
    apart = draft.linear(
        [(places[1], 1), (places[0], -1)], 0, (-1, 1), Meaning("places apart", number=number), kind="wide"
    )
    return draft.clamp([(apart, 3)], -1, 0, 1, Meaning("stands after", number=number))
