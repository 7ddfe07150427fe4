"""What every architecture provides: a configuration, logits, loss, decoder."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import Tensor

from krohn.lab import random_streams
from krohn.lab.models.kernels import plain
from krohn.lab.models.parameters import ParameterLayout, Weights


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
    _batches: dict[int, Tensor] = field(default_factory=dict, repr=False, compare=False)

    def site(self, index: int) -> Tensor:
        """An independent key per replicate for the site ``index`` of the network."""
        batch, place = divmod(index, _SITES)
        if batch not in self._batches:  # derived in batches: the cost is per operation, not per key
            sites = torch.arange(_SITES * batch, _SITES * (batch + 1), device=self.keys.device)
            self._batches[batch] = random_streams.derive(self.keys, sites[:, None])
        return self._batches[batch][place]


class StackedDecoder(ABC):
    """A network that reads every sequence a few tokens at a time."""

    @abstractmethod
    def step(self, tokens: Tensor) -> Tensor:
        """Logits [R, B, classes] after the last of n more tokens [R, B, n]."""


class Network(ABC):
    """R replicates of one architecture. Weights are an argument: a network is stateless.

    An architecture must define ``layout`` and ``logits``; the rest may be overridden for speed.
    """

    layout: ParameterLayout
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

    def decoder(self, weights: Weights, batch: int, length: int) -> StackedDecoder:
        """A decoder for up to ``length`` tokens of R × ``batch`` sequences."""
        return _Rereading(self, weights)

    def passes(self, length: int) -> int:
        """How often a word of that many letters passes through the weights."""
        return 1

    def writes_gradients(self, weights: Weights) -> bool:
        """True if the backward pass itself writes every weight's ``.grad``, whole and in place."""
        return False


class _Rereading(StackedDecoder):
    """Keeps the tokens and rereads all at each step; a GPT, which scratchpads are for, keeps a cache."""

    def __init__(self, network: Network, weights: Weights) -> None:
        self._network, self._weights = network, weights
        self._read: list[Tensor] = []

    def step(self, tokens: Tensor) -> Tensor:
        self._read.append(tokens)
        return self._network.logits(self._weights, torch.cat(self._read, -1))[:, :, -1]


def round_up(count: int) -> int:
    """``count`` rounded up to a multiple of 16, the granularity of tensor cores."""
    return -(-count // 16) * 16
