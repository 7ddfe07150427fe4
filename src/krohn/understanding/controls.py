"""Controls for swaps: an untrained network, the other directions, permuted answers."""

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from krohn.understanding.readings import Numbers
from krohn.understanding.stages import Block, Stages


def untrained(stages: Stages, seed: int) -> Stages:
    """An untrained network of the same shape: the entries of every matrix in random order."""
    generator = torch.Generator().manual_seed(seed)

    def mixed(value: Tensor) -> Tensor:
        return value.flatten()[torch.randperm(value.numel(), generator=generator)].view(value.shape)

    def block(given: Block) -> Block:
        return replace(
            given,
            query=mixed(given.query),
            key=mixed(given.key),
            value=mixed(given.value),
            output=mixed(given.output),
            mlp=tuple((mixed(weight), bias) for weight, bias in given.mlp),
        )

    return replace(
        stages,
        embedding=mixed(stages.embedding),
        readout=mixed(stages.readout),
        blocks=tuple(map(block, stages.blocks)),
    )


def dealt(said: Numbers, predicted: Numbers, before: Numbers) -> float:
    """The expected share of right answers after a random permutation within swaps from one state."""
    total = 0.0
    for state in np.unique(before):
        answers, wanted = said[before == state], predicted[before == state]
        total += float((answers[:, None] == wanted).mean()) * len(wanted)
    return total / len(before)
