"""Diagonal recurrences: every channel is one number, h ← a·h + b, with a and b from the letter.

The gate a lies in [0, 1] (``unit``: Mamba, GLA and their kin), in [−1, 1] (``signed``) or in the unit disc
(``complex``). Which automata each can track depends on the groups inside: none, 2-groups, solvable ones.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from krohn.lab.models.kernels.linear_scan import linear_scan, states_in_order
from krohn.lab.models.network import Network
from krohn.lab.models.parameters import Parameter, Weights
from krohn.lab.models.recurrent_stack import Stack, StackConfig, rows


@dataclass(frozen=True, kw_only=True)
class DiagonalConfig(StackConfig):
    """Sizes and options of the mixers.

    Attributes:
        channels: size of a layer's state; complex numbers with complex gates.
        gate: range of the gates; with ``conv`` 2 they also see the previous letter (token shift).
    """

    kind: ClassVar[str] = "diagonal"
    channels: int = 64
    gate: Literal["unit", "signed", "complex"] = "signed"

    def mixer_sizes(self) -> dict[str, int]:
        """See ``StackConfig``."""
        return {"channels": self.channels}

    def build(self, vocabulary: int, classes: int) -> Network:
        """See ``ModelConfig.build``."""
        return Diagonal(self, vocabulary, classes)


class Diagonal(Stack):
    """The network; complex channels are two numbers each, all real parts first."""

    config: DiagonalConfig

    def mixer_parameters(self, prefix: str, inputs: int) -> list[Parameter]:
        """See ``Stack``."""
        width = self.config.channels * (2 if self.config.gate == "complex" else 1)
        std = inputs**-0.5
        remember = self.config.gate == "unit"  # sigmoid 3 = 0.95; the others spread over their range
        return [
            Parameter(f"{prefix}mix.gate.weight", (inputs, width), "normal", std),
            Parameter(
                f"{prefix}mix.gate.bias",
                (width,),
                "constant" if remember else "normal",
                3.0 if remember else 1.5,
            ),
            Parameter(f"{prefix}mix.write", (inputs, width), "normal", std),
            Parameter(f"{prefix}mix.out", (width, self.config.dim), "normal", width**-0.5),
        ]

    def start(self, like: Tensor, batch: int) -> Tensor:
        """See ``Stack``."""
        wide = torch.promote_types(like.dtype, torch.float32)
        if self.config.gate == "complex":
            wide = torch.complex128 if wide == torch.float64 else torch.complex64
        return torch.zeros(len(like), batch, self.config.channels, dtype=wide, device=like.device)

    def mix(self, weights: Weights, prefix: str, window: Tensor, memory: Tensor) -> Tensor:
        """See ``Stack``; the memory and its updates are at least float32."""
        gate = rows(window, weights[f"{prefix}mix.gate.weight"], weights[f"{prefix}mix.gate.bias"])
        write = rows(window, weights[f"{prefix}mix.write"])
        scan = states_in_order if self.letters_in_order else linear_scan
        states = scan(gates_of(gate, self.config.gate), _numbers(write, self.config.gate), memory)
        seen = torch.cat([states.real, states.imag], -1) if states.is_complex() else states
        return rows(seen.to(window.dtype), weights[f"{prefix}mix.out"])


def _numbers(parts: Tensor, kind: str) -> Tensor:
    """Real or complex numbers, float32 at least."""
    wide = parts.to(torch.promote_types(parts.dtype, torch.float32))
    return torch.complex(*wide.chunk(2, -1)) if kind == "complex" else wide


def gates_of(parts: Tensor, kind: str) -> Tensor:
    """σ(z), tanh(z), or z projected to the unit disc: z / max(1, |z|), so that ±1 and ±i are exact."""
    numbers = _numbers(parts, kind)
    if kind == "unit":
        return numbers.sigmoid()
    if kind == "signed":
        return numbers.tanh()
    size = (numbers.real.square() + numbers.imag.square()).clamp(min=1.0).sqrt()
    # Part by part: torch multiplies a complex number by the reciprocal, and 41 · (1 / 41) is not 1.
    return torch.complex(numbers.real / size, numbers.imag / size)


ARCHITECTURE = DiagonalConfig
