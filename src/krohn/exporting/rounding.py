"""The forward pass with amplified rounding: a robustness test for exports read by other software.

Readers choose their own summation order. In one of the worst, one term after another, n equal terms come out
wrong by up to n·u/3 of their sum (u = 2⁻²⁴); attention over a long word of one letter is such a sum. Here
every step is computed this way in float32, and in float64 from the same inputs; its output is the exact value
plus a multiple of the difference. Steps that are exact in float32 stay exact; worst-case bounds over all
orders (n·u times the sum of absolute values) miss that and reject networks that no reader gets wrong.
"""

import numpy as np

from krohn.exporting.decoder import Decoder
from krohn.exporting.reference import Array, Plain, Words, logits

SAFETY = 2.0
"""Times the rounding error of summing one term after another that an export must withstand."""

# Attention kernels use fast exponentials: PyTorch's on CPUs are off by up to 20 units.
_EXPONENTIAL = np.float32(1.0 + 20 * 2.0**-24)


class OneAfterAnother(Plain):
    """Sums in float32, each from its first term to its last."""

    def product(self, left: Array, right: Array) -> Array:
        """``left @ right``, without blocks or pairs."""
        terms = np.ascontiguousarray(np.moveaxis(left, -1, 0))
        out: Array = np.zeros((*left.shape[:-1], right.shape[-1]), dtype=left.dtype)
        for place, term in enumerate(terms):
            row = right[..., place, None, :]
            if row.any():
                out += term[..., None] * row
        return out

    def mixed(self, scores: Array, value: Array) -> Array:
        """Attention as in fused kernels: weighted sums first, then the division by their total."""
        below = scores - scores.max(axis=-1, keepdims=True)
        weights = np.exp(below)
        weights = np.where(below < 0, weights * _EXPONENTIAL, weights)
        sums = self.product(weights, np.concatenate([value, np.ones_like(value[..., :1])], axis=-1))
        out: Array = sums[..., :-1] / sums[..., -1:]
        return out


class Amplified(Plain):
    """Each step exactly, plus ``factor`` times the error it has when summed one after another in float32."""

    def __init__(self, factor: float) -> None:
        self.factor, self.exact, self.rough = factor, Plain(), OneAfterAnother()

    def added(self, x: Array, y: Array) -> Array:
        """A residual connection, its error amplified."""
        return self._amplified("added", x, y)

    def linear(self, x: Array, weight: Array, bias: Array) -> Array:
        """A linear map, its error amplified."""
        return self._amplified("linear", x, weight, bias)

    def norm(self, x: Array, gain: Array, shift: Array) -> Array:
        """A LayerNorm, its error amplified."""
        return self._amplified("norm", x, gain, shift)

    def scores(self, query: Array, key: Array) -> Array:
        """The scores of a head, their error amplified."""
        return self._amplified("scores", query, key)

    def mixed(self, scores: Array, value: Array) -> Array:
        """The softmax and the values it weighs, their error amplified."""
        return self._amplified("mixed", scores, value)

    def _amplified(self, step: str, *given: Array) -> Array:
        # Overflow and −∞ − (−∞) need no warning: NaN has no arg max that is right.
        with np.errstate(over="ignore", invalid="ignore"):
            single = [values.astype(np.float32) for values in given]
            exact: Array = getattr(self.exact, step)(*(values.astype(np.float64) for values in single))
            rough: Array = getattr(self.rough, step)(*single)
            out: Array = np.where(rough == exact, exact, exact + self.factor * (rough - exact))
        return out


def rounded_logits(decoder: Decoder, words: Words, factor: float = SAFETY) -> Array:
    """``logits`` with ``factor`` times the rounding error of summing one term after another."""
    return logits(decoder, words, np.float64, Amplified(factor))
