"""Step-by-step reading with a key–value cache, for scratchpad inference."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from krohn.models.kernels import plain
from krohn.models.layout import Weights
from krohn.models.network import Decoder


@dataclass(frozen=True)
class GptShape:
    """The sizes a decoder needs."""

    layers: int
    heads: int
    recency: bool
    batch: int
    length: int
    classes: int


class GptDecoder(Decoder):
    """Keeps the keys and values of all past positions; ``embed(tokens, position)`` gives the input rows."""

    def __init__(self, shape: GptShape, weights: Weights, embed: Callable[[Tensor, int], Tensor]) -> None:
        self._shape, self._weights, self._embed = shape, weights, embed
        like = weights["ln_f.weight"]
        replicates, dim = like.shape
        size = (shape.layers, 2, replicates, shape.batch, shape.heads, shape.length, dim // shape.heads)
        self._cache = torch.zeros(size, dtype=like.dtype, device=like.device)
        self._slopes = plain.alibi_slopes(shape.heads, like.device).to(like.dtype)
        self._position = 0

    def step(self, tokens: Tensor) -> Tensor:
        """See ``Decoder.step``."""
        weights, position = self._weights, self._position
        assert position < self._shape.length, "the cache is full"
        x = self._embed(tokens, position)
        y: Tensor | None = None
        bias: Tensor | None = None
        for layer in range(self._shape.layers):
            name = f"h.{layer}."
            norm = weights[f"{name}ln_1.weight"], weights[f"{name}ln_1.bias"]
            x, h = plain.add_norm(x, y, bias, *norm, None)
            y, bias = self._attend(layer, h), weights[f"{name}attn.c_proj.bias"]
            norm = weights[f"{name}ln_2.weight"], weights[f"{name}ln_2.bias"]
            x, h = plain.add_norm(x, y, bias, *norm, None)
            hidden = plain.linear(h, weights[f"{name}mlp.c_fc.weight"])
            hidden = plain.bias_gelu(hidden, weights[f"{name}mlp.c_fc.bias"])
            y = plain.linear(hidden, weights[f"{name}mlp.c_proj.weight"])
            bias = weights[f"{name}mlp.c_proj.bias"]
        _, h = plain.add_norm(x, y, bias, weights["ln_f.weight"], weights["ln_f.bias"], None)
        scores = plain.linear(h, weights["head.weight"]) + weights["head.bias"][:, None]
        self._position += 1
        return scores[..., : self._shape.classes]

    def _attend(self, layer: int, h: Tensor) -> Tensor:
        weights, name, end = self._weights, f"h.{layer}.attn.", self._position + 1
        qkv = plain.linear(h, weights[f"{name}c_attn.weight"]) + weights[f"{name}c_attn.bias"][:, None]
        q, k, v = qkv.view(*qkv.shape[:2], 3, self._shape.heads, -1).unbind(2)
        self._cache[layer, 0, :, :, :, end - 1] = k
        self._cache[layer, 1, :, :, :, end - 1] = v
        keys, values = self._cache[layer, :, :, :, :, :end]
        scores = (keys @ q[..., None]).squeeze(-1) * plain.head_scale(q.shape[-1])
        if self._shape.recency:
            distance = torch.arange(end - 1, -1, -1, device=h.device)
            scores = scores - self._slopes[:, None] * distance
        mixed = (scores.softmax(-1)[..., None, :] @ values).flatten(2)
        return plain.linear(mixed, weights[f"{name}c_proj.weight"])
