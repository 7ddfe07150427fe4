"""The exact weights of ``krohn compile --architecture looped`` in the network that is trained."""

import numpy as np
import torch
from torch import Tensor

from krohn.automata.semiautomaton import Semiautomaton
from krohn.lab.models.architectures.looped import Looped, LoopedConfig
from krohn.recurrent.looped_weights import looped, model_of


def exact_looped(automaton: Semiautomaton) -> tuple[Looped, dict[str, Tensor]]:
    """The network and its weights [1, …], padded as in training."""
    tensors = looped(automaton)
    model = {name: value for name, value in model_of(tensors).items() if name != "kind"}
    network = Looped(LoopedConfig(**model), automaton.num_letters, automaton.num_states)  # type: ignore[arg-type]
    padded = {}
    for part in network.layout.parameters:
        value = np.zeros(part.shape, np.float32)
        own = tensors[part.name]
        value[tuple(map(slice, own.shape))] = own
        padded[part.name] = torch.from_numpy(value)[None]
    return network, padded
