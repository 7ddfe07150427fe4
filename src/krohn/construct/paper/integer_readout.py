"""A state from integer channels by a linear map: arg max of Σ code·x − code²/2 is the nearest code."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from krohn.network.transformer import Matrix


def integer_readout(
    dim: int, codes: Mapping[int, npt.ArrayLike], states: int, scale: float = 1.0
) -> tuple[Matrix, Matrix]:
    """Read-out and bias; in state q, ``scale`` × the channel holds the integer ``codes[channel][q]``."""
    readout, bias = np.zeros((dim, states)), np.zeros(states)
    for channel, values in codes.items():
        wanted = np.asarray(values, dtype=np.float64)
        readout[channel] = scale * wanted
        bias -= wanted**2 / 2.0
    return readout, bias
