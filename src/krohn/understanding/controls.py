"""What a swap is held against: a network that learned nothing, the other directions, answers dealt out."""

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from krohn.understanding.readings import Numbers
from krohn.understanding.stages import Block, Stages


def untrained(stages: Stages, seed: int) -> Stages:
    """A network of equal shape that learned nothing: the entries of every matrix in random order."""
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
    """The share of right answers if those of swaps from one state were dealt out again at random."""
    total = 0.0
    for state in np.unique(before):
        answers, wanted = said[before == state], predicted[before == state]
        total += float((answers[:, None] == wanted).mean()) * len(wanted)
    return total / len(before)
