"""Theorem 3: a gridworld in two layers, in any number of dimensions, from any start, with no-ops.

Layer 1 computes prefix sums of the moves, unclamped. Layer 2 finds last visits; its MLP turns them into the
state. A k-dimensional grid is k lines side by side that share the position channels (the remark after the
theorem).
"""

from typing import Literal, get_args

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.construct.paper import grid_mod_heads, grid_paper_heads
from krohn.construct.paper.channels import lift_layer, parallel_layers
from krohn.construct.paper.grid_axis import Axis
from krohn.construct.paper.grid_geometry import GridRun, grid_run
from krohn.construct.paper.grid_program import grid_layout, mod_program
from krohn.construct.paper.grid_recognition import recognise_grid
from krohn.construct.paper.grid_state_mlps import STATE_MLPS
from krohn.construct.paper.integer_readout import integer_readout
from krohn.construct.paper.prefix_sum import absorber
from krohn.errors import InvalidInput, Unsupported
from krohn.network.compiled import CompiledNetwork
from krohn.network.transformer import Matrix, Transformer

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
            f"{automaton!r} is none; use method cascade or scan"
        )
    run = grid_run(automaton, grid, length)
    shared = grid_mod_heads.SHARED if variant.startswith("mod") else grid_paper_heads.SHARED
    axes = [_axis(size - 1, run.total, activation, variant) for size in grid.shape]
    network = _assemble(automaton, run, shared, axes)
    program = mod_program(automaton, run) if variant == "mod" else None
    return CompiledNetwork(
        network, automaton, "grid", program, grid_layout(network, run, shared, axes, variant)
    )


def _axis(walls: int, total: int, activation: str, variant: str) -> Axis:
    if variant in STATE_MLPS:
        return grid_paper_heads.paper_axis(walls, total, activation, variant)
    return grid_mod_heads.mod_axis(walls, total, activation, summed=variant == "mod_sum")


def _assemble(
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
