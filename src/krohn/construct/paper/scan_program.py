"""The discrete meaning of Theorem 1: look back, compose, twice as far each time."""

from krohn.automata.semiautomaton import Semiautomaton
from krohn.network.layout import Channel, HeadMeaning, Layout
from krohn.network.operations import LookBack, Select
from krohn.network.program import Program, ProgramLayer, Readout, Register, Source
from krohn.network.transformer import Transformer


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
