"""Consecutive MLP blocks as stages, split by dependence into strands, which are run one by one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from krohn.check.arithmetic.real import Array, Flags, Integers, Real, distinct
from krohn.check.files.reader import Layer
from krohn.check.transformer.layer_norm import Norm


@dataclass(frozen=True)
class StrandStage:
    """v ← act(norm(v) @ weight + bias); with ``keep``: no activation, keep · (stream before) is added."""

    weight: Array
    bias: Array
    norm: Norm | None
    sine: Flags | None
    keep: Array | None
    within: Real | None = None  # bounds on the stream that ``norm`` relies on, to be proved
    place: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # in the stream before


Chain = tuple[StrandStage, ...]


def chain_of(
    layers: tuple[Layer, ...], norms: list[Norm], streams: Sequence[Real | None] | None = None
) -> Chain:
    """All matrices of consecutive MLPs; ``streams``: assumed bounds before each, to be proved."""
    made = []
    for layer, norm, within in zip(layers, norms, streams or [None] * len(layers), strict=True):
        last = len(layer.weights) - 1
        for index, (weight, bias) in enumerate(zip(layer.weights, layer.biases, strict=True)):
            sine, keep = (None, layer.keep_mlp) if index == last else (layer.sine[index], None)
            own = None if index or layer.gain_mlp is None else norm
            made.append(StrandStage(weight, bias, own, sine, keep, None if index else within))
    return tuple(made)


def untouched(layers: tuple[Layer, ...]) -> Flags:
    """Channels that are kept and to which the MLPs add exactly 0."""
    out = np.ones(len(layers[0].keep_mlp) if layers else 1, dtype=bool)
    for layer in layers:
        out = out & (layer.keep_mlp > 0) & ~(layer.weights[-1] != 0).any(axis=0) & (layer.biases[-1] == 0)
    return out


@dataclass(frozen=True)
class Strand:
    """Outputs (or units of a hidden layer) that depend on the same inputs: a chain of their own."""

    chain: Chain
    inputs: Integers
    units: tuple[Integers, ...]  # of each stage: those that the outputs depend on
    stages: Chain  # the first stages of the chain, with these units alone

    @property
    def outputs(self) -> Integers:
        """The units of the last stage."""
        return self.units[-1] if self.units else self.inputs

    def held(self, at: int) -> Integers:
        """The channels of the stream before stage ``at``."""
        pairs = zip(self.stages[:at], self.units, strict=False)
        return [self.inputs, *(units for stage, units in pairs if stage.keep is not None)][-1]

    def entries(self, first: int = 0, more: int = 0) -> tuple[int, int]:
        """Entries of the largest affine form, and of all forms together, for one row, from a stage on.

        There is a symbol for each input, and for each channel of a stream; ``more``: columns besides.
        """
        symbols, most, together = len(self.units[first - 1] if first else self.inputs), 1, 0
        for stage in (*self.stages[first:], None):
            width = more if stage is None else len(stage.bias)
            most, together = max(most, (1 + symbols) * width), together + (1 + symbols) * width
            symbols += width if stage is not None and stage.keep is not None else 0
        return most, together


def reaches(chain: Chain, stages: int) -> tuple[Array, Array]:
    """[input, unit]: the inputs that units after some stages, and the latest stream, depend on."""
    reach = stream = np.eye(len(chain[0].weight))
    for stage in chain[:stages]:
        some = np.flatnonzero(reach.any(axis=0))  # units that depend on nothing add nothing
        reach = (reach[:, some] @ (stage.weight[some] != 0).astype(np.float64) > 0).astype(np.float64)
        if stage.keep is not None:
            reach = stream = ((reach + stream * stage.keep) > 0).astype(np.float64)
    return reach, stream


def strands(chain: Chain, quiet: Flags) -> list[Strand]:
    """All outputs except the ``quiet`` channels: adding 0 to a finite number is exact."""
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
    return Strand(chain, inputs, tuple(units), tuple(_narrowed(chain, inputs, units)))


def _narrowed(chain: Chain, inputs: Integers, units: Sequence[Integers]) -> Iterator[StrandStage]:
    """The first stages of a chain, with these inputs and units alone."""
    columns = stream = inputs
    for stage, chosen in zip(chain, units, strict=False):
        weight, bias = stage.weight[np.ix_(columns, chosen)], stage.bias[chosen]
        norm = None if stage.norm is None else stage.norm[columns]
        within = None if stage.within is None else stage.within[columns]
        if stage.keep is None:
            yield StrandStage(
                weight, bias, norm, None if stage.sine is None else stage.sine[chosen], None, within
            )
        else:
            keep, place = stage.keep[chosen], np.searchsorted(stream, chosen)
            yield StrandStage(weight, bias, norm, None, keep, within, np.where(keep > 0, place, 0))
            stream = chosen
        columns = chosen
