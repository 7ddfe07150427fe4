"""Small programs made of random operations, with several padding positions, under both masks."""

from dataclasses import dataclass, field
from random import Random
from typing import Literal

from krohn.network.attention_operations import (
    AttentionOperation,
    EndWrite,
    LatestMatch,
    LatestWrite,
    LookBack,
    PlaceSum,
    PrefixSum,
)
from krohn.network.position_maps import Clamp, Linear, Modulo, PositionMap, Select, Table
from krohn.network.program import Places, Program, ProgramLayer, Readout, Register, Source
from krohn.network.transformer import Mask

LETTERS = 2
CIRCLE = 3


@dataclass
class Maker:
    """What is written so far; operations read only that."""

    dice: Random
    padding: int
    registers: list[Register] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    before: int = 0  # how many registers were there before the layer: heads read only these

    def new(self, low: int, high: int, kind: Literal["integer", "wide", "circle"] = "integer") -> str:
        name = f"r{len(self.registers)}"
        self.registers.append(Register(name, low, high, kind))
        return name

    def source(self, low: int, high: int, at_bos: int, kind: Literal["integer", "circle"] = "integer") -> str:
        name = self.new(low, high, kind)
        letters = tuple(self.dice.randint(low, high) for _ in range(LETTERS))
        pads = tuple(self.dice.randint(low, high) for _ in range(self.padding - 1))
        self.sources.append(Source(name, letters, (at_bos, *pads)))
        return name

    def some(self, kinds: tuple[str, ...], among: int | None = None) -> Register:
        return self.dice.choice([r for r in self.registers[:among] if r.kind in kinds])

    def head(self, flags: dict[str, str]) -> AttentionOperation:
        """Copies a register of the tokens, or adds one up."""
        kind = self.dice.choice(["sum", "place sum", "latest", "earliest", "write", "back", "match"])
        if kind in ("sum", "place sum"):
            read, total = (flags["step"],), (self.new(-1, 1, "wide"),)
            return PrefixSum(read, total) if kind == "sum" else PlaceSum(flags["place"], read, total)
        copied = self.some(("integer", "wide"), self.before)
        read, made = (copied.name,), (self.new(copied.low, copied.high, copied.kind),)
        if kind == "back":
            return LookBack(self.dice.randint(1, 3), read, made)
        if kind == "match":
            query = self.dice.choice(["", flags["key"]])
            return LatestMatch(query, flags["key"], CIRCLE, self.dice.randint(-1, 2), read, made)
        if kind == "write":
            return LatestWrite(flags["writes"], read, made)
        marks = (flags["mark"], *self.dice.choice([(), (flags["place"],)]))
        return EndWrite(marks, kind, read, made)  # type: ignore[arg-type]

    def change(self) -> PositionMap:
        """A map of what is there: sums are reduced, other registers looked up in a table."""
        kind = self.dice.choice(["clamp", "modulo", "linear", "table", "select"])
        wide = [register for register in self.registers if register.kind == "wide"]
        if kind in ("clamp", "modulo", "linear") and wide:
            chosen = self.dice.sample(wide, min(len(wide), self.dice.randint(1, 2)))
            terms = tuple((register.name, self.dice.choice([-1, 1, 2])) for register in chosen)
            offset = self.dice.randint(-1, 1)
            if kind == "clamp":
                low = self.dice.randint(-2, 0)
                high = low + self.dice.randint(1, 3)
                return Clamp(terms, offset, low, high, self.new(low, high))
            if kind == "modulo":
                size = self.dice.randint(2, 4)
                return Modulo(terms, offset, size, self.new(0, size - 1))
            return Linear(terms, 0, self.new(-6, 6, "wide"))
        bit = self.dice.choice([r.name for r in self.registers if (r.low, r.high) == (0, 1)])
        if kind == "select":
            pair = tuple(self.some(("integer",)).name for _ in range(2))
            return Select(pair, (bit,), (self.new(-2, 3),))
        one = self.some(("integer",))
        inputs = tuple(dict.fromkeys((one.name, bit)))
        values = [(v,) for v in range(one.low, one.high + 1)]
        rows = values if len(inputs) == 1 else [(*v, b) for v in values for b in (0, 1)]
        return Table(inputs, (self.new(0, 2),), tuple((row, (self.dice.randint(0, 2),)) for row in rows))


def random_program(seed: int) -> Program:
    """One or two layers of up to three heads and three maps; 1 to 3 padding positions."""
    dice = Random(seed)
    maker = Maker(dice, dice.randint(1, 3))
    step = maker.source(-1, 1, 0)
    writes, mark = maker.source(0, 1, 1), maker.source(0, 1, dice.randint(0, 1))
    key = maker.source(0, CIRCLE - 1, dice.randint(0, CIRCLE - 1), "circle")
    maker.source(0, 3, dice.randint(0, 3))
    place = maker.new(0, 1)
    early, cycle = dice.choice([((0,), (1, 0)), ((1, 0, 1), (0, 1)), ((0, 1, 1, 0), (1,))])
    flags = {"step": step, "writes": writes, "mark": mark, "key": key, "place": place}
    layers = []
    for _ in range(dice.randint(1, 2)):
        maker.before = len(maker.registers)
        heads = tuple(maker.head(flags) for _ in range(dice.randint(1, 3)))
        layers.append(ProgramLayer(heads, tuple(maker.change() for _ in range(dice.randint(1, 3)))))
    mask: Mask = dice.choice(["causal", "strict"])
    return Program(
        tuple(maker.registers),
        tuple(maker.sources),
        tuple(layers),
        Readout((step,), ((-1,), (0,), (1,))),
        mask,
        (Places(place, early, cycle),),
    )
