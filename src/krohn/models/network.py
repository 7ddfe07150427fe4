"""What every architecture provides, and nothing more."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import torch
from torch import Tensor

from krohn import streams
from krohn.models.kernels import plain
from krohn.models.layout import Layout, Weights


@dataclass(frozen=True, kw_only=True)
class ModelConfig(ABC):
    """Sizes and options of one architecture; ``kind`` is its name in the registry."""

    kind: ClassVar[str]

    @abstractmethod
    def reasons(self, length: int) -> list[str]:
        """Every reason why this configuration cannot take sequences of ``length`` tokens; empty if it can."""

    @abstractmethod
    def build(self, vocabulary: int, classes: int) -> "Network":
        """The network for that many input tokens and output classes."""


_SITES = 64


@dataclass(frozen=True)
class Noise:
    """The randomness of one training step (dropout, random shifts): one key per replicate."""

    keys: Tensor

    def site(self, index: int) -> Tensor:
        """An independent key per replicate for the site ``index`` of the network."""
        if index < _SITES and self.keys.device.type == "cpu":
            return self._first_sites[index]
        return streams.derive(self.keys, index)

    @cached_property
    def _first_sites(self) -> Tensor:
        """Keys [site, R] in one go: on a CPU it is the number of operations that costs."""
        return streams.derive(self.keys, torch.arange(_SITES)[:, None])


class Decoder(ABC):
    """A network that reads every sequence a few tokens at a time."""

    @abstractmethod
    def step(self, tokens: Tensor) -> Tensor:
        """Logits [R, B, classes] after the last of n more tokens [R, B, n]."""

    @abstractmethod
    def fork(self, rows: Tensor) -> "Decoder":
        """A decoder of its own that has read what the sequences ``rows`` [B'] have read; rows may repeat."""


class Network(ABC):
    """R replicates of one architecture. Weights are an argument: a network holds no state of its own.

    ``layout`` and ``logits`` make an architecture; the rest may be overridden where it can be faster.
    """

    layout: Layout
    classes: int

    @abstractmethod
    def logits(self, weights: Weights, tokens: Tensor, noise: Noise | None = None) -> Tensor:
        """Logits [R, B, T, classes] for tokens [R, B, T]; ``noise`` switches training-time randomness on."""

    def loss(
        self,
        weights: Weights,
        tokens: Tensor,
        targets: Tensor,
        shown: Tensor,
        noise: Noise | None = None,
    ) -> Tensor:
        """Mean cross-entropy [R] over the positions where ``shown`` is 1; all arguments [R, B, T]."""
        scores = self.logits(weights, tokens, noise).flatten(1, 2)
        nothing = scores.new_zeros(len(scores), self.classes)
        return plain.cross_entropy(scores, nothing, targets.flatten(1), shown.flatten(1), self.classes)

    def decoder(self, weights: Weights, batch: int, length: int) -> Decoder:
        """A decoder for up to ``length`` tokens of R × ``batch`` sequences."""
        return _Rereading(self, weights)

    def writes_gradients(self, weights: Weights) -> bool:
        """True if the backward pass itself writes every weight's ``.grad``, whole and in place."""
        return False


class _Rereading(Decoder):
    """Keeps the tokens and reads all of them again at each step: right for every network, fast for none."""

    def __init__(self, network: Network, weights: Weights, read: list[Tensor] | None = None) -> None:
        self._network, self._weights = network, weights
        self._read = read or []

    def step(self, tokens: Tensor) -> Tensor:
        self._read.append(tokens)
        return self._network.logits(self._weights, torch.cat(self._read, -1))[:, :, -1]

    def fork(self, rows: Tensor) -> Decoder:
        return _Rereading(self._network, self._weights, [part[:, rows] for part in self._read])


def one_hot(tokens: Tensor, size: int, dtype: torch.dtype) -> Tensor:
    """[R, B, T] -> [R, B·T, size]: multiplying by it is a look-up whose gradient needs no atomics."""
    classes = torch.arange(size, device=tokens.device, dtype=tokens.dtype)
    return (tokens.flatten(1)[..., None] == classes).to(dtype)


def padded(count: int) -> int:
    """``count`` rounded up to a multiple of 16, the granularity of the matrix units."""
    return -(-count // 16) * 16
