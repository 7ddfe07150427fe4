"""Theorem 3: a gridworld in two layers, in any number of dimensions, from any start, with no-ops.

Layer 1 computes prefix sums of the moves, unclamped. Layer 2 finds last visits; its MLP turns them into the
state. A k-dimensional grid is k lines side by side that share the position channels (the remark after the
theorem).

Before any matrix a gridworld is recognised, and the padding that leads to its start is chosen.
"""

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

import numpy as np

from krohn.automata.quotients import forget_observation, quotient
from krohn.automata.semiautomaton import Semiautomaton, Transformation
from krohn.base.portable import UNITS, Budget, BudgetSpent
from krohn.cascade.congruences import congruences, principal_congruences
from krohn.cascade.known_shapes import clamped_line
from krohn.errors import InvalidInput, KrohnError, LimitExceeded, Unsupported
from krohn.network.compiled import CompiledNetwork
from krohn.network.lowering.assembly import agrees
from krohn.network.operations import Clamp, LatestMatch, Linear, Modulo, PositionMap, PrefixSum
from krohn.network.program import Meaning, Program, ProgramLayer, Readout, Register, RegisterKind, Source
from krohn.network.transformer import Channel, HeadMeaning, Layout, Matrix, Transformer
from krohn.paper.blocks import integer_readout, lift_layer, parallel_layers
from krohn.paper.grid_heads import MOD_SHARED, PAPER_SHARED, STATE_MLPS, Axis, mod_axis, paper_axis
from krohn.paper.lemmas import absorber
from krohn.paper.theorem1 import GADGETS, build_scan

# Is an automaton a gridworld, up to renaming? Letters move coordinates by −1, 0, +1 between walls.
#
# First by lines: if every letter moves one coordinate, the orbits of a letter are the lines of its axis.
# Otherwise by congruences: the coordinates of a product are among its quotients that are lines. Whatever is
# found is checked letter by letter, so a wrong guess is never returned; a grid may be missed only if its
# letters move several coordinates at once and it has more congruences or states than the limits below.


MAX_STATES_FOR_CONGRUENCES = 64
"""Above this the search by congruences (states² pairs) is not tried."""
MAX_CONGRUENCES = 300


@dataclass(frozen=True)
class Grid:
    """``coordinates[q][axis]`` in 0 … shape[axis]−1; ``moves[letter][axis]`` in {−1, 0, +1}."""

    shape: tuple[int, ...]
    coordinates: tuple[tuple[int, ...], ...]
    moves: tuple[tuple[int, ...], ...]

    def step(self, place: Sequence[int], letter: int) -> tuple[int, ...]:
        """The clamped move, which defines a gridworld."""
        return tuple(
            min(max(value + move, 0), size - 1)
            for value, move, size in zip(place, self.moves[letter], self.shape, strict=True)
        )


def recognise_grid(automaton: Semiautomaton) -> Grid | None:
    """The automaton as a grid, or ``None``; with too many quotients to tell it raises ``LimitExceeded``."""
    if automaton.num_states < 2:
        return None
    axes = _axes_from_lines(automaton.letters)
    result = None if axes is None else _grid(automaton, axes)
    if result is None and automaton.num_states <= MAX_STATES_FOR_CONGRUENCES:
        return _grid_from_congruences(automaton)
    return result


def _grid(automaton: Semiautomaton, axes: Sequence[Sequence[int]]) -> Grid | None:
    """The grid with these coordinate functions, if every letter really is a clamped move.

    Each axis is counted from the wall nearer to the start.
    """
    start = automaton.start
    axes = [axis if 2 * axis[start] <= max(axis) else [max(axis) - v for v in axis] for axis in axes]
    shape = tuple(max(axis) + 1 for axis in axes)
    places = tuple(zip(*axes, strict=True))
    if not axes or math.prod(shape) != len(places) or len(set(places)) != len(places):
        return None
    moves = tuple(_move(letter, places, shape) for letter in automaton.letters)
    grid = Grid(shape, places, moves)
    for number, letter in enumerate(automaton.letters):
        if any(grid.step(places[q], number) != places[target] for q, target in enumerate(letter)):
            return None
    return grid


def _move(letter: Transformation, places: Sequence[tuple[int, ...]], shape: Sequence[int]) -> tuple[int, ...]:
    """The move seen where it is not clamped: from the lower end it goes up, from the upper end down."""
    low, high = places.index((0,) * len(shape)), places.index(tuple(size - 1 for size in shape))
    up = [b - a for a, b in zip(places[low], places[letter[low]], strict=True)]
    down = [b - a for a, b in zip(places[high], places[letter[high]], strict=True)]
    return tuple(max(-1, min(1, a + b)) for a, b in zip(up, down, strict=True))


def _axes_from_lines(letters: Sequence[Transformation]) -> list[list[int]] | None:
    """One coordinate function per set of letters with the same lines; ``None`` if a letter has none."""
    axes: dict[frozenset[frozenset[int]], list[int]] = {}
    for letter in letters:
        if all(q == target for q, target in enumerate(letter)):
            continue
        lines = _lines(letter)
        if lines is None:
            return None
        key = frozenset(frozenset(line) for line in lines)
        axes.setdefault(key, _positions(lines, len(letter)))
    return list(axes.values())


def _positions(lines: Sequence[Sequence[int]], states: int) -> list[int]:
    place = [0] * states
    for line in lines:
        for value, q in enumerate(line):
            place[q] = value
    return place


def _lines(letter: Transformation) -> list[list[int]] | None:
    """The orbits of the letter as paths to a fixed point; ``None`` unless all are paths of one length."""
    entered = [0] * len(letter)
    for q, target in enumerate(letter):
        entered[target] += q != target
    if max(entered) > 1:
        return None
    lines = []
    for first in (q for q, count in enumerate(entered) if not count):
        line = [first]
        while letter[line[-1]] != line[-1]:
            line.append(letter[line[-1]])
        lines.append(line)
    covered = sum(len(line) for line in lines) == len(letter)
    return lines if covered and len({len(line) for line in lines}) == 1 else None


def _grid_from_congruences(automaton: Semiautomaton) -> Grid | None:
    try:
        axes = list({tuple(axis): axis for axis in _line_quotients(automaton)}.values())
    except BudgetSpent as error:  # no option gives this search more
        raise LimitExceeded(
            f"whether this automaton is a grid was not decided within {UNITS:,} units of work"
        ) from error
    states = automaton.num_states
    for count in range(1, states.bit_length()):
        for chosen in itertools.combinations(axes, count):
            if math.prod(max(axis) + 1 for axis in chosen) == states:
                grid = _grid(automaton, chosen)
                if grid is not None:
                    return grid
    return None


def _line_quotients(automaton: Semiautomaton) -> Iterable[list[int]]:
    """Coordinate functions of the quotients that are lines."""
    letters, bare, budget = automaton.letters, forget_observation(automaton), Budget(UNITS)
    principal = principal_congruences(letters, MAX_STATES_FOR_CONGRUENCES**2, budget)
    for labels in congruences(letters, principal, (), MAX_CONGRUENCES, budget):
        line = clamped_line(quotient(bare, labels))
        if line is not None:
            yield [line[0][label] for label in labels]


# Preparation for Theorem 3: padding moves, the length they add, and the naive algorithm.
#
# Erratum 22: the network section never adds the padding that Algorithm 1 asks for, and Algorithm 1 starts at
# 0 only. S moves towards one wall and then min(q₀, S − q₀) back lead to q₀ from anywhere and visit S + 1
# prefix sums (the sum 0 of the first position counts). Erratum 23: S + 1 distinct sums span S, not S + 1.


@dataclass(frozen=True)
class GridRun:
    """A grid, its start and the padding moves per axis; position 0 is ⊥, then padding, then letters."""

    grid: Grid
    start: tuple[int, ...]
    padding: tuple[tuple[int, ...], ...]  # [padding position after ⊥][axis]
    length: int

    @property
    def total(self) -> int:
        """T′ = padding moves + T, the length used in every formula of the construction."""
        return len(self.padding) + self.length


def grid_run(automaton: Semiautomaton, grid: Grid, length: int) -> GridRun:
    """Padding for all axes at once; the shorter ones end with no-ops."""
    start = grid.coordinates[automaton.start]
    columns = [padding_moves(size - 1, q) for size, q in zip(grid.shape, start, strict=True)]
    count = max(len(column) for column in columns)
    filled = [[*column, *([0] * (count - len(column)))] for column in columns]
    return GridRun(grid, start, tuple(zip(*filled, strict=True)), length)


def padding_moves(walls: int, start: int) -> list[int]:
    """Moves that lead to ``start`` on 0 … walls and visit walls + 1 distinct prefix sums."""
    if start <= walls - start:
        return [-1] * walls + [1] * start
    return [1] * walls + [-1] * (walls - start)


# The discrete meaning of Theorem 3 with heads modulo S + 1, and what the channels hold.


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


Variant = Literal["mod", "mod_sum", "log_depth", "max_pool", "constant_depth", "count"]
VARIANTS: tuple[str, ...] = get_args(Variant)


def build_grid(
    automaton: Semiautomaton, length: int, variant: str = "mod", activation: str = "relu"
) -> CompiledNetwork:
    """The two-layer network for a gridworld; refuses other automata.

    ``variant``: ``mod`` (recommended), ``mod_sum`` (dimension O(1)), or the paper's heads with one of its
    second MLPs ``log_depth`` (i), ``constant_depth`` (ii), ``max_pool``, or the shorter ``count``.
    ``activation`` of the first MLP: ``relu`` as printed, ``clamped`` (fit for float32), ``sin`` (width 2).
    """
    if length < 1:
        raise InvalidInput(f"the length must be at least 1; got {length}")
    if variant not in VARIANTS:
        raise InvalidInput(f"variant must be one of {', '.join(VARIANTS)}; got {variant!r}")
    grid = recognise_grid(automaton)
    if grid is None:
        raise Unsupported(
            f"method grid needs a gridworld (letters that move coordinates by −1, 0, +1 between walls); "
            f"{automaton.name or 'this automaton'} is not one; use method cascade or scan"
        )
    run = grid_run(automaton, grid, length)
    shared = MOD_SHARED if variant.startswith("mod") else PAPER_SHARED
    axes = [_axis(size - 1, run.total, activation, variant) for size in grid.shape]
    network = assemble(automaton, run, shared, axes)
    program = mod_program(automaton, run) if variant == "mod" else None
    return CompiledNetwork(
        network, automaton, "grid", program, grid_layout(network, run, shared, axes, variant)
    )


def _axis(walls: int, total: int, activation: str, variant: str) -> Axis:
    if variant in STATE_MLPS:
        return paper_axis(walls, total, activation, variant)
    return mod_axis(walls, total, activation, summed=variant == "mod_sum")


def assemble(
    automaton: Semiautomaton, run: GridRun, shared: tuple[str, ...], axes: list[Axis]
) -> Transformer:
    """Shared channels, then one block of channels per axis."""
    starts = np.cumsum([len(shared), *(len(axis.names) for axis in axes)])
    dim, grid = int(starts[-1]), run.grid
    embedding = np.zeros((automaton.num_letters, dim))
    padding = np.zeros((1 + len(run.padding), dim))
    for index, start in enumerate(starts[:-1]):
        embedding[:, start] = [move[index] for move in grid.moves]
        padding[1:, start] = [move[index] for move in run.padding]
    positions = np.zeros((1 + run.total, dim))
    for channel, name in enumerate(shared):
        positions[:, channel] = position_column(name, run.total)
    layers = tuple(
        parallel_layers(
            [
                lift_layer(
                    axis.layers[index], [*range(len(shared)), *range(start, start + len(axis.names))], dim
                )
                for axis, start in zip(axes, starts, strict=False)
            ]
        )
        for index in range(2)
    )
    codes = {
        int(start) + axis.output - len(shared): np.array([place[index] for place in grid.coordinates])
        for index, (axis, start) in enumerate(zip(axes, starts, strict=False))
    }
    readout, bias = integer_readout(dim, codes, automaton.num_states)
    return Transformer(embedding, padding, positions, layers, readout, bias)


def position_column(name: str, total: int) -> Matrix:
    """One shared position channel; position 0 is ⊥."""
    positions = np.arange(1 + total, dtype=np.float64)
    if name == "bos":
        return np.where(positions == 0, 1.0, 0.0)
    if name == "log":
        return absorber(1 + total, total)
    if name == "one":
        return np.ones(1 + total)
    assert name == "recency"
    recency: Matrix = positions / total
    return recency


def builds_again(network: CompiledNetwork) -> bool:
    """Whether Theorem 1 or 3, built with some of their options, gives this network and its description."""
    about = network.automaton, network.length
    scans = (partial(build_scan, *about, gadget) for gadget in GADGETS)
    grids = (partial(build_grid, *about, "mod", circle) for circle in ("relu", "clamped", "sin"))
    for build in {"scan": scans, "grid": grids}.get(network.method, ()):
        try:
            built = build()
        except (KrohnError, ArithmeticError, ValueError):
            continue  # what a file says is not trusted: its automaton need not be a gridworld
        if built.program == network.program and agrees(network, built.transformer, built.layout):
            return True
    return False
