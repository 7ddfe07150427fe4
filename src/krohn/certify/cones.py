"""The outputs of an MLP that depend on the same inputs, with the units that feed them.

Registers that share an MLP are mostly computed side by side. Each part is evaluated on the values of its own
inputs, of which there are far fewer than classes of whole vectors.
"""

from dataclasses import dataclass, replace

import numpy as np

from krohn.certify.stream import Flags
from krohn.network.transformer import Layer, Mlp


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
