"""The operations in plain torch, for any device and float type.

Shapes: R replicates, N = batch × pos rows, d_model columns; parameters carry R in front.
"""

from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import torch
from torch import Tensor
from torch.nn import functional

from krohn.lab import random_streams


@dataclass(frozen=True)
class Dropout:
    """Dropout whose mask is a function of one key per replicate, so replicates stay independent."""

    rate: float
    keys: Tensor

    def mask(self, like: Tensor) -> Tensor:
        """Keep-mask [R, N, d] scaled by 1/(1 − rate)."""
        return random_streams.dropout_factors(self.keys, like[0].numel(), self.rate, like.dtype).view_as(like)


@dataclass(frozen=True)
class Heads:
    """How rows split into sequences and columns into heads."""

    batch: int
    length: int
    count: int
    slopes: Tensor | None = None  # recency bias per head (ALiBi), or none
    dropout: Dropout | None = None  # of attention weights

    def mask(self, dtype: torch.dtype) -> Tensor | None:
        """Additive mask of the scores [1, heads, T, T], causal order included; ``None`` without recency."""
        return None if self._mask is None else self._mask.to(dtype)

    @cached_property
    def _mask(self) -> Tensor | None:
        return None if self.slopes is None else recency_mask(self.slopes, self.length)[None]


def linear(x: Tensor, weight: Tensor) -> Tensor:
    """x [R, N, in] @ weight [R, in, out]."""
    if len(x) == 1:
        return torch.mm(x[0], weight[0])[None]
    return torch.bmm(x, weight)


def add_norm(
    x: Tensor, y: Tensor | None, bias: Tensor | None, gain: Tensor, shift: Tensor, dropout: Dropout | None
) -> tuple[Tensor, Tensor]:
    """The residual stream x + dropout(y + bias), and its LayerNorm."""
    if y is not None:
        assert bias is not None
        branch = y + bias[:, None]
        x = x + (branch if dropout is None else branch * dropout.mask(branch))
    width = (x.shape[-1],)
    if len(x) == 1:
        return x, functional.layer_norm(x, width, gain[0], shift[0])
    return x, torch.addcmul(shift[:, None], functional.layer_norm(x, width), gain[:, None])


def attention(qkv: Tensor, bias: Tensor | None, heads: Heads) -> Tensor:
    """Causal softmax attention of qkv + bias [R, N, 3·d] in ``heads.count`` heads, scale 1/√head_dim."""
    replicates, rows, width = qkv.shape
    head_dim = width // 3 // heads.count
    qkv = qkv if bias is None else qkv + bias[:, None]
    split = qkv.view(replicates * heads.batch, heads.length, 3, heads.count, head_dim)
    q, k, v = split.permute(2, 0, 3, 1, 4).unbind(0)
    mask = heads.mask(q.dtype)
    if heads.dropout is not None:
        out = _thinned_attention(q, k, v, mask, heads.dropout, replicates)
        return out.transpose(1, 2).reshape(replicates, rows, width // 3)
    out = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=mask is None)
    return out.transpose(1, 2).reshape(replicates, rows, width // 3)


def _thinned_attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropout: Dropout, replicates: int
) -> Tensor:
    """As ``attention`` for q, k, v [R·B, head, T, head_dim], with dropout on its weights."""
    if mask is None:
        length = q.shape[2]
        mask = torch.full((length, length), float("-inf"), dtype=q.dtype, device=q.device).triu(1)
    weights = (q @ k.transpose(-1, -2) * head_scale(q.shape[-1]) + mask).softmax(-1)
    factors = dropout.mask(weights.view(replicates, -1, weights.shape[-1]))
    return (weights * factors.view_as(weights)) @ v


def recency_mask(slopes: Tensor, length: int) -> Tensor:
    """Additive mask [heads, T, T]: −slope·(t − i) for i ≤ t, −∞ for later ones (Press, Smith, Lewis 2022)."""
    position = torch.arange(length, device=slopes.device)
    distance = position[:, None] - position[None, :]
    bias = -slopes[:, None, None] * distance
    return bias.masked_fill(distance < 0, float("-inf"))


def bias_gelu(u: Tensor, bias: Tensor) -> Tensor:
    """GELU (tanh form, GPT-2's ``gelu_new``) of u + bias."""
    return functional.gelu(u + bias[:, None], approximate="tanh")


def cross_entropy(
    logits: Tensor, bias: Tensor | None, targets: Tensor, shown: Tensor, classes: int
) -> Tensor:
    """Mean over shown positions of −log softmax, per replicate.

    ``logits`` [R, N, C] may be padded: classes from ``classes`` on do not exist. ``shown`` [R, N] is 0 or 1.
    """
    scores = (logits if bias is None else logits + bias[:, None])[..., :classes]
    wide = scores.to(torch.promote_types(scores.dtype, torch.float32))
    losses = functional.cross_entropy(wide.flatten(0, 1), targets.flatten().long(), reduction="none").view_as(
        targets
    )
    weight = shown.to(losses.dtype)
    return (losses * weight).sum(1) / weight.sum(1).clamp(min=1.0)


def add_positions(x: Tensor, table: Tensor, length: int) -> Tensor:
    """x [R, B·T, d] plus the first T = ``length`` rows of ``table`` [R, context, d] in each sequence."""
    return (x.view(len(x), -1, length, x.shape[-1]) + table[:, None, :length]).flatten(1, 2)


def add_rows(x: Tensor, rows: Tensor) -> Tensor:
    """x [R, B·T, d] plus the same constants [R or 1, T, d] in each sequence."""
    return (x.view(len(x), -1, *rows.shape[1:]) + rows[:, None]).flatten(1, 2)


def drop(x: Tensor, dropout: Dropout) -> Tensor:
    """x with its dropped elements set to zero, the others scaled."""
    return x * dropout.mask(x)


def alibi_slopes(count: int, device: torch.device) -> Tensor:
    """2^(−8h/H) for head h = 1…H."""
    return torch.exp2(torch.arange(1, count + 1, device=device) * (-8.0 / count))


def head_scale(head_dim: int) -> float:
    """1/√head_dim."""
    return 1.0 / sqrt(head_dim)


def answers(logits: Tensor) -> Tensor:
    """The number of the largest logit; −1 where one is NaN: that is no answer."""
    return torch.where(logits.isnan().any(-1), -1, logits.argmax(-1))


def one_hot(tokens: Tensor, size: int, dtype: torch.dtype) -> Tensor:
    """[R, B, T] -> [R, B·T, size]: multiplying by it is a look-up whose gradient needs no atomics."""
    classes = torch.arange(size, device=tokens.device, dtype=tokens.dtype)
    return (tokens.flatten(1)[..., None] == classes).to(dtype)
