"""A decoder with GPT-2's names and arithmetic as a network: the tensors of an exported file, as they stand."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.check.reader import Head, Layer, Network, need, network_that_fits
from krohn.check.real import Array


def decoder_of(
    tensors: Mapping[str, npt.NDArray[Any]],
    heads: int,
    prompt: Sequence[int],
    letters: Sequence[int],
    epsilon: float | None,
) -> Network:
    """Every head, unit and token, the useless ones included; ``epsilon`` is that of LayerNorm, if there is one.

    Words are the prompt, then letters; the state shown is the token with the largest logit.
    """
    left = dict(tensors)

    def take(name: str, axes: int) -> Array:
        need(name in left, f"the tensor {name} must be there")
        tensor = left.pop(name)
        need(tensor.ndim == axes and tensor.dtype == np.float32, f"{name} must be float32 with {axes} axes")
        need(np.isfinite(tensor).all(), f"{name} must be finite")
        return tensor.astype(np.float64)

    def nothing(name: str) -> None:
        need(not take(name, 1).any(), f"{name} must be 0")

    def gain(name: str) -> Array | None:
        if epsilon is None:
            return None
        nothing(f"{name}.bias")
        return take(f"{name}.weight", 1)

    def layer(block: str) -> Layer:
        together, written = take(f"{block}.attn.c_attn.weight", 2), take(f"{block}.attn.c_proj.weight", 2)
        nothing(f"{block}.attn.c_attn.bias")
        nothing(f"{block}.attn.c_proj.bias")
        d, inside = len(together), len(written)
        fits = together.shape[1] == 3 * inside and inside % heads == 0 and written.shape[1] == d
        need(fits and inside, f"{block}: the heads must fit")
        query, key, value = np.moveaxis(together.reshape(d, 3, heads, -1), (1, 2), (0, 1))
        output = written.reshape(heads, -1, d)
        terms = (output != 0).sum(axis=1)
        shared = (terms > 0).sum(axis=0) > 1
        need((terms[:, shared] <= 1).all(), f"{block}: a channel that several heads write gets one term of each")
        weights = take(f"{block}.mlp.c_fc.weight", 2), take(f"{block}.mlp.c_proj.weight", 2)
        biases = take(f"{block}.mlp.c_fc.bias", 1), take(f"{block}.mlp.c_proj.bias", 1)
        relu = (np.zeros(len(biases[0]), dtype=bool),)
        found = tuple(Head(*parts) for parts in zip(query, key, value, output, strict=True))
        everywhere = np.ones(d), np.ones(d)
        return Layer(found, weights, biases, relu, *everywhere, gain(f"{block}.ln_1"), gain(f"{block}.ln_2"))

    tokens, head = take("transformer.wte.weight", 2), take("lm_head.weight", 2)
    positions, last = take("transformer.wpe.weight", 2), gain("transformer.ln_f")
    known = {*prompt, *letters} <= set(range(len(tokens)))
    need(heads > 0 and known and len(head) == len(tokens), "prompt and letters must be tokens")
    layers = []
    while f"transformer.h.{len(layers)}.attn.c_attn.weight" in left:
        layers.append(layer(f"transformer.h.{len(layers)}"))
    need(not left and layers, f"unknown tensor {next(iter(left), '')}")
    width = layers[0].heads[0].query.shape[1]
    need(all(one.heads[0].query.shape[1] == width for one in layers), "all heads must have one width")
    return network_that_fits(
        Network(
            embedding=tokens[list(letters)],
            padding=tokens[list(prompt)],
            positions=positions,
            layers=tuple(layers),
            readout=head.T,
            readout_bias=np.zeros(len(head)),
            strict=False,
            gain=last,
            epsilon=epsilon or 0.0,
            root=math.sqrt(width),
        )
    )
