"""The discrete meaning of Theorem 3 with heads modulo S + 1, and what the channels hold."""

from collections.abc import Sequence

from krohn.automata.semiautomaton import Semiautomaton
from krohn.network.layout import Channel, HeadMeaning, Layout
from krohn.network.operations import Clamp, LatestMatch, Linear, Modulo, PositionMap, PrefixSum
from krohn.network.program import Meaning, Program, ProgramLayer, Readout, Register, RegisterKind, Source
from krohn.network.transformer import Transformer
from krohn.paper.grid_heads import Axis
from krohn.paper.grid_runs import GridRun


def mod_program(automaton: Semiautomaton, run: GridRun) -> Program:
    """Prefix sums, their residues, latest visits to a residue, one bit per head, the sum of the bits."""
    shape = run.grid.shape
    registers: list[Register] = []
    sources, sums, keys, matches = [], [], [], []
    bits: list[PositionMap] = []
    for axis, size in enumerate(shape):
        own = [
            _register(axis, "move", -1, 1),
            _register(axis, "sum", -1, 1, "wide"),
            _register(axis, "key", 0, size - 1, "circle"),
            *(_register(axis, "visit", -1, 1, "wide", j) for j in range(1, size)),
            *(_register(axis, "bit", 0, 1, start=j) for j in range(1, size)),
            _register(axis, "state", 0, size - 1),
        ]
        registers += own
        move, total, key, *others, state = (register.name for register in own)
        visits, marks = others[: size - 1], others[size - 1 :]
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


def _register(
    axis: int, what: str, low: int, high: int, kind: RegisterKind = "integer", start: int | None = None
) -> Register:
    return Register.holding(Meaning(f"axis {what}", number=axis, start=start), low, high, kind)


def grid_layout(
    network: Transformer, run: GridRun, shared: tuple[str, ...], axes: Sequence[Axis], variant: str
) -> Layout:
    """Channels at the five moments; only the ``mod`` variant has a program whose registers they name."""
    place = tuple(Channel(position=name) for name in shared)
    held = [[_held(run, axis, number, variant, m) for number, axis in enumerate(axes)] for m in range(5)]
    moments = tuple((*place, *(_channel(*each) for own in moment for each in own)) for moment in held)
    first = tuple(HeadMeaning(f"prefix sum of moves on axis {axis}", (axis,)) for axis in range(len(axes)))
    texts = [
        f"latest visit to {name}"
        for axis, size in enumerate(run.grid.shape)
        for name in _targets(size, axis, variant)
    ]
    second = tuple(HeadMeaning(text, (number,)) for number, text in enumerate(texts))
    if variant == "mod":
        return Layout(moments, (first, second))
    first, second = (tuple(HeadMeaning(h.text) for h in heads) for heads in (first, second))
    meanings = dict.fromkeys(each[0] for moment in held for own in moment for each in own if each[0])
    return Layout(moments, (first, second), tuple(meanings))


def _targets(size: int, axis: int, variant: str) -> list[str]:
    if variant.startswith("mod"):
        return [f"sum.{axis} − {j} mod {size}" for j in range(1, size)]
    return [f"sum.{axis} {s - size + 1:+d}" for s in range(2 * size - 1)]


Held = tuple[Meaning | None, str, float]
"""What a channel holds, which part of it, and its scale; ``None``: nothing."""
FREE: Held = (None, "", 1.0)


def _channel(meaning: Meaning | None, part: str, scale: float) -> Channel:
    return Channel() if meaning is None else Channel(register=meaning.name, part=part, scale=scale)


def _held(run: GridRun, axis: Axis, number: int, variant: str, moment: int) -> list[Held]:
    """Own channels of one axis: move (later state), sum, cos, sin, heads."""
    scale = 1.0 / (2.0 * run.total)
    heads = len(axis.names) - 4

    def own(what: str, part: str = "", factor: float = 1.0, start: int | None = None) -> Held:
        return Meaning(f"axis {what}", number=number, start=start), part, factor

    held = [
        own("state") if moment == 4 else own("move"),
        own("sum", factor=scale) if moment >= 1 else FREE,
        *([own("key", "cos"), own("key", "sin")] if moment >= 2 else [FREE, FREE]),
    ]
    if moment < 3:
        return held + [FREE] * heads
    if variant == "mod":
        return held + [own("visit", factor=scale, start=j) for j in range(1, heads + 1)]
    if variant == "mod_sum":
        return [*held, own("visits", factor=scale)]
    return held + [own("age", start=s) for s in range(heads)]
