"""Consecutive MLP blocks as stages, split by dependence into strands, which are run one by one."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from krohn.check.layer_norm import Norm
from krohn.check.reader import Layer
from krohn.check.real import Array, Flags, Integers, Real, distinct


@dataclass(frozen=True)
class Stage:
    """v ← act(norm(v) @ weight + bias); with ``keep``: no activation, keep · (stream before) is added."""

    weight: Array
    bias: Array
    norm: Norm | None
    sine: Flags | None
    keep: Array | None
    within: Real | None = None  # bounds on the stream that ``norm`` relies on, to be proved


Chain = tuple[Stage, ...]


def chain_of(
    layers: tuple[Layer, ...], norms: list[Norm], streams: Sequence[Real | None] | None = None
) -> Chain:
    """All matrices of consecutive MLPs; ``streams``: assumed bounds before each, to be proved."""
    made = []
    for layer, norm, within in zip(layers, norms, streams or [None] * len(layers), strict=True):
        last = len(layer.weights) - 1
        for index, (weight, bias) in enumerate(zip(layer.weights, layer.biases, strict=True)):
            sine, keep = (None, layer.keep_mlp) if index == last else (layer.sine[index], None)
            made.append(Stage(weight, bias, None if index else norm, sine, keep, None if index else within))
    return tuple(made)


def untouched(layers: tuple[Layer, ...]) -> Flags:
    """Channels that are kept and to which the MLPs add exactly 0."""
    out = np.ones(len(layers[0].keep_mlp) if layers else 1, dtype=bool)
    for layer in layers:
        out = out & (layer.keep_mlp > 0) & ~(layer.weights[-1] != 0).any(axis=0) & (layer.biases[-1] == 0)
    return out


@dataclass(frozen=True)
class Strand:
    """Outputs (or units of a hidden layer) that depend on the same inputs, with the units in between."""

    inputs: Integers
    units: tuple[Integers, ...]  # per stage: those that the ends depend on
    ends: int  # how many stages it passes


def reaches(chain: Chain, stages: int) -> tuple[Array, Array]:
    """[input, unit]: the inputs that units after some stages, and the latest stream, depend on."""
    reach = stream = np.eye(len(chain[0].weight))
    for index, stage in enumerate(chain[:stages]):
        reads = (stage.weight != 0).astype(np.float64)
        reach = (reach @ reads > 0).astype(np.float64) if index else reads
        if stage.keep is not None:
            reach = stream = ((reach + stream * stage.keep) > 0).astype(np.float64)
    return reach, stream


def strands(chain: Chain) -> list[Strand]:
    """All outputs except channels that stay unchanged: adding 0 to a finite number is exact."""
    quiet = np.ones(len(chain[0].weight), dtype=bool)
    for stage in chain:
        if stage.keep is not None:
            quiet &= (stage.keep > 0) & ~(stage.weight != 0).any(axis=0) & (stage.bias == 0)
    outputs = np.flatnonzero(~quiet)
    kinds, which = distinct(reaches(chain, len(chain))[0].T[outputs])
    return [strand_to(chain, len(chain), outputs[which == number]) for number in range(len(kinds))]


def strand_to(chain: Chain, depth: int, ends: Integers, held: Integers | None = None) -> Strand:
    """The units of each stage that these ends depend on, and channels ``held`` of the stream before them."""
    wanted = [
        np.zeros(len(matrix), dtype=bool) for matrix in (chain[0].weight, *(s.bias for s in chain[:depth]))
    ]
    streams = [0, *(index for index, stage in enumerate(chain[:depth], 1) if stage.keep is not None)]
    wanted[-1][ends] = True
    if held is not None:
        wanted[streams[-1]][held] = True
    for index in range(depth, 0, -1):
        stage = chain[index - 1]
        wanted[index - 1] |= (stage.weight[:, wanted[index]] != 0).any(axis=1)
        if stage.keep is not None:
            before = max(other for other in streams if other < index)
            wanted[before] |= wanted[index] & (stage.keep > 0)
    inputs, *units = (np.flatnonzero(flags) for flags in wanted)
    return Strand(inputs, tuple(units), depth)


def chain_held(chain: Chain, strand: Strand, at: int) -> Integers:
    """The channels of the stream that a strand holds before stage ``at``."""
    streams = [index for index, stage in enumerate(chain[:at]) if stage.keep is not None]
    return strand.units[streams[-1]] if streams else strand.inputs


def held_at_once(chain: Chain, inputs: int, widths: list[int]) -> tuple[int, int]:
    """Entries of the largest affine form, and of all forms together, for one row.

    There is a symbol for each input, and for each channel of a stream.
    """
    symbols, most, together = inputs, 1, 0
    for width, stage in zip(widths, (*chain, None), strict=False):
        most, together = max(most, (1 + symbols) * width), together + (1 + symbols) * width
        symbols += width if stage is not None and stage.keep is not None else 0
    return most, together


def entries_of(chain: Chain, strand: Strand) -> tuple[int, int]:
    """The same for a whole strand."""
    return held_at_once(chain, len(strand.inputs), [len(units) for units in strand.units])
