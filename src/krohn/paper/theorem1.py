"""Theorem 1: any automaton in ⌈log₂ T⌉ layers, by the parallel scan of Hillis and Steele.

Channels (q, L), (q, R) for every state q, then positions. Position 0 is one padding token that holds the
constant map q ↦ q₀; position t holds δ(·, σ_t). Layer l composes the map at t with the one 2^(l−1) back.

Where the printed proof fails (docs/errata.md): the rotation has the wrong sign (4), W_V reads the empty left
channels (5), an arbitrary coordinate is read out although position T never meets the padding (6), and T
padding positions and a power of two are asked for where one padding position and any T do (10).
"""

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.portable import log
from krohn.errors import InvalidInput
from krohn.network.compiled import CompiledNetwork
from krohn.network.layout import Channel, HeadMeaning, Layout
from krohn.network.operations import LookBack, Select
from krohn.network.program import Meaning, Program, ProgramLayer, Readout, Register, Source
from krohn.network.transformer import Head, Layer, Matrix, Transformer
from krohn.paper.blocks import basis, integer_readout, lift_mlp
from krohn.paper.composition import composition_mlp
from krohn.paper.positions import PositionCode, circle_code


def scan_program(automaton: Semiautomaton, depth: int) -> Program:
    """``map.l.q`` is the image of q under the last 2^l letters, ``back.l.q`` that of 2^(l−1) letters ago."""
    states = automaton.num_states
    registers = [
        Register.holding(meaning, 0, states - 1)
        for index in range(depth + 1)
        for kind in ("map", "map before")[: 1 + (index > 0)]
        for meaning in _meanings(kind, index, states)
    ]
    maps = [_names("map", index, states) for index in range(depth + 1)]
    backs = [_names("map before", index, states) for index in range(depth + 1)]
    layers = tuple(
        ProgramLayer(
            (LookBack(2 ** (index - 1), maps[index - 1], backs[index]),),
            (Select(maps[index - 1], backs[index], maps[index]),),
        )
        for index in range(1, depth + 1)
    )
    sources = tuple(
        Source(name, tuple(int(target) for target in automaton.table[q]), (automaton.start,))
        for q, name in enumerate(maps[0])
    )
    # Erratum 6: only the coordinate q₀ is right at position T, which has composed exactly T letters.
    readout = Readout((maps[depth][automaton.start],), tuple((q,) for q in range(states)))
    return Program(tuple(registers), sources, layers, readout)


def scan_layout(states: int, network: Transformer) -> Layout:
    """Left channels are free but between attention and MLP; right channels hold the maps composed so far."""
    free = (Channel(),) * states
    code = (Channel(position="cos 0"), Channel(position="sin 0"))
    moments, heads = [(*free, *_channels("map", 0, states), *code)], []
    for index in range(len(network.layers)):
        now = _channels("map", index, states)
        moments.append((*_channels("map before", index + 1, states), *now, *code))
        moments.append((*free, *_channels("map", index + 1, states), *code))
        text = f"copies the map from {2**index} back"
        heads.append((HeadMeaning(text, (0,)), HeadMeaning("copies the map of its own position")))
    return Layout(tuple(moments), tuple(heads))


def _channels(kind: str, index: int, states: int) -> tuple[Channel, ...]:
    return tuple(Channel(register=name) for name in _names(kind, index, states))


def _names(kind: str, index: int, states: int) -> tuple[str, ...]:
    return tuple(meaning.name for meaning in _meanings(kind, index, states))


def _meanings(kind: str, index: int, states: int) -> tuple[Meaning, ...]:
    """What the registers of a map hold: 2^index letters, or the 2^(index − 1) letters before as many."""
    length = 2**index if kind == "map" else 2**index // 2
    return tuple(Meaning(kind, number=index, length=length, state=q) for q in range(states))


def build_scan(automaton: Semiautomaton, length: int, gadget: str = "direct") -> CompiledNetwork:
    """The network of Theorem 1 for words of length ≤ ``length`` and the automaton's own start state."""
    network = scan_transformer(automaton, length, gadget)
    program = scan_program(automaton, scan_depth(length))
    layout = scan_layout(automaton.num_states, network)
    return CompiledNetwork(network, automaton, "scan", program, layout)


def scan_depth(length: int) -> int:
    """⌈log₂ T⌉, the layers of a scan."""
    return (length - 1).bit_length()


def scan_gamma(states: int, length: int) -> float:
    """γ = 100·T²·(log |Q| + log T), with |Q| ≥ 2 as the paper assumes.

    Erratum 9: right maps are passed on without rounding, so the errors of all layers add up. The text asks
    for 0.1 per layer, too much from three layers on; this γ gives 0.1/T.
    """
    return 100.0 * length**2 * (log(max(states, 2)) + log(length))


def scan_transformer(automaton: Semiautomaton, length: int, gadget: str = "direct") -> Transformer:
    """The matrices alone."""
    if length < 1:
        raise InvalidInput(f"the length must be at least 1; got {length}")
    states, depth = automaton.num_states, scan_depth(length)
    code = circle_code(1 + length, length, scan_gamma(states, length))
    dim = 2 * states + 2
    right = np.arange(states, 2 * states)
    embedding = np.zeros((automaton.num_letters, dim))
    embedding[:, right] = automaton.table.T
    pads = np.zeros((1, dim))
    pads[:, right] = automaton.start
    places = np.concatenate([np.zeros((len(code.points), 2 * states)), code.points], axis=1)
    layers = _scan_layers(states, code, depth, gadget)
    readout, bias = integer_readout(dim, {int(right[automaton.start]): np.arange(states)}, states)
    return Transformer(embedding, pads, places, layers, readout, bias)


def _scan_layers(states: int, code: PositionCode, depth: int, gadget: str) -> tuple[Layer, ...]:
    dim = 2 * states + 2
    left, right = np.arange(states), np.arange(states, 2 * states)
    mlp = lift_mlp(composition_mlp(states, gadget), [*left, *right], [*right], dim)
    # The scan works in place, as the paper says; but positions need a residual (erratum 11), or they are
    # lost after one layer.
    keep = np.concatenate([np.zeros(2 * states), np.ones(2)])
    where = code.scale * basis(dim, range(2 * states, dim))
    value = basis(dim, [*right])  # erratum 5: the maps live in the right channels

    def head(distance: int, writes: Matrix) -> Head:
        # Erratum 4: the rotation must be by +π·2^(l−1)/T for the head to look back and not ahead.
        return Head(where, where @ code.key_rotation(distance), value, writes.T)

    return tuple(
        Layer((head(2**index, basis(dim, [*left])), head(0, basis(dim, [*right]))), mlp, keep, keep)
        for index in range(depth)
    )
