"""Random Transformers that mean nothing, and the forward pass of the paper's page in plain loops."""

import math
from itertools import pairwise

import numpy as np

from krohn.network.transformer import RELU, SIN, Head, Layer, Mlp, Transformer


def random_transformer(seed: int, *, padding: int = 1, length: int = 5) -> Transformer:
    """Two layers: heads of different widths, units with both activations, residuals cut in places."""
    rng = np.random.default_rng(seed)
    d = 6

    def layer(widths: list[tuple[int, int]], hidden: list[int]) -> Layer:
        sizes = [d, *hidden, d]
        heads = [
            Head(*(rng.normal(size=shape) / 2 for shape in ((d, k), (d, k), (d, v), (v, d))))
            for k, v in widths
        ]
        mlp = Mlp(
            tuple(rng.normal(size=shape) / 2 for shape in pairwise(sizes)),
            tuple(rng.normal(size=size) / 2 for size in sizes[1:]),
            tuple(rng.choice([RELU, SIN], size=size) for size in hidden),
        )
        return Layer(tuple(heads), mlp, rng.integers(2, size=d), rng.integers(2, size=d))

    return Transformer(
        embedding=rng.normal(size=(3, d)),
        padding=rng.normal(size=(padding, d)),
        positions=rng.normal(size=(padding + length, d)),
        layers=(layer([(2, 1), (1, 3)], [5, 4]), layer([(3, 2)], [7])),
        readout=rng.normal(size=(d, 4)),
        readout_bias=rng.normal(size=4),
    )


def naive_logits(network: Transformer, word: list[int]) -> list[np.ndarray]:
    """The logits after each letter, one position, one head and one unit at a time."""
    rows = [*network.padding, *(network.embedding[letter] for letter in word)]
    stream = [row + position for row, position in zip(rows, network.positions, strict=False)]
    for layer in network.layers:
        mixed = []
        for t, x in enumerate(stream):
            out = layer.keep_attention * x
            for head in layer.heads:
                powers = [math.exp((x @ head.query) @ (stream[i] @ head.key)) for i in range(t + 1)]
                for i, power in enumerate(powers):
                    out = out + power / sum(powers) * (stream[i] @ head.value @ head.output)
            mixed.append(out)
        stream = [layer.keep_mlp * x + naive_mlp(layer.mlp, x) for x in mixed]
    return [x @ network.readout + network.readout_bias for x in stream[len(network.padding) :]]


def naive_mlp(mlp: Mlp, x: np.ndarray) -> np.ndarray:
    for number, (weight, bias) in enumerate(zip(mlp.weights, mlp.biases, strict=True)):
        x = x @ weight + bias
        if number < len(mlp.activations):
            codes = mlp.activations[number]
            x = np.array(
                [math.sin(u) if code == SIN else max(u, 0.0) for u, code in zip(x, codes, strict=True)]
            )
    return x
