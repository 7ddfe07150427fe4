"""Recurrent layers with one matrix [keys, values] per head, updated in steps at each letter."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from krohn.models.network import Weights
from krohn.models.recurrent_stack import Stack, StackConfig, rows


@dataclass(frozen=True, kw_only=True)
class MatrixConfig(StackConfig):
    """Sizes of the matrices.

    Attributes:
        heads: memories in a layer.
        key_dim: length of keys and queries.
        value_dim: length of values.
    """

    heads: int = 4
    key_dim: int = 16
    value_dim: int = 16

    def mixer_sizes(self) -> dict[str, int]:
        """See ``StackConfig``."""
        return {"heads": self.heads, "key_dim": self.key_dim, "value_dim": self.value_dim}


class MatrixStack(Stack):
    """The network around such mixers."""

    config: MatrixConfig

    def start(self, like: Tensor, batch: int) -> Tensor:
        """See ``Stack``; memories and their updates are at least float32."""
        config, wide = self.config, torch.promote_types(like.dtype, torch.float32)
        shape = (len(like), batch, config.heads, config.key_dim, config.value_dim)
        return torch.zeros(shape, dtype=wide, device=like.device)

    def by_head(
        self, weights: Weights, prefix: str, window: Tensor, steps: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Queries [R, B, T, heads, keys], then keys and values of each step [R, B, T, heads, steps, ...]."""
        query, key, value = (
            rows(window, weights[f"{prefix}mix.{name}"]) for name in ("query", "key", "value")
        )
        shape = (*window.shape[:3], self.config.heads)
        return query.reshape(*shape, -1), key.reshape(*shape, steps, -1), value.reshape(*shape, steps, -1)

    def scanned(
        self,
        weights: Weights,
        prefix: str,
        window: Tensor,
        memory: Tensor,
        scan: Callable[..., tuple[Tensor, Tensor]],
        parts: tuple[Tensor, ...],
    ) -> tuple[Tensor, Tensor]:
        """What the scan of ``parts`` [R, B, T, heads, ...] adds to the stream, and the memory after it."""
        flat = (part.to(memory.dtype).movedim(3, 2).flatten(0, 2) for part in parts)
        read, after = scan(*flat, memory.flatten(0, 2))
        whole = read.view(*memory.shape[:3], *read.shape[1:]).movedim(2, 3).flatten(-2)
        return rows(whole.to(window.dtype), weights[f"{prefix}mix.out"]), after.view_as(memory)
