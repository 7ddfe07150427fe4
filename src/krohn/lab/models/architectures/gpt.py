"""GPT-2 blocks (pre-LayerNorm), R replicates at once: the paper's Transformer.

Its decoder reads step by step, with a key–value cache, for scratchpad inference.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from krohn.errors import InvalidInput
from krohn.lab import random_streams
from krohn.lab.models.kernels import operations, plain
from krohn.lab.models.kernels.operations import Operations
from krohn.lab.models.network import ModelConfig, Network, Noise, StackedDecoder, round_up
from krohn.lab.models.parameters import Parameter, ParameterLayout, Weights

_INIT_STD = 0.02
ENCODINGS = ("sinusoidal", "linear", "none", "shifted", "learned")
"""Kinds of rows that are added to the token embeddings."""
LARGEST_SHIFT = 400  # "a random positive integer in [0, 400]", one per batch

# Called with the number of a block, from 1, the residual stream after it and the operations in use; returns
# the stream.
After = Callable[[int, Tensor, Operations], Tensor]


def sinusoidal(count: int, dim: int, device: torch.device) -> Tensor:
    """Rows [count, dim] of sines (even columns) and cosines (odd columns), periods 2π to 20000π."""
    position = torch.arange(count, dtype=torch.float64, device=device)[:, None]
    column = torch.arange(0, dim, 2, dtype=torch.float64, device=device)
    angle = position * torch.exp(-math.log(10000.0) * column / dim)
    table = torch.zeros(count, dim, dtype=torch.float64, device=device)
    table[:, 0::2] = angle.sin()
    table[:, 1::2] = angle.cos()[:, : dim // 2]
    return table


def linear(count: int, dim: int, device: torch.device) -> Tensor:
    """Rows proportional to the position: √dim·(t + 1)/100 in the first column, 0 elsewhere.

    √dim gives position 100 the norm of a sinusoidal row, so that one scale fits both encodings.
    """
    table = torch.zeros(count, dim, dtype=torch.float64, device=device)
    table[:, 0] = torch.arange(1, count + 1, dtype=torch.float64, device=device) * (dim**0.5 / 100.0)
    return table


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
        wrong = [f"{name} must be at least 1; got {size}" for name, size in sizes.items() if size < 1]
        if not wrong and self.dim % self.heads:
            wrong.append(f"dim must be divisible by heads; got dim {self.dim} and heads {self.heads}")
        if self.positions not in ENCODINGS:
            wrong.append(f"positions must be one of {', '.join(ENCODINGS)}; got {self.positions!r}")
        if self.positions == "learned" and length > self.context:
            wrong.append(f"learned positions reach {self.context} tokens; got {length}: raise context")
        rates = {"dropout": self.dropout, "attention_dropout": self.attention_dropout}
        wrong += [
            f"{name} must lie in [0, 1); got {rate}" for name, rate in rates.items() if not 0.0 <= rate < 1.0
        ]
        if min(self.embedding_std, self.position_scale) < 0.0:
            wrong.append("embedding_std and position_scale must be at least 0")
        return wrong

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
        scores = self.scores(weights, tokens, noise, ops, after) + weights["head.bias"][:, None]
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
        scores = self.scores(weights, tokens, noise, ops, after)
        return ops.cross_entropy(scores, bias, targets.flatten(1), shown.flatten(1), self.classes)

    def decoder(self, weights: Weights, batch: int, length: int) -> StackedDecoder:
        """See ``Network.decoder``."""
        return GptDecoder(self, weights, batch, length)

    def writes_gradients(self, weights: Weights) -> bool:
        """See ``Network.writes_gradients``."""
        return operations.choose(weights["head.bias"]) is not operations.PLAIN

    def scores(
        self,
        weights: Weights,
        tokens: Tensor,
        noise: Noise | None,
        ops: Operations,
        after: After | None = None,
        first: int = 0,
    ) -> Tensor:
        """Logits without their bias, padded [R, B·T, …], of tokens from position ``first`` on."""
        config = self.config
        _, batch, length = tokens.shape
        slopes = plain.alibi_slopes(config.heads, tokens.device) if config.recency else None
        heads = plain.Heads(batch, length, config.heads, slopes)
        x = self.embed(weights, tokens, noise, ops, first)
        y: Tensor | None = None
        bias: Tensor | None = None
        for layer in range(config.layers):
            w = {name: weights[f"h.{layer}.{name}"] for name in _BLOCK}
            # The norm adds what the block before wrote, so that a residual costs no pass of its own; there is
            # nothing to add, and to drop, before the first.
            drop = self._dropout(noise, 2 * layer) if layer else None
            x, h = ops.add_norm(x, y, bias, w["ln_1.weight"], w["ln_1.bias"], drop)
            if after is not None and layer:  # the norm has added the block before
                x = after(layer, x, ops)
            thinned = self._thin(heads, noise, layer)
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
        first: int = 0,
    ) -> Tensor:
        """The stream [R, B·T, d] before the first block, for tokens [R, B, T] from position ``first`` on."""
        x = ops.lookup(tokens, weights["wte"])
        if self.config.positions == "learned":
            if first + tokens.shape[2] > self.config.context:
                raise InvalidInput(
                    f"learned positions reach {self.config.context} tokens; got {first + tokens.shape[2]}: "
                    "take shorter words"
                )
            # Training writes the gradient of the table that it is given: a view of it has none.
            table = weights["wpe"][:, first:] if first else weights["wpe"]
            x = ops.add_positions(x, table, tokens.shape[2])
        elif self.config.positions != "none":
            rows = self._encoding(first + tokens.shape[2], tokens.device, noise)[:, first:].to(x.dtype)
            x = ops.add_rows(x, rows)
        drop = self._dropout(noise, -1)
        return x if drop is None else ops.drop(x, drop)

    def _encoding(self, length: int, device: torch.device, noise: Noise | None) -> Tensor:
        """Rows [R or 1, T, d] of the fixed encodings."""
        config = self.config
        if config.positions == "linear":
            return linear(length, config.dim, device)[None] * config.position_scale
        if config.positions == "sinusoidal" or noise is None:
            return sinusoidal(length, config.dim, device)[None] * config.position_scale
        table = sinusoidal(length + LARGEST_SHIFT, config.dim, device)
        offset = random_streams.integers(noise.site(_SHIFT_SITE), LARGEST_SHIFT + 1)
        return table[offset[:, None] + torch.arange(length, device=device)] * config.position_scale

    def _dropout(self, noise: Noise | None, site: int) -> plain.Dropout | None:
        if noise is None or self.config.dropout == 0.0:
            return None
        return plain.Dropout(self.config.dropout, noise.site(site + 1))

    def _thin(self, heads: plain.Heads, noise: Noise | None, layer: int) -> plain.Heads:
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
    dim, width = config.dim, round_up(classes)
    embeddings = (round_up(vocabulary), dim)
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


class GptDecoder(StackedDecoder):
    """Keeps the keys and values of all past positions.

    A step is the network's own pass over the new tokens, with attention that also sees the cache.
    """

    def __init__(self, network: Gpt, weights: Weights, batch: int, length: int) -> None:
        self._network, self._weights, config = network, weights, network.config
        like = weights["ln_f.weight"]
        size = (config.layers, 2, len(like) * batch, config.heads, length, config.dim // config.heads)
        self._cache = torch.zeros(size, dtype=like.dtype, device=like.device)
        self._slopes = plain.alibi_slopes(config.heads, like.device) * (1.0 if config.recency else 0.0)
        self._position, self._layer = 0, 0

    def step(self, tokens: Tensor) -> Tensor:
        """See ``StackedDecoder.step``."""
        network, first, count = self._network, self._position, tokens.shape[2]
        assert first + count <= self._cache.shape[4], "the cache is full"
        ops, self._layer = replace(operations.PLAIN, attention=self._attend), 0
        scores = network.scores(self._weights, tokens, None, ops, first=first)
        self._position += count
        last = scores.view(*tokens.shape, -1)[:, :, -1] + self._weights["head.bias"][:, None]
        return last[..., : network.classes]

    def _attend(self, qkv: Tensor, bias: Tensor | None, heads: plain.Heads) -> Tensor:
        """As ``plain.attention`` in the next block, also to what was read before."""
        assert bias is not None
        first, end, layer = self._position, self._position + heads.length, self._layer
        # [R, B·n, 3·d] -> queries, keys and values [R·B, head, n, head_dim]
        split = (qkv + bias[:, None]).view(self._cache.shape[2], heads.length, 3, heads.count, -1)
        queries, keys, values = split.permute(2, 0, 3, 1, 4)
        self._cache[layer, :, :, :, first:end] = torch.stack((keys, values))
        keys, values = self._cache[layer, :, :, :, :end]
        mixed = functional.scaled_dot_product_attention(queries, keys, values, attn_mask=self._mask(end))
        self._layer += 1
        return mixed.transpose(1, 2).reshape(*qkv.shape[:2], -1)

    def _mask(self, end: int) -> Tensor | None:
        """Additive mask of the scores of the new tokens; ``None`` for one token without recency."""
        if end == self._position + 1 and not self._network.config.recency:
            return None
        place = torch.arange(end, device=self._slopes.device)
        distance = place[self._position :, None] - place
        bias = (-self._slopes[:, None, None] * distance).masked_fill(distance < 0, float("-inf"))
        return bias.to(self._cache.dtype)
