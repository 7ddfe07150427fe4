"""The head of Lemma "modular counter" and Theorem 3: uniform attention, a padding token absorbs the rest.

Query log(2T − t) on the flag of ⊥ gives ⊥ the weight (2T − t)/2T and every other visible position 1/2T, so
the head computes prefix sums with one scale for all positions.
"""

import math

import numpy as np

from krohn.construct.paper.channels import basis
from krohn.network.transformer import Head, Matrix


def absorber(positions: int, total: int) -> Matrix:
    """γ_i = log(2T − i) for every position, ⊥ = position 0 included.

    Erratum 16: Theorem 3 reads γ as a recency key, and the printed γ_⊥ = 0 makes ⊥ look like the newest
    position.
    """
    return np.log(2.0 * total - np.arange(positions, dtype=np.float64))


def prefix_sum_head(dim: int, source: int, target: int, flag: int, gamma: int) -> Head:
    """target_t = (1/2T)·Σ_{i ≤ t} source_i."""
    return Head(basis(dim, [gamma]), basis(dim, [flag]), basis(dim, [source]), basis(dim, [target]).T)


def prefix_sum_meaning(values: list[float], total: int) -> list[float]:
    """What the head must compute at positions 1, 2, …"""
    return [math.fsum(values[: t + 1]) / (2.0 * total) for t in range(len(values))]
