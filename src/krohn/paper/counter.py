"""Lemma "Simulating a modular counter": one layer, a uniform head and an MLP."""

import math
from typing import Literal, get_args

import numpy as np

from krohn.base.portable import each, log, sin
from krohn.errors import InvalidInput
from krohn.network.transformer import SIN, Head, Layer, Matrix, Mlp
from krohn.paper.blocks import basis, lift_mlp
from krohn.paper.interpolation import interpolate_1d


def absorber(positions: int, total: int) -> Matrix:
    """γ_i = log(2T − i) for every position, ⊥ = position 0 included.

    Erratum 16: Theorem 3 reads γ as a recency key, and the printed γ_⊥ = 0 makes ⊥ look like the newest
    position.

    The head of Lemma "modular counter" and Theorem 3: uniform attention, a padding token absorbs the rest.

    Query log(2T − t) on the flag of ⊥ gives ⊥ the weight (2T − t)/2T and every other visible position 1/2T,
    so the head computes prefix sums with one scale for all positions.
    """
    return each(log, 2.0 * total - np.arange(positions))


def prefix_sum_head(dim: int, source: int, target: int, flag: int, gamma: int) -> Head:
    """target_t = (1/2T)·Σ_{i ≤ t} source_i."""
    return Head(basis(dim, [gamma]), basis(dim, [flag]), basis(dim, [source]), basis(dim, [target]).T)


Counting = Literal["relu", "steps", "sin"]
COUNTINGS: tuple[str, ...] = get_args(Counting)


def modular_mlp(modulus: int, length: int, start: int = 0, counting: str = "relu") -> Mlp:
    """j/2T ↦ (j + start) mod modulus for 0 ≤ j ≤ (modulus − 1)·T, inputs within 1/8T.

    The MLP of Lemma "modular counter": from the scaled prefix sum s = j/2T to (j + q₀) mod n.

    Erratum 12: the printed map is T·s mod n; the head computes (1/2T)·Σ σ, so it must be 2T·s, and q₀ must
    be added.

    ``relu``   Lemma 1D as printed: 4((n−1)T + 1) units.
    ``steps``  y − n·#{k : y ≥ kn}: one step per multiple of n, ⌊((n−1)T + q₀)/n⌋ + 1 units twice, then
               n − 1 units twice to round. Steps saturate: they are exactly 0 or 1 in every float format.
    ``sin``    periodic activations: a function on Z_n is a sum of ⌊n/2⌋ sines (its Fourier series), so the
               width does not depend on T; a last layer rounds (Lemma 1D on n values).
    """
    if modulus < 1 or length < 1:
        raise InvalidInput(f"modulus and length must be at least 1; got {modulus} and {length}")
    if counting == "relu":
        sums = np.arange((modulus - 1) * length + 1)
        gap = 1.0 / (2.0 * length)
        return interpolate_1d((sums * gap).tolist(), (sums + start) % modulus, gap)
    if counting == "steps":
        return _steps(modulus, length, start)
    if counting == "sin":
        return _sines(modulus, length, start)
    raise InvalidInput(f"counting must be one of {', '.join(COUNTINGS)}; got {counting!r}")


def _steps(modulus: int, length: int, start: int) -> Mlp:
    """With y = 2T·s + q₀: r = y − n·#{k : y ≥ kn}, then #{k < n : r ≥ k}, which rounds; y is one unit.

    A step is (1 − (1 − 2(y − k + ¾))_+)_+. As a difference of two ReLU it would subtract large numbers, which
    short formats round; here nothing large is left after the second ReLU.
    """
    count = ((modulus - 1) * length + start) // modulus
    edges = modulus * np.arange(1, count + 1, dtype=np.float64)
    slopes = np.concatenate([np.full(count, -4.0 * length), [2.0 * length]])
    bias = np.concatenate([2.0 * (edges - start) - 0.5, [float(start)]])
    wraps = np.diag(np.concatenate([-np.ones(count), [1.0]]))
    residue = np.concatenate([np.full(count, -float(modulus)), [1.0]])
    values = np.arange(1, modulus, dtype=np.float64)
    rounds = residue[:, None] @ np.full((1, modulus - 1), -2.0)
    weights = (slopes[None, :], wraps, rounds, -np.eye(modulus - 1), np.ones((modulus - 1, 1)))
    ones = np.concatenate([np.ones(count), [0.0]])
    return Mlp(weights, (bias, ones, 2.0 * values - 0.5, np.ones(modulus - 1), np.zeros(1)))


def _sines(modulus: int, length: int, start: int) -> Mlp:
    """Fourier series of the table, then Lemma 1D to round it.

    Σ_k k·z^k = n/(z − 1) for a root of unity z = exp(−2πiw/n): wave w of the table (k + q₀) mod n has the
    amplitude 1/(2 sin(πw/n)), and as a sine the phase πw(2q₀ + 1)/n − π.
    """
    waves = np.arange(1, modulus // 2 + 1)
    # Both signs of a frequency fold into one real wave, but the Nyquist wave of an even modulus stands alone.
    amplitude = np.where(2 * waves == modulus, 0.5, 1.0) / each(sin, math.pi * waves / modulus)
    phase = math.pi * ((waves * (2 * start + 1)) % (2 * modulus) - modulus) / modulus
    frequency = 2.0 * math.pi * waves * 2.0 * length / modulus
    rounding = interpolate_1d(list(range(modulus)), list(range(modulus)))
    second = amplitude[:, None] @ rounding.weights[0]
    bias = rounding.biases[0] + 0.5 * (modulus - 1) * rounding.weights[0][0]
    codes = (np.full(len(waves), SIN), np.zeros(len(bias), dtype=np.int64))
    return Mlp((frequency[None, :], second, rounding.weights[1]), (phase, bias, np.zeros(1)), codes)


VALUE, BOS, LOG = 0, 1, 2


def counter_layer(modulus: int, length: int, start: int = 0, counting: str = "relu") -> Layer:
    """Prefix sum and remainder in place on the channels (value, ⊥, position).

    Lemma "Simulating a modular counter": one layer, one head, three channels {value, ⊥, position}.
    """
    mlp = lift_mlp(modular_mlp(modulus, length, start, counting), [VALUE], [VALUE], 3)
    keep = np.array([0.0, 1.0, 1.0])
    return Layer((prefix_sum_head(3, VALUE, VALUE, BOS, LOG),), mlp, keep, keep)
