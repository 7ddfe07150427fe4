"""What a block may do to registers: four kinds of attention, five kinds of position-wise map.

Every operation has a discrete meaning (``apply``) on integer arrays ``[word, position]`` and says
which registers it reads and writes. Position 0 is the beginning of the sequence (BOS); a causal
network sees ``i ≤ t``, a strict one ``i < t`` (position 0 sees itself under both masks).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from krohn.errors import InvalidInput

Values = npt.NDArray[np.int64]
Registers = Mapping[str, Values]
Row = tuple[int, ...]


def latest(marked: npt.NDArray[np.bool_], mask: str) -> Values:
    """``[word, t]``: the latest visible position that is marked, 0 where there is none."""
    positions = np.arange(marked.shape[1])
    found: Values = np.maximum.accumulate(np.where(marked, positions, 0), axis=1)
    return found if mask == "causal" else _shifted(found)


def _shifted(values: Values) -> Values:
    return np.concatenate([values[:, :1], values[:, :-1]], axis=1)


def _same_number(sources: tuple[str, ...], targets: tuple[str, ...]) -> None:
    if not sources or len(sources) != len(targets):
        raise InvalidInput(
            f"a head must copy as many registers as it writes; got {len(sources)} and {len(targets)}"
        )


@dataclass(frozen=True)
class PrefixSum:
    """``target_t = Σ source_i`` over the visible positions (Lemma "modular counter")."""

    sources: tuple[str, ...]
    targets: tuple[str, ...]

    def __post_init__(self) -> None:
        _same_number(self.sources, self.targets)

    @property
    def reads(self) -> tuple[str, ...]:
        """The registers that are summed."""
        return self.sources

    @property
    def writes(self) -> tuple[str, ...]:
        """The wide registers that hold the sums."""
        return self.targets

    def apply(self, values: Registers, mask: str) -> dict[str, Values]:
        """The discrete meaning."""
        sums = {name: np.cumsum(values[name], axis=1) for name in self.sources}
        if mask == "strict":
            sums = {name: _shifted(total) for name, total in sums.items()}
        return {target: sums[source] for source, target in zip(self.sources, self.targets, strict=True)}

    def describe(self) -> str:
        """One line for people."""
        return f"prefix sum of {', '.join(self.sources)}"


@dataclass(frozen=True)
class LatestWrite:
    """``target_t = source`` at the latest visible flagged position (Lemma "memory"); BOS is flagged."""

    flag: str
    sources: tuple[str, ...]
    targets: tuple[str, ...]

    def __post_init__(self) -> None:
        _same_number(self.sources, self.targets)

    @property
    def reads(self) -> tuple[str, ...]:
        """Flag and values."""
        return (self.flag, *self.sources)

    @property
    def writes(self) -> tuple[str, ...]:
        """The copies."""
        return self.targets

    def apply(self, values: Registers, mask: str) -> dict[str, Values]:
        """The discrete meaning."""
        where = latest(values[self.flag] == 1, mask)
        return _fetch(values, self.sources, self.targets, where)

    def describe(self) -> str:
        """One line for people."""
        return f"most recent {', '.join(self.sources)} where {self.flag} = 1"


@dataclass(frozen=True)
class LookBack:
    """``target_t = source_{max(t−distance, 0)}`` (the heads of Theorem 1)."""

    distance: int
    sources: tuple[str, ...]
    targets: tuple[str, ...]

    def __post_init__(self) -> None:
        _same_number(self.sources, self.targets)
        if self.distance < 1:
            raise InvalidInput(f"a look-back must reach at least 1 position back; got {self.distance}")

    @property
    def reads(self) -> tuple[str, ...]:
        """The registers that are fetched."""
        return self.sources

    @property
    def writes(self) -> tuple[str, ...]:
        """The copies."""
        return self.targets

    def apply(self, values: Registers, mask: str) -> dict[str, Values]:
        """The discrete meaning."""
        shape = values[self.sources[0]].shape
        where = np.broadcast_to(np.maximum(np.arange(shape[1]) - self.distance, 0), shape)
        return _fetch(values, self.sources, self.targets, where)

    def describe(self) -> str:
        """One line for people."""
        return f"{self.distance} back: {', '.join(self.sources)}"


@dataclass(frozen=True)
class LatestMatch:
    """``target_t = source`` at the latest visible ``i`` with ``key_i ≡ query_t + shift``, BOS if none.

    Query and key are registers on a circle of ``n`` values 0..n−1; equality is modulo ``n``.
    BOS never matches: it is the default.
    """

    query: str
    key: str
    modulus: int
    shift: int
    sources: tuple[str, ...]
    targets: tuple[str, ...]

    def __post_init__(self) -> None:
        _same_number(self.sources, self.targets)
        if self.modulus < 2:
            raise InvalidInput(f"keys must lie on a circle of at least 2 values; got {self.modulus}")

    @property
    def reads(self) -> tuple[str, ...]:
        """Query, key and values."""
        return (self.query, self.key, *self.sources)

    @property
    def writes(self) -> tuple[str, ...]:
        """The copies."""
        return self.targets

    def apply(self, values: Registers, mask: str) -> dict[str, Values]:
        """The discrete meaning."""
        wanted = (values[self.query] + self.shift) % self.modulus
        key = values[self.key].copy()
        key[:, 0] = -1
        where = np.zeros_like(key)
        for value in range(self.modulus):
            where = np.where(wanted == value, latest(key == value, mask), where)
        return _fetch(values, self.sources, self.targets, where)

    def describe(self) -> str:
        """One line for people."""
        shift = f" {self.shift:+d}" if self.shift else ""
        return f"latest {', '.join(self.sources)} where {self.key} = {self.query}{shift} mod {self.modulus}"


def _fetch(
    values: Registers, sources: tuple[str, ...], targets: tuple[str, ...], where: Values
) -> dict[str, Values]:
    return {
        target: np.take_along_axis(values[source], where, axis=1)
        for source, target in zip(sources, targets, strict=True)
    }


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
        if len({given for given, _ in self.rows}) != len(self.rows):
            raise InvalidInput(
                f"the rows of the table for {', '.join(self.outputs)} must have distinct inputs"
            )

    @property
    def reads(self) -> tuple[str, ...]:
        """The inputs."""
        return self.inputs

    @property
    def writes(self) -> tuple[str, ...]:
        """The outputs."""
        return self.outputs

    @cached_property
    def _dense(self) -> tuple[Values, Values, Values]:
        given = np.array([row for row, _ in self.rows], dtype=np.int64)
        low, spans = given.min(axis=0), given.max(axis=0) - given.min(axis=0) + 1
        dense = np.full((int(np.prod(spans)), len(self.outputs) + 1), -1, dtype=np.int64)
        codes = np.ravel_multi_index(tuple((given - low).T), tuple(spans))
        dense[codes, 0] = 1
        dense[codes, 1:] = np.array([result for _, result in self.rows], dtype=np.int64)
        return low, spans, dense

    def apply(self, values: Registers, mask: str) -> dict[str, Values]:
        """The discrete meaning; a row that is not listed is refused."""
        low, spans, dense = self._dense
        columns = [values[name] - shift for name, shift in zip(self.inputs, low, strict=True)]
        inside = np.all([(c >= 0) & (c < span) for c, span in zip(columns, spans, strict=True)], axis=0)
        clipped = [np.clip(c, 0, span - 1) for c, span in zip(columns, spans, strict=True)]
        found = dense[np.ravel_multi_index(tuple(clipped), tuple(spans))]
        missing = np.argwhere((found[..., 0] < 0) | ~inside)
        if len(missing):
            word, position = missing[0]
            row = tuple(int(values[name][word, position]) for name in self.inputs)
            raise InvalidInput(
                f"the table for {', '.join(self.outputs)} has no row for {self.inputs} = {row}"
            )
        return {name: found[..., 1 + index] for index, name in enumerate(self.outputs)}

    def describe(self) -> str:
        """One line for people."""
        return f"{', '.join(self.outputs)} = table of {', '.join(self.inputs)} ({len(self.rows)} rows)"


@dataclass(frozen=True)
class Modulo:
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
            raise InvalidInput(f"one value per residue; got {len(self.values)} for {self.modulus}")

    @property
    def reads(self) -> tuple[str, ...]:
        """The registers of the sum."""
        return tuple(name for name, _ in self.terms)

    @property
    def writes(self) -> tuple[str, ...]:
        """The residue."""
        return (self.target,)

    def apply(self, values: Registers, mask: str) -> dict[str, Values]:
        """The discrete meaning."""
        residue = combine(self.terms, self.offset, values) % self.modulus
        return {self.target: residue if self.values is None else np.array(self.values)[residue]}

    def describe(self) -> str:
        """One line for people."""
        mapped = "" if self.values is None else ", then mapped"
        return f"{self.target} = ({formula(self.terms, self.offset)}) mod {self.modulus}{mapped}"


@dataclass(frozen=True)
class Linear:
    """``target = Σ cᵢ·termᵢ + offset``."""

    terms: tuple[tuple[str, int], ...]
    offset: int
    target: str

    @property
    def reads(self) -> tuple[str, ...]:
        """The registers of the sum."""
        return tuple(name for name, _ in self.terms)

    @property
    def writes(self) -> tuple[str, ...]:
        """The sum."""
        return (self.target,)

    def apply(self, values: Registers, mask: str) -> dict[str, Values]:
        """The discrete meaning."""
        return {self.target: combine(self.terms, self.offset, values)}

    def describe(self) -> str:
        """One line for people."""
        return f"{self.target} = {formula(self.terms, self.offset)}"


@dataclass(frozen=True)
class Clamp:
    """``target = min(max(Σ cᵢ·termᵢ + offset, low), high)``."""

    terms: tuple[tuple[str, int], ...]
    offset: int
    low: int
    high: int
    target: str

    @property
    def reads(self) -> tuple[str, ...]:
        """The registers of the sum."""
        return tuple(name for name, _ in self.terms)

    @property
    def writes(self) -> tuple[str, ...]:
        """The clamped sum."""
        return (self.target,)

    def apply(self, values: Registers, mask: str) -> dict[str, Values]:
        """The discrete meaning."""
        return {self.target: np.clip(combine(self.terms, self.offset, values), self.low, self.high)}

    def describe(self) -> str:
        """One line for people."""
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
        _same_number(self.arguments, self.targets)

    @property
    def reads(self) -> tuple[str, ...]:
        """The function's values and its arguments."""
        return (*self.function, *self.arguments)

    @property
    def writes(self) -> tuple[str, ...]:
        """The composed map."""
        return self.targets

    def apply(self, values: Registers, mask: str) -> dict[str, Values]:
        """The discrete meaning."""
        stacked = np.stack([values[name] for name in self.function])
        return {
            target: np.take_along_axis(stacked, values[argument][None], axis=0)[0]
            for argument, target in zip(self.arguments, self.targets, strict=True)
        }

    def describe(self) -> str:
        """One line for people."""
        return f"composition of {len(self.function)}-state maps"


AttentionOperation = PrefixSum | LatestWrite | LookBack | LatestMatch
PositionMap = Table | Modulo | Linear | Clamp | Select


def combine(terms: tuple[tuple[str, int], ...], offset: int, values: Registers) -> Values:
    """``Σ cᵢ·termᵢ + offset`` at every position."""
    shape = next(iter(values.values())).shape
    total: Values = np.full(shape, offset, dtype=np.int64)
    for name, factor in terms:
        total = total + factor * values[name]
    return total


def formula(terms: tuple[tuple[str, int], ...], offset: int) -> str:
    """The sum as people write it."""
    parts = [name if factor == 1 else f"{factor}·{name}" for name, factor in terms]
    if offset or not parts:
        parts.append(str(offset))
    return " + ".join(parts).replace("+ -", "− ")
