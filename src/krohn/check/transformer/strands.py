"""An MLP, split by dependence into strands: MLPs of fewer units for some of the outputs."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from krohn.check.arithmetic.real import Array, Flags, Integers, distinct
from krohn.check.files.reader import Layer
from krohn.check.transformer.forward import Pointwise, T, after_mlp, through
from krohn.check.transformer.layer_norm import Norm

Mlp = tuple[Layer, Norm]
"""A layer, whose heads are left out here, and what its LayerNorm does."""


@dataclass(frozen=True)
class Strand:
    """An MLP with the units that ``outputs`` depend on, and no others: it reads the channels ``inputs``.

    Or the matrices ``first`` to ``last`` − 1 of one: inputs, outputs or both are then units of hidden layers.
    """

    layer: Layer
    norm: Norm
    inputs: Integers
    outputs: Integers
    place: Integers  # among the inputs, of each output that is kept
    first: int = 0
    last: int | None = None

    def passed(self, run: Pointwise[T], x: T) -> T:
        """The forward pass, from inputs to outputs."""
        if self.last is None:
            return after_mlp(run, self.layer, x)
        units = x if self.first else run.normed(x, self.layer.gain_mlp)
        return through(run, self.layer, units, self.first, self.last)

    @property
    def entries(self) -> tuple[int, int]:
        """Entries of the largest affine form, and of all forms together, for one row and its inputs."""
        widths = [(1 + len(self.inputs)) * len(bias) for bias in self.layer.biases]
        return max(1, *widths), sum(widths)


def untouched(layer: Layer) -> Flags:
    """Channels that are kept and to which the MLP adds exactly 0."""
    out: Flags = (layer.keep_mlp > 0) & ~(layer.weights[-1] != 0).any(axis=0) & (layer.biases[-1] == 0)
    return out


def read_through(weights: Sequence[Array]) -> Array:
    """[input, unit]: the inputs that units read through some matrices."""
    reach = np.eye(len(weights[0]))
    for weight in weights:
        some = np.flatnonzero(reach.any(axis=0))  # units that depend on nothing add nothing
        reach = (reach[:, some] @ (weight[some] != 0).astype(np.float64) > 0).astype(np.float64)
    return reach


def strands(mlp: Mlp, quiet: Flags) -> list[Strand]:
    """All outputs except the ``quiet`` channels: adding 0 to a finite number is exact."""
    outputs, layer = np.flatnonzero(~quiet), mlp[0]
    kinds, which = distinct(((read_through(layer.weights) + np.diag(layer.keep_mlp)) > 0).T[outputs])
    return [strand_to(mlp, outputs[which == number]) for number in range(len(kinds))]


# Rule: a strand.
# Hypotheses: none. Conclusion: on the inputs of the MLP its outputs are those of the MLP, in every order.
# Why: a unit is left out only if all weights by which the outputs would see it are 0, and every number is
# finite (``enclosures``): terms of 0 are added, which change no partial sum.
def strand_to(mlp: Mlp, ends: Integers, first: int = 0, last: int | None = None) -> Strand:
    """The units on which these ends depend, matrix by matrix; matrices that are left out are empty."""
    layer, norm = mlp
    units = [np.isin(np.arange(len(layer.biases[-1 if last is None else last - 1])), ends)]
    for weight in reversed(layer.weights[first:last]):
        units.insert(0, (weight[:, units[0]] != 0).any(axis=1))
    if last is None:
        units[0] = units[0] | (units[-1] & (layer.keep_mlp > 0))
    columns = [np.flatnonzero(flags) for flags in units]
    weights: list[Array] = [np.zeros((0, 0))] * len(layer.weights)
    biases: list[Array] = [np.zeros(0)] * len(layer.weights)
    sine: list[Flags] = [np.zeros(0, dtype=bool)] * len(layer.sine)
    for index, (before, after) in enumerate(pairwise(columns), first):
        weights[index] = layer.weights[index][np.ix_(before, after)]
        biases[index] = layer.biases[index][after]
        if index < len(sine):
            sine[index] = layer.sine[index][after]
    inputs, outputs = columns[0], columns[-1]
    keep = layer.keep_mlp[outputs] if last is None else np.zeros(len(outputs))
    place = np.where(keep > 0, np.searchsorted(inputs, outputs), 0)
    parts = tuple(weights), tuple(biases), tuple(sine)
    made = Layer((), *parts, np.ones(len(inputs)), keep, gain_mlp=layer.gain_mlp)
    return Strand(made, norm if first else norm[inputs], inputs, outputs, place, first, last)
