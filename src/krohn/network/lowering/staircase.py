"""A function on finitely many points of a line as flat treads and steep steps (Lemma "1-D interpolation").

Between neighbouring points the value changes by one step of two ReLU units; unlike hats, steps leave the
function exactly flat around every point: an input may be off by a quarter of the distance to the
neighbour on either side and the output does not move.

A step is relu(x) − relu(x − 1), in one hidden layer, or relu(1 − relu(1 − x)), in two. The second is
exactly 0 or 1 off its ramp in every float format, because nothing large is subtracted from anything large:
short formats need it, and a builder with ``saturate`` uses it throughout.
"""

from math import frexp

import numpy as np

from krohn.network.lowering.mlp_builder import MlpBuilder, Points, Signal


def staircase(builder: MlpBuilder, code: Signal, points: Points, values: Points) -> list[Signal]:
    """One signal per column of ``values[point, output]``; ``points`` are increasing; steps are shared.

    Steps of one hidden layer begin in the middle of the points and go both ways: at no point do more than
    half of them add up, and their sum rounds least.
    """
    rows = np.flatnonzero((np.diff(values, axis=0) != 0).any(axis=1))
    first = 0 if builder.saturate else int(np.searchsorted(points, (points[0] + points[-1]) / 2))
    terms: list[dict[int, float]] = [{} for _ in range(values.shape[1])]
    for index in rows:
        left, right = float(points[index]), float(points[index + 1])
        back = bool(index < first)
        step = _step(builder, code, left, right, back=back)
        for column, change in enumerate(values[index + 1] - values[index]):
            if change:
                for unit, sign in step.items():
                    size = -float(change) if back else float(change)
                    terms[column][unit] = terms[column].get(unit, 0.0) + sign * size
    layer = code.layer + (2 if builder.saturate else 1)
    return [
        Signal(layer, result, float(column[first]), float(column.min()), float(column.max()))
        for result, column in zip(terms, values.T, strict=True)
    ]


def _step(
    builder: MlpBuilder, code: Signal, left: float, right: float, *, back: bool = False
) -> dict[int, float]:
    """0 up to a quarter of the way from left to right, 1 from three quarters on: units with their signs.

    ``back``: 1 on the left and 0 on the right, with units that are silent there.
    """
    width = ramp_width(right - left)
    start = (left + right - width) / 2
    if back:
        fall = builder.unit(code, -1 / width, start / width + 1)
        low = builder.unit(code, -1 / width, start / width)
        return {fall: 1.0, low: -1.0}
    if not builder.saturate:
        rise = builder.unit(code, 1 / width, -start / width)
        fall = builder.unit(code, 1 / width, -start / width - 1)
        return {rise: 1.0, fall: -1.0}
    short = builder.unit(code, -1 / width, start / width + 1)
    missing = Signal(code.layer + 1, {short: 1.0}, 0.0, 0.0, 1.0)
    return {builder.unit(missing, -1.0, 1.0): 1.0}


def ramp_width(distance: float) -> float:
    """The largest power of two that leaves a quarter of the distance flat on each side."""
    return float(2.0 ** (frexp(distance / 2)[1] - 1))
