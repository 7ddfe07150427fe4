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

from krohn.lab.models.kernels.delta_scan import in_order, rank_one_scan
from krohn.lab.models.network import Network
from krohn.lab.models.parameters import Parameter, Weights
from krohn.lab.models.recurrent_stack import MatrixConfig, MatrixStack, rows


@dataclass(frozen=True, kw_only=True)
class RankOneConfig(MatrixConfig):
    """Sizes and options of the mixers.

    Attributes:
        steps: steps for each letter.
        rate_max: rates lie between 0 and this: 1 or 2.
    """

    kind: ClassVar[str] = "rankone"
    steps: int = 1
    rate_max: int = 2

    def reasons(self, length: int) -> list[str]:
        """See ``ModelConfig.reasons``."""
        wrong = super().reasons(length)
        return wrong if self.rate_max in (1, 2) else [*wrong, f"rate_max must be 1 or 2; got {self.rate_max}"]

    def mixer_sizes(self) -> dict[str, int]:
        """See ``StackConfig``."""
        return super().mixer_sizes() | {"steps": self.steps}

    def build(self, vocabulary: int, classes: int) -> Network:
        """See ``ModelConfig.build``."""
        return RankOne(self, vocabulary, classes)


class RankOne(MatrixStack):
    """The network; ``mix.key``, ``mix.value`` and ``mix.rate`` hold head after head, step after step."""

    config: RankOneConfig

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

    def mix(self, weights: Weights, prefix: str, window: Tensor, memory: Tensor) -> Tensor:
        """See ``Stack``; the memory and its updates are at least float32."""
        query, key, value = self.by_head(weights, prefix, window, self.config.steps)
        key = functional.normalize(key.to(memory.dtype), dim=-1)
        rate = rows(window, weights[f"{prefix}mix.rate.weight"], weights[f"{prefix}mix.rate.bias"])
        look = self.config.rate_max * rate.to(memory.dtype).sigmoid().reshape(key.shape) * key
        if self.letters_in_order:
            parts = query, key, look, value, torch.ones_like(key[..., 0]), torch.zeros_like(query[..., 0])
            return self.scan(weights, prefix, window, memory, in_order, parts)
        return self.scan(weights, prefix, window, memory, rank_one_scan, (query, key, look, value))


ARCHITECTURE = RankOneConfig
