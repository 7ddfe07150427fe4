"""Position-wise operations of MLPs on registers: tables, residues, sums, clamps, composition."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
import numpy.typing as npt

from krohn.errors import InvalidInput

Values = npt.NDArray[np.int64]
Registers = Mapping[str, Values]
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
        for given, result in self.rows:
            if len(given) != len(self.inputs) or len(result) != len(self.outputs):
                raise InvalidInput(
                    f"a row must have {len(self.inputs)} inputs and {len(self.outputs)} outputs; "
                    f"got {given} -> {result}"
                )
        columns = list(zip(*(given for given, _ in self.rows), strict=True))
        if prod(max(column) - min(column) + 1 for column in columns) >= MAX_SPAN:
            raise InvalidInput(
                f"the inputs of the table for {', '.join(self.outputs)} must lie closer together"
            )
        if len({given for given, _ in self.rows}) != len(self.rows):
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
