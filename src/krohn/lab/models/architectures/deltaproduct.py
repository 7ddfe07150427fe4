"""DeltaProduct and DeltaNet: each head rewrites a matrix memory along a few keys for every letter.

S ← α S, then for each of ``householders`` steps S ← S + β k (v − kᵀS), and the letter's query reads Sᵀq. The
transition is α Π (I − β k kᵀ): reflections with β = 2, which takes ``beta_max`` 2 (Siems et al. 2025, Grazzi
et al. 2025). One step is DeltaNet; with the gate it is Gated DeltaNet.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

from torch import Tensor
from torch.nn import functional

from krohn.lab.models.kernels.delta_scan import delta_scan, in_order
from krohn.lab.models.network import Network
from krohn.lab.models.parameters import Parameter, Weights
from krohn.lab.models.recurrent_stack import MatrixConfig, MatrixStack, rows


@dataclass(frozen=True, kw_only=True)
class DeltaProductConfig(MatrixConfig):
    """Sizes and options of the mixers.

    Attributes:
        householders: steps for each letter.
        beta_max: β lies between 0 and this: 1 or 2.
        gate: whether a letter may also shrink the whole memory.
        key_activation: of keys, before normalisation.
        key_norm: unit-norm keys, or unnormalised.
    """

    kind: ClassVar[str] = "deltaproduct"
    householders: int = 2
    beta_max: int = 2
    gate: bool = False
    key_activation: Literal["none", "silu", "relu"] = "none"
    key_norm: Literal["l2", "none"] = "l2"

    def reasons(self, length: int) -> list[str]:
        """See ``ModelConfig.reasons``."""
        wrong = super().reasons(length)
        if self.beta_max not in (1, 2):
            wrong = [*wrong, f"beta_max must be 1 or 2; got {self.beta_max}"]
        return wrong

    def mixer_sizes(self) -> dict[str, int]:
        """See ``StackConfig``."""
        return super().mixer_sizes() | {"householders": self.householders}

    def build(self, vocabulary: int, classes: int) -> Network:
        """See ``ModelConfig.build``."""
        return DeltaProduct(self, vocabulary, classes)


class DeltaProduct(MatrixStack):
    """The network; ``mix.key``, ``mix.value`` and ``mix.beta`` hold head after head, step after step."""

    config: DeltaProductConfig

    def mixer_parameters(self, prefix: str, inputs: int) -> list[Parameter]:
        """See ``Stack``."""
        config, std = self.config, inputs**-0.5
        steps, width = config.heads * config.householders, config.heads * config.value_dim
        gate = [
            Parameter(f"{prefix}mix.gate.weight", (inputs, config.heads), "normal", std),
            Parameter(f"{prefix}mix.gate.bias", (config.heads,), "constant", 4.0),
        ]
        return [
            Parameter(f"{prefix}mix.query", (inputs, config.heads * config.key_dim), "normal", std),
            Parameter(f"{prefix}mix.key", (inputs, steps * config.key_dim), "normal", std),
            Parameter(f"{prefix}mix.value", (inputs, steps * config.value_dim), "normal", std),
            Parameter(f"{prefix}mix.beta.weight", (inputs, steps), "normal", std),
            Parameter(f"{prefix}mix.beta.bias", (steps,)),
            *(gate if config.gate else []),
            Parameter(f"{prefix}mix.out", (width, config.dim), "normal", width**-0.5),
        ]

    def mix(self, weights: Weights, prefix: str, window: Tensor, memory: Tensor) -> Tensor:
        """See ``Stack``; the memory and its updates are at least float32."""
        config = self.config
        query, key, value = self.by_head(weights, prefix, window, config.householders)
        key = _ACTIVATIONS[config.key_activation](key).to(memory.dtype)
        if config.key_norm == "l2":
            key = functional.normalize(key, dim=-1)
        beta = rows(window, weights[f"{prefix}mix.beta.weight"], weights[f"{prefix}mix.beta.bias"])
        beta = config.beta_max * beta.to(memory.dtype).sigmoid().reshape(key.shape[:-1])
        log_gate = self._log_gate(weights, prefix, window, memory)
        if self.letters_in_order:
            steps = query, key, key, value, beta, log_gate
            return self.scan(weights, prefix, window, memory, in_order, steps)
        return self.scan(weights, prefix, window, memory, delta_scan, (query, key, value, beta, log_gate))

    def _log_gate(self, weights: Weights, prefix: str, window: Tensor, memory: Tensor) -> Tensor:
        """log α [R, B, T, heads]: 0 without a gate."""
        if not self.config.gate:
            return memory.new_zeros(*window.shape[:3], self.config.heads)
        scores = rows(window, weights[f"{prefix}mix.gate.weight"], weights[f"{prefix}mix.gate.bias"])
        return functional.logsigmoid(scores.to(memory.dtype))


_ACTIVATIONS = {"none": lambda keys: keys, "silu": functional.silu, "relu": functional.relu}

ARCHITECTURE = DeltaProductConfig
