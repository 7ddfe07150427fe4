"""A recurrent network in the architecture of ``krohn train``, so that "can" and "did" share a class."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from krohn.check.recurrent.cells import Cell
from krohn.errors import InvalidInput, Unsupported
from krohn.lab.models.kernels import plain
from krohn.lab.models.network import Network
from krohn.lab.models.recurrent_stack import Stack
from krohn.lab.models.registry import kinds, model_config
from krohn.lab.training.device import choose_device


def in_training(cell: Cell, *, chunks: bool = False) -> tuple[Network, dict[str, Tensor]]:
    """The training architecture of the cell's kind, and its weights for one replicate.

    It reads one letter after the other, which is what a proof is about; in ``chunks``, as in training, sums
    are rounded elsewhere: only a claim that names chunks covers them.
    """
    if cell.kind not in kinds():
        raise Unsupported(f"{cell.kind} has no training architecture; those are {', '.join(kinds())}")
    network = model_config(cell.kind, **cell.options).build(cell.num_letters, cell.num_states)
    if isinstance(network, Stack):
        network.letters_in_order = not chunks
    given = {name: torch.from_numpy(tensor.copy()) for name, tensor in cell.tensors.items()}
    return network, network.layout.pad(given)


def states_in_training(
    cell: Cell, device: str, *, chunks: bool = False
) -> Callable[[npt.NDArray[np.int64]], npt.NDArray[np.int64]]:
    """A function from words [batch, length] to states, by the training architecture's own forward pass."""
    network, weights = in_training(cell, chunks=chunks)
    try:
        place = choose_device(device)
        there = {name: weight.to(place) for name, weight in weights.items()}
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0][:100]
        raise InvalidInput(f"the device must be one that torch has here; got {device!r}: {reason}") from error

    def run(words: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        with torch.no_grad():
            logits = network.logits(there, torch.from_numpy(words)[None].to(place))
        states: npt.NDArray[np.int64] = plain.answers(logits[0]).cpu().numpy()
        return states

    return run
