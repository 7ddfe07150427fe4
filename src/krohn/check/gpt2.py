"""A decoder with GPT-2's names and arithmetic as a network: the tensors of an exported file as they are."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.check.reader import Head, Layer, Network, need, network_that_fits
from krohn.check.real import Array


class _Tensors:
    """Takes tensors by name, each once; whatever is left over has not been understood."""

    def __init__(self, tensors: Mapping[str, npt.NDArray[Any]], normalized: bool) -> None:
        self.left, self.normalized = dict(tensors), normalized

    def take(self, name: str, axes: int = 2) -> Array:
        need(name in self.left, f"the tensor {name} must be there")
        tensor = self.left.pop(name)
        need(tensor.ndim == axes and tensor.dtype == "<f4", f"{name} must be single precision, {axes} axes")
        need(np.isfinite(tensor).all(), f"{name} must be finite")
        return tensor.astype(np.float64)

    def nothing(self, name: str) -> None:
        need(not self.take(name, 1).any(), f"{name} must be 0")

    def gain(self, name: str) -> Array | None:
        if not self.normalized:
            return None
        self.nothing(f"{name}.bias")
        return self.take(f"{name}.weight", 1)

    def heads(self, block: str, count: int) -> tuple[Head, ...]:
        together, written = self.take(f"{block}.c_attn.weight"), self.take(f"{block}.c_proj.weight")
        self.nothing(f"{block}.c_attn.bias")
        self.nothing(f"{block}.c_proj.bias")
        d, inside = len(together), len(written)
        fits = together.shape[1] == 3 * inside and inside % count == 0 and written.shape[1] == d
        need(fits and inside, f"{block}: the heads must fit")
        query, key, value = np.moveaxis(together.reshape(d, 3, count, -1), (1, 2), (0, 1))
        output = written.reshape(count, -1, d)
        terms = (output != 0).sum(axis=1)
        shared = (terms > 0).sum(axis=0) > 1  # one sum over all heads is then one over these terms
        need((terms[:, shared] <= 1).all(), f"{block}: where several heads write it must be one term of each")
        return tuple(Head(*parts) for parts in zip(query, key, value, output, strict=True))

    def layer(self, block: str, count: int) -> Layer:
        heads = self.heads(f"{block}.attn", count)
        weights = self.take(f"{block}.mlp.c_fc.weight"), self.take(f"{block}.mlp.c_proj.weight")
        biases = self.take(f"{block}.mlp.c_fc.bias", 1), self.take(f"{block}.mlp.c_proj.bias", 1)
        relu, d = (np.zeros(len(biases[0]), dtype=bool),), len(weights[0])
        gains = self.gain(f"{block}.ln_1"), self.gain(f"{block}.ln_2")
        return Layer(heads, weights, biases, relu, np.ones(d), np.ones(d), *gains)


def decoder_of(
    tensors: Mapping[str, npt.NDArray[Any]],
    heads: int,
    prompt: Sequence[int],
    letters: Sequence[int],
    epsilon: float | None,
) -> Network:
    """Every head, unit and token, useless ones included; ``epsilon`` is that of LayerNorm, if there is one.

    Words are the prompt, then letters; what is shown is the token with the largest logit.
    """
    given = _Tensors(tensors, epsilon is not None)
    tokens, head = given.take("transformer.wte.weight"), given.take("lm_head.weight")
    positions, last = given.take("transformer.wpe.weight"), given.gain("transformer.ln_f")
    known = {*prompt, *letters} <= set(range(len(tokens)))
    need(heads > 0 and known and len(head) == len(tokens), "prompt and letters must be tokens")
    layers: list[Layer] = []
    while f"transformer.h.{len(layers)}.attn.c_attn.weight" in given.left:
        layers.append(given.layer(f"transformer.h.{len(layers)}", heads))
    need(not given.left and layers, f"unknown tensor {next(iter(given.left), '')}")
    width = layers[0].heads[0].query.shape[1]
    need(all(one.heads[0].query.shape[1] == width for one in layers), "all heads must have one width")
    made = Network(
        embedding=tokens[list(letters)],
        padding=tokens[list(prompt)],
        positions=positions,
        layers=tuple(layers),
        readout=head.T,
        readout_bias=np.zeros(len(head)),
        strict=False,
        gain=last,
        epsilon=epsilon or 0.0,
        root=float(np.sqrt(width)),
    )
    return network_that_fits(made)
