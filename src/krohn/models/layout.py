"""Where each parameter lies in one flat buffer per replicate.

All replicates form one tensor [R, P]. One buffer each for weights, gradients and moments lets the optimiser
be a single pass, a checkpoint a single tensor, and a learning rate or a stop a property of a row.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Literal

import torch
from torch import Tensor

from krohn import streams

Weights = Mapping[str, Tensor]
_ALIGNMENT = 64  # elements: 128 bytes in bf16, what the matrix units' loads want


@dataclass(frozen=True)
class Parameter:
    """One named parameter of one replicate.

    Attributes:
        name: dotted name, unique in its layout.
        shape: shape for one replicate; the stacked tensor has R in front.
        init: distribution of the first value.
        scale: standard deviation ("normal"), bound ("uniform") or value ("constant").
        used: leading extent of the last axis that is initialised; the padding behind stays zero.
    """

    name: str
    shape: tuple[int, ...]
    init: Literal["normal", "uniform", "constant"] = "constant"
    scale: float = 0.0
    used: tuple[int, ...] | None = None

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    def draw(self, keys: Tensor) -> Tensor:
        """First values [R, *shape] from one key per replicate."""
        index = torch.arange(self.size, device=keys.device)
        if self.init == "constant":
            values = torch.full((len(keys), self.size), self.scale, device=keys.device)
        elif self.init == "normal":
            values = streams.normal(streams.derive(keys[:, None], index)) * self.scale
        else:
            values = (streams.uniform(streams.derive(keys[:, None], index)) * 2.0 - 1.0) * self.scale
        values = values.view(len(keys), *self.shape)
        if self.used is not None:
            mask = torch.zeros(self.shape, device=keys.device)
            mask[tuple(slice(extent) for extent in self.used)] = 1.0
            values = values * mask
        return values


@dataclass(frozen=True)
class Layout:
    """Parameters with their offsets in a row of the flat buffer."""

    parameters: tuple[Parameter, ...]

    def __post_init__(self) -> None:
        names = [parameter.name for parameter in self.parameters]
        assert len(set(names)) == len(names), "parameter names must be distinct"

    @classmethod
    def of(cls, parameters: Iterable[Parameter]) -> "Layout":
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

    def leaves(self, flat: Tensor, gradient: Tensor) -> dict[str, Tensor]:
        """As ``views``, each one a leaf whose ``.grad`` is the same place in ``gradient``."""
        leaves = {}
        gradients = self.views(gradient)
        for name, view in self.views(flat).items():
            leaf = view.detach().requires_grad_(True)
            leaf.grad = gradients[name]
            leaves[name] = leaf
        return leaves

    def initial(self, keys: Tensor) -> Tensor:
        """First weights [R, P] in float32, row r from ``keys[r]`` alone."""
        flat = torch.zeros(len(keys), self.size, device=keys.device)
        for index, (name, view) in enumerate(self._views(flat)):
            parameter = self.parameters[index]
            assert parameter.name == name
            for row in range(len(keys)):  # one row at a time bounds the memory of the 64-bit counters
                key = streams.derive(keys[row : row + 1], index)
                view[row : row + 1] = parameter.draw(key)
        return flat
