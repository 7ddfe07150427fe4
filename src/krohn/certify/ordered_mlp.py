"""An MLP whose inputs are known by their order only: evaluated on whole regions of inputs at once.

Each input is one of a few increasing numbers a₀ < a₁ < …, up to an error; which one, a pattern says. With a₀
and the gaps as unknowns every unit is an affine function of them as long as its sign does not change over the
region, and interval bounds decide that. The outputs must not depend on the unknowns.
"""

from dataclasses import dataclass, replace

import numpy as np

from krohn.certify.arithmetic import OWN, SAFE, Arithmetic, Array
from krohn.certify.certificate import Refuted
from krohn.certify.stream import Flags, Integers
from krohn.network.transformer import RELU, Layer, Mlp

NUMBERS_AT_ONCE = 1 << 21


@dataclass(frozen=True, eq=False)
class Ladder:
    """a₀ lies in ``low..high``, every gap above it is at least ``gap``, the last number is at most ``high``;
    input n is off by at most ``errors[n]``.
    """

    low: float
    high: float
    gap: float
    errors: Array


@dataclass(frozen=True, eq=False)
class _Forms:
    """``const + slopes · unknowns ± loose`` for every row and unit; unknown 0 is a₀, the others are gaps."""

    const: Array  # row × unit
    slopes: Array  # unknown × row × unit
    loose: Array  # row × unit

    def bounds(self, ladder: Ladder, gaps: Integers) -> tuple[Array, Array]:
        """Least and largest value; row r has ``gaps[r]`` gaps."""
        first, steps = self.slopes[0], self.slopes[1:]
        room = np.maximum(ladder.high - ladder.low - gaps * ladder.gap, 0.0)[:, None]
        middle = self.const + ladder.gap * steps.sum(axis=0)
        down = np.minimum(steps.min(axis=0, initial=0.0), 0.0) * room
        up = np.maximum(steps.max(axis=0, initial=0.0), 0.0) * room
        ends = first * ladder.low, first * ladder.high
        low = middle + down + np.minimum(*ends) - self.loose
        return low, middle + up + np.maximum(*ends) + self.loose


def evaluate_ordered(
    mlp: Mlp, inputs: Integers, ranks: Integers, gaps: Integers, ladder: Ladder, arith: Arithmetic
) -> tuple[Array, Array]:
    """Centre and radius of every output for every row: input n is a_k, k = ``ranks[row, n]``."""
    if not all((codes == RELU).all() for codes in mlp.activations):
        raise Refuted("visits", 0, "the order of visits can be followed through ReLU units only")
    unknowns = 1 + int(ranks.max(initial=0))
    few = max(1, NUMBERS_AT_ONCE // (unknowns * max(len(b) for b in mlp.biases)))
    parts = []
    for first in range(0, len(ranks), few):
        chosen, above = ranks[first : first + few], gaps[first : first + few]
        slopes = (np.arange(unknowns)[:, None, None] <= chosen).astype(np.float64)
        forms = _Forms(np.zeros(chosen.shape), slopes, np.broadcast_to(ladder.errors, chosen.shape))
        low, high = forms.bounds(ladder, above)
        for number, (weight, bias) in enumerate(zip(mlp.weights, mlp.biases, strict=True)):
            if number:
                forms = _activated(forms, low, high)
            size = np.maximum(np.abs(low), np.abs(high)) if number == 0 else np.maximum(high, 0.0)
            forms = _applied(forms, size, weight if number else weight[inputs], bias, ladder, arith)
            low, high = forms.bounds(ladder, above)
        parts.append((low, high))
    low, high = (np.concatenate([part[side] for part in parts]) for side in (0, 1))
    return (low + high) / 2, (high - low) / 2 * (1 + 4 * OWN) + 4 * OWN * np.abs(high)


def _applied(
    forms: _Forms, size: Array, weight: Array, bias: Array, ladder: Ladder, arith: Arithmetic
) -> _Forms:
    """One matrix and its bias; ``size`` bounds what each unit may hold."""
    largest = size @ np.abs(weight) + np.abs(bias)
    terms = (weight != 0).sum(axis=0) + 2
    rounding = SAFE * (arith.inner + 4 * OWN) * terms * largest + terms * arith.tiny
    loose = forms.loose @ np.abs(weight) + np.where(largest < arith.largest, rounding, np.inf)
    # The checker rounds slopes as well: by no more than this, on a₀ and on gaps that add up to the rest.
    steep = np.abs(forms.slopes).max(axis=0) @ np.abs(weight)
    loose = loose + 4 * OWN * terms * steep * (abs(ladder.low) + 2 * abs(ladder.high))
    used = np.flatnonzero(forms.slopes.any(axis=(0, 1)))
    slopes = forms.slopes[..., used] @ weight[used]
    return _Forms(forms.const @ weight + bias, slopes, loose)


def _activated(forms: _Forms, low: Array, high: Array) -> _Forms:
    """Units that may change sign lie anywhere between 0 and their largest value."""
    active, unsure = low > 0, ~(low > 0) & ~(high < 0)
    return _Forms(
        np.where(active, forms.const, 0.0),
        forms.slopes * active,
        np.where(active, forms.loose, 0.0) + np.where(unsure, np.maximum(high, 0.0), 0.0),
    )


@dataclass(frozen=True, eq=False)
class Cone:
    """``layer`` writes only ``outputs``, and ``reads`` what they need and what of them is kept.

    Outputs of the layer outside of it are 0 and kept by none, so that the cones of a layer add up to it.
    """

    layer: Layer
    outputs: Flags
    reads: Flags


def cones_of(layer: Layer) -> list[Cone]:
    """The cones of all outputs that units or biases write; one that reads less joins one that reads more."""
    groups: dict[bytes, tuple[Flags, Flags]] = {}
    written = (layer.mlp.weights[-1] != 0).any(axis=0) | (layer.mlp.biases[-1] != 0)
    for channel in np.flatnonzero(written):
        alone = np.arange(len(written)) == channel
        inputs = needed_units(layer.mlp, alone)[0]
        _, outputs = groups.get(inputs.tobytes(), (inputs, np.zeros_like(alone)))
        groups[inputs.tobytes()] = (inputs, outputs | alone)
    found: list[tuple[Flags, Flags]] = []
    for inputs, outputs in sorted(groups.values(), key=lambda group: -int(group[0].sum())):
        for number, (wider, others) in enumerate(found):
            if not (inputs & ~wider).any():
                found[number] = (wider, others | outputs)
                break
        else:
            found.append((inputs, outputs))
    return [_cone(layer, inputs, outputs) for inputs, outputs in found]


def needed_units(mlp: Mlp, outputs: Flags) -> list[Flags]:
    """Which inputs, hidden units of each layer and outputs are needed."""
    needed = [outputs]
    for weight in reversed(mlp.weights):
        needed.append((weight[:, needed[-1]] != 0).any(axis=1))
    return needed[::-1]


def _cone(layer: Layer, inputs: Flags, outputs: Flags) -> Cone:
    mlp, needed = layer.mlp, needed_units(layer.mlp, outputs)
    weights, biases = [], []
    for number, (weight, bias) in enumerate(zip(mlp.weights, mlp.biases, strict=True)):
        last = number + 1 == len(mlp.weights)
        rows = weight * needed[0][:, None] if number == 0 else weight[needed[number]]
        weights.append(rows * outputs if last else rows[:, needed[number + 1]])
        biases.append(bias * outputs if last else bias[needed[number + 1]])
    codes = tuple(code[used] for code, used in zip(mlp.activations, needed[1:-1], strict=True))
    keep = layer.keep_mlp * outputs
    part = replace(layer, mlp=Mlp(tuple(weights), tuple(biases), codes), keep_mlp=keep)
    return Cone(part, outputs, inputs | (keep > 0))
