"""Rank-one steps, as in RWKV-7: each head rewrites a matrix memory along a key, at a rate for each entry.

For each of ``steps`` steps S ← S + k (v − (a ⊙ k)ᵀS), and the letter's query reads Sᵀq. With one rate for all
entries this is the delta rule, a symmetric step; with a rate for each it can also send one state to another
and leave the rest: every automaton in one layer. Rates up to 1 give no swaps, so they go to 2 by default.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from krohn.models.kernels.delta_scan import rank_one_scan
from krohn.models.network import Network, Parameter, Weights
from krohn.models.recurrent_stack import Stack, StackConfig, rows


@dataclass(frozen=True, kw_only=True)
class RankOneConfig(StackConfig):
    """Sizes and options of the mixers.

    Attributes:
        heads: memories in a layer.
        key_dim: length of keys and queries.
        value_dim: length of values.
        steps: steps for each letter.
        rate_max: rates lie between 0 and this: 1 or 2.
    """

    kind: ClassVar[str] = "rankone"
    heads: int = 4
    key_dim: int = 16
    value_dim: int = 16
    steps: int = 1
    rate_max: int = 2

    def reasons(self, length: int) -> list[str]:
        """See ``ModelConfig.reasons``."""
        found = super().reasons(length)
        return found if self.rate_max in (1, 2) else [*found, f"rate_max must be 1 or 2; got {self.rate_max}"]

    def mixer_sizes(self) -> dict[str, int]:
        """See ``StackConfig``."""
        sizes = {"heads": self.heads, "steps": self.steps}
        return {**sizes, "key_dim": self.key_dim, "value_dim": self.value_dim}

    def build(self, vocabulary: int, classes: int) -> Network:
        """See ``ModelConfig.build``."""
        return RankOne(self, vocabulary, classes)


class RankOne(Stack):
    """The network; ``mix.key``, ``mix.value`` and ``mix.rate`` hold head after head, step after step."""

    def __init__(self, config: RankOneConfig, vocabulary: int, classes: int) -> None:
        self.config = config
        super().__init__(config, vocabulary, classes)

    def mixer_parameters(self, prefix: str, inputs: int) -> list[Parameter]:
        """See ``Stack``."""
        config, std = self.config, inputs**-0.5
        keys, values = config.heads * config.key_dim, config.heads * config.value_dim
        return [
            Parameter(f"{prefix}mix.query", (inputs, keys), "normal", std),
            Parameter(f"{prefix}mix.key", (inputs, config.steps * keys), "normal", std),
            Parameter(f"{prefix}mix.value", (inputs, config.steps * values), "normal", std),
            Parameter(f"{prefix}mix.rate.weight", (inputs, config.steps * keys), "normal", std),
            Parameter(f"{prefix}mix.rate.bias", (config.steps * keys,)),
            Parameter(f"{prefix}mix.out", (values, config.dim), "normal", values**-0.5),
        ]

    def start(self, like: Tensor, batch: int) -> Tensor:
        """See ``Stack``."""
        config, wide = self.config, torch.promote_types(like.dtype, torch.float32)
        shape = (len(like), batch, config.heads, config.key_dim, config.value_dim)
        return torch.zeros(shape, dtype=wide, device=like.device)

    def mix(self, weights: Weights, prefix: str, window: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """See ``Stack``; the memory and what is done to it are float32 at least."""
        config = self.config
        shape = (*window.shape[:3], config.heads, config.steps, -1)
        key, value = (
            rows(window, weights[f"{prefix}mix.{name}"]).to(memory.dtype).reshape(shape)
            for name in ("key", "value")
        )
        key = functional.normalize(key, dim=-1)
        rate = rows(window, weights[f"{prefix}mix.rate.weight"], weights[f"{prefix}mix.rate.bias"])
        look = config.rate_max * rate.to(memory.dtype).sigmoid().reshape(shape) * key
        query = rows(window, weights[f"{prefix}mix.query"]).to(memory.dtype)
        query = query.reshape(*window.shape[:3], config.heads, -1)
        query, key, look, value = (part.movedim(3, 2).flatten(0, 2) for part in (query, key, look, value))
        read, after = rank_one_scan(query, key, look, value, memory.flatten(0, 2))
        whole = read.view(*memory.shape[:3], *read.shape[1:]).movedim(2, 3).flatten(-2)
        return rows(whole.to(window.dtype), weights[f"{prefix}mix.out"]), after.view_as(memory)


ARCHITECTURE = RankOneConfig
