"""The layer that a card is about: one of ours by name and options, or a third-party factory.

A factory may carry a dictionary ``card`` that says which row of ``krohn analyze`` it belongs to (``family``),
how many ``layers`` it has and how many ``steps`` it takes for a letter (Householder or rank-one), up to which
length it can be run (``longest``), and a ``remark`` to print. Nothing is inferred from code.
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import fields
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from krohn.errors import InvalidInput, MissingDependency, UnknownName
from krohn.lab.cards.card_layer import CardLayer
from krohn.lab.cards.harness import RAISED, Factory
from krohn.lab.cards.own_layers import own_layer
from krohn.lab.models.registry import kinds


def find_layer(layer: str | Factory, width: int) -> CardLayer:
    """The layer of that name, or made by that factory: ``lstm``, ``gpt,positions=none``, ``PKG:FACTORY``."""
    if not isinstance(layer, str):
        return describe_layer(getattr(layer, "__name__", type(layer).__name__), layer)
    kind, *options = layer.split(",")
    if kind in kinds():
        return own_layer(layer, kind, options, width)
    if kind.startswith("fla:"):
        return _of_fla(layer, kind.removeprefix("fla:"), options)
    if ":" in layer:
        return describe_layer(layer, _import_layer(layer))
    raise UnknownName(
        f"a layer must be one of {', '.join(kinds())}, with options as in gpt,positions=none, "
        f"fla:CLASS, or PKG:FACTORY of your own; got {layer[:60]!r}"
    )


def describe_layer(name: str, factory: Factory) -> CardLayer:
    """The layer with its factory's metadata."""
    card = getattr(factory, "card", {})
    known = {field.name: field.type for field in fields(CardLayer)[2:]}
    if not isinstance(card, Mapping) or not set(card) <= set(known):
        got = ", ".join(map(str, card)) if isinstance(card, Mapping) else type(card).__name__
        raise InvalidInput(
            f"card of {name[:60]} must be a dictionary with {', '.join(known)}; got {got[:80]}"
        )
    for key, value in card.items():
        whole = key in ("layers", "steps", "longest")
        if not (isinstance(value, int) and value >= 1 if whole else isinstance(value, str) or value is None):
            wanted = "a whole number above 0" if whole else "a text"
            raise InvalidInput(f"{key} in the card of {name[:60]} must be {wanted}; got {value!r:.60}")
    return CardLayer(name, factory, **card)


def _import_layer(name: str) -> Factory:
    package, _, attribute = name.rpartition(":")
    if not package or not attribute:
        raise InvalidInput(f"a layer of your own must be PKG:FACTORY or FILE.py:FACTORY; got {name[:60]!r}")
    try:
        module = _module_in(Path(package)) if package.endswith(".py") else _module_called(package)
        result = getattr(module, attribute, None)
    except RAISED as error:
        raise InvalidInput(
            f"the layer {name[:60]} must load; {type(error).__name__}: {str(error)[:120]}"
        ) from error
    if not callable(result):
        raise InvalidInput(f"the layer must name a function in {package[:40]}; there is no {attribute[:40]}")
    return result  # type: ignore[no-any-return]


def _module_called(package: str) -> ModuleType:
    if "" not in sys.path:
        sys.path.insert(0, "")  # where the command is run, as Python itself does
    return import_module(package)


def _module_in(file: Path) -> ModuleType:
    """The file as a module, read anew: another file of this name, or this one edited, is another layer."""
    folder = str(file.parent.absolute())
    if folder not in sys.path:
        sys.path.insert(0, folder)  # it may import what lies beside it
    spec = spec_from_file_location(f"layer_in_{file.stem}", file)
    assert spec is not None  # the name ends in .py
    assert spec.loader is not None
    module = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _of_fla(name: str, kind: str, options: list[str]) -> CardLayer:
    """A layer of flash-linear-attention, with its own kernels; options are numbers or true, false."""
    try:
        layers = import_module("fla.layers")
    except ModuleNotFoundError as error:
        raise MissingDependency(
            f"fla:CLASS needs flash-linear-attention (pip install flash-linear-attention); {str(error)[:80]}"
        ) from error
    except Exception as error:  # for example, Triton may not support this machine
        line = str(error).partition("\n")[0][:120]
        raise InvalidInput(f"fla.layers must load; it raised {type(error).__name__}: {line}") from error
    result = getattr(layers, kind, None)
    if not isinstance(result, type):
        raise UnknownName(f"fla:CLASS must name a class of fla.layers; there is no {kind[:40]!r}")
    given: dict[str, Any] = {}
    for option in options:
        key, _, value = option.partition("=")
        try:
            given[key] = json.loads(value)
        except ValueError as error:
            raise InvalidInput(
                f"an option of {kind[:40]} must be NAME=NUMBER; got {option[:40]!r}"
            ) from error

    def factory(width: int) -> nn.Module:
        return First(result(hidden_size=width, **given))

    return CardLayer(name, factory, remark="flash-linear-attention's own layer and kernels")


class First(nn.Module):
    """The first output of a layer, computed in bfloat16 on a GPU, as its kernels require."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        """The layer's output, in the float type of its input."""
        with torch.autocast(x.device.type, torch.bfloat16, enabled=x.device.type == "cuda"):
            result = self.layer(x)
        first: Tensor = result[0] if isinstance(result, tuple) else result
        return first.to(x.dtype)
