"""The assembly: from a program and a length to matrices and the meaning of every channel.

``precision_faults`` lists in advance what a float format is too coarse for. ``lowers_again`` checks a
network's description: its program, lowered again, must give its tensors and layout.
"""

from collections.abc import Sequence
from functools import singledispatch
from itertools import product
from typing import NamedTuple

import numpy as np

from krohn.errors import KrohnError
from krohn.network.compiled import CompiledNetwork
from krohn.network.layout import Channel, HeadMeaning, Layout
from krohn.network.lowering.channels import Lifetime, allocate
from krohn.network.lowering.head_sums import HeadSums, sums_of_heads, write_sums
from krohn.network.lowering.heads import GADGETS
from krohn.network.lowering.map_context import MapContext
from krohn.network.lowering.maps import compose_again, lower_clamp, lower_modulo, lower_select, lower_table
from krohn.network.lowering.mlp_builder import MlpBuilder, Signal, require_positions
from krohn.network.lowering.position_codes import PositionCodes
from krohn.network.lowering.symbolic_head import SymbolicHead
from krohn.network.operations import AttentionOperation, Clamp, Linear, Modulo, PositionMap, Select, Table
from krohn.network.program import Program, Readout
from krohn.network.transformer import Layer, Mlp, Transformer

Moments = tuple[tuple[Channel, ...], ...]


class Style(NamedTuple):
    """How maps become MLPs and look-backs heads; the first three trade width against hidden layers.

    Attributes:
        narrow: wraps of counters are counted in two rounds.
        saturate: steps are exact in short floats.
        rounded: tables read rounded sums, where these are clamped.
        exact: look-backs copy exactly, as half types need it.
    """

    narrow: bool = False
    saturate: bool = False
    rounded: bool = False
    exact: bool = False


PLAIN = Style()
STYLES = tuple(
    style
    for style in map(Style._make, product((False, True), repeat=4))
    if style.saturate or not style.rounded
)


def lower(program: Program, length: int, style: Style = PLAIN) -> tuple[Transformer, Layout]:
    """The network that computes the program on words up to ``length``, and what its channels mean."""
    codes = PositionCodes(program.num_padding + length, style.exact)
    added = sums_of_heads(program)
    heads = [
        [write_sums(symbolic_head(op, codes, program), added) for op in layer.attention]
        for layer in program.layers
    ]
    moments = allocate(_lifetimes(program, heads, added), 2 * len(program.layers) + 1)
    require_positions(codes.count, len(moments[0]))
    layers = []
    for index, layer in enumerate(program.layers):
        before, mixed, after = moments[2 * index : 2 * index + 3]
        context = MapContext(
            program, codes.count, style.narrow, style.rounded, MlpBuilder(len(before), style.saturate)
        )
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


def lowers_again(network: CompiledNetwork) -> bool:
    """Whether some style of lowering the program gives these very tensors and this description."""
    if network.program is None:
        return False
    for style in STYLES:
        try:
            built, layout = lower(network.program, network.length, style)
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
