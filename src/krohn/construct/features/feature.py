"""A feature: a finite value that one head (and the MLP behind it) can hold after every word.

A feature is a small machine over the symbols at a position (letters, or letters annotated by the features of
the layer before) and the place of the position. Every gadget says the same thing twice: as a machine
(``start``, ``step``, ``show``) for proofs, and as operations of a program (``registers``) for weights.
"""

from collections.abc import Hashable, Iterable
from math import lcm
from typing import Protocol

from krohn.construct.features.symbols import Symbols
from krohn.construct.tight.draft import ProgramDraft
from krohn.network.position_maps import Row

Value = Hashable


class Feature(Protocol):
    """What a gadget must offer; ``early`` and ``period`` say which positions look alike to it."""

    @property
    def name(self) -> str:
        """What people call it."""

    @property
    def cost(self) -> float:
        """About how many heads it takes; cheaper ones are tried first."""

    @property
    def early(self) -> int:
        """From this position on, positions that differ by the period look alike."""

    @property
    def period(self) -> int:
        """1 for a feature that does not look at positions."""

    @property
    def masked(self) -> bool:
        """Whether a strict mask hides the position itself from it: then it shows what it held before."""

    @property
    def start(self) -> Value:
        """The value before the first letter."""

    def step(self, value: Value, symbol: int, place: int) -> Value:
        """The value after one more symbol, at the given position (counted from 1)."""

    def show(self, value: Value) -> Row:
        """What its registers hold."""

    def registers(self, draft: ProgramDraft, symbols: Symbols) -> tuple[str, ...]:
        """Writes the operations; returns the registers that hold ``show``."""


def shown_by(feature: Feature, before: Value, after: Value, *, strict: bool) -> Row:
    """What its registers hold at a position, from the values before and after the symbol there."""
    return feature.show(before if strict and feature.masked else after)


def folded(place: int, early: int, period: int) -> int:
    """The first position that looks like this one."""
    return place if place < early + period else early + (place - early) % period


def common_rhythm(features: Iterable[Feature]) -> tuple[int, int]:
    """The position from which on all of them repeat, and the period."""
    early, period = 1, 1
    for feature in features:
        early, period = max(early, feature.early), lcm(period, feature.period)
    return early, period
