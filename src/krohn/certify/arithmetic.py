"""Floating-point arithmetic as an error model: unit roundoff, exactness, underflow of exp.

Every bound holds for any order of summation, with or without fused multiply-add: a sum of n terms
whose positive (negative) terms add up to P (N) has no partial sum beyond max(P, N), so its error is at
most (n−1)·u·max(P, N) to first order; the factor SAFE covers the higher orders. Products with a power
of two are exact. Half types keep 8 or 11 bits of every tensor and accumulate in float32, as GPUs and
PyTorch do.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.errors import InvalidInput

Array = npt.NDArray[np.float64]

SAFE = 1.01
EXP = 64.0
"""Relative error of exp in units of roundoff: PyTorch's vectorised softmax promises 20 ulp on x86."""
OWN = 2.0**-53
"""Unit roundoff of the checker itself: nominal values are computed in float64."""


@dataclass(frozen=True)
class Arithmetic:
    """How a network is run: weights and tensors in ``name``, sums and softmax in the inner type.

    Attributes:
        unit: unit roundoff of stored tensors.
        inner: unit roundoff of sums, exponentials and divisions.
        bits: significand bits of the inner type.
        tiny: least positive number of the stored type.
        largest: largest finite number of the stored type.
        vanish: exp(−x) is exactly 0 for x ≥ vanish.
    """

    name: str
    unit: float
    inner: float
    bits: int
    tiny: float
    largest: float
    vanish: float

    @property
    def half(self) -> bool:
        """Whether tensors are kept with fewer bits than sums."""
        return self.unit > self.inner

    @property
    def least(self) -> float:
        """The least positive number of the inner type: no product is exact below it."""
        return 2.0**-1074 if self.bits == 53 else 2.0**-149

    def cast(self, values: npt.NDArray[Any]) -> Array:
        """The stored value nearest to each number, as float64; infinite where it does not fit."""
        numbers = np.asarray(values, dtype=np.float64)
        with np.errstate(over="ignore", under="ignore"):
            if self.name == "float64":
                return numbers
            if self.name == "bfloat16":
                return _to_bfloat16(numbers)
            return numbers.astype(self.name).astype(np.float64)


ARITHMETICS = {
    "float64": Arithmetic("float64", 2.0**-53, 2.0**-53, 53, 5e-324, 1.7e308, 746.0),
    "float32": Arithmetic("float32", 2.0**-24, 2.0**-24, 24, 1.4e-45, 3.4e38, 104.0),
    "bfloat16": Arithmetic("bfloat16", 2.0**-8, 2.0**-24, 24, 1e-40, 3.3e38, 104.0),
    "float16": Arithmetic("float16", 2.0**-11, 2.0**-24, 24, 6e-8, 65504.0, 104.0),
}


def arithmetic(name: str) -> Arithmetic:
    """The arithmetic of a dtype."""
    if name not in ARITHMETICS:
        raise InvalidInput(f"dtype must be one of {', '.join(ARITHMETICS)}; got {name!r}")
    return ARITHMETICS[name]


def _to_bfloat16(numbers: Array) -> Array:
    """Round to nearest even on the upper 16 bits of float32 (double rounding is what frameworks do)."""
    bits = np.ascontiguousarray(numbers, dtype=np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
    out: Array = rounded.astype(np.uint32).view(np.float32).astype(np.float64)
    return np.where(np.isnan(numbers), np.nan, out)  # rounding would carry a NaN over to 0


def linear(
    arith: Arithmetic, values: Array, radius: Array, weight: Array, bias: Array | None = None
) -> tuple[Array, Array]:
    """``values @ weight + bias`` and how far rounding alone can move it, for inputs within ``radius``.

    ``values [row, n]``, ``radius [n]`` or ``[row, n]``; the second array bounds |computed − exact| for every
    input of the box, the checker's own rounding of the first included.
    """
    offset = np.zeros(weight.shape[1]) if bias is None else bias
    exact = values @ weight + offset
    slack = radius @ np.abs(weight)
    up, down = np.maximum(weight, 0), np.maximum(-weight, 0)
    plus, minus = np.maximum(values, 0), np.maximum(-values, 0)
    high = plus @ up + minus @ down + np.maximum(offset, 0) + slack
    low = plus @ down + minus @ up + np.maximum(-offset, 0) + slack
    used = ((values != 0) | (radius != 0)).astype(np.float64)
    terms = used @ (weight != 0).astype(np.float64) + (offset != 0)
    rough = ~_powers_of_two(weight).all(axis=0)
    sums = np.where(
        terms <= 2, np.minimum(np.abs(exact) + 2 * slack, np.maximum(high, low)), np.maximum(high, low)
    )
    error = SAFE * arith.inner * (np.maximum(terms - 1, 0) * sums + rough * (high + low))
    error = error + SAFE * OWN * (terms + 1) * (high + low) + terms * arith.tiny
    error = np.where(_is_exact(arith, values, radius, weight, offset, high + low), 0.0, error)
    if arith.half:
        if offset.any():  # the product is a tensor of its own, rounded before the bias comes
            error = error + _stored(arith, values @ weight, error + slack) * (offset != 0)
        error = error + _stored(arith, exact, error + slack)
    return exact, guarded(arith, np.maximum(high, low), error)


def guarded(arith: Arithmetic, size: Array, error: Array) -> Array:
    """The error, infinite where sums of this size may overflow."""
    out: Array = np.where(size + error < arith.largest, error, np.inf)
    return out


def _stored(arith: Arithmetic, exact: Array, error: Array) -> Array:
    """Rounding to a half type: none where the number itself fits and is exact."""
    rounded = arith.unit * (np.abs(exact) + error) * SAFE + arith.tiny
    fits = (error == 0) & (arith.cast(exact) == exact)
    return np.where(fits, 0.0, rounded)


def _is_exact(
    arith: Arithmetic, values: Array, radius: Array, weight: Array, offset: Array, size: Array
) -> npt.NDArray[np.bool_]:
    """Sums of multiples of one power of two that stay below 2^bits of them are exact in any order.

    A row is exact where all the inputs it sums are: the grain of an input is that of its exact values.
    """
    touched = weight != 0
    moving = np.broadcast_to(radius != 0, values.shape)
    steady = moving.astype(np.float64) @ touched.astype(np.float64) == 0
    grain = np.where(moving, np.inf, _lowest_bit(values)).min(axis=0, initial=np.inf)
    unit = np.where(touched, grain[:, None] * _lowest_bit(weight), np.inf).min(axis=0, initial=np.inf)
    unit = np.minimum(unit, _lowest_bit(offset))
    limit = np.where(np.isinf(unit), np.inf, np.where(np.isinf(unit), 1.0, unit) * 2.0**arith.bits)
    fits: npt.NDArray[np.bool_] = steady & (size <= limit) & (unit >= arith.least)
    return fits


def _lowest_bit(numbers: Array) -> Array:
    """The largest power of two that divides each number; infinity for 0."""
    mantissa, exponent = np.frexp(np.abs(numbers))
    whole = (mantissa * 2.0**53).astype(np.int64)
    bit = (whole & -whole).astype(np.float64)
    with np.errstate(under="ignore"):
        out: Array = np.where(numbers == 0, np.inf, np.ldexp(bit, exponent - 53))
    return out


def _powers_of_two(weight: Array) -> npt.NDArray[np.bool_]:
    mantissa, _ = np.frexp(weight)
    out: npt.NDArray[np.bool_] = (np.abs(mantissa) == 0.5) | (weight == 0)
    return out
