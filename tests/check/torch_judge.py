"""Runs networks in torch to judge them: its matrix products, its softmax, its types.

It shares no code with the package and none with ``judge``; what is stored as a half type is one of torch's.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import torch

Words = npt.NDArray[np.int64]


def outputs(network: Any, words: Words, dtype: str) -> Words:
    """The states that the network outputs on words [batch, length]; −1 where a logit is NaN."""
    kind = getattr(torch, dtype)
    inner = torch.float32 if kind in (torch.float16, torch.bfloat16) else kind

    def held(matrix: npt.NDArray[Any]) -> torch.Tensor:
        return torch.tensor(np.asarray(matrix)).to(kind)

    def times(left: torch.Tensor, matrix: npt.NDArray[Any]) -> torch.Tensor:
        return (left.to(inner) @ held(matrix).to(inner)).to(kind)

    letters = held(network.embedding)[torch.tensor(words)]
    x = torch.cat([held(network.padding).expand(len(words), -1, -1), letters], dim=1)
    count = x.shape[1]
    x = x + held(network.positions)[:count]
    hidden = torch.arange(count) > torch.arange(count)[:, None]
    for layer in network.layers:
        total = x * held(layer.keep_attention)
        for head in layer.heads:
            query, key, value = (times(x, matrix) for matrix in (head.query, head.key, head.value))
            scores = (query.to(inner) @ key.to(inner).mT).masked_fill(hidden, -torch.inf)
            weights = torch.softmax(scores, dim=-1).to(kind)
            mixed = (weights.to(inner) @ value.to(inner)).to(kind)
            total = total + times(mixed, head.output)
        units = total
        for index, (weight, bias) in enumerate(zip(layer.mlp.weights, layer.mlp.biases, strict=True)):
            units = times(units, weight) + held(bias)
            if index + 1 < len(layer.mlp.weights):
                sine = torch.tensor(np.asarray(layer.mlp.activations[index]) == 1)
                units = torch.where(sine, torch.sin(units), torch.relu(units))
        x = total * held(layer.keep_mlp) + units
    logits = times(x[:, len(network.padding) :], network.readout) + held(network.readout_bias)
    shown = logits.argmax(dim=-1).numpy()
    return np.where(logits.isnan().any(dim=-1).numpy(), -1, shown)
