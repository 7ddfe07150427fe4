"""The intermediate representation between algebra and weights: named integer registers and operations.

A program is the discrete meaning of a network. A compiler writes it, a lowering turns it into
matrices, a checker compares the matrices with it; they share nothing but this format.
Every register is written exactly once, so its name alone says which value it holds. What it holds is a value
too, made where the register is made, and never read back from a name.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property
from string import Formatter
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from krohn.errors import InvalidInput
from krohn.network.operations import AttentionOperation, Facts, Modulo, PositionMap, Table, Values
from krohn.network.register_kinds import KINDS

PLACES = ("level", "lag", "group")
"""The fields that say where in a cascade a register lies; only the level must be given."""


@dataclass(frozen=True)
class Meaning:
    """What a register holds; ``kind`` says which other fields it has.

    Attributes:
        part: the way to its part of a plan: the number of one of several, or block, fibre, legal.
        level: of the cascade, from 0; ``lag``: for so many positions back; ``group``: of several.
        section: one abelian step of a group, from 1.
        number: which of several, or how far back; ``start``: the first of a range, or a second number.
        letters: their names.
        of: what it is made of, or speaks of.
        copy: 2, 3, … where the network holds the same once more.
    """

    kind: str
    part: tuple[str, ...] = ()
    level: int | None = None
    lag: int | None = None
    group: int | None = None
    section: int | None = None
    modulus: int | None = None
    residue: int | None = None
    number: int | None = None
    start: int | None = None
    length: int | None = None
    state: int | None = None
    letters: tuple[str, ...] = ()
    text: str = ""
    of: tuple["Meaning", ...] = ()
    copy: int = 1

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InvalidInput(f"the kind of a meaning must be one of {', '.join(KINDS)}; got {self.kind!r}")
        held = {item.name: getattr(self, item.name) for item in fields(self)}
        if any(isinstance(value, int) and value < 0 for value in held.values()):
            raise InvalidInput(f"the meaning {self.kind!r} must have numbers from 0 on")
        given = {item.name for item in fields(self) if held[item.name] != item.default}
        needed, allowed, count = fields_of(self.kind)
        if missing := sorted(needed - given):
            raise InvalidInput(f"the meaning {self.kind!r} needs {missing[0]}")
        if (extra := sorted(given - allowed)) or len(self.of) != count:
            raise InvalidInput(
                f"the meaning {self.kind!r} cannot have {extra[0] if extra else 'these parts'}"
            )

    @cached_property
    def name(self) -> str:
        """The name of a register that holds this."""
        return KINDS[self.kind][0].format_map(_NameParts(self)) + (f"#{self.copy}" if self.copy > 1 else "")

    @property
    def tower(self) -> tuple[Any, ...]:
        """What the counters of one group have in common: part of the plan, level, lag and group."""
        return (self.part, *(getattr(self, name) for name in PLACES))

    def spelled(self, alike: Mapping[str, tuple[str, ...]]) -> "Meaning":
        """The same with every letter replaced by all those that are treated as one with it."""
        letters = tuple(other for name in self.letters for other in alike.get(name, (name,)))
        return replace(self, letters=letters, of=tuple(each.spelled(alike) for each in self.of))

    def to_json(self) -> dict[str, Any]:
        """The kind, and the other fields that it has."""
        lists = {"of": [each.to_json() for each in self.of], "letters": [*self.letters], "part": [*self.part]}
        held = {item.name: (getattr(self, item.name), item.default) for item in fields(self)}
        return {name: lists.get(name, value) for name, (value, usual) in held.items() if value != usual}


class _NameParts(dict[str, str]):
    """What the template of a name asks for, by the name of a field or of a few joint ones."""

    def __init__(self, meaning: Meaning) -> None:
        super().__init__()
        self.meaning = meaning

    def __missing__(self, key: str) -> str:
        meaning = self.meaning
        match key:
            case "part":
                return "".join(f"part {step} " if step.isdecimal() else f"{step} " for step in meaning.part)
            case "at":
                lag = "" if meaning.lag is None else f" at t−{meaning.lag}"
                group = "" if meaning.group is None else f" group {meaning.group}"
                return f"{self['part']}level {meaning.level}{lag}{group}"
            case "no":
                return "" if meaning.number is None else f" no. {meaning.number}"
            case "of" | "second":
                return meaning.of[key == "second"].name
            case "letters":
                return " ".join(meaning.letters)
        return str(getattr(meaning, key))


JOINT = {"at": ("level",), "own": ("letters",), "listed": ("letters",), "window": ("length",)}


OPTIONAL = {
    "at": ("part", *PLACES),
    "part": ("part",),
    "no": ("number",),
    "point": ("state",),
}


@cache
def fields_of(kind: str) -> tuple[set[str], set[str], int]:
    """The fields that a meaning of the kind must have, those that it may have, and how many it is of."""
    texts = KINDS[kind]
    keys = {key for text in texts for _, key, _, _ in Formatter().parse(text) if key is not None}
    known = {item.name for item in fields(Meaning)} - {"part"}
    needed = {"kind", *(name for key in keys for name in JOINT.get(key, (key,)) if name in known)}
    optional = {name for key in keys for name in OPTIONAL.get(key, ())}
    return needed, {*needed, *optional, "copy"}, 2 if "second" in keys else int("of" in needed)


NAME_ALONE = Meaning("named", text="of which only the name is known")

RegisterKind = Literal["integer", "wide", "circle"]

Intervention = Callable[[int, dict[str, Values]], None]
"""Called at each moment of a run with the registers' values, which it may change."""


@dataclass(frozen=True)
class Register:
    """A named integer at every position.

    A narrow register lies in ``low..high``. A wide one (a prefix sum) lies in ``low·n..high·n``
    where ``n`` is the number of positions after BOS up to and including t. A ``circle`` register with values
    0..high is held as a point of the unit circle, so that keys can be compared by an inner product.
    The name is that of its meaning; a register that is given a name alone means no more than the name says.
    """

    name: str
    low: int
    high: int
    kind: RegisterKind = "integer"
    meaning: Meaning = NAME_ALONE

    def __post_init__(self) -> None:
        if not self.name or self.low > self.high:
            raise InvalidInput(
                f"a register needs a name and low ≤ high; got {self.name!r} {self.low}..{self.high}"
            )
        if self.kind not in ("integer", "wide", "circle"):
            raise InvalidInput(f"a register is integer, wide or circle; got {self.kind!r}")
        if self.kind == "circle" and (self.low != 0 or self.high < 1):
            raise InvalidInput(f"a circle register must hold 0..n−1 with n ≥ 2; got {self.low}..{self.high}")
        if self.meaning is NAME_ALONE:
            object.__setattr__(self, "meaning", Meaning("named", text=self.name))
        if self.meaning.name != self.name:
            raise InvalidInput(
                f"a register must have the name of its meaning, {self.meaning.name:.80}; got {self.name:.80}"
            )

    @classmethod
    def holding(cls, meaning: Meaning, low: int, high: int, kind: RegisterKind = "integer") -> "Register":
        """A register with this meaning, and its name."""
        return cls(meaning.name, low, high, kind, meaning)

    def bounds(self, positions: int) -> tuple[int, int]:
        """The range of its values when that many positions follow BOS."""
        if self.kind != "wide":
            return self.low, self.high
        return min(self.low * positions, 0), max(self.high * positions, 0)


@dataclass(frozen=True)
class Source:
    """Values that a token brings along: one per letter, one per padding position."""

    register: str
    letters: tuple[int, ...]
    padding: tuple[int, ...]


@dataclass(frozen=True)
class Places:
    """A register that the position encoding brings along: ``early`` values from BOS on, then a cycle.

    A wide register holds the sum of these values up to here: with 0 at BOS and then 1, the position itself.
    """

    register: str
    early: tuple[int, ...]
    cycle: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.early or not self.cycle:
            raise InvalidInput(f"places need a value at BOS and a cycle; got {self.early} and {self.cycle}")

    def at(self, position: int) -> int:
        """The value at a position, BOS being 0."""
        late = position - len(self.early)
        return self.early[position] if late < 0 else self.cycle[late % len(self.cycle)]

    def along(self, count: int, kind: str) -> Values:
        """What the register of this kind holds at the first positions."""
        values: Values = np.array([self.at(position) for position in range(count)], dtype=np.int64)
        return np.cumsum(values) if kind == "wide" else values


@dataclass(frozen=True)
class ProgramLayer:
    """Attention first, in parallel; then position-wise maps in order."""

    attention: tuple[AttentionOperation, ...]
    maps: tuple[PositionMap, ...]

    @property
    def operations(self) -> tuple[AttentionOperation | PositionMap, ...]:
        """Everything the layer does, in order."""
        return (*self.attention, *self.maps)


@dataclass(frozen=True)
class Readout:
    """``codes[q]`` are the values of ``registers`` when the state is q; ``None``: q cannot occur."""

    registers: tuple[str, ...]
    codes: tuple[tuple[int, ...] | None, ...]

    def __post_init__(self) -> None:
        used = [code for code in self.codes if code is not None]
        if not used or not self.registers or any(len(code) != len(self.registers) for code in used):
            raise InvalidInput(f"every state's code must have one value per register of {self.registers}")
        if len(set(used)) != len(used):
            raise InvalidInput("two states must not have the same code")

    def decode(self, values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """States from register values ``[…, register]``: the nearest code, which is exact on codes."""
        occurring = [q for q, code in enumerate(self.codes) if code is not None]
        codes = np.array([self.codes[q] for q in occurring], dtype=np.int64)
        scores = 2 * values @ codes.T - (codes**2).sum(axis=1)
        states: npt.NDArray[np.int64] = np.array(occurring)[scores.argmax(axis=-1)]
        return states


@dataclass(frozen=True)
class Program:
    """Registers, token values, the operations of the layers, and how the state is read off."""

    registers: tuple[Register, ...]
    sources: tuple[Source, ...]
    layers: tuple[ProgramLayer, ...]
    readout: Readout
    places: tuple[Places, ...] = ()

    def __post_init__(self) -> None:
        wrong = [*_wrong_names(self), *_wrong_order(self), *_wrong_kinds(self)]
        if wrong:
            raise InvalidInput(f"a program must be well formed: {'; '.join(wrong)}")

    @cached_property
    def register(self) -> dict[str, Register]:
        """The registers, by their names."""
        return {register.name: register for register in self.registers}

    @cached_property
    def at_bos(self) -> dict[str, int]:
        """What every register holds at position 0, whatever the word."""
        first = tuple(replace(source, padding=source.padding[:1]) for source in self.sources)
        held = interpret_registers(replace(self, sources=first), np.zeros((1, 0), dtype=np.int64))
        return {name: int(values[0, 0]) for name, values in held.items()}

    @property
    def num_letters(self) -> int:
        """|Σ|, the number of letters."""
        return len(self.sources[0].letters)

    @property
    def num_padding(self) -> int:
        """τ: the BOS position and any further padding."""
        return len(self.sources[0].padding)

    @property
    def depth(self) -> int:
        """Layers as the theorems count them: those without heads go on with the MLP of the one before."""
        return sum(number == 0 or len(layer.attention) > 0 for number, layer in enumerate(self.layers))


def _wrong_names(program: Program) -> Iterable[str]:
    names = [register.name for register in program.registers]
    if len(set(names)) != len(names):
        yield "two registers have the same name"
    if not program.sources or any(not source.padding for source in program.sources):
        yield "there is no source, or no BOS value"
    shapes = {(len(source.letters), len(source.padding)) for source in program.sources}
    if len(shapes) > 1:
        yield f"sources disagree on the number of letters and paddings: {sorted(shapes)}"
    brought = [
        (f"source {x.register} leaves its", x.register, x.letters + x.padding) for x in program.sources
    ]
    brought += [(f"places {x.register} leave their", x.register, x.early + x.cycle) for x in program.places]
    for what, name, values in brought:
        known = program.register.get(name)
        if known and not all(known.low <= value <= known.high for value in values):
            yield f"{what} range {known.low}..{known.high}"


def _wrong_order(program: Program) -> Iterable[str]:
    known = {register.name for register in program.registers}
    written: set[str] = set()

    def write(names: Iterable[str], where: str) -> Iterable[str]:
        for name in names:
            if name not in known:
                yield f"{where} writes unknown register {name}"
            if name in written:
                yield f"{where} writes {name} a second time"
            written.add(name)

    yield from write((source.register for source in program.sources), "a source")
    yield from write((place.register for place in program.places), "a place")
    for index, layer in enumerate(program.layers, start=1):
        before = set(written)  # all that heads see, whatever is written beside them
        for number, operation in enumerate(layer.operations):
            seen = before if number < len(layer.attention) else written
            unwritten = [name for name in operation.reads if name not in seen]
            yield from (f"layer {index} reads {name} before it is written" for name in unwritten)
            yield from write(operation.writes, f"layer {index}")
    yield from (f"the read-out reads unwritten {n}" for n in program.readout.registers if n not in written)
    yield from (f"nothing writes {r.name}" for r in program.registers if r.name not in written)


def _wrong_kinds(program: Program) -> Iterable[str]:
    kinds = {register.name: register.kind for register in program.registers}
    first = {source.register: source.padding[0] for source in program.sources if source.padding}
    flags = {
        place.register
        for place in program.places
        if {*place.early, *place.cycle} <= {0, 1} and kinds.get(place.register) != "wide"
    }
    facts = Facts(kinds, first, frozenset(flags))
    for layer in program.layers:
        for operation in layer.attention:
            yield from operation.faults(facts)
        for change in layer.maps:
            if isinstance(change, Table):
                yield from (f"table reads wide {n}" for n in change.inputs if kinds.get(n) == "wide")
            if isinstance(change, (Table, Modulo)):
                yield from (f"{n} cannot be wide" for n in change.writes if kinds.get(n) == "wide")


def interpret_registers(
    program: Program, words: npt.ArrayLike, intervene: Intervention | None = None
) -> dict[str, Values]:
    """The value of every register at every position of words ``[word, letter]``, padding included.

    ``intervene`` may change values at moment 0 (what tokens bring), 2l + 1 (after the attention of layer l,
    from 0) and 2l + 2 (after its maps). Refuses values outside a register's declared range.
    """
    change = (lambda moment, values: None) if intervene is None else intervene
    letters = np.asarray(words, dtype=np.int64)
    if letters.ndim != 2:
        raise InvalidInput(f"words must be an array [word, letter]; got shape {letters.shape}")
    values: dict[str, Values] = {}
    for source in program.sources:
        padding = np.broadcast_to(
            np.array(source.padding, dtype=np.int64), (len(letters), len(source.padding))
        )
        values[source.register] = np.concatenate([padding, np.array(source.letters)[letters]], axis=1)
    count = program.num_padding + letters.shape[1]
    for place in program.places:
        column = place.along(count, program.register[place.register].kind)
        values[place.register] = np.broadcast_to(column, (len(letters), count))
    change(0, values)
    for index, layer in enumerate(program.layers):
        before = dict(values)
        for operation in layer.attention:
            values.update(operation.apply(before))
        change(2 * index + 1, values)
        for each in layer.maps:
            values.update(each.apply(values))
        change(2 * index + 2, values)
    _check_ranges(program, values)
    return values


def interpret(program: Program, words: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """The states the program computes for words ``[word, letter]``: its discrete meaning."""
    values = interpret_registers(program, words)
    stacked = np.stack([values[name] for name in program.readout.registers], axis=-1)
    return program.readout.decode(stacked[:, program.num_padding :])


def _check_ranges(program: Program, values: dict[str, Values]) -> None:
    for register in program.registers:
        held = values[register.name]
        bounds = np.array([register.bounds(after) for after in range(held.shape[1])])
        if ((held < bounds[:, 0]) | (held > bounds[:, 1])).any():
            raise InvalidInput(
                f"register {register.name} must lie in {register.low}..{register.high}; "
                f"it reaches {held.min()}..{held.max()}"
            )
