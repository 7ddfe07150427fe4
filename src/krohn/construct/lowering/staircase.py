"""A function on finitely many points of a line as flat treads and steep steps (Lemma "1-D interpolation").

Between neighbouring points the value changes by one step of two ReLU units; unlike hats, steps leave the
function exactly flat around every point: an input may be off by a quarter of the distance to the
neighbour on either side and the output does not move.

A step is relu(x) − relu(x − 1), in one hidden layer, or relu(1 − relu(1 − x)), in two. The second is exactly
0 or 1 off its ramp in every float format, because nothing large is subtracted from anything large: short
formats need it, and a builder that is told to saturate uses it throughout.
"""

import numpy as np
import numpy.typing as npt

from krohn.construct.lowering.signals import MlpBuilder, Signal

Points = npt.NDArray[np.float64]


def staircase(builder: MlpBuilder, code: Signal, points: Points, values: Points) -> list[Signal]:
    """One signal per column of ``values[point, output]``; ``points`` are increasing; steps are shared."""
    terms: list[dict[int, float]] = [{} for _ in range(values.shape[1])]
    for index in np.flatnonzero((np.diff(values, axis=0) != 0).any(axis=1)):
        left, right = float(points[index]), float(points[index + 1])
        step = _step(builder, code, left, right)
        for column, change in enumerate(values[index + 1] - values[index]):
            if change:
                for unit, sign in step.items():
                    terms[column][unit] = terms[column].get(unit, 0.0) + sign * float(change)
    layer = code.layer + (2 if builder.saturate else 1)
    return [
        Signal(layer, made, float(column[0]), float(column.min()), float(column.max()))
        for made, column in zip(terms, values.T, strict=True)
    ]


def _step(builder: MlpBuilder, code: Signal, left: float, right: float) -> dict[int, float]:
    """0 up to a quarter of the way from left to right, 1 from three quarters on: units with their signs."""
    width = ramp_width(right - left)
    start = (left + right - width) / 2
    if not builder.saturate:
        rise = builder.unit(code, 1 / width, -start / width)
        fall = builder.unit(code, 1 / width, -start / width - 1)
        return {rise: 1.0, fall: -1.0}
    short = builder.unit(code, -1 / width, start / width + 1)
    missing = Signal(code.layer + 1, {short: 1.0}, 0.0, 0.0, 1.0)
    return {builder.unit(missing, -1.0, 1.0): 1.0}


def ramp_width(distance: float) -> float:
    """The largest power of two that leaves a quarter of the distance flat on each side."""
    return float(2.0 ** np.floor(np.log2(distance / 2)))
