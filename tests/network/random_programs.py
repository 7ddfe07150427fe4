"""Random well-formed programs, and their meaning one position and one number at a time."""

from itertools import product
from random import Random

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
    Select,
    Table,
)
from krohn.network.program import Places, Program, ProgramLayer, Readout, Register, Source

LETTERS = 3


class Builder:
    """Adds operations on existing registers, each with the range of its result."""

    def __init__(self, seed: int) -> None:
        self.random, self.padding = Random(seed), 1 + seed % 2
        self.registers: list[Register] = []
        self.sources, self.layers = (
            [self.source("zero", 2, 0), self.source("flag", 1, 1)],
            list[ProgramLayer](),
        )
        self.sources.append(self.source("key", 2, 0, "circle"))
        self.registers += [Register("even", 0, 1), Register("time", 0, 1, "wide")]
        self.places = (Places("even", (0, 1), (0, 1)), Places("time", (0,), (1,)))
        self.before: list[Register] = []

    def source(self, name: str, high: int, first: int, kind: str = "integer") -> Source:
        self.registers.append(Register(name, 0, high, kind))  # type: ignore[arg-type]
        values = [self.random.randint(0, high) for _ in range(LETTERS)]
        return Source(name, tuple(values), (first, *[0] * (self.padding - 1)))

    def new(self, low: int, high: int, kind: str = "integer") -> str:
        name = f"r{len(self.registers)}"
        self.registers.append(Register(name, low, high, kind))  # type: ignore[arg-type]
        return name

    def narrow(self, registers: list[Register]) -> Register:
        return self.random.choice([one for one in registers if one.kind != "wide" and one.high - one.low < 6])

    def attention(self) -> object:
        source = self.narrow(self.before)
        if self.random.random() < 0.3:
            summed = self.new(0, 2, "wide")
            return self.random.choice(
                [PrefixSum(("zero",), (summed,)), PlaceSum("even", ("zero",), (summed,))]
            )
        target = self.new(source.low, source.high)
        copied = ((source.name,), (target,))
        return self.random.choice(
            [
                LatestWrite("flag", *copied),
                EndWrite(("even", "flag"), self.random.choice(["earliest", "latest"]), *copied),  # type: ignore[arg-type]
                LookBack(self.random.randint(1, 3), *copied),
                LatestMatch("key", "key", 3, self.random.randint(0, 2), *copied),
                LatestMatch("", "key", 3, self.random.randint(0, 2), *copied),
            ]
        )

    def map(self) -> object:
        one, two = (self.narrow(self.registers) for _ in range(2))
        factor, offset = self.random.choice([-2, 1, 2]), self.random.randint(-3, 3)
        ends = sorted(factor * end for end in (one.low, one.high))
        low, high = ends[0] + two.low + offset, ends[1] + two.high + offset
        terms = ((one.name, factor), (two.name, 1))
        kind = self.random.randrange(5)
        if kind == 0:
            return Linear(terms, offset, self.new(low, high))
        if kind == 1:
            return Clamp(terms, offset, -1, 2, self.new(-1, 2))
        if kind == 2:
            values = self.random.choice([None, (4, 0, -1)])
            return Modulo((*terms, ("time", 1)), offset, 3, self.new(-1, 4), values)
        if kind == 3:
            rows = product(range(one.low, one.high + 1), range(two.low, two.high + 1))
            entries = tuple((row, (self.random.randint(-2, 2),)) for row in rows)
            return Table((one.name, two.name), (self.new(-2, 2),), entries)
        low, high = min(one.low, two.low), max(one.high, two.high)
        return Select((one.name, two.name), ("flag",), (self.new(low, high),))


def random_program(seed: int) -> Program:
    builder = Builder(seed)
    layers = []
    for _ in range(builder.random.randint(1, 3)):
        builder.before = list(builder.registers)
        heads = tuple(builder.attention() for _ in range(builder.random.randint(0, 2)))
        maps = tuple(builder.map() for _ in range(builder.random.randint(0, 2)))
        layers.append(ProgramLayer(heads, maps))  # type: ignore[arg-type]
    codes = tuple((key,) for key in range(3))
    return Program(
        tuple(builder.registers), tuple(builder.sources), tuple(layers), Readout(("key",), codes),
        builder.places,
    )  # fmt: skip


def naive_registers(program: Program, word: list[int]) -> list[dict[str, int]]:
    """Each register's value at each position, padding included, from the definitions of the operations."""
    padding = len(program.sources[0].padding)
    at: list[dict[str, int]] = [{} for _ in range(padding + len(word))]
    wide = {register.name for register in program.registers if register.kind == "wide"}
    for t, here in enumerate(at):
        for source in program.sources:
            here[source.register] = source.padding[t] if t < padding else source.letters[word[t - padding]]
        for place in program.places:
            values = [*place.early, *place.cycle * (t + 1)]
            here[place.register] = sum(values[: t + 1]) if place.register in wide else values[t]
    for layer in program.layers:
        for t, here in enumerate(at):
            seen = range(t + 1)
            for operation in layer.attention:
                for name, target in zip(operation.sources, operation.targets, strict=True):
                    here[target] = attended(operation, at, t, list(seen), name)
        for here in at:
            for change in layer.maps:
                mapped(change, here)
    return at


def attended(operation: object, at: list[dict[str, int]], t: int, seen: list[int], name: str) -> int:
    match operation:
        case PrefixSum():
            return sum(at[i][name] for i in seen)
        case PlaceSum(flag=flag):
            return sum(at[i][name] for i in seen if at[i][flag] == 1)
        case LookBack(distance=distance):
            return at[max(t - distance, 0)][name]
        case LatestWrite(flag=flag):
            return at[max(i for i in seen if at[i][flag] == 1)][name]
        case EndWrite(flags=flags, end=end):
            good = [i for i in seen if i and all(at[i][flag] == 1 for flag in flags)] or [0]
            return at[good[0] if end == "earliest" else good[-1]][name]
        case LatestMatch(query=query, key=key, modulus=modulus, shift=shift):
            wanted = ((at[t][query] if query else 0) + shift) % modulus
            return at[max([i for i in seen if i and at[i][key] == wanted], default=0)][name]
    raise AssertionError(operation)


def mapped(change: object, here: dict[str, int]) -> None:
    match change:
        case Linear(terms=terms, offset=offset, target=target):
            here[target] = sum(factor * here[name] for name, factor in terms) + offset
        case Clamp(terms=terms, offset=offset, low=low, high=high, target=target):
            here[target] = max(low, min(high, sum(factor * here[name] for name, factor in terms) + offset))
        case Modulo(terms=terms, offset=offset, modulus=modulus, target=target, values=values):
            residue = (sum(factor * here[name] for name, factor in terms) + offset) % modulus
            here[target] = residue if values is None else values[residue]
        case Table(inputs=inputs, outputs=outputs, rows=rows):
            (result,) = (out for given, out in rows if given == tuple(here[name] for name in inputs))
            here.update(zip(outputs, result, strict=True))
        case Select(function=function, arguments=arguments, targets=targets):
            here.update({b: here[function[here[a]]] for a, b in zip(arguments, targets, strict=True)})
