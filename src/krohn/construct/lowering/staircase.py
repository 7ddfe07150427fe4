"""A function on finitely many points of a line as flat treads and steep steps (Lemma "1-D interpolation").

Between neighbouring points the value changes by one step of two ReLU units; unlike hats, steps leave the
function exactly flat around every point: an input may be off by a quarter of the distance to the
neighbour on either side and the output does not move.
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
        width = ramp_width(right - left)
        start = (left + right - width) / 2
        rise = builder.unit(code, 1 / width, -start / width)
        fall = builder.unit(code, 1 / width, -start / width - 1)
        for column, change in enumerate(values[index + 1] - values[index]):
            if change:
                terms[column][rise] = terms[column].get(rise, 0.0) + float(change)
                terms[column][fall] = terms[column].get(fall, 0.0) - float(change)
    return [
        Signal(code.layer + 1, made, float(column[0]), float(column.min()), float(column.max()))
        for made, column in zip(terms, values.T, strict=True)
    ]


def ramp_width(distance: float) -> float:
    """The largest power of two that leaves a quarter of the distance flat on each side."""
    return float(2.0 ** np.floor(np.log2(distance / 2)))
