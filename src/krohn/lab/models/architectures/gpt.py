"""GPT-2 blocks (pre-LayerNorm), R replicates at once: the paper's Transformer.

Its decoder reads step by step, with a key–value cache, for scratchpad inference.
"""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from krohn.lab import random_streams
from krohn.lab.models import position_encodings as encodings
from krohn.lab.models.kernels import operations, plain
from krohn.lab.models.kernels.operations import Operations
from krohn.lab.models.kernels.plain import one_hot
from krohn.lab.models.network import (
    ModelConfig,
    Network,
    Noise,
    Parameter,
    ParameterLayout,
    StackedDecoder,
    Weights,
    padded,
)

_INIT_STD = 0.02

# Called with the number of a block, from 1, the residual stream after it and the operations in use; returns
# the stream.
After = Callable[[int, Tensor, Operations], Tensor]


@dataclass(frozen=True, kw_only=True)
class GptConfig(ModelConfig):
    """Sizes and options of the Transformer.

    Attributes:
        layers: number of attention + MLP blocks.
        dim: width of the residual stream.
        heads: attention heads; must divide ``dim``.
        mlp: hidden width of the MLP.
        positions: sinusoidal, linear, none, shifted (sinusoidal from a random offset per batch) or learned.
        context: number of learned positions; other encodings have no limit.
        recency: bias −slope·distance on attention scores, as in ALiBi.
        dropout: rate on the embeddings and on the output of each attention and MLP.
        attention_dropout: rate on the attention weights.
        embedding_std: standard deviation of the initial token embeddings.
        position_scale: factor on the position encoding.
    """

    kind: ClassVar[str] = "gpt"
    layers: int = 4
    dim: int = 512
    heads: int = 8
    mlp: int = 512
    positions: str = "sinusoidal"
    context: int = 512
    recency: bool = False
    dropout: float = 0.0
    embedding_std: float = 1.0
    position_scale: float = 1.0
    attention_dropout: float = 0.0

    def reasons(self, length: int) -> list[str]:
        """See ``ModelConfig.reasons``."""
        sizes = {"layers": self.layers, "dim": self.dim, "heads": self.heads, "mlp": self.mlp}
        result = [f"{name} must be at least 1; got {size}" for name, size in sizes.items() if size < 1]
        if not result and self.dim % self.heads:
            result.append(f"dim must be divisible by heads; got dim {self.dim} and heads {self.heads}")
        if self.positions not in encodings.KINDS:
            result.append(f"positions must be one of {', '.join(encodings.KINDS)}; got {self.positions!r}")
        if self.positions == "learned" and length > self.context:
            result.append(f"learned positions reach {self.context} tokens; got {length}: raise context")
        rates = {"dropout": self.dropout, "attention_dropout": self.attention_dropout}
        result += [
            f"{name} must lie in [0, 1); got {rate}" for name, rate in rates.items() if not 0.0 <= rate < 1.0
        ]
        if min(self.embedding_std, self.position_scale) < 0.0:
            result.append("embedding_std and position_scale must be at least 0")
        return result

    def build(self, vocabulary: int, classes: int) -> Network:
        """See ``ModelConfig.build``."""
        return Gpt(self, vocabulary, classes)


class Gpt(Network):
    """The network; parameter names are GPT-2's, with ``head`` for the classifier."""

    def __init__(self, config: GptConfig, vocabulary: int, classes: int) -> None:
        self.config = config
        self.vocabulary = vocabulary
        self.classes = classes
        self.layout = ParameterLayout.of(_parameters(config, vocabulary, classes))

    def logits(
        self, weights: Weights, tokens: Tensor, noise: Noise | None = None, after: After | None = None
    ) -> Tensor:
        """See ``Network.logits``; ``after`` is called after every block."""
        ops = operations.choose(weights["head.bias"])
        scores = self._scores(weights, tokens, noise, ops, after) + weights["head.bias"][:, None]
        return scores[..., : self.classes].reshape(*tokens.shape, self.classes)

    def loss(
        self,
        weights: Weights,
        tokens: Tensor,
        targets: Tensor,
        shown: Tensor,
        noise: Noise | None = None,
        after: After | None = None,
    ) -> Tensor:
        """See ``Network.loss``; ``after`` is called after every block."""
        bias = weights["head.bias"]
        ops = operations.choose(bias)
        scores = self._scores(weights, tokens, noise, ops, after)
        return ops.cross_entropy(scores, bias, targets.flatten(1), shown.flatten(1), self.classes)

    def decoder(self, weights: Weights, batch: int, length: int) -> StackedDecoder:
        """See ``Network.decoder``."""
        config = self.config
        shape = GptShape(config.layers, config.heads, config.recency, batch, length, self.classes)
        return GptDecoder(shape, weights, self._position_rows(weights, length))

    def writes_gradients(self, weights: Weights) -> bool:
        """See ``Network.writes_gradients``."""
        return operations.choose(weights["head.bias"]) is not operations.PLAIN

    def _scores(
        self,
        weights: Weights,
        tokens: Tensor,
        noise: Noise | None,
        ops: Operations,
        after: After | None = None,
    ) -> Tensor:
        config = self.config
        _, batch, length = tokens.shape
        slopes = plain.alibi_slopes(config.heads, tokens.device) if config.recency else None
        heads = plain.Heads(batch, length, config.heads, slopes)
        x = self.embed(weights, tokens, noise, ops)
        y: Tensor | None = None
        bias: Tensor | None = None
        for layer in range(config.layers):
            w = {name: weights[f"h.{layer}.{name}"] for name in _BLOCK}
            drop = self._dropout(noise, 2 * layer) if layer else None
            x, h = ops.add_norm(x, y, bias, w["ln_1.weight"], w["ln_1.bias"], drop)
            if after is not None and layer:  # the norm has added the block before
                x = after(layer, x, ops)
            thinned = self._thinned(heads, noise, layer)
            mixed = ops.attention(ops.linear(h, w["attn.c_attn.weight"]), w["attn.c_attn.bias"], thinned)
            y, bias = ops.linear(mixed, w["attn.c_proj.weight"]), w["attn.c_proj.bias"]
            drop = self._dropout(noise, 2 * layer + 1)
            x, h = ops.add_norm(x, y, bias, w["ln_2.weight"], w["ln_2.bias"], drop)
            hidden = ops.bias_gelu(ops.linear(h, w["mlp.c_fc.weight"]), w["mlp.c_fc.bias"])
            y, bias = ops.linear(hidden, w["mlp.c_proj.weight"]), w["mlp.c_proj.bias"]
        drop = self._dropout(noise, 2 * config.layers)
        x, h = ops.add_norm(x, y, bias, weights["ln_f.weight"], weights["ln_f.bias"], drop)
        if after is not None:
            after(config.layers, x, ops)
        return ops.linear(h, weights["head.weight"])

    def embed(
        self,
        weights: Weights,
        tokens: Tensor,
        noise: Noise | None = None,
        ops: Operations = operations.PLAIN,
    ) -> Tensor:
        """The residual stream [R, B·T, d] before the first block, for tokens [R, B, T]."""
        x = ops.lookup(tokens, weights["wte"])
        if self.config.positions == "learned":
            x = ops.add_positions(x, weights["wpe"], tokens.shape[2])
        elif self.config.positions != "none":
            rows = self._encoding(tokens.shape[2], tokens.device, noise).to(x.dtype)
            x = ops.add_rows(x, rows)
        drop = self._dropout(noise, -1)
        return x if drop is None else ops.drop(x, drop)

    def _position_rows(self, weights: Weights, length: int) -> Tensor | None:
        """What ``embed`` adds at each position [R or 1, T, d] when there is no noise."""
        if self.config.positions == "none":
            return None
        if self.config.positions == "learned":
            return weights["wpe"][:, :length]
        like = weights["wte"]
        return self._encoding(length, like.device, None).to(like.dtype)

    def _encoding(self, length: int, device: torch.device, noise: Noise | None) -> Tensor:
        """Rows [R or 1, T, d] of the fixed encodings."""
        config = self.config
        if config.positions == "linear":
            return encodings.rows("linear", length, config.dim, device)[None] * config.position_scale
        if config.positions == "sinusoidal" or noise is None:
            return encodings.rows("sinusoidal", length, config.dim, device)[None] * config.position_scale
        table = encodings.rows("sinusoidal", length + encodings.LARGEST_SHIFT, config.dim, device)
        offset = random_streams.integers(noise.site(_SHIFT_SITE), encodings.LARGEST_SHIFT + 1)
        return table[offset[:, None] + torch.arange(length, device=device)] * config.position_scale

    def _dropout(self, noise: Noise | None, site: int) -> plain.Dropout | None:
        if noise is None or self.config.dropout == 0.0:
            return None
        return plain.Dropout(self.config.dropout, noise.site(site + 1))

    def _thinned(self, heads: plain.Heads, noise: Noise | None, layer: int) -> plain.Heads:
        """The heads of a layer, with dropout on their attention if there is any."""
        if noise is None or self.config.attention_dropout == 0.0:
            return heads
        dropout = plain.Dropout(self.config.attention_dropout, noise.site(_ATTENTION_SITE + layer))
        return replace(heads, dropout=dropout)


_SHIFT_SITE = 1_000_003
_ATTENTION_SITE = 2_000_003
_BLOCK = (
    "ln_1.weight", "ln_1.bias",
    "attn.c_attn.weight", "attn.c_attn.bias", "attn.c_proj.weight", "attn.c_proj.bias",
    "ln_2.weight", "ln_2.bias", "mlp.c_fc.weight", "mlp.c_fc.bias", "mlp.c_proj.weight", "mlp.c_proj.bias",
)  # fmt: skip


def _parameters(config: GptConfig, vocabulary: int, classes: int) -> list[Parameter]:
    dim, width = config.dim, padded(classes)
    embeddings = (padded(vocabulary), dim)
    result = [Parameter("wte", embeddings, "normal", config.embedding_std, used=(vocabulary, dim))]
    if config.positions == "learned":
        result.append(Parameter("wpe", (config.context, dim), "normal", config.position_scale))
    for layer in range(config.layers):
        result += _block_parameters(f"h.{layer}.", config)
    result += _norm("ln_f", dim)
    result.append(Parameter("head.weight", (dim, width), "normal", _INIT_STD, used=(dim, classes)))
    result.append(Parameter("head.bias", (width,)))
    return result


def _block_parameters(prefix: str, config: GptConfig) -> list[Parameter]:
    # Projections to the residual stream have a smaller initial scale, as in GPT-2: 0.02/√(2L).
    dim, residual_std = config.dim, _INIT_STD / (2.0 * config.layers) ** 0.5
    return [
        *_norm(f"{prefix}ln_1", dim),
        *_affine(f"{prefix}attn.c_attn", dim, 3 * dim, _INIT_STD, matrices=3),
        *_affine(f"{prefix}attn.c_proj", dim, dim, residual_std),
        *_norm(f"{prefix}ln_2", dim),
        *_affine(f"{prefix}mlp.c_fc", dim, config.mlp, _INIT_STD),
        *_affine(f"{prefix}mlp.c_proj", config.mlp, dim, residual_std),
    ]


def _norm(name: str, dim: int) -> list[Parameter]:
    return [Parameter(f"{name}.weight", (dim,), "constant", 1.0), Parameter(f"{name}.bias", (dim,))]


def _affine(name: str, inputs: int, outputs: int, std: float, matrices: int = 1) -> list[Parameter]:
    return [
        Parameter(f"{name}.weight", (inputs, outputs), "normal", std, matrices=matrices),
        Parameter(f"{name}.bias", (outputs,)),
    ]


ARCHITECTURE = GptConfig


@dataclass(frozen=True)
class GptShape:
    """The sizes a decoder needs."""

    layers: int
    heads: int
    recency: bool
    batch: int
    length: int
    classes: int


class GptDecoder(StackedDecoder):
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

    def fork(self, rows: Tensor) -> StackedDecoder:
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
