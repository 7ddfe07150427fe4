"""A recurrent witness as the network that ``krohn train`` trains, so that "can" and "did" are one class."""

import torch
from torch import Tensor

from krohn.errors import Unsupported
from krohn.models.network import Network
from krohn.models.registry import kinds, model_config
from krohn.recurrent.cells import Cell


def in_training(cell: Cell) -> tuple[Network, dict[str, Tensor]]:
    """The training architecture of the cell's kind, and its weights for one replicate."""
    if cell.kind not in kinds():
        raise Unsupported(f"{cell.kind} has no training architecture; those are {', '.join(kinds())}")
    network = model_config(cell.kind, **cell.options).build(cell.num_letters, cell.num_states)
    weights = {}
    for parameter in network.layout.parameters:
        given = torch.from_numpy(cell.tensors[parameter.name].copy())
        whole = torch.zeros(parameter.shape)
        whole[tuple(slice(size) for size in given.shape)] = given
        weights[parameter.name] = whole[None]
    return network, weights
