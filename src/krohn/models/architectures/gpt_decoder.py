"""Step-by-step reading with a key–value cache, for scratchpad inference."""

from copy import copy
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional

from krohn.models.kernels import plain
from krohn.models.kernels.plain import one_hot
from krohn.models.network import Decoder, Weights


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
    """Keeps the keys and values of all past positions.

    ``rows`` [R or 1, length, d] are the position encodings, or none. Whatever does not depend on the tokens
    is precomputed: a step is a few small kernels per layer, and on a GPU launch overhead dominates.
    """

    def __init__(self, shape: GptShape, weights: Weights, rows: Tensor | None) -> None:
        self._shape, self._weights, self._rows = shape, weights, rows
        like = weights["ln_f.weight"]
        replicates, dim = like.shape
        size = (shape.layers, 2, replicates * shape.batch, shape.heads, shape.length, dim // shape.heads)
        self._cache = torch.zeros(size, dtype=like.dtype, device=like.device)
        self._slopes = plain.alibi_slopes(shape.heads, like.device) * (1.0 if shape.recency else 0.0)
        self._position = 0

    def step(self, tokens: Tensor) -> Tensor:
        """See ``Decoder.step``."""
        weights, count = self._weights, tokens.shape[2]
        assert self._position + count <= self._shape.length, "the cache is full"
        x, mask = self._embed(tokens), self._mask(count)
        y: Tensor | None = None
        bias: Tensor | None = None
        for layer in range(self._shape.layers):
            name = f"h.{layer}."
            norm = weights[f"{name}ln_1.weight"], weights[f"{name}ln_1.bias"]
            x, h = plain.add_norm(x, y, bias, *norm, None)
            y, bias = self._attend(layer, h, mask), weights[f"{name}attn.c_proj.bias"]
            norm = weights[f"{name}ln_2.weight"], weights[f"{name}ln_2.bias"]
            x, h = plain.add_norm(x, y, bias, *norm, None)
            hidden = plain.linear(h, weights[f"{name}mlp.c_fc.weight"])
            hidden = plain.bias_gelu(hidden, weights[f"{name}mlp.c_fc.bias"])
            y = plain.linear(hidden, weights[f"{name}mlp.c_proj.weight"])
            bias = weights[f"{name}mlp.c_proj.bias"]
        _, h = plain.add_norm(x, y, bias, weights["ln_f.weight"], weights["ln_f.bias"], None)
        last = h.view(*tokens.shape, -1)[:, :, -1].contiguous()
        scores = plain.linear(last, weights["head.weight"]) + weights["head.bias"][:, None]
        self._position += count
        return scores[..., : self._shape.classes]

    def fork(self, rows: Tensor) -> Decoder:
        """See ``Decoder.fork``."""
        result = copy(self)
        result._shape = replace(self._shape, batch=len(rows))
        first = torch.arange(self._cache.shape[2] // self._shape.batch, device=rows.device)
        result._cache = self._cache[:, :, (first[:, None] * self._shape.batch + rows).flatten()]
        return result

    def _embed(self, tokens: Tensor) -> Tensor:
        table, first = self._weights["wte"], self._position
        x = plain.linear(one_hot(tokens, table.shape[1], table.dtype), table)
        if self._rows is None:
            return x
        rows = self._rows[:, None, first : first + tokens.shape[2]]
        return (x.view(*tokens.shape, -1) + rows).flatten(1, 2)

    def _mask(self, count: int) -> Tensor | None:
        """Additive mask of the scores of ``count`` new tokens; ``None`` for one token without recency."""
        if count == 1 and not self._shape.recency:
            return None
        place = torch.arange(self._position + count, device=self._slopes.device)
        distance = place[self._position :, None] - place
        bias = (-self._slopes[:, None, None] * distance).masked_fill(distance < 0, float("-inf"))
        return bias.to(self._cache.dtype)

    def _attend(self, layer: int, h: Tensor, mask: Tensor | None) -> Tensor:
        weights, name, first = self._weights, f"h.{layer}.attn.", self._position
        end = first + h.shape[1] // self._shape.batch
        qkv = plain.linear(h, weights[f"{name}c_attn.weight"]) + weights[f"{name}c_attn.bias"][:, None]
        # [R, B·n, 3·d] -> queries, keys and values [R·B, head, n, head_dim]
        split = qkv.view(self._cache.shape[2], end - first, 3, self._shape.heads, -1).permute(2, 0, 3, 1, 4)
        self._cache[layer, :, :, :, first:end] = split[1:]
        keys, values = self._cache[layer, :, :, :, :end]
        mixed = functional.scaled_dot_product_attention(split[0], keys, values, attn_mask=mask)
        rows = mixed.transpose(1, 2).reshape(h.shape[0], h.shape[1], -1)
        return plain.linear(rows, weights[f"{name}c_proj.weight"])
