"""The discrete meaning of Theorem 3 with heads modulo S + 1, and what the channels hold."""

from collections.abc import Sequence

from krohn.automata.semiautomaton import Semiautomaton
from krohn.construct.paper.grid_axis import Axis
from krohn.construct.paper.grid_geometry import GridRun
from krohn.network.layout import Channel, HeadMeaning, Layout
from krohn.network.operations import Clamp, LatestMatch, Linear, Modulo, PositionMap, PrefixSum
from krohn.network.program import Program, ProgramLayer, Readout, Register, Source
from krohn.network.transformer import Transformer


def mod_program(automaton: Semiautomaton, run: GridRun) -> Program:
    """Prefix sums, their residues, latest visits to a residue, one bit per head, the sum of the bits."""
    shape = run.grid.shape
    registers: list[Register] = []
    sources, sums, keys, matches = [], [], [], []
    bits: list[PositionMap] = []
    for axis, size in enumerate(shape):
        move, total, key, state = (f"{name}.{axis}" for name in ("move", "sum", "key", "state"))
        visits = [f"visit.{axis}.{j}" for j in range(1, size)]
        marks = [f"bit.{axis}.{j}" for j in range(1, size)]
        registers += [
            Register(move, -1, 1),
            Register(total, -1, 1, "wide"),
            Register(key, 0, size - 1, "circle"),
        ]
        registers += [Register(name, -1, 1, "wide") for name in visits]
        registers += [*(Register(name, 0, 1) for name in marks), Register(state, 0, size - 1)]
        moves = tuple(letter[axis] for letter in run.grid.moves)
        sources.append(Source(move, moves, (0, *(pad[axis] for pad in run.padding))))
        sums.append(PrefixSum((move,), (total,)))
        keys.append(Modulo(((total, 1),), 0, size, key))
        matches += [LatestMatch(key, key, size, -j, (total,), (visits[j - 1],)) for j in range(1, size)]
        bits += [Clamp(((v, -1), (total, 1)), 1 - j, 0, 1, marks[j - 1]) for j, v in enumerate(visits, 1)]
        bits.append(Linear(tuple((name, 1) for name in marks), 0, state))
    layers = (ProgramLayer(tuple(sums), tuple(keys)), ProgramLayer(tuple(matches), tuple(bits)))
    readout = Readout(tuple(f"state.{axis}" for axis in range(len(shape))), run.grid.coordinates)
    return Program(tuple(registers), tuple(sources), layers, readout)


def grid_layout(
    network: Transformer, run: GridRun, shared: tuple[str, ...], axes: Sequence[Axis], variant: str
) -> Layout:
    """Channels at the five moments; only the ``mod`` variant has a program whose registers they name."""
    place = tuple(Channel(position=name) for name in shared)
    moments = tuple(
        (
            *place,
            *(
                channel
                for axis in range(len(axes))
                for channel in _channels(run, axes[axis], axis, variant, m)
            ),
        )
        for m in range(5)
    )
    first = tuple(HeadMeaning(f"prefix sum of moves on axis {axis}", (axis,)) for axis in range(len(axes)))
    texts = [
        f"latest visit to {name}"
        for axis, size in enumerate(run.grid.shape)
        for name in _targets(size, axis, variant)
    ]
    second = tuple(HeadMeaning(text, (number,)) for number, text in enumerate(texts))
    if variant != "mod":
        first, second = (tuple(HeadMeaning(h.text) for h in heads) for heads in (first, second))
    return Layout(moments, (first, second))


def _targets(size: int, axis: int, variant: str) -> list[str]:
    if variant.startswith("mod"):
        return [f"sum.{axis} − {j} mod {size}" for j in range(1, size)]
    return [f"sum.{axis} {s - size + 1:+d}" for s in range(2 * size - 1)]


def _channels(run: GridRun, axis: Axis, number: int, variant: str, moment: int) -> list[Channel]:
    """Own channels of one axis: move (later state), sum, cos, sin, heads."""
    scale = 1.0 / (2.0 * run.total)
    heads = len(axis.names) - 4

    def named(name: str, part: str = "", factor: float = 1.0) -> Channel:
        return Channel(register=f"{name}.{number}", part=part, scale=factor)

    free = Channel()
    channels = [
        named("state") if moment == 4 else named("move"),
        named("sum", factor=scale) if moment >= 1 else free,
        *([named("key", "cos"), named("key", "sin")] if moment >= 2 else [free, free]),
    ]
    if moment < 3:
        return channels + [free] * heads
    if variant == "mod":
        return channels + [Channel(register=f"visit.{number}.{j}", scale=scale) for j in range(1, heads + 1)]
    if variant == "mod_sum":
        return [*channels, named("visits", factor=scale)]
    return channels + [Channel(register=f"age.{number}.{s}") for s in range(heads)]
