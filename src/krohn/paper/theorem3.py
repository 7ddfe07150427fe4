"""Theorem 3: a gridworld in two layers, in any number of dimensions, from any start, with no-ops.

Layer 1 computes prefix sums of the moves, unclamped. Layer 2 finds last visits; its MLP turns them into the
state. A k-dimensional grid is k lines side by side that share the position channels (the remark after the
theorem).

Before any matrix a gridworld is recognised, and the padding that leads to its start is chosen.
"""

from functools import partial
from typing import Literal, get_args

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import InvalidInput, KrohnError, Unsupported
from krohn.network.compiled import CompiledNetwork
from krohn.network.lowering.assembly import agrees
from krohn.network.transformer import Matrix, Transformer
from krohn.paper.age_mlp import STATE_MLPS
from krohn.paper.blocks import integer_readout, lift_layer, parallel_layers
from krohn.paper.composition import GADGETS
from krohn.paper.counter import absorber
from krohn.paper.grid_heads import MOD_SHARED, PAPER_SHARED, Axis, mod_axis, paper_axis
from krohn.paper.grid_program import grid_layout, mod_program
from krohn.paper.grid_runs import GridRun, grid_run
from krohn.paper.gridworlds import recognise_grid
from krohn.paper.theorem1 import build_scan

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
