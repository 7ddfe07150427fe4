"""What every architecture provides (parameters in a flat buffer, logits, loss, decoder), and their names."""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import import_module
from math import prod
from pkgutil import iter_modules
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from krohn.base.plugins import Plugins
from krohn.errors import InvalidInput, UnknownName
from krohn.lab import random_streams
from krohn.lab.models import architectures
from krohn.lab.models.kernels import plain
from krohn.lab.models.kernels.plain import one_hot as one_hot

# Where each parameter lies in one flat buffer per replicate.
#
# All replicates form one tensor [R, P]. With one buffer each for weights, gradients and moments, the
# optimiser is a single pass, a checkpoint a single tensor, and a learning rate or a stop a property of a row.


Weights = Mapping[str, Tensor]
_AT_ONCE = 2**23  # initial values that are drawn at once
_ALIGNMENT = 64  # elements: 128 bytes in bf16, the alignment for tensor-core loads


@dataclass(frozen=True)
class Parameter:
    """One named parameter of one replicate.

    Attributes:
        name: dotted name, unique in its layout.
        shape: shape for one replicate; the stacked tensor has R in front.
        init: initial distribution.
        scale: standard deviation ("normal"), bound ("uniform") or value ("constant").
        used: leading extent of the last axis that is initialised; the padding after it stays zero.
        matrices: number of block matrices in it, side by side, which ``muon`` orthogonalises; 0 for every
            other parameter.
    """

    name: str
    shape: tuple[int, ...]
    init: Literal["normal", "uniform", "constant"] = "constant"
    scale: float = 0.0
    used: tuple[int, ...] | None = None
    matrices: int = 0

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    def draw(self, keys: Tensor) -> Tensor:
        """Initial values [R, *shape] from one key per replicate."""
        draws = random_streams.derive(keys[:, None], torch.arange(self.size, device=keys.device))
        if self.init == "constant":
            values = torch.full((len(keys), self.size), self.scale, device=keys.device)
        elif self.init == "normal":
            values = random_streams.normal(draws) * self.scale
        else:
            values = (random_streams.uniform(draws) * 2.0 - 1.0) * self.scale
        values = values.view(len(keys), *self.shape)
        if self.used is not None:
            mask = torch.zeros(self.shape, device=keys.device)
            mask[tuple(slice(extent) for extent in self.used)] = 1.0
            values = values * mask
        return values


@dataclass(frozen=True)
class ParameterLayout:
    """Parameters with their offsets in a row of the flat buffer."""

    parameters: tuple[Parameter, ...]

    def __post_init__(self) -> None:
        names = [parameter.name for parameter in self.parameters]
        assert len(set(names)) == len(names), "parameter names must be distinct"

    @classmethod
    def of(cls, parameters: Iterable[Parameter]) -> "ParameterLayout":
        """A layout of the parameters in the order given."""
        return cls(tuple(parameters))

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """First element of each parameter in a row."""
        offsets, position = [], 0
        for parameter in self.parameters:
            offsets.append(position)
            position += -(-parameter.size // _ALIGNMENT) * _ALIGNMENT
        return tuple(offsets)

    @cached_property
    def size(self) -> int:
        """Elements of a row, padding included."""
        return self.offsets[-1] + -(-self.parameters[-1].size // _ALIGNMENT) * _ALIGNMENT

    def views(self, flat: Tensor) -> dict[str, Tensor]:
        """Name -> view [R, *shape] into the buffer ``flat`` [R, P]."""
        return dict(self._views(flat))

    def _views(self, flat: Tensor) -> Iterator[tuple[str, Tensor]]:
        for parameter, offset in zip(self.parameters, self.offsets, strict=True):
            piece = flat[:, offset : offset + parameter.size]
            yield parameter.name, piece.view(len(flat), *parameter.shape)

    def pad(self, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Weights of one replicate, without their padding, as stacked ones."""
        whole = {}
        for parameter in self.parameters:
            given, row = weights[parameter.name], torch.zeros(parameter.shape)
            row[tuple(slice(extent) for extent in given.shape)] = given
            whole[parameter.name] = row[None]
        return whole

    def leaves(self, flat: Tensor, gradient: Tensor) -> dict[str, Tensor]:
        """As ``views``, each a leaf whose ``.grad`` is the same view of ``gradient``."""
        leaves = {}
        gradients = self.views(gradient)
        for name, view in self.views(flat).items():
            leaf = view.detach().requires_grad_(True)
            leaf.grad = gradients[name]
            leaves[name] = leaf
        return leaves

    def initial(self, keys: Tensor) -> Tensor:
        """Initial weights [R, P] in float32, row r from ``keys[r]`` alone."""
        flat = torch.zeros(len(keys), self.size, device=keys.device)
        for index, (name, view) in enumerate(self._views(flat)):
            parameter = self.parameters[index]
            assert parameter.name == name
            rows = max(1, _AT_ONCE // parameter.size)  # bounds the memory of the 64-bit counters
            for first in range(0, len(keys), rows):
                part = slice(first, first + rows)
                view[part] = parameter.draw(random_streams.derive(keys[part], index))
        return flat


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


# Architectures by name.
#
# Sources: the modules of ``lab.models.architectures`` that define ``ARCHITECTURE``, installed packages that
# name a configuration class under the entry point group ``krohn.architectures``, and calls of ``register``.


def register(config: type[ModelConfig]) -> type[ModelConfig]:
    """Adds an architecture to this process; returns it, so that it can decorate the class."""
    return ARCHITECTURES.register(config.kind, config)


def kinds() -> list[str]:
    """The names of all architectures, in alphabetical order; none of the installed ones is loaded."""
    return ARCHITECTURES.names()


def architecture(kind: str) -> type[ModelConfig]:
    """The configuration class of the architecture ``kind``."""
    config = ARCHITECTURES.get(kind)
    if config is None:
        raise UnknownName(f"a model must be one of {', '.join(kinds())}; got {kind!r}")
    return config


def model_config(kind: str, **options: Any) -> ModelConfig:
    """The configuration of the architecture ``kind``; an unknown option is refused by name."""
    config = architecture(kind)
    known = {field.name for field in dataclasses.fields(config)}
    unknown = sorted(set(options) - known)
    if unknown:
        raise InvalidInput(
            f"options of {kind} must be among {', '.join(sorted(known))}; got {', '.join(unknown)}"
        )
    return config(**options)


@cache
def _own() -> dict[str, type[ModelConfig]]:
    names = sorted(module.name for module in iter_modules(architectures.__path__))
    modules = [import_module(f"{architectures.__name__}.{name}") for name in names]
    result = [module.ARCHITECTURE for module in modules if hasattr(module, "ARCHITECTURE")]
    return {config.kind: config for config in result}


def _check(config: Any, kind: str) -> type[ModelConfig]:
    sound = isinstance(config, type) and issubclass(config, ModelConfig) and dataclasses.is_dataclass(config)
    if not sound or getattr(config, "kind", None) != kind:
        raise InvalidInput(
            f"an architecture must be a dataclass, a ModelConfig whose kind is {kind!r}; got {config!r}"
        )
    return config  # type: ignore[no-any-return]


ARCHITECTURES: Plugins[type[ModelConfig]] = Plugins("krohn.architectures", "an architecture", _own, _check)
