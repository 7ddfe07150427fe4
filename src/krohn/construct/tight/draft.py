"""A program under construction: operations in order of use, scheduled into the earliest possible layers.

A position-wise map runs in the MLP of the layer in which its last input appears; a head runs one layer
after its last input. Maps of token values are evaluated immediately and become sources.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, product
from math import prod
from typing import Literal

from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import LimitExceeded
from krohn.network.attention_operations import (
    AttentionOperation,
    EndWrite,
    LatestMatch,
    LatestWrite,
    LookBack,
    PlaceSum,
    PrefixSum,
)
from krohn.network.position_maps import Clamp, Linear, Modulo, PositionMap, Row, Select, Table
from krohn.network.program import Places, Program, ProgramLayer, Readout, Register, Source

Terms = Sequence[tuple[str, int]]
Kind = Literal["integer", "wide", "circle"]

TOKENS = -1
"""The time of a source: before layer 0."""


@dataclass
class ProgramDraft:
    """Registers with the layer that writes them, sources, and operations with their layer."""

    num_letters: int
    num_padding: int = 1
    lagged: bool = False
    flat: bool = False  # maps of sums in one step, at the cost of more units
    registers: dict[str, Register] = field(default_factory=dict)
    time: dict[str, int] = field(default_factory=dict)
    sources: dict[str, Source] = field(default_factory=dict)
    rhythms: dict[str, Places] = field(default_factory=dict)
    heads: list[tuple[int, AttentionOperation]] = field(default_factory=list)
    maps: list[tuple[int, PositionMap]] = field(default_factory=list)

    def fresh(self, name: str) -> str:
        """The name, or the name with a number if it is taken."""
        number, result = 2, name
        while result in self.registers:
            result, number = f"{name}#{number}", number + 1
        return result

    def source(self, name: str, letters: Sequence[int], padding: int | Sequence[int]) -> str:
        """A value that the token brings along; one for every padding position, or the same for all."""
        pads = (padding,) * self.num_padding if isinstance(padding, int) else tuple(padding)
        values = (*letters, *pads)
        self._made(name, min(values), max(values), TOKENS)
        self.sources[name] = Source(name, tuple(letters), pads)
        return name

    def places(self, name: str, early: Sequence[int], cycle: Sequence[int]) -> str:
        """A value that the position brings along; created once."""
        if name not in self.rhythms:
            self._made(name, min(*early, *cycle), max(*early, *cycle), TOKENS)
            self.rhythms[name] = Places(name, tuple(early), tuple(cycle))
        return name

    def _made(self, name: str, low: int, high: int, time: int, kind: Kind = "integer") -> None:
        self.registers[name] = Register(name, low, high, kind)
        self.time[name] = time

    def _latest(self, names: Sequence[str]) -> int:
        return max(self.time[name] for name in names)

    def _attended(self, operation: AttentionOperation, kind: Kind = "integer") -> str:
        layer = self._latest(operation.reads) + 1
        source, target = operation.sources[0], operation.targets[0]
        self._made(target, self.registers[source].low, self.registers[source].high, layer, kind)
        self.heads.append((layer, operation))
        return target

    def prefix_sum(self, source: str) -> str:
        """A sum over the visible positions."""
        return self._attended(PrefixSum((source,), (self.fresh(f"sum of {source}"),)), "wide")

    def place_sum(self, flag: str, source: str) -> str:
        """A sum over the visible positions whose place has flag 1."""
        target = self.fresh(f"sum of {source} where {flag}")
        layer = self._latest((flag, source)) + 1
        self._made(
            target, min(0, self.registers[source].low), max(0, self.registers[source].high), layer, "wide"
        )
        self.heads.append((layer, PlaceSum(flag, (source,), (target,))))
        return target

    def latest_write(self, flag: str, source: str, target: str) -> str:
        """The most recent flagged value."""
        return self._attended(LatestWrite(flag, (source,), (self.fresh(target),)))

    def end_write(
        self, flags: Sequence[str], end: Literal["earliest", "latest"], source: str, target: str
    ) -> str:
        """The earliest or latest value where all flags are 1."""
        kind = self.registers[source].kind
        return self._attended(EndWrite(tuple(flags), end, (source,), (self.fresh(target),)), kind)

    def ever(self, flag: str, target: str) -> str:
        """Whether the flag, 0 at BOS, has been 1 so far: a copy of the latest 1, which needs no MLP."""
        return self.end_write([flag], "latest", flag, target)

    def position(self) -> str:
        """The position itself."""
        name = "t"
        if name not in self.rhythms:
            self._made(name, 0, 1, TOKENS, "wide")
            self.rhythms[name] = Places(name, (0,), (1,))
        return name

    def look_back(self, source: str, distance: int = 1) -> str:
        """The value some positions back."""
        return self._attended(LookBack(distance, (source,), (self.fresh(f"{source} ({distance} back)"),)))

    def latest_match(self, query: str, key: str, shift: int, source: str, target: str) -> str:
        """The value at the most recent position whose key is the query plus a shift."""
        modulus = self.registers[key].high + 1
        return self._attended(LatestMatch(query, key, modulus, shift, (source,), (self.fresh(target),)))

    def modulo(
        self, terms: Terms, modulus: int, target: str, *, offset: int = 0, kind: Kind = "integer"
    ) -> str:
        """A residue of a sum of registers."""
        self._made(target, 0, modulus - 1, self._latest([name for name, _ in terms]), kind)
        self.maps.append((self.time[target], Modulo(tuple(terms), offset, modulus, target)))
        return target

    def circle_of(self, inputs: Sequence[str], values: Mapping[Row, int], size: int, target: str) -> str:
        """A function of registers, held on a circle of ``size`` values."""
        self._made(target, 0, size - 1, self._latest(inputs), "circle")
        rows = tuple((given, (result,)) for given, result in sorted(values.items()))
        self.maps.append((self.time[target], Table(tuple(inputs), (target,), rows)))
        return target

    def clamp(self, terms: Terms, offset: int, low: int, high: int, target: str) -> str:
        """A clamped sum of registers."""
        self._made(target, low, high, self._latest([name for name, _ in terms]))
        self.maps.append((self.time[target], Clamp(tuple(terms), offset, low, high, target)))
        return target

    def linear(
        self, terms: Terms, offset: int, bounds: tuple[int, int], target: str, kind: Kind = "integer"
    ) -> str:
        """A sum of registers whose bounds the caller knows."""
        self._made(target, *bounds, self._latest([name for name, _ in terms]), kind)
        self.maps.append((self.time[target], Linear(tuple(terms), offset, target)))
        return target

    def select(self, function: Sequence[str], arguments: Sequence[str], targets: Sequence[str]) -> None:
        """Composition of maps: the function's value at each argument."""
        time = self._latest([*function, *arguments])
        low = min(self.registers[name].low for name in function)
        high = max(self.registers[name].high for name in function)
        for target in targets:
            self._made(target, low, high, time)
        self.maps.append((time, Select(tuple(function), tuple(arguments), tuple(targets))))

    def table(
        self, inputs: Sequence[str], outputs: Sequence[str], rows: Mapping[Row, Row], *, hold: bool = False
    ) -> None:
        """A table; over sources it becomes a source, unless it must be computed in the first MLP."""
        time = self._latest(inputs)
        if time == TOKENS and not hold and not any(name in self.rhythms for name in inputs):
            tokens = [self._token(inputs, n) for n in range(self.num_letters + self.num_padding)]
            for column, name in enumerate(outputs):
                values = [rows[row][column] for row in tokens]
                self.source(name, values[: self.num_letters], values[self.num_letters :])
            return
        time = max(time, 0)  # tables over both tokens and places run in the first MLP
        for column, name in enumerate(outputs):
            values = [result[column] for result in rows.values()]
            self._made(name, min(values), max(values), time)
        self.maps.append((time, Table(tuple(inputs), tuple(outputs), tuple(sorted(rows.items())))))

    def _token(self, names: Sequence[str], token: int) -> Row:
        return tuple((*self.sources[name].letters, *self.sources[name].padding)[token] for name in names)

    def finish(
        self,
        inputs: Sequence[str],
        states: Mapping[Row, int],
        automaton: Semiautomaton,
        elsewhere: Mapping[Row, int] | None = None,
    ) -> Program:
        """Reads the automaton's output off the state that the inputs determine."""
        outputs = automaton.outputs
        shown = {row: outputs[state] for row, state in states.items()}
        other = {row: outputs[state] for row, state in (elsewhere or {}).items()}
        return self.finish_outputs(inputs, shown, len(automaton.output_names), other)

    def finish_outputs(
        self, inputs: Sequence[str], shown: Mapping[Row, int], count: int, elsewhere: Mapping[Row, int]
    ) -> Program:
        """Reads outputs off the inputs: directly if each has one row, else by a final table."""
        codes = {output: row for row, output in shown.items()}
        if len(codes) < len(shown):
            rows = {row: (output,) for row, output in {**elsewhere, **shown}.items()}
            self.table(inputs, ("state",), rows)
            inputs, codes = ("state",), {output: (output,) for output in codes}
        readout = Readout(tuple(inputs), tuple(codes.get(output) for output in range(count)))
        return self._arranged(readout)

    def _arranged(self, readout: Readout) -> Program:
        """The program without dead code (what the read-out does not need), heads of one pattern merged."""
        needed, used_heads, used_maps = set(readout.registers), [], []
        depth = 1 + max((layer for layer, _ in [*self.heads, *self.maps]), default=-1)
        for layer in reversed(range(depth)):
            for change in reversed([change for at, change in self.maps if at == layer]):
                if needed.intersection(change.writes):
                    used_maps.append((layer, _only_needed(change, needed)))
                    needed.update(change.reads)
                    if isinstance(change, Select):
                        needed.update(change.writes)  # a map is composed whole, so that it can be recognised
            for head in (head for at, head in self.heads if at == layer and needed.intersection(head.writes)):
                used_heads.append((layer, head))
                needed.update(head.reads)
        layers = tuple(
            ProgramLayer(
                attention=self._merged([head for at, head in used_heads if at == layer]),
                maps=tuple(change for at, change in reversed(used_maps) if at == layer),
            )
            for layer in range(1 + max((layer for layer, _ in [*used_heads, *used_maps]), default=-1))
        )
        if not needed.intersection(self.sources):
            needed.add(next(iter(self.sources)))  # a program knows its letters even where only places matter
        return Program(
            registers=tuple(register for name, register in self.registers.items() if name in needed),
            sources=tuple(source for name, source in self.sources.items() if name in needed),
            layers=layers,
            readout=readout,
            places=tuple(place for name, place in self.rhythms.items() if name in needed),
        )

    def _merged(self, heads: Sequence[AttentionOperation]) -> tuple[AttentionOperation, ...]:
        """All prefix sums in one head, all copies from the same place in one head; one position at most."""
        merged: list[AttentionOperation] = []
        for _, same in groupby(sorted(heads, key=lambda head: head.pattern), key=lambda head: head.pattern):
            first, *others = sorted(same, key=lambda head: not self._copies_position(head))
            for other in others:
                if self._copies_position(other):  # positions are compared in pairs
                    merged.append(other)
                else:
                    both = (*first.sources, *other.sources), (*first.targets, *other.targets)
                    first = replace(first, sources=both[0], targets=both[1])
            merged.append(first)
        return tuple(merged)

    def _copies_position(self, head: AttentionOperation) -> bool:
        return any(name in self.rhythms and self.registers[name].kind == "wide" for name in head.sources)


def _only_needed(change: PositionMap, needed: set[str]) -> PositionMap:
    if not isinstance(change, Table) or needed.issuperset(change.outputs):
        return change
    kept = [column for column, name in enumerate(change.outputs) if name in needed]
    rows = tuple((given, tuple(result[c] for c in kept)) for given, result in change.rows)
    return Table(change.inputs, tuple(change.outputs[c] for c in kept), rows)


# A value determined by finitely many registers, kept as a lazy table until a register is needed.

# Beyond this many combinations the parts get registers of their own first.
MAX_JOINT_ROWS = 512
MAX_LISTED_ROWS = 100_000


@dataclass(frozen=True, eq=False)
class Finite:
    """``rows[values of inputs]`` is the value; no inputs: a constant.

    ``elsewhere`` lists rows that occur only at padding positions, where the value does not matter.
    """

    inputs: tuple[str, ...]
    rows: Mapping[Row, int]
    elsewhere: Mapping[Row, int] = field(default_factory=dict)

    @property
    def values(self) -> set[int]:
        """All possible values."""
        return set(self.rows.values())

    def renamed(self, function: Callable[[int], int]) -> "Finite":
        """The value under a function."""
        rows, other = (
            {row: function(value) for row, value in part.items()} for part in (self.rows, self.elsewhere)
        )
        return Finite(self.inputs, rows, other)

    @property
    def all_rows(self) -> dict[Row, int]:
        """All rows that a table must list."""
        return {**self.elsewhere, **self.rows}

    def register(self, draft: ProgramDraft, name: str) -> str:
        """A register that holds the value, "" if it is constant; an existing register is reused."""
        if len(self.values) == 1:
            return ""
        if len(self.inputs) == 1 and all(row == (value,) for row, value in self.all_rows.items()):
            return self.inputs[0]
        result = draft.fresh(name)
        draft.table(self.inputs, (result,), {row: (value,) for row, value in self.all_rows.items()})
        return result


def register_value(name: str, values: Iterable[int]) -> Finite:
    """The value of a register that can hold these values."""
    return Finite((name,), {(value,): value for value in sorted(values)})


def joined(
    draft: ProgramDraft, parts: Sequence[Finite], names: Sequence[str], meaning: Mapping[Row, int]
) -> Finite:
    """The value that several values determine: ``meaning[values]``.

    Combinations without a meaning cannot occur after a letter. Where some part shows other values at padding
    positions they can occur there, and are listed, whether the parts are held in registers or not.
    """
    padded = any(part.elsewhere for part in parts)
    if prod(len(part.all_rows) for part in parts) > MAX_JOINT_ROWS:
        parts = [_held(draft, part, name) for part, name in zip(parts, names, strict=True)]
    showing = [_rows_by_value(part.rows) for part in parts]
    rows: dict[Row, int] = {}
    for values, value in meaning.items():
        for combination in product(*(shown.get(x, ()) for shown, x in zip(showing, values, strict=True))):
            rows[tuple(x for row in combination for x in row)] = value
    elsewhere: dict[Row, int] = {}
    if padded:
        require_rows(prod(len(part.all_rows) for part in parts), names)
        some = next(iter(rows.values()))
        for combination in product(*(part.all_rows for part in parts)):
            elsewhere[tuple(x for row in combination for x in row)] = some
        elsewhere = {row: value for row, value in elsewhere.items() if row not in rows}
    return Finite(tuple(name for part in parts for name in part.inputs), rows, elsewhere)


def _rows_by_value(rows: Mapping[Row, int]) -> dict[int, list[Row]]:
    result: dict[int, list[Row]] = {}
    for row, value in rows.items():
        result.setdefault(value, []).append(row)
    return result


def require_rows(rows: int, names: Sequence[str]) -> None:
    """Refuses a table that is too large."""
    if rows > MAX_LISTED_ROWS:
        raise LimitExceeded(
            f"a table for {', '.join(names)[:80]} would have {rows:,} rows, more than {MAX_LISTED_ROWS:,}"
        )


def _held(draft: ProgramDraft, part: Finite, name: str) -> Finite:
    held = part.register(draft, name)
    if not held:
        return Finite((), {(): part.values.pop()})
    others = sorted(set(part.elsewhere.values()) - part.values)
    return Finite((held,), {(x,): x for x in sorted(part.values)}, {(x,): x for x in others})
