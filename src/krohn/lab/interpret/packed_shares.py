"""Arrays of shares as compact text: one byte per number, compressed, base64."""

import base64
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from krohn.errors import InvalidInput


def pack_shares(values: NDArray[np.floating]) -> dict[str, Any]:
    """Numbers between 0 and 1, quantised to 1/255, as a JSON value."""
    if values.size and not (values.min() >= 0 and values.max() <= 1):
        raise InvalidInput(f"shares must lie in [0, 1]; got {values.min()} to {values.max()}")
    data = zlib.compress(np.rint(values * 255).astype(np.uint8).tobytes(), level=9)
    return {"shape": list(values.shape), "data": base64.b64encode(data).decode("ascii")}


def unpack_shares(packed: dict[str, Any]) -> NDArray[np.float64]:
    """The inverse of :func:`pack_shares`, up to 1/510."""
    data = zlib.decompress(base64.b64decode(packed["data"]))
    return np.frombuffer(data, dtype=np.uint8).reshape(packed["shape"]) / 255
