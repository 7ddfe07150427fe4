"""Operations of a program on registers: those of attention, then those of MLPs, position by position.

Prefix sums, memories, look-backs and lookups by key; tables, residues, sums, clamps and composition.
Every operation has a discrete meaning (``apply``) on integer arrays ``[word, position]`` and says
which registers it reads and writes. Position 0 is the beginning of the sequence (BOS); position t
sees ``i ≤ t``.
"""

from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from krohn.errors import InvalidInput

Values = npt.NDArray[np.int64]
Registers = Mapping[str, Values]


def latest(marked: npt.NDArray[np.bool_]) -> Values:
    """``[word, t]``: the latest visible marked position, 0 if none."""
    positions = np.arange(marked.shape[1])
    found: Values = np.maximum.accumulate(np.where(marked, positions, 0), axis=1)
    return found


@dataclass(frozen=True)
class Facts:
    """Static facts about a program's registers.

    Attributes:
        kinds: integer, wide or circle, by register.
        first: the value at BOS, for registers that tokens bring along.
        flags: registers that are 0 or 1 and depend on the position alone.
    """

    kinds: Mapping[str, str]
    first: Mapping[str, int]
    flags: frozenset[str]


class _Copies:
    """Shared by all heads: each source gives one target."""

    kind: ClassVar[str]
    sources: tuple[str, ...]
    targets: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.sources or len(self.sources) != len(self.targets):
            raise InvalidInput(
                "a head must copy as many registers as it writes; "
                f"got {len(self.sources)} and {len(self.targets)}"
            )

    @property
    def reads(self) -> tuple[str, ...]:
        """The registers that are summed or fetched."""
        return self.sources

    @property
    def writes(self) -> tuple[str, ...]:
        """The sums or copies."""
        return self.targets

    @property
    def pattern(self) -> tuple[str, ...]:
        """Where the head looks: operations of one pattern share one head."""
        return (self.kind, *(str(x) for name, x in vars(self).items() if name not in ("sources", "targets")))

    def faults(self, facts: Facts) -> Iterator[str]:
        """Reasons why the operation is not well defined in this program."""
        return iter(())

    def _fetch(self, values: Registers, where: Values) -> dict[str, Values]:
        pairs = zip(self.sources, self.targets, strict=True)
        return {target: np.take_along_axis(values[source], where, axis=1) for source, target in pairs}

    def _sum_faults(self, facts: Facts) -> Iterator[str]:
        yield from (f"sum {n} is not wide" for n in self.targets if facts.kinds.get(n) != "wide")
        yield from (f"summed {n} is not 0 at BOS" for n in self.sources if facts.first.get(n, 0) != 0)


@dataclass(frozen=True)
class PrefixSum(_Copies):
    """``target_t = Σ source_i`` over the visible positions (Lemma "modular counter")."""

    kind = "sum"
    sources: tuple[str, ...]
    targets: tuple[str, ...]

    def faults(self, facts: Facts) -> Iterator[str]:
        """Sums are wide, and nothing is summed at BOS."""
        return self._sum_faults(facts)

    def apply(self, values: Registers) -> dict[str, Values]:
        """The discrete meaning."""
        pairs = zip(self.sources, self.targets, strict=True)
        return {target: np.cumsum(values[source], axis=1) for source, target in pairs}

    def describe(self) -> str:
        """A one-line description."""
        return f"prefix sum of {', '.join(self.sources)}"


@dataclass(frozen=True)
class PlaceSum(_Copies):
    """``target_t = Σ source_i`` over the visible positions with position flag 1."""

    kind = "place sum"
    flag: str
    sources: tuple[str, ...]
    targets: tuple[str, ...]

    def faults(self, facts: Facts) -> Iterator[str]:
        """As for a prefix sum; and the flag must depend on the position alone."""
        if self.flag not in facts.flags:
            yield f"flag {self.flag} is not one of places with values 0 and 1"
        yield from self._sum_faults(facts)

    @property
    def reads(self) -> tuple[str, ...]:
        """Flag and values."""
        return (self.flag, *self.sources)

    def apply(self, values: Registers) -> dict[str, Values]:
        """The discrete meaning."""
        chosen = {name: np.where(values[self.flag] == 1, values[name], 0) for name in self.sources}
        return PrefixSum(self.sources, self.targets).apply(chosen)

    def describe(self) -> str:
        """A one-line description."""
        return f"sum of {', '.join(self.sources)} where {self.flag} = 1"


@dataclass(frozen=True)
class LatestWrite(_Copies):
    """``target_t = source`` at the latest visible flagged position (Lemma "memory"); BOS is flagged."""

    kind = "write"
    flag: str
    sources: tuple[str, ...]
    targets: tuple[str, ...]

    def faults(self, facts: Facts) -> Iterator[str]:
        """BOS must be flagged."""
        if facts.first.get(self.flag, 1) != 1:
            yield f"flag {self.flag} is not 1 at BOS"

    @property
    def reads(self) -> tuple[str, ...]:
        """Flag and values."""
        return (self.flag, *self.sources)

    def apply(self, values: Registers) -> dict[str, Values]:
        """The discrete meaning."""
        return self._fetch(values, latest(values[self.flag] == 1))

    def describe(self) -> str:
        """A one-line description."""
        return f"most recent {', '.join(self.sources)} where {self.flag} = 1"


@dataclass(frozen=True)
class EndWrite(_Copies):
    """``target_t = source`` at the earliest or latest visible position where all flags are 1, BOS if none."""

    kind = "end"
    flags: tuple[str, ...]
    end: Literal["earliest", "latest"]
    sources: tuple[str, ...]
    targets: tuple[str, ...]

    def faults(self, facts: Facts) -> Iterator[str]:
        """Flags must be 0 or 1, and there must be at least one."""
        if not self.flags:
            yield "there is no flag to look for"
        wrong = (name for name in self.flags if facts.first.get(name, 0) not in (0, 1))
        yield from (f"flag {name} is not 0 or 1" for name in wrong)

    @property
    def reads(self) -> tuple[str, ...]:
        """Flags and values."""
        return (*self.flags, *self.sources)

    def apply(self, values: Registers) -> dict[str, Values]:
        """The discrete meaning; BOS never counts as flagged, it is the default."""
        marked = np.all([values[name] == 1 for name in self.flags], axis=0)
        marked[:, 0] = False
        if self.end == "earliest":
            marked &= np.cumsum(marked, axis=1) == 1
        return self._fetch(values, latest(marked))

    def describe(self) -> str:
        """A one-line description."""
        flagged = " and ".join(f"{name} = 1" for name in self.flags)
        return f"{self.end} {', '.join(self.sources)} where {flagged}"


@dataclass(frozen=True)
class LookBack(_Copies):
    """``target_t = source_{max(t−distance, 0)}`` (the heads of Theorem 1)."""

    kind = "back"
    distance: int
    sources: tuple[str, ...]
    targets: tuple[str, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.distance < 1:
            raise InvalidInput(f"a look-back must reach at least 1 position back; got {self.distance}")

    def apply(self, values: Registers) -> dict[str, Values]:
        """The discrete meaning."""
        shape = values[self.sources[0]].shape
        where = np.broadcast_to(np.maximum(np.arange(shape[1]) - self.distance, 0), shape)
        return self._fetch(values, where)

    def describe(self) -> str:
        """A one-line description."""
        return f"{self.distance} back: {', '.join(self.sources)}"


@dataclass(frozen=True)
class LatestMatch(_Copies):
    """``target_t = source`` at the latest visible ``i`` with ``key_i ≡ query_t + shift``, BOS if none.

    Query and key are registers on a circle of ``n`` values 0..n−1; equality is modulo ``n``. Without a
    query (an empty name) the key sought is ``shift`` itself. BOS never matches: it is the default.
    """

    kind = "match"
    query: str
    key: str
    modulus: int
    shift: int
    sources: tuple[str, ...]
    targets: tuple[str, ...]

    def faults(self, facts: Facts) -> Iterator[str]:
        """Query and key must lie on circles."""
        pair = (*((self.query,) if self.query else ()), self.key)
        yield from (f"{n} is not a circle register" for n in pair if facts.kinds.get(n) != "circle")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.modulus < 2:
            raise InvalidInput(f"keys must lie on a circle of at least 2 values; got {self.modulus}")

    @property
    def reads(self) -> tuple[str, ...]:
        """Query, key and values."""
        return (*((self.query,) if self.query else ()), self.key, *self.sources)

    def apply(self, values: Registers) -> dict[str, Values]:
        """The discrete meaning."""
        key = values[self.key].copy()
        query = values[self.query] if self.query else np.zeros_like(key)
        wanted = (query + self.shift) % self.modulus
        key[:, 0] = -1
        where = np.zeros_like(key)
        for value in np.unique(wanted).tolist():
            where = np.where(wanted == value, latest(key == value), where)
        return self._fetch(values, where)

    def describe(self) -> str:
        """A one-line description."""
        if not self.query:
            return f"latest {', '.join(self.sources)} where {self.key} = {self.shift % self.modulus}"
        shift = f" {self.shift:+d}" if self.shift else ""
        return f"latest {', '.join(self.sources)} where {self.key} = {self.query}{shift} mod {self.modulus}"


AttentionOperation = PrefixSum | PlaceSum | LatestWrite | EndWrite | LookBack | LatestMatch

Row = tuple[int, ...]
MAX_SPAN = 2**62
"""Inputs between the least and the greatest of a table: each has a number of its own."""


class _OfSum:
    """Base class of the functions of one sum ``Σ cᵢ·termᵢ``."""

    terms: tuple[tuple[str, int], ...]
    target: str

    @property
    def reads(self) -> tuple[str, ...]:
        """The registers of the sum."""
        return tuple(name for name, _ in self.terms)

    @property
    def writes(self) -> tuple[str, ...]:
        """The one register that holds the result."""
        return (self.target,)


@dataclass(frozen=True)
class Table:
    """``outputs = rows[inputs]``; only the rows that can occur are listed."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    rows: tuple[tuple[Row, Row], ...]

    def __post_init__(self) -> None:
        if not (self.inputs and self.outputs and self.rows):
            raise InvalidInput("a table needs inputs, outputs and at least one row")
        widths = len(self.inputs), len(self.outputs)
        given = [row for row, _ in self.rows]
        if {*map(len, given)} != {widths[0]} or {len(result) for _, result in self.rows} != {widths[1]}:
            wrong = next(row for row in self.rows if (len(row[0]), len(row[1])) != widths)
            raise InvalidInput(
                f"a row must have {widths[0]} inputs and {widths[1]} outputs; got {wrong[0]} -> {wrong[1]}"
            )
        columns = ([row[place] for row in given] for place in range(widths[0]))
        if prod(max(column) - min(column) + 1 for column in columns) >= MAX_SPAN:
            raise InvalidInput(
                f"the inputs of the table for {', '.join(self.outputs)} must lie closer together"
            )
        if len({*given}) != len(given):
            raise InvalidInput(
                f"the rows of the table for {', '.join(self.outputs)} must have distinct inputs"
            )

    @property
    def reads(self) -> tuple[str, ...]:
        """The registers that select the row."""
        return self.inputs

    @property
    def writes(self) -> tuple[str, ...]:
        """The registers that the row fills."""
        return self.outputs

    def between(self, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> "Table":
        """The same rows for as many other registers: they need not be checked again."""
        assert (len(inputs), len(outputs)) == (len(self.inputs), len(self.outputs))
        result = copy(self)
        object.__setattr__(result, "inputs", inputs)
        object.__setattr__(result, "outputs", outputs)
        return result

    @cached_property
    def _sorted(self) -> tuple[Values, Values, Values, Values]:
        """Least inputs, spans, the rows' codes in order, and the outputs in that order."""
        given = np.array([row for row, _ in self.rows], dtype=np.int64)
        low, spans = given.min(axis=0), given.max(axis=0) - given.min(axis=0) + 1
        codes = np.ravel_multi_index(tuple((given - low).T), tuple(spans))
        order = np.argsort(codes)
        return low, spans, codes[order], np.array([self.rows[row][1] for row in order], dtype=np.int64)

    def apply(self, values: Registers) -> dict[str, Values]:
        """The discrete meaning; a row that is not listed is refused."""
        low, spans, codes, results = self._sorted
        columns = [values[name] - shift for name, shift in zip(self.inputs, low, strict=True)]
        inside = np.all([(c >= 0) & (c < span) for c, span in zip(columns, spans, strict=True)], axis=0)
        clipped = [np.clip(c, 0, span - 1) for c, span in zip(columns, spans, strict=True)]
        code = np.ravel_multi_index(tuple(clipped), tuple(spans))
        place = np.minimum(np.searchsorted(codes, code), len(codes) - 1)
        missing = np.argwhere((codes[place] != code) | ~inside)
        if len(missing):
            word, position = missing[0]
            row = tuple(int(values[name][word, position]) for name in self.inputs)
            raise InvalidInput(
                f"the table for {', '.join(self.outputs)} has no row for {self.inputs} = {row}"
            )
        return {name: results[place][..., index] for index, name in enumerate(self.outputs)}

    def describe(self) -> str:
        """A one-line description."""
        return f"{', '.join(self.outputs)} = table of {', '.join(self.inputs)} ({len(self.rows)} rows)"


@dataclass(frozen=True)
class Modulo(_OfSum):
    """``target = values[(Σ cᵢ·termᵢ + offset) mod modulus]``; without ``values`` the residue itself."""

    terms: tuple[tuple[str, int], ...]
    offset: int
    modulus: int
    target: str
    values: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if self.modulus < 2 or not self.terms:
            raise InvalidInput(f"a modulus must be at least 2, of at least one term; got {self.modulus}")
        if self.values is not None and len(self.values) != self.modulus:
            raise InvalidInput(
                f"there must be one value per residue; got {len(self.values)} for {self.modulus}"
            )

    def apply(self, values: Registers) -> dict[str, Values]:
        """The discrete meaning."""
        residue = combine(self.terms, self.offset, values) % self.modulus
        return {self.target: residue if self.values is None else np.array(self.values)[residue]}

    def describe(self) -> str:
        """A one-line description."""
        mapped = "" if self.values is None else ", then mapped"
        return f"{self.target} = ({formula(self.terms, self.offset)}) mod {self.modulus}{mapped}"


@dataclass(frozen=True)
class Linear(_OfSum):
    """``target = Σ cᵢ·termᵢ + offset``."""

    terms: tuple[tuple[str, int], ...]
    offset: int
    target: str

    def apply(self, values: Registers) -> dict[str, Values]:
        """The discrete meaning."""
        return {self.target: combine(self.terms, self.offset, values)}

    def describe(self) -> str:
        """A one-line description."""
        return f"{self.target} = {formula(self.terms, self.offset)}"


@dataclass(frozen=True)
class Clamp(_OfSum):
    """``target = min(max(Σ cᵢ·termᵢ + offset, low), high)``."""

    terms: tuple[tuple[str, int], ...]
    offset: int
    low: int
    high: int
    target: str

    def apply(self, values: Registers) -> dict[str, Values]:
        """The discrete meaning."""
        return {self.target: np.clip(combine(self.terms, self.offset, values), self.low, self.high)}

    def describe(self) -> str:
        """A one-line description."""
        return f"{self.target} = {formula(self.terms, self.offset)} clamped to {self.low}..{self.high}"


@dataclass(frozen=True)
class Select:
    """``targets[j] = function[arguments[j]]``: composition of transition maps (Theorem 1).

    ``function`` lists the registers f(0), f(1), …; an argument holds an index into that list.
    """

    function: tuple[str, ...]
    arguments: tuple[str, ...]
    targets: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.function or not self.arguments or len(self.arguments) != len(self.targets):
            raise InvalidInput(
                "a composition needs one target per argument; "
                f"got {len(self.targets)} for {len(self.arguments)}"
            )

    @property
    def reads(self) -> tuple[str, ...]:
        """The function's values and its arguments."""
        return (*self.function, *self.arguments)

    @property
    def writes(self) -> tuple[str, ...]:
        """The composed map."""
        return self.targets

    def apply(self, values: Registers) -> dict[str, Values]:
        """The discrete meaning."""
        stacked = np.stack([values[name] for name in self.function])
        for argument in self.arguments:
            if ((values[argument] < 0) | (values[argument] >= len(stacked))).any():
                raise InvalidInput(
                    f"{argument} must be one of the {len(stacked)} arguments of the composed map"
                )
        return {
            target: np.take_along_axis(stacked, values[argument][None], axis=0)[0]
            for argument, target in zip(self.arguments, self.targets, strict=True)
        }

    def describe(self) -> str:
        """A one-line description."""
        return f"composition of {len(self.function)}-state maps"


PositionMap = Table | Modulo | Linear | Clamp | Select


def combine(terms: tuple[tuple[str, int], ...], offset: int, values: Registers) -> Values:
    """``Σ cᵢ·termᵢ + offset`` at every position."""
    shape = next(iter(values.values())).shape
    total: Values = np.full(shape, offset, dtype=np.int64)
    for name, factor in terms:
        total = total + factor * values[name]
    return total


def formula(terms: tuple[tuple[str, int], ...], offset: int) -> str:
    """The sum as a formula."""
    parts = [name if factor == 1 else f"{factor}·{name}" for name, factor in terms]
    if offset or not parts:
        parts.append(str(offset))
    return " + ".join(parts).replace("+ -", "− ")
