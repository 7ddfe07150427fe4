"""Scores as products of vectors, with one error for all keys: for more pairs than each can have its own."""

import numpy as np

from krohn.check.arithmetic.format import Format, ball
from krohn.check.ground import OWN, Array, Real, ample


def products(fmt: Format, queries: Real, keys: Real, root: float = 1.0) -> tuple[Array, Array, Array]:
    """Vectors q [t, k] and k [i, k], and a slack [t]: every computed score [t, i], less a number for t alone,
    is within slack[t] of q·k; so is q·k as float64 sums it, or an upper bound of six such sums.

    As ``Format.scores``, with the largest of all keys in place of each.
    """
    width = float(queries.lo.shape[-1])
    (middle, radius), (other, reach) = ball(queries), ball(keys)
    apart = other - (other.min(axis=0) + other.max(axis=0)) / 2
    most, sizes = (np.abs(other) + reach).max(axis=0), np.abs(middle) + radius
    size, once = sizes @ most, 0.0 if root == 1 else 6.0
    slack = np.abs(middle) @ reach.max(axis=0) + radius @ (np.abs(apart) + reach).max(axis=0)
    slack = slack + fmt.inner.error(size, width + 1 + once, width + once)
    slack = slack + OWN.error(64 * size, width + 4, 8 * width)
    if root != 1:  # underflow of queries and keys that are divided first
        slack = slack + fmt.inner.tiny * (sizes.sum(axis=1) + most.sum())
    return middle / root, apart, ample(slack / root)
