"""Recurrent layers in blocks: each block mixes along the word, then passes every position through an MLP.

x ← x + mixer(window), x ← x + MLP(window), where the window holds the normed stream at the last ``conv``
positions: a short convolution, or a token shift if there are two. An architecture adds its mixer.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from krohn.lab.models.kernels import plain
from krohn.lab.models.kernels.plain import one_hot
from krohn.lab.models.network import ModelConfig, Network, Noise, round_up
from krohn.lab.models.parameters import Parameter, ParameterLayout, Weights


@dataclass(frozen=True, kw_only=True)
class StackConfig(ModelConfig):
    """Sizes of the blocks.

    Attributes:
        layers: blocks.
        dim: width of the stream.
        mlp: hidden width of each MLP; 0 for none.
        conv: window of a mixer's inputs and of an MLP, in letters: the current one and those just before.
        norm: LayerNorm before mixers, MLPs and the head, or none.
        activation: of the MLP.
    """

    layers: int = 1
    dim: int = 64
    mlp: int = 128
    conv: int = 1
    norm: Literal["layer", "none"] = "layer"
    activation: Literal["gelu", "relu"] = "gelu"

    def reasons(self, length: int) -> list[str]:
        """See ``ModelConfig.reasons``."""
        sizes = {"layers": self.layers, "dim": self.dim, "conv": self.conv, **self.mixer_sizes()}
        wrong = [f"{name} must be at least 1; got {size}" for name, size in sizes.items() if size < 1]
        return wrong if self.mlp >= 0 else [*wrong, f"mlp must be at least 0; got {self.mlp}"]

    @abstractmethod
    def mixer_sizes(self) -> dict[str, int]:
        """Sizes of the mixer that must be at least 1."""


class Stack(Network):
    """The network around the mixers; the recurrent state starts at zero.

    A mixer reads many letters at once where that is faster: chunks, which round elsewhere than one letter
    after the other. With ``letters_in_order`` it takes each step by itself, as proofs do.
    """

    letters_in_order = False

    def __init__(self, config: StackConfig, vocabulary: int, classes: int) -> None:
        self.config, self.classes = config, classes
        dim, width = config.dim, round_up(classes)
        letters = Parameter("wte", (round_up(vocabulary), dim), "normal", 1.0, used=(vocabulary, dim))
        blocks = [part for layer in range(config.layers) for part in self._block(f"h.{layer}.")]
        head = Parameter("head.weight", (dim, width), "normal", dim**-0.5, used=(dim, classes))
        ends = [*self._norm_parameters("norm"), head, Parameter("head.bias", (width,))]
        self.layout = ParameterLayout.of([letters, *blocks, *ends])

    @abstractmethod
    def mixer_parameters(self, prefix: str, inputs: int) -> list[Parameter]:
        """Parameters of one block's mixer, whose windows have that many numbers."""

    @abstractmethod
    def start(self, like: Tensor, batch: int) -> Tensor:
        """The initial memory [R, B, ...] of a mixer, zero."""

    @abstractmethod
    def mix(self, weights: Weights, prefix: str, window: Tensor, memory: Tensor) -> Tensor:
        """The mixer's output [R, B, T, dim] for windows [R, B, T, inputs], from the initial memory."""

    def logits(self, weights: Weights, tokens: Tensor, noise: Noise | None = None) -> Tensor:
        """See ``Network.logits``."""
        table, conv, memory = weights["wte"], self.config.conv, self.start(weights["wte"], tokens.shape[1])
        x = plain.linear(one_hot(tokens, table.shape[1], table.dtype), table).view(*tokens.shape, -1)
        for layer in range(self.config.layers):
            prefix = f"h.{layer}."
            window = last_positions(self._normalize(weights, f"{prefix}mix.norm", x), conv)
            x = x + self.mix(weights, prefix, window, memory)
            if self.config.mlp:
                window = last_positions(self._normalize(weights, f"{prefix}mlp.norm", x), conv)
                hidden = rows(window, weights[f"{prefix}mlp.in"], weights[f"{prefix}mlp.in_bias"])
                x = x + rows(_BENT[self.config.activation](hidden), weights[f"{prefix}mlp.out"])
        scores = rows(self._normalize(weights, "norm", x), weights["head.weight"], weights["head.bias"])
        return scores[..., : self.classes]

    def _normalize(self, weights: Weights, name: str, x: Tensor) -> Tensor:
        if self.config.norm == "none":
            return x
        gain, shift = weights[f"{name}.weight"], weights[f"{name}.bias"]
        return plain.add_norm(x.flatten(1, 2), None, None, gain, shift, None)[1].view_as(x)

    def _norm_parameters(self, name: str) -> list[Parameter]:
        if self.config.norm == "none":
            return []
        width = (self.config.dim,)
        return [Parameter(f"{name}.weight", width, "constant", 1.0), Parameter(f"{name}.bias", width)]

    def _block(self, prefix: str) -> list[Parameter]:
        config, inputs = self.config, self.config.conv * self.config.dim
        result = [*self._norm_parameters(f"{prefix}mix.norm"), *self.mixer_parameters(prefix, inputs)]
        if not config.mlp:
            return result
        return [
            *result,
            *self._norm_parameters(f"{prefix}mlp.norm"),
            Parameter(f"{prefix}mlp.in", (inputs, config.mlp), "normal", inputs**-0.5),
            Parameter(f"{prefix}mlp.in_bias", (config.mlp,)),
            Parameter(f"{prefix}mlp.out", (config.mlp, config.dim), "normal", config.mlp**-0.5),
        ]


def rows(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x [R, B, T, in] times weight [R, in, out], plus bias [R, out]."""
    product = plain.linear(x.flatten(1, 2), weight)
    return (product if bias is None else product + bias[:, None]).view(*x.shape[:-1], -1)


def last_positions(x: Tensor, count: int) -> Tensor:
    """The last ``count`` positions side by side, the current one first; zeros before the first letter."""
    shifted = [functional.pad(x, (0, 0, back, 0))[:, :, : x.shape[2]] for back in range(count)]
    return torch.cat(shifted, -1) if count > 1 else x


_BENT: dict[str, Callable[[Tensor], Tensor]] = {"gelu": functional.gelu, "relu": functional.relu}


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
        # In bfloat16 a swap would be rounded at every letter, and errors add up over the word.
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

    def scan(
        self,
        weights: Weights,
        prefix: str,
        window: Tensor,
        memory: Tensor,
        scan: Callable[..., tuple[Tensor, Tensor]],
        parts: tuple[Tensor, ...],
    ) -> Tensor:
        """What the scan of ``parts`` [R, B, T, heads, ...] adds to the stream."""
        flat = (part.to(memory.dtype).movedim(3, 2).flatten(0, 2) for part in parts)
        read, _ = scan(*flat, memory.flatten(0, 2))
        whole = read.view(*memory.shape[:3], *read.shape[1:]).movedim(2, 3).flatten(-2)
        return rows(whole.to(window.dtype), weights[f"{prefix}mix.out"])
