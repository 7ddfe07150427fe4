"""Where each parameter lies in one flat buffer per replicate.

All replicates form one tensor [R, P]. With one buffer each for weights, gradients and moments, the
optimiser is a single pass, a checkpoint a single tensor, and a learning rate or a stop a property of a row.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Literal

import torch
from torch import Tensor

from krohn.lab import random_streams
from krohn.lab.models.kernels.plain import one_hot as one_hot

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
