"""Running a network in a given arithmetic."""

from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.certify.arithmetic import Arithmetic
from krohn.network.forward import logits
from krohn.network.transformer import Transformer


def run_in(network: Transformer, words: npt.NDArray[Any], arith: Arithmetic) -> npt.NDArray[np.int64]:
    """The states the network outputs for words ``[batch, length]`` in this arithmetic."""
    states: npt.NDArray[np.int64] = logits_in(network, words, arith).argmax(axis=-1)
    return states


def logits_in(network: Transformer, words: npt.NDArray[Any], arith: Arithmetic) -> npt.NDArray[Any]:
    """The read-out ``[batch, length, states]`` in this arithmetic."""
    return logits(network, words, arith.name)
