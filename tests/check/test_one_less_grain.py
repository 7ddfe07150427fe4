"""One hypothesis on what a grain allows is taken away: a sum is rounded, and never called exact."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from check.judge import STORES
from every import every
from krohn.check.arithmetic.format import FORMATS, Box, Format
from krohn.check.ground import between
from krohn.check.transformer import mlp
from krohn.check.transformer.mlp import Affine, entering

Chain = tuple[np.ndarray, float, Callable[[Affine], Affine]]


def plain(form: Affine) -> Affine:
    return form


def waved(form: Affine) -> Affine:
    return form.activate(FORMATS["float16"], np.ones(1, dtype=bool))


HALF = 2.0**-11
UNITS: dict[str, Chain] = {
    "a sum that the format does not hold": (np.array([2050.0, 1.0]), 1.0, plain),
    "a weight finer than the format": (np.array([1.0, HALF]), 1.0, plain),
    "a bias that the sum does not hold": (np.array([2048.0, 2.0]), 1.0, plain),
    "a sine, which has no grain": (np.array([1.0, 0.0]), 0.5, waved),
}


def left(idea: str) -> int:
    """How many numbers leave their boxes, of all whole numbers in all boxes between 0 and 3."""
    weights, bias, then = UNITS[idea]
    store, gone, rounded = STORES["float16"], 0, 0
    for low in np.ndindex(4, 4):
        for high in np.ndindex(*(4 - end for end in low)):
            box = between(np.array([low]), np.array([low]) + np.array([high]))
            form = entering(box, np.ones(2)).linear(FORMATS["float16"], weights[:, None], np.array([bias]))
            made = then(form).box
            for more in np.ndindex(high[0] + 1, high[1] + 1):
                terms = (np.array(low) + np.array(more)) * weights
                unit = store(store(terms.sum(keepdims=True)) + bias)
                number = float((store(np.sin(unit)) if then is waved else unit)[0])
                gone += not made.lo[0, 0] <= number <= made.hi[0, 0]
                rounded += number != terms.sum() + bias
    assert rounded
    return gone


@every("idea", UNITS)
def test_unknown_multiples_are_exact_only_where_the_format_holds_their_sums(idea: str) -> None:
    """Hypotheses of an exact sum: all terms are multiples of one power of two, and their sizes fit."""
    assert left(idea) == 0


@every("idea", [idea for idea in UNITS if "sine" not in idea])
def test_calling_every_sum_exact_would_be_seen(idea: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mlp.Format, "measured", unrounded)
        assert left(idea) > 0


def unrounded(fmt: Format, box: Box, weight: Any, bias: Any) -> tuple[Box, Any]:
    """x @ weight + bias as if no format rounded it."""
    made = box.part @ weight + between(bias, bias)
    return Box(made, box.beyond @ np.abs(weight)), np.zeros(made.lo.shape)
