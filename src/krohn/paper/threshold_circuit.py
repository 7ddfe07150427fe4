"""The other half of Theorem 4's proof: a compiled network, for a fixed T, as a circuit of threshold gates.

The circuit computes the network's program: what its heads and tables do to registers. A register is held as
one wire per value, or, for sums, as a linear form of wires. A prefix sum costs no gate at all, a residue of
it one gate per reachable value and one per residue: counting is what threshold gates do. A head that looks
for the latest position of a kind is one gate per pair of positions; a table is an OR of ANDs. So each
layer of the network has a depth that does not depend on T, and polynomially many gates.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from krohn.errors import InvalidInput, LimitExceeded, counted
from krohn.network.compiled import CompiledNetwork
from krohn.network.operations import (
    Clamp,
    EndWrite,
    LatestMatch,
    LatestWrite,
    Linear,
    LookBack,
    Modulo,
    PlaceSum,
    PrefixSum,
    Row,
    Select,
    Table,
)
from krohn.network.program import Program
from krohn.paper.gate_circuit import TRUE, Circuit
from krohn.paper.threshold_gates import MAX_WIRES, Form, Gates

MAX_VALUES = 100_000
"""Values that one sum may take."""
TRIED = (16, 64, 128)
"""Letters of the circuits by which longer ones are refused before they are built."""

Signal = dict[int, int]
"""A register at a position: for each value it may have the wire that says so."""
Held = Signal | tuple[Form, list[int]]
"""A signal, or a linear form with the values it may take."""


def threshold_circuit(network: CompiledNetwork, length: int | None = None) -> Circuit:
    """The circuit for words of ``length`` letters; its inputs are ``[position, letter]``, one-hot."""
    length = network.length if length is None else length
    if not 1 <= length <= network.length:
        raise InvalidInput(
            f"the length must lie in 1..{network.length}, for which it was built; got {length}"
        )
    if network.program is None:
        raise InvalidInput(f"a circuit is made from a network's program; method {network.method} has none")
    _check_wires(network.program, length)
    return replace(_Lowering(network.program, length).circuit(), network=network)


def _check_wires(program: Program, length: int) -> None:
    """Refuses long words by the circuits for short ones: no later letter takes fewer wires than these did."""
    for short in TRIED:
        if 2 * short > length:
            return
        before, now = count_wires(program, short * 3 // 4), count_wires(program, short)
        if now + (length - short) * (now - before) // (short - short * 3 // 4) > MAX_WIRES:
            raise LimitExceeded(
                f"a circuit may have at most {MAX_WIRES:,} wires; one for words of "
                f"{counted(length, 'letter')} needs more: choose shorter words"
            )


def count_wires(program: Program, length: int) -> int:
    """Wires of the gates that a circuit for words of ``length`` letters takes, before unused ones go."""
    lowering = _Lowering(program, length)
    lowering.circuit()
    return lowering.gates.wires


class _Lowering:
    """One pass over the program; ``held[register][position]``."""

    def __init__(self, program: Program, length: int) -> None:
        self.program, self.length = program, length
        self.positions = program.num_padding + length
        self.gates = Gates(length * program.num_letters)
        self.needed = range(self.positions)
        self.places_of: dict[str, dict[int, list[tuple[int, int]]]] = {}
        self.held: dict[str, list[Held]] = {
            s.register: self._source(s.letters, s.padding) for s in program.sources
        }
        for place in program.places:
            along = place.along(self.positions, program.register[place.register].kind).tolist()
            self.held[place.register] = [{value: TRUE} for value in along]

    def circuit(self) -> Circuit:
        """Sources, layers, read-out."""
        for layer in self.program.layers:
            before, self.places_of = dict(self.held), {}
            if layer is self.program.layers[-1]:
                self.needed = range(self.program.num_padding, self.positions)  # read by no later head
            for operation in layer.attention:
                self.held |= self._attend(operation, before)
            for change in layer.maps:
                self.held |= self._map(change)
        readout = self.program.readout
        return self.gates.finish(
            [
                [self._state(readout.registers, code, t) for code in readout.codes]
                for t in range(self.program.num_padding, self.positions)
            ]
        )

    def _source(self, letters: Sequence[int], padding: Sequence[int]) -> list[Held]:
        held: list[Held] = [{value: TRUE} for value in padding]
        for position in range(self.length):
            first = 2 + position * len(letters)
            held.append(self._collect((value, first + a) for a, value in enumerate(letters)))
        return held

    def _state(self, registers: Sequence[str], code: Sequence[int] | None, t: int) -> int:
        if code is None:
            return 0
        return self.gates.conjunction(
            [self._signal(name, t).get(value, 0) for name, value in zip(registers, code, strict=True)]
        )

    def _collect(self, pairs: Any) -> Signal:
        """One wire per value: an OR of those that produce it."""
        wires: dict[int, list[int]] = {}
        for value, wire in pairs:
            if wire:
                wires.setdefault(value, []).append(wire)
        return {value: self.gates.disjunction(result) for value, result in sorted(wires.items())}

    def _signal(self, name: str, t: int) -> Signal:
        held = self.held[name][t]
        if not isinstance(held, dict):
            held = self.held[name][t] = self.gates.indicators(*held)
        return held

    def _sum(self, terms: Sequence[tuple[Held, int]], constant: int) -> tuple[Form, list[int]]:
        """A linear form, and all values it may take."""
        weights: dict[int, int] = {}
        values = {constant}
        for held, factor in terms:
            form, options = held if not isinstance(held, dict) else ((_weights(held), 0), list(held))
            constant += factor * form[1]
            for wire, weight in form[0].items():
                weights[wire] = weights.get(wire, 0) + factor * weight
            values = {value + factor * option for value in values for option in options}
            if len(values) > MAX_VALUES:
                raise LimitExceeded(
                    f"a sum may take at most {MAX_VALUES} values in a circuit; choose shorter words"
                )
        return (weights, constant), sorted(values)

    def _attend(self, operation: Any, held: Mapping[str, list[Held]]) -> dict[str, list[Held]]:
        if isinstance(operation, (PrefixSum, PlaceSum)):
            return {
                target: self._prefix_sums(self._at_places(operation, held[source]))
                for source, target in zip(operation.sources, operation.targets, strict=True)
            }
        nothing: list[Held] = [{}] * self.needed.start
        chosen = [self._chosen(operation, t) for t in self.needed]
        return {
            target: nothing + [self._fetch(source, row) for row in chosen]
            for source, target in zip(operation.sources, operation.targets, strict=True)
        }

    def _at_places(self, operation: PrefixSum | PlaceSum, source: list[Held]) -> list[Held]:
        """The summands: none at places whose flag, which no letter changes, is 0."""
        if isinstance(operation, PrefixSum):
            return source
        return [
            there if 1 in self._signal(operation.flag, i) else {0: TRUE} for i, there in enumerate(source)
        ]

    def _prefix_sums(self, source: list[Held]) -> list[Held]:
        sums: list[Held] = []
        running: Held = {0: TRUE}
        for t in range(self.positions):
            running = self._sum([(running, 1), (source[t], 1)], 0)
            sums.append(running)
        return sums

    def _chosen(self, operation: Any, t: int) -> dict[int, int]:
        """For each candidate position, the wire that says it is attended to."""
        if isinstance(operation, LookBack):
            return {max(t - operation.distance, 0): TRUE}
        if isinstance(operation, LatestWrite):
            marks = {i: self._signal(operation.flag, i).get(1, 0) for i in range(t + 1)}
        elif isinstance(operation, LatestMatch):
            marks = self._matches(operation, t)
        elif isinstance(operation, EndWrite):
            marks = {i: self._flag(operation.flags, i) for i in range(1, t + 1)}
        else:
            raise InvalidInput(f"no circuit is known for {type(operation).__name__}")
        chosen, later = {}, dict[int, int]()
        earliest = isinstance(operation, EndWrite) and operation.end == "earliest"
        for i in sorted(marks, reverse=not earliest):
            if marks[i]:
                chosen[i] = self.gates.threshold(
                    {marks[i]: 1, **later} if marks[i] not in later else later, 1
                )
                later[marks[i]] = -1
        nothing = self.gates.threshold(later, 0)
        return chosen | ({0: self.gates.disjunction([chosen.get(0, 0), nothing])} if nothing else {})

    def _flag(self, flags: tuple[str, ...], i: int) -> int:
        wires = [self._signal(name, i).get(1, 0) for name in flags]
        return self.gates.conjunction(wires) if all(wires) else 0

    def _matches(self, operation: LatestMatch, t: int) -> dict[int, int]:
        """For each position whose key may match the query at ``t``, the wire that says it does."""
        query = self._signal(operation.query, t) if operation.query else {0: TRUE}
        where = self._where(operation.key)
        pairs: dict[int, list[tuple[int, int]]] = {}
        for value, wire in query.items():
            for i, there in where.get((value + operation.shift) % operation.modulus, ()):
                if 0 < i <= t:
                    pairs.setdefault(i, []).append((wire, there))
        return {
            i: self.gates.disjunction([self.gates.conjunction(list(pair)) for pair in pairs[i]])
            for i in sorted(pairs)
        }

    def _where(self, name: str) -> dict[int, list[tuple[int, int]]]:
        """The positions of each value of a register, with the wires that say so; heads share it."""
        if name not in self.places_of:
            places: dict[int, list[tuple[int, int]]] = {}
            for i in range(self.positions):
                for value, wire in self._signal(name, i).items():
                    places.setdefault(value, []).append((i, wire))
            self.places_of[name] = places
        return self.places_of[name]

    def _fetch(self, source: str, chosen: dict[int, int]) -> Held:
        if len(chosen) == 1 and TRUE in chosen.values():
            return self.held[source][next(iter(chosen))]
        return self._collect(
            (value, self.gates.conjunction([wire, there]))
            for i, wire in chosen.items()
            for value, there in self._signal(source, i).items()
        )

    def _map(self, change: Any) -> dict[str, list[Held]]:
        if isinstance(change, Table):
            numbered = {given: number for number, (given, _) in enumerate(change.rows)}
            columns = [self._table(change, numbered, t) for t in self.needed]
        else:
            columns = [self._map_at(change, t) for t in self.needed]
        nothing: list[Held] = [{}] * self.needed.start
        return {name: nothing + [column[name] for column in columns] for name in change.writes}

    def _map_at(self, change: Any, t: int) -> dict[str, Held]:
        if isinstance(change, Select):
            return self._select(change, t)
        total = self._sum([(self.held[name][t], factor) for name, factor in change.terms], change.offset)
        if isinstance(change, Linear):
            return {change.target: total}
        results = {value: _function(change, value) for value in total[1]}
        if len(set(results.values())) == 1:
            return {change.target: {next(iter(results.values())): TRUE}}
        steps = self.gates.indicators(*total)
        return {change.target: self._collect((results[value], wire) for value, wire in steps.items())}

    def _table(self, table: Table, numbered: Mapping[Row, int], t: int) -> dict[str, Held]:
        inputs = [self._signal(name, t) for name in table.inputs]
        rows = [
            (result, self.gates.conjunction([column[v] for column, v in zip(inputs, given, strict=True)]))
            for given, result in _rows(table, numbered, inputs)
        ]
        return {
            name: self._collect((result[index], wire) for result, wire in rows)
            for index, name in enumerate(table.outputs)
        }

    def _select(self, select: Select, t: int) -> dict[str, Held]:
        function = [self._signal(name, t) for name in select.function]
        return {
            target: self._collect(
                (value, self.gates.conjunction([selector, wire]))
                for k, selector in self._signal(argument, t).items()
                for value, wire in function[k].items()
            )
            for argument, target in zip(select.arguments, select.targets, strict=True)
        }


def _weights(signal: Signal) -> dict[int, int]:
    weights: dict[int, int] = {}
    for value, wire in signal.items():
        weights[wire] = weights.get(wire, 0) + value
    return weights


def _function(change: Any, value: int) -> int:
    """The function that a map applies to its sum."""
    if isinstance(change, Modulo):
        residue = value % change.modulus
        return residue if change.values is None else change.values[residue]
    if isinstance(change, Clamp):
        return min(max(value, change.low), change.high)
    raise InvalidInput(f"no circuit is known for {type(change).__name__}")


def _rows(table: Table, numbered: Mapping[Row, int], inputs: Sequence[Signal]) -> list[tuple[Row, Row]]:
    """The rows whose inputs can occur, in the order of the table, which may have thousands of rows."""
    if math.prod(map(len, inputs)) < len(numbered):
        return [table.rows[n] for n in sorted(numbered[v] for v in product(*inputs) if v in numbered)]
    return [row for row in table.rows if all(v in column for column, v in zip(inputs, row[0], strict=True))]
