"""The float formats a network runs in: what is stored is rounded, sums and softmax have at least 32 bits."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.errors import InvalidInput

Floats = npt.NDArray[np.floating[Any]]
Cast = Callable[[npt.NDArray[Any]], Floats]
"""Rounds weights and activations to the stored type; half types come back as float32, which holds them."""


def caster(dtype: npt.DTypeLike) -> Cast:
    """The rounding of a format: float64, float32, float16, or the name bfloat16."""
    name = dtype if isinstance(dtype, str) else np.dtype(dtype).name
    if name not in CASTS:
        raise InvalidInput(f"dtype must be one of {', '.join(CASTS)}; got {name!r}")
    return CASTS[name]


def _float64(values: npt.NDArray[Any]) -> Floats:
    return np.asarray(values).astype(np.float64, copy=False)


def _float32(values: npt.NDArray[Any]) -> Floats:
    return np.asarray(values).astype(np.float32, copy=False)


def _float16(values: npt.NDArray[Any]) -> Floats:
    return np.asarray(values).astype(np.float16).astype(np.float32)


def _bfloat16(values: npt.NDArray[Any]) -> Floats:
    """To float32, then to nearest even on its upper 16 bits, as frameworks do; subnormal numbers stay."""
    wide = np.ascontiguousarray(values, dtype=np.float32)
    bits = wide.view(np.uint32)
    upper = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)
    # Of a number that is none the sum may wrap around to zero.
    return np.where(np.isnan(wide), wide, upper.view(np.float32)).astype(np.float32, copy=False)


CASTS: dict[str, Cast] = {
    "float64": _float64,
    "float32": _float32,
    "float16": _float16,
    "bfloat16": _bfloat16,
}
