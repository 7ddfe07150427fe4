"""Recurrent layers in blocks: each block mixes along the word, then passes every position through an MLP.

x ← x + mixer(window), x ← x + MLP(window), where the window holds the normed stream at the last ``conv``
positions: a short convolution, or a token shift if there are two. An architecture adds its mixer.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from krohn.lab.models.kernels import plain
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
        result = [f"{name} must be at least 1; got {size}" for name, size in sizes.items() if size < 1]
        return result if self.mlp >= 0 else [*result, f"mlp must be at least 0; got {self.mlp}"]

    @abstractmethod
    def mixer_sizes(self) -> dict[str, int]:
        """Sizes of the mixer that must be at least 1."""


class Carry(NamedTuple):
    """The recurrent state of a block, all [R, B, ...]."""

    memory: Tensor
    before_mixer: Tensor
    before_mlp: Tensor


class Stack(Network):
    """The network around the mixers; the recurrent state starts at zero.

    A mixer reads many letters at once where that is faster: chunks, which round elsewhere than one letter
    after the other. With ``letters_in_order`` it takes each step by itself, as proofs do.
    """

    letters_in_order = False

    def __init__(self, config: StackConfig, vocabulary: int, classes: int) -> None:
        self.config, self.classes = config, classes
        dim, width = config.dim, padded(classes)
        letters = Parameter("wte", (padded(vocabulary), dim), "normal", 1.0, used=(vocabulary, dim))
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
    def mix(self, weights: Weights, prefix: str, window: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """The mixer's output [R, B, T, dim] for windows [R, B, T, inputs], and the memory afterwards."""

    def logits(self, weights: Weights, tokens: Tensor, noise: Noise | None = None) -> Tensor:
        """See ``Network.logits``."""
        return self.read(weights, tokens, self.carried(weights, tokens.shape[1]))[0]

    def decoder(self, weights: Weights, batch: int, length: int) -> StackedDecoder:
        """See ``Network.decoder``."""
        return _StackDecoder(self, weights, self.carried(weights, batch))

    def carried(self, weights: Weights, batch: int) -> list[Carry]:
        """The state of the blocks before the first letter."""
        like, config = weights["wte"], self.config
        near = like.new_zeros(len(like), batch, config.conv - 1, config.dim)
        return [Carry(self.start(like, batch), near, near) for _ in range(config.layers)]

    def read(self, weights: Weights, tokens: Tensor, carried: list[Carry]) -> tuple[Tensor, list[Carry]]:
        """Logits of further tokens [R, B, T], and the state after them."""
        table = weights["wte"]
        x = plain.linear(one_hot(tokens, table.shape[1], table.dtype), table).view(*tokens.shape, -1)
        after = []
        for layer, carry in enumerate(carried):
            prefix = f"h.{layer}."
            window, near = last_positions(self._normed(weights, f"{prefix}mix.norm", x), carry.before_mixer)
            mixed, memory = self.mix(weights, prefix, window, carry.memory)
            x, near_mlp = x + mixed, carry.before_mlp
            if self.config.mlp:
                window, near_mlp = last_positions(self._normed(weights, f"{prefix}mlp.norm", x), near_mlp)
                hidden = rows(window, weights[f"{prefix}mlp.in"], weights[f"{prefix}mlp.in_bias"])
                x = x + rows(_BENT[self.config.activation](hidden), weights[f"{prefix}mlp.out"])
            after.append(Carry(memory, near, near_mlp))
        scores = rows(self._normed(weights, "norm", x), weights["head.weight"], weights["head.bias"])
        return scores[..., : self.classes], after

    def _normed(self, weights: Weights, name: str, x: Tensor) -> Tensor:
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


class _StackDecoder(StackedDecoder):
    def __init__(self, network: Stack, weights: Weights, carried: list[Carry]) -> None:
        self._network, self._weights, self._carried = network, weights, carried

    def step(self, tokens: Tensor) -> Tensor:
        scores, self._carried = self._network.read(self._weights, tokens, self._carried)
        return scores[:, :, -1]


def rows(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x [R, B, T, in] times weight [R, in, out], plus bias [R, out]."""
    product = plain.linear(x.flatten(1, 2), weight)
    return (product if bias is None else product + bias[:, None]).view(*x.shape[:-1], -1)


def last_positions(x: Tensor, near: Tensor) -> tuple[Tensor, Tensor]:
    """The last positions side by side, the current one first; and those kept for the next call."""
    width, length = near.shape[2], x.shape[2]
    if not width:
        return x, near
    whole = torch.cat([near, x], 2)
    shifted = [whole[:, :, width - back : width - back + length] for back in range(width + 1)]
    return torch.cat(shifted, -1), whole[:, :, length:]


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
