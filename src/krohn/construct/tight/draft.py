"""A program under construction: operations in order of use, scheduled into the earliest possible layers.

A position-wise map runs in the MLP of the layer in which its last input appears; a head runs one layer
after its last input. Maps of token values are evaluated immediately and become sources.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from typing import Literal

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.network.operations import (
    AttentionOperation,
    Clamp,
    EndWrite,
    LatestMatch,
    LatestWrite,
    Linear,
    LookBack,
    Modulo,
    PlaceSum,
    PositionMap,
    PrefixSum,
    Row,
    Select,
    Table,
)
from krohn.network.program import (
    Meaning,
    Places,
    Program,
    ProgramLayer,
    Readout,
    Register,
    RegisterKind,
    Source,
)

Terms = Sequence[tuple[str, int]]
Part = tuple[str, ...]
"""The way to a part of a plan, as ``Meaning.part`` has it."""

TOKENS = -1
"""The time of a source: before layer 0."""


@dataclass
class ProgramDraft:
    """Registers with the layer that writes them, sources, and operations with their layer."""

    num_letters: int
    num_padding: int = 1
    lagged: bool = False
    flat: bool = False  # maps of sums in one step, at the cost of more units
    alike: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict
    )  # letters that act as one, by the first
    registers: dict[str, Register] = field(default_factory=dict)
    time: dict[str, int] = field(default_factory=dict)
    sources: dict[str, Source] = field(default_factory=dict)
    rhythms: dict[str, Places] = field(default_factory=dict)
    heads: list[tuple[int, AttentionOperation]] = field(default_factory=list)
    maps: list[tuple[int, PositionMap]] = field(default_factory=list)
    tables: dict[int, tuple[Mapping[Row, Row], Table]] = field(default_factory=dict)
    """Tables by the identity of their rows, which several may share."""

    def fresh(self, meaning: Meaning) -> Meaning:
        """The meaning, or a further copy of it where there is one."""
        result = meaning.spelled(self.alike) if self.alike else meaning
        while result.name in self.registers:
            result = replace(result, copy=result.copy + 1)
        return result

    def source(self, meaning: Meaning, letters: Sequence[int], padding: int | Sequence[int]) -> str:
        """A value that the token brings along; one for every padding position, or the same for all."""
        pads = (padding,) * self.num_padding if isinstance(padding, int) else tuple(padding)
        values = (*letters, *pads)
        name = self._made(meaning, min(values), max(values), TOKENS)
        self.sources[name] = Source(name, tuple(letters), pads)
        return name

    def places(
        self, meaning: Meaning, early: Sequence[int], cycle: Sequence[int], kind: RegisterKind = "integer"
    ) -> str:
        """A value that the position brings along; created once."""
        if meaning.name not in self.rhythms:
            self._made(meaning, min(*early, *cycle), max(*early, *cycle), TOKENS, kind)
            self.rhythms[meaning.name] = Places(meaning.name, tuple(early), tuple(cycle))
        return meaning.name

    def _made(self, meaning: Meaning, low: int, high: int, time: int, kind: RegisterKind = "integer") -> str:
        self.registers[meaning.name] = Register.holding(meaning, low, high, kind)
        self.time[meaning.name] = time
        return meaning.name

    def _latest(self, names: Sequence[str]) -> int:
        return max(self.time[name] for name in names)

    def _attended(
        self,
        operation: Callable[[tuple[str], tuple[str]], AttentionOperation],
        source: str,
        target: Meaning,
        kind: RegisterKind = "integer",
        beside: Sequence[str] = (),
    ) -> str:
        target = self.fresh(target)
        head = operation((source,), (target.name,))
        layer, held = self._latest([*head.reads, *beside]) + 1, self.registers[source]
        self.heads.append((layer, head))
        return self._made(target, held.low, held.high, layer, kind)

    def prefix_sum(self, source: str) -> str:
        """A sum over the visible positions."""
        return self._attended(PrefixSum, source, Meaning("sum", of=(self.registers[source].meaning,)), "wide")

    def place_sum(self, flag: str, source: str) -> str:
        """A sum over the visible positions whose place has flag 1."""
        parts = self.registers[source], self.registers[flag]
        target = Meaning("sum at places", of=tuple(part.meaning for part in parts))
        name = self._attended(partial(PlaceSum, flag), source, target, "wide")
        low, high = min(0, parts[0].low), max(0, parts[0].high)
        self.registers[name] = replace(self.registers[name], low=low, high=high)
        return name

    def latest_write(self, flag: str, source: str, target: Meaning) -> str:
        """The most recent flagged value."""
        return self._attended(partial(LatestWrite, flag), source, target)

    def end_write(
        self,
        flags: Sequence[str],
        end: Literal["earliest", "latest"],
        source: str,
        target: Meaning,
        beside: Sequence[str] = (),
    ) -> str:
        """The earliest or latest value where all flags are 1, by a head that comes after ``beside`` too."""
        kind = self.registers[source].kind
        return self._attended(partial(EndWrite, tuple(flags), end), source, target, kind, beside)

    def ever(self, flag: str, target: Meaning) -> str:
        """Whether the flag, 0 at BOS, has been 1 so far: a copy of the latest 1, which needs no MLP."""
        return self.end_write([flag], "latest", flag, target)

    def position(self) -> str:
        """The position itself."""
        return self.places(Meaning("position"), (0,), (1,), "wide")

    def look_back(self, source: str, distance: int = 1) -> str:
        """The value some positions back."""
        target = Meaning("back", number=distance, of=(self.registers[source].meaning,))
        return self._attended(partial(LookBack, distance), source, target)

    def latest_match(self, query: str, key: str, shift: int, source: str, target: Meaning) -> str:
        """The value at the most recent position whose key is the query plus a shift."""
        modulus = self.registers[key].high + 1
        return self._attended(partial(LatestMatch, query, key, modulus, shift), source, target)

    def modulo(
        self, terms: Terms, modulus: int, target: Meaning, *, offset: int = 0, kind: RegisterKind = "integer"
    ) -> str:
        """A residue of a sum of registers."""
        name = self._made(self.fresh(target), 0, modulus - 1, self._time_of(terms), kind)
        self.maps.append((self.time[name], Modulo(tuple(terms), offset, modulus, name)))
        return name

    def circle_of(self, inputs: Sequence[str], values: Mapping[Row, int], size: int, target: Meaning) -> str:
        """A function of registers, held on a circle of ``size`` values."""
        name = self._made(self.fresh(target), 0, size - 1, self._latest(inputs), "circle")
        rows = tuple((given, (result,)) for given, result in sorted(values.items()))
        self.maps.append((self.time[name], Table(tuple(inputs), (name,), rows)))
        return name

    def clamp(self, terms: Terms, offset: int, low: int, high: int, target: Meaning) -> str:
        """A clamped sum of registers; of values that the token brings along, it is one too."""
        if self._brought(terms):
            return self._sum_of_sources(terms, offset, low, high, target)
        name = self._made(self.fresh(target), low, high, self._time_of(terms))
        self.maps.append((self.time[name], Clamp(tuple(terms), offset, low, high, name)))
        return name

    def linear(
        self,
        terms: Terms,
        offset: int,
        bounds: tuple[int, int],
        target: Meaning,
        kind: RegisterKind = "integer",
    ) -> str:
        """A sum of registers whose bounds the caller knows; of values that the token brings along too."""
        if self._brought(terms):
            return self._sum_of_sources(terms, offset, *bounds, target)
        name = self._made(self.fresh(target), *bounds, self._time_of(terms), kind)
        self.maps.append((self.time[name], Linear(tuple(terms), offset, name)))
        return name

    def _brought(self, terms: Terms) -> bool:
        return all(register in self.sources for register, _ in terms)

    def _sum_of_sources(self, terms: Terms, offset: int, low: int, high: int, target: Meaning) -> str:
        held = [(np.array(self.sources[register].letters), factor) for register, factor in terms]
        pads = [(np.array(self.sources[register].padding), factor) for register, factor in terms]
        values = (
            np.clip(offset + sum(factor * each for each, factor in part), low, high).tolist()
            for part in (held, pads)
        )
        return self.source(self.fresh(target), *values)

    def _time_of(self, terms: Terms) -> int:
        return self._latest([name for name, _ in terms])

    def select(
        self, function: Sequence[str], arguments: Sequence[str], targets: Sequence[Meaning]
    ) -> list[str]:
        """Composition of maps: the function's value at each argument."""
        time = self._latest([*function, *arguments])
        low = min(self.registers[name].low for name in function)
        high = max(self.registers[name].high for name in function)
        names = [self._made(target, low, high, time) for target in targets]
        self.maps.append((time, Select(tuple(function), tuple(arguments), tuple(names))))
        return names

    def table(
        self,
        inputs: Sequence[str],
        outputs: Sequence[Meaning],
        rows: Mapping[Row, Row],
        *,
        hold: bool = False,
    ) -> None:
        """A table; over sources it becomes a source, unless it must be computed in the first MLP."""
        time = self._latest(inputs)
        if time == TOKENS and not hold and not any(name in self.rhythms for name in inputs):
            brought = [self.sources[name] for name in inputs]
            tokens = list(zip(*((*each.letters, *each.padding) for each in brought), strict=True))
            for column, output in enumerate(outputs):
                values = [rows[row][column] for row in tokens]
                self.source(output, values[: self.num_letters], values[self.num_letters :])
            return
        time = max(time, 0)  # tables over both tokens and places run in the first MLP
        for column, output in enumerate(outputs):
            values = [result[column] for result in rows.values()]
            self._made(output, min(values), max(values), time)
        names = tuple(output.name for output in outputs)
        if id(rows) not in self.tables:
            table = Table(tuple(inputs), names, tuple(sorted(rows.items())))
            self.tables[id(rows)] = rows, table
        self.maps.append((time, self.tables[id(rows)][1].between(tuple(inputs), names)))

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
            state = Meaning("state")
            self.table(inputs, (state,), rows)
            inputs, codes = (state.name,), {output: (output,) for output in codes}
        readout = Readout(tuple(inputs), tuple(codes.get(output) for output in range(count)))
        return self.finish_readout(readout)

    def finish_readout(self, readout: Readout) -> Program:
        """The program without dead code (what the read-out does not need), heads of one pattern merged."""
        needed, layers = set(readout.registers), list[ProgramLayer]()
        cut: dict[tuple[int, Row], Table] = {}
        for layer in range(max((at for at, _ in [*self.heads, *self.maps]), default=-1), -1, -1):
            maps: list[PositionMap] = []
            for change in reversed([change for at, change in self.maps if at == layer]):
                if needed.intersection(change.writes):
                    maps.append(_only_needed(change, needed, cut))
                    needed.update(change.reads)
                    if isinstance(change, Select):
                        needed.update(change.writes)  # a map is composed whole, so that it can be recognised
            heads = [head for at, head in self.heads if at == layer and needed.intersection(head.writes)]
            needed.update(name for head in heads for name in head.reads)
            if maps or heads or layers:
                layers.append(ProgramLayer(self._merge_heads(heads), tuple(reversed(maps))))
        if not needed.intersection(self.sources):
            needed.add(next(iter(self.sources)))  # a program knows its letters even where only places matter
        return Program(
            registers=tuple(register for name, register in self.registers.items() if name in needed),
            sources=tuple(source for name, source in self.sources.items() if name in needed),
            layers=tuple(reversed(layers)),
            readout=readout,
            places=tuple(place for name, place in self.rhythms.items() if name in needed),
        )

    def _merge_heads(self, heads: Sequence[AttentionOperation]) -> tuple[AttentionOperation, ...]:
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


def _only_needed(change: PositionMap, needed: set[str], cut: dict[tuple[int, Row], Table]) -> PositionMap:
    """The map without outputs that nothing reads; ``cut`` are tables that were cut before."""
    if not isinstance(change, Table) or needed.issuperset(change.outputs):
        return change
    kept = tuple(column for column, name in enumerate(change.outputs) if name in needed)
    names = tuple(change.outputs[c] for c in kept)
    key = id(change.rows), kept
    if key not in cut:
        rows = tuple((given, tuple(result[c] for c in kept)) for given, result in change.rows)
        cut[key] = Table(change.inputs, names, rows)
    return cut[key].between(change.inputs, names)
