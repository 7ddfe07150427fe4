"""The assembly: from a program and a length to matrices and the meaning of every channel.

``precision_faults`` lists in advance what a float format is too coarse for. ``lowers_again`` checks a
network's description: its program, lowered again, must give its tensors and layout.
"""

from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from itertools import product
from math import sqrt
from typing import Any

import numpy as np

from krohn.base.portable import FLOATS
from krohn.errors import KrohnError
from krohn.network.compiled import CompiledNetwork
from krohn.network.lowering.heads import GADGETS, Column, PositionCodes, SymbolicHead
from krohn.network.lowering.maps import (
    MapContext,
    MlpBuilder,
    Signal,
    compose_again,
    lower_clamp,
    lower_modulo,
    lower_select,
    lower_table,
    require_positions,
)
from krohn.network.operations import AttentionOperation, Clamp, Linear, Modulo, PositionMap, Select, Table
from krohn.network.program import Program, ProgramLayer, Readout
from krohn.network.transformer import Channel, HeadMeaning, Layer, Layout, Mlp, Transformer

# Heads whose values are only summed share one channel: the block sums its heads anyway.


@dataclass(frozen=True)
class HeadSums:
    """``into[register] = (sum, factor)`` for head outputs that are only added up; ``maps``: the sums."""

    into: dict[str, tuple[str, int]]
    maps: frozenset[PositionMap]

    def goal(self, register: str) -> tuple[str, int]:
        """The register whose channel a head writes, and the weight with which it is written."""
        return self.into.get(register, (register, 1))


def sums_of_heads(program: Program) -> HeadSums:
    """Linear maps without offset whose terms are head outputs of the same layer that nothing else reads."""
    readers = Counter(name for layer in program.layers for op in layer.operations for name in op.reads)
    readers.update(program.readout.registers)
    into: dict[str, tuple[str, int]] = {}
    maps: set[PositionMap] = set()
    for layer in program.layers:
        written = {name for head in layer.attention for name in head.writes}
        for change in layer.maps:
            if not isinstance(change, Linear) or change.offset:
                continue
            if all(name in written and readers[name] == 1 for name in change.reads):
                into.update({name: (change.target, factor) for name, factor in change.terms})
                maps.add(change)
    return HeadSums(into, frozenset(maps))


def _adding(head: SymbolicHead, sums: HeadSums) -> SymbolicHead:
    """The head, with outputs that are only summed written directly into the channel of their sum."""
    outputs = []
    for column in head.output:
        moved: Column = {}
        for channel, weight in column.items():
            target, factor = sums.goal(channel.register)
            moved[Channel(register=target, part=channel.part)] = weight * factor
        outputs.append(moved)
    return replace(head, output=tuple(outputs))


# Channels for registers and position codes: each lives from birth to last reading, then is reused.


@dataclass(frozen=True)
class Lifetime:
    """A channel's content, the moment it is written and the last moment it is read."""

    content: Channel
    birth: int
    death: int


def allocate(lifetimes: list[Lifetime], moments: int) -> tuple[tuple[Channel, ...], ...]:
    """The content of every channel at every moment; as few channels as are ever alive at once.

    A channel is free for new content at the first moment after its last reading: the block between
    the two moments reads the old content and writes the new one. Ties go to the lowest number, so
    the result is reproducible.
    """
    busy_until: list[int] = []
    held: list[list[Channel]] = []
    for life in sorted(lifetimes, key=lambda item: item.birth):
        free = next((n for n, until in enumerate(busy_until) if until < life.birth), len(busy_until))
        if free == len(busy_until):
            busy_until.append(-1)
            held.append([Channel()] * moments)
        busy_until[free] = life.death
        span = range(life.birth, life.death + 1)
        held[free][life.birth : life.death + 1] = [life.content for _ in span]
    return tuple(zip(*held, strict=True))


# The assembly: from a program and a length to matrices and the meaning of every channel.


Moments = tuple[tuple[Channel, ...], ...]


def lower(
    program: Program,
    length: int,
    *,
    narrow: bool = False,
    saturate: bool = False,
    rounded: bool = False,
    exact: bool = False,
) -> tuple[Transformer, Layout]:
    """The network that computes the program on words up to ``length``, and what its channels mean.

    ``narrow`` counts wraps of counters in two rounds; ``saturate`` makes every step exact in short floats;
    ``rounded`` rounds the clamped sums that tables read. All trade width against hidden layers of the MLPs.
    ``exact`` is for half types: look-backs copy exactly.
    """
    codes = PositionCodes(program.num_padding + length, exact)
    added = sums_of_heads(program)
    heads = [
        [_adding(symbolic_head(op, codes, program), added) for op in layer.attention]
        for layer in program.layers
    ]
    moments = allocate(_lifetimes(program, heads, added), 2 * len(program.layers) + 1)
    require_positions(codes.count, len(moments[0]))
    layers = []
    for index, layer in enumerate(program.layers):
        before, mixed, after = moments[2 * index : 2 * index + 3]
        context = MapContext(program, codes.count, narrow, rounded, MlpBuilder(len(before), saturate))
        layers.append(
            Layer(
                heads=tuple(head.matrices(before, mixed) for head in heads[index]),
                mlp=_mlp([m for m in layer.maps if m not in added.maps], mixed, after, context),
                keep_attention=_residual(before, mixed),
                keep_mlp=_residual(mixed, after),
            )
        )
    texts = tuple(
        tuple(HeadMeaning(op.describe(), (number,)) for number, op in enumerate(layer.attention))
        for layer in program.layers
    )
    return _outer(program, codes, moments, tuple(layers), length), Layout(moments, texts)


def symbolic_head(operation: AttentionOperation, codes: PositionCodes, program: Program) -> SymbolicHead:
    """The head that carries out an attention operation, with its error bound."""
    return GADGETS[type(operation)](operation, codes, program)


@singledispatch
def lower_map(operation: PositionMap, context: MapContext) -> None:
    """Adds a position-wise map to the MLP under construction."""
    raise TypeError(f"no lowering for {type(operation).__name__}")


lower_map.register(Table, lower_table)
lower_map.register(Modulo, lower_modulo)
lower_map.register(Clamp, lower_clamp)
lower_map.register(Select, lower_select)


@lower_map.register
def lower_linear(operation: Linear, context: MapContext) -> None:
    """A linear map costs no unit: its readers read the sum."""
    context.write(operation.target, context.sum_of(operation.terms, operation.offset))


def _channels(program: Program, name: str) -> tuple[Channel, ...]:
    if program.register[name].kind == "circle":
        return Channel(register=name, part="cos"), Channel(register=name, part="sin")
    return (Channel(register=name),)


def _lifetimes(program: Program, heads: list[list[SymbolicHead]], added: HeadSums) -> list[Lifetime]:
    """When each content is written and last read; what is used only inside one MLP is left out."""
    births: dict[Channel, int] = {}
    deaths: dict[Channel, int] = {}

    def born(name: str, moment: int) -> None:
        births.update(dict.fromkeys(_channels(program, name), moment))

    for source in program.sources:
        born(source.register, 0)
    for place in program.places:
        born(place.register, 0)
    for index, layer in enumerate(program.layers):
        for head in heads[index]:
            for channel in head.reads:
                births.setdefault(channel, 0)
                deaths[channel] = 2 * index
        for operation in layer.attention:
            for name in operation.writes:
                born(added.goal(name)[0], 2 * index + 1)
        inside: dict[str, None] = {}  # in order: the channels of a network must not depend on hashes
        for change in (change for change in layer.maps if change not in added.maps):
            for name in change.reads:
                if name not in inside:
                    deaths.update(dict.fromkeys(_channels(program, name), 2 * index + 1))
            inside |= dict.fromkeys(change.writes)
            if isinstance(change, Select) and not compose_again(change, layer.maps):
                # A composed map is written whole even where one value of it is read: it stays recognisable.
                deaths.update(
                    {channel: 2 * index + 2 for n in change.writes for channel in _channels(program, n)}
                )
        for name in inside:
            born(name, 2 * index + 2)
    for name in program.readout.registers:
        deaths.update(dict.fromkeys(_channels(program, name), 2 * len(program.layers)))
    return [
        Lifetime(channel, birth, deaths[channel]) for channel, birth in births.items() if channel in deaths
    ]


def _residual(before: tuple[Channel, ...], after: tuple[Channel, ...]) -> np.ndarray:
    same = [old == new and new != Channel() for old, new in zip(before, after, strict=True)]
    return np.array(same, dtype=np.float64)


def _mlp(
    maps: Sequence[PositionMap], mixed: tuple[Channel, ...], after: tuple[Channel, ...], context: MapContext
) -> Mlp:
    for number, channel in enumerate(mixed):
        if channel.register:
            low, high = context.bounds(channel.register) if not channel.part else (-1, 1)
            context.signals[channel] = Signal(0, {number: 1.0}, 0.0, low, high)
    for change in maps:
        lower_map(change, context)
    new = {n: channel for n, channel in enumerate(after) if channel.register and mixed[n] != channel}
    result = context.signals | context.stored
    return context.builder.build({n: result[channel] for n, channel in new.items()})


def _outer(
    program: Program, codes: PositionCodes, moments: Moments, layers: tuple[Layer, ...], length: int
) -> Transformer:
    first = moments[0]
    embedding = np.zeros((program.num_letters, len(first)))
    padding = np.zeros((program.num_padding, len(first)))
    positions = np.zeros((program.num_padding + length, len(first)))
    sources = {source.register: source for source in program.sources}
    places = {place.register: place for place in program.places}
    for number, channel in enumerate(first):
        name = "" if channel.part else channel.register
        if channel.position:
            positions[:, number] = codes.column(channel, program.places)
        elif name in sources:
            embedding[:, number], padding[:, number] = sources[name].letters, sources[name].padding
        elif name in places:
            positions[:, number] = places[name].along(len(positions), program.register[name].kind)
    return Transformer(embedding, padding, positions, layers, *_readout(program.readout, moments[-1]))


def _readout(readout: Readout, channels: tuple[Channel, ...]) -> tuple[np.ndarray, np.ndarray]:
    """logit_q = 2⟨code_q, x⟩ − |code_q|²: the nearest code wins; a state that cannot occur loses to all."""
    none = (0,) * len(readout.registers)
    codes = np.array([none if code is None else code for code in readout.codes], dtype=np.float64)
    occurs = np.array([code is not None for code in readout.codes])
    norms = (codes**2).sum(axis=1)
    weights = np.zeros((len(channels), len(readout.codes)))
    for column, name in enumerate(readout.registers):
        weights[channels.index(Channel(register=name))] = 2.0 * codes[:, column]
    return weights, -np.where(occurs, norms, norms.max() + 1)


# The longest word that a float format supports, estimated from the program before anything is built.
#
# These are first-order estimates of the typical case, meant to refuse what cannot work; what does work is
# decided by the certificate. u is the unit round-off of the format.


ROUNDED_TWICE = 4.0
"""Half types store codes, queries, keys and values: certificates allow a quarter of the usual estimate."""
MAX_LENGTH = 1 << 40
Faults = Callable[[int], Iterator[str]]
"""What is too coarse at a length, one line each."""


def precision_faults(program: Program, length: int, dtype: str) -> Iterator[str]:
    """What is too coarse at this length, one line per fault."""
    unit, half = FLOATS[dtype].unit, FLOATS[dtype].half
    codes = PositionCodes(program.num_padding + length, half)
    worst = []
    for layer in program.layers:
        for operation in layer.attention:
            off = symbolic_head(operation, codes, program).off * unit
            if off * (ROUNDED_TWICE if half else 1) > 1:
                yield f"{operation.describe()}: too coarse"
        for change in layer.maps:
            if half and isinstance(change, Select):
                size = 3 * len(change.function) ** 3  # the range of the sums of a composition
                if size * unit > 1:
                    yield f"{change.describe()}: needs all whole numbers up to {size}"
            if isinstance(change, (Modulo, Clamp)):
                reach = sum(
                    abs(c) * max(map(abs, program.register[n].bounds(codes.count))) for n, c in change.terms
                )
                if isinstance(change, Modulo) and 4 * reach * sqrt(1 + reach / change.modulus) * unit > 1 / 8:
                    yield f"{change.describe()}: a sum up to {reach} would be off by more than 1/8"
                worst.append(reach * (1.1 * codes.count + 80) * unit)
    # In the worst order T weights and their sum are off by about T roundings; steps allow a quarter, and
    # where several counters meet in a table each counts about three times. Certificates cover any order.
    if dtype == "float32" and sum(worst) * (3 if len(worst) > 1 else 1) > 2 / 9:
        yield "counters: in the worst order of summation they would be off by more than steps allow"


def longest(faults: Faults) -> int:
    """The largest length without a fault; 0 if there is none."""
    lengths = range(1, MAX_LENGTH + 1)
    return bisect(lengths, False, key=lambda length: next(faults(length), None) is not None)


WAYS: tuple[dict[str, Any], ...] = tuple(
    {"narrow": narrow, "saturate": saturate, "rounded": rounded, "exact": exact}
    for narrow, saturate, rounded, exact in product(*[(False, True)] * 4)
    if saturate or not rounded
)
"""All ways to lower a program: the options of ``lower``."""


def lowers_again(network: CompiledNetwork) -> bool:
    """Whether some way of lowering the program gives these very tensors and this description."""
    if network.program is None:
        return False
    for way in WAYS:
        try:
            built, layout = lower(network.program, network.length, **way)
        except (KrohnError, AssertionError, LookupError, ArithmeticError, ValueError):
            continue  # an untrusted program need not be one that can be lowered
        if agrees(network, built, layout):
            return True
    return False


def agrees(network: CompiledNetwork, built: Transformer, layout: Layout) -> bool:
    """Whether a network has these very tensors and this description of its channels and heads."""
    held, result = network.transformer.tensors(), built.tensors()
    same = result.keys() == held.keys() and layout == network.layout
    return same and all(np.array_equal(result[name], held[name]) for name in held)


# A program whose layers are cut into stock blocks: attention and maps, then maps alone.
#
# A map that reads what another map of its layer writes gets a block of its own. What the first has written
# is then a number in the stream, rounded once: all units of the second read the same number, and its error
# cancels where their outputs are subtracted. Inside one MLP every unit would add it up anew, and round it
# its own way.


def in_blocks(program: Program) -> Program:
    """The same program, in layers whose maps do not read each other; those after the first have no heads."""
    return replace(program, layers=tuple(block for layer in program.layers for block in _blocks(layer)))


def _blocks(layer: ProgramLayer) -> Iterator[ProgramLayer]:
    stage: dict[str, int] = {}
    maps: list[list[PositionMap]] = [[]]
    for change in layer.maps:
        after = max((stage.get(name, 0) for name in change.reads), default=0)
        own = after if isinstance(change, Linear) else after + 1  # a sum takes no unit
        stage |= dict.fromkeys(change.writes, own)
        maps += [[] for _ in range(own - len(maps))]
        maps[max(own, 1) - 1].append(change)
    for number, changes in enumerate(maps):
        yield ProgramLayer(layer.attention if number == 0 else (), tuple(changes))
