"""Theorem 1: any automaton in ⌈log₂ T⌉ layers, by the parallel scan of Hillis and Steele.

Channels (q, L), (q, R) for every state q, then positions. Position 0 is one padding token that holds the
constant map q ↦ q₀; position t holds δ(·, σ_t). Layer l composes the map at t with the one 2^(l−1) back.

Where the printed proof fails (docs/errata.md): the rotation has the wrong sign (4), W_V reads the empty left
channels (5), an arbitrary coordinate is read out although position T never meets the padding (6), and T
padding positions and a power of two are asked for where one padding position and any T do (10).
"""

import math
from typing import Literal

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.construct.paper.attention_lemmas import PositionCode, binary_code, circle_code
from krohn.construct.paper.blocks import basis, integer_readout, lift_mlp
from krohn.construct.paper.composition import composition_mlp
from krohn.errors import InvalidInput
from krohn.network.attention_operations import LookBack
from krohn.network.compiled import CompiledNetwork
from krohn.network.position_maps import Select
from krohn.network.program import Program, ProgramLayer, Readout, Register, Source
from krohn.network.transformer import Channel, Head, HeadMeaning, Layer, Layout, Matrix, Transformer

# The discrete meaning of Theorem 1: look back, compose, twice as far each time.


def scan_program(automaton: Semiautomaton, depth: int, padding: int) -> Program:
    """``map.l.q`` is the image of q under the last 2^l letters, ``back.l.q`` that of 2^(l−1) letters ago."""
    states = automaton.num_states
    maps = [_names("map", index, states) for index in range(depth + 1)]
    backs = [_names("back", index, states) for index in range(depth + 1)]
    layers = tuple(
        ProgramLayer(
            (LookBack(2 ** (index - 1), maps[index - 1], backs[index]),),
            (Select(maps[index - 1], backs[index], maps[index]),),
        )
        for index in range(1, depth + 1)
    )
    sources = tuple(
        Source(name, tuple(int(target) for target in automaton.table[q]), (automaton.start,) * padding)
        for q, name in enumerate(maps[0])
    )
    written = [name for index in range(depth + 1) for name in maps[index] + (backs[index] if index else ())]
    registers = tuple(Register(name, 0, states - 1) for name in written)
    # Erratum 6: only the coordinate q₀ is right at position T, which has composed exactly T letters.
    readout = Readout((maps[depth][automaton.start],), tuple((q,) for q in range(states)))
    return Program(registers, sources, layers, readout)


def scan_layout(states: int, network: Transformer) -> Layout:
    """Left channels are free but between attention and MLP; right channels hold the maps composed so far."""
    free = (Channel(),) * states
    count = network.dim - 2 * states
    code = tuple(Channel(position=f"{('cos', 'sin')[index % 2]} {index // 2}") for index in range(count))
    moments, heads = [(*free, *_channels("map", 0, states), *code)], []
    for index in range(network.depth):
        now = _channels("map", index, states)
        moments.append((*_channels("back", index + 1, states), *now, *code))
        moments.append((*free, *_channels("map", index + 1, states), *code))
        text = f"copies the map from {2**index} back"
        heads.append((HeadMeaning(text, (0,)), HeadMeaning("copies the map of its own position")))
    return Layout(tuple(moments), tuple(heads))


def _channels(kind: str, index: int, states: int) -> tuple[Channel, ...]:
    return tuple(Channel(register=name) for name in _names(kind, index, states))


def _names(kind: str, index: int, states: int) -> tuple[str, ...]:
    return tuple(f"{kind}.{index}.{q}" for q in range(states))


Positions = Literal["circle", "binary"]


def build_scan(
    automaton: Semiautomaton, length: int, gadget: str = "direct", positions: Positions = "circle"
) -> CompiledNetwork:
    """The network of Theorem 1 for words of length ≤ ``length`` and the automaton's own start state."""
    network = scan_transformer(automaton, length, gadget, positions)
    program = scan_program(automaton, scan_depth(length), network.num_padding)
    layout = scan_layout(automaton.num_states, network)
    return CompiledNetwork(network, automaton, "scan", program, layout)


def scan_depth(length: int) -> int:
    """⌈log₂ T⌉."""
    return (length - 1).bit_length()


def scan_gamma(states: int, length: int) -> float:
    """γ = 100·T²·(log |Q| + log T), with |Q| ≥ 2 as the paper assumes.

    Erratum 9: right maps are passed on without rounding, so the errors of all layers add up. The text asks
    for 0.1 per layer, too much from three layers on; this γ gives 0.1/T.
    """
    return 100.0 * length**2 * (math.log(max(states, 2)) + math.log(length))


def scan_transformer(
    automaton: Semiautomaton, length: int, gadget: str = "direct", positions: Positions = "circle"
) -> Transformer:
    """The matrices alone."""
    if length < 1:
        raise InvalidInput(f"the length must be at least 1; got {length}")
    states, depth = automaton.num_states, scan_depth(length)
    code, padding = position_code(states, length, positions)
    dim = 2 * states + code.channels
    right = np.arange(states, 2 * states)
    embedding = np.zeros((automaton.num_letters, dim))
    embedding[:, right] = automaton.table.T
    pads = np.zeros((padding, dim))
    pads[:, right] = automaton.start
    places = np.concatenate([np.zeros((len(code.points), 2 * states)), code.points], axis=1)
    layers = _scan_layers(states, code, depth, gadget)
    readout, bias = integer_readout(dim, {int(right[automaton.start]): np.arange(states)}, states)
    return Transformer(embedding, pads, places, layers, readout, bias)


def position_code(states: int, length: int, positions: str) -> tuple[PositionCode, int]:
    """The code of all positions and the number of padding positions it needs."""
    if positions == "circle":
        return circle_code(1 + length, length, scan_gamma(states, length)), 1
    if positions == "binary":
        padding = 2 ** max(scan_depth(length) - 1, 0)
        return binary_code(padding + length), padding
    raise InvalidInput(f"positions must be circle or binary; got {positions!r}")


def _scan_layers(states: int, code: PositionCode, depth: int, gadget: str) -> tuple[Layer, ...]:
    dim = 2 * states + code.channels
    left, right = np.arange(states), np.arange(states, 2 * states)
    mlp = lift_mlp(composition_mlp(states, gadget), [*left, *right], [*right], dim)
    # The scan works in place, as the paper says; but positions need a residual (erratum 11), or they are
    # gone after one layer.
    keep = np.concatenate([np.zeros(2 * states), np.ones(code.channels)])
    where = code.scale * basis(dim, range(2 * states, dim))
    value = basis(dim, [*right])  # erratum 5: the maps live in the right channels

    def head(distance: int, writes: Matrix) -> Head:
        # Erratum 4: the rotation must be by +π·2^(l−1)/T for the head to look back and not ahead.
        return Head(where, where @ code.key_rotation(distance), value, writes.T)

    return tuple(
        Layer((head(2**index, basis(dim, [*left])), head(0, basis(dim, [*right]))), mlp, keep, keep)
        for index in range(depth)
    )
