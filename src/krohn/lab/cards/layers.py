"""The layer that a card is about: one of ours by name and options, or a third-party factory.

A factory may carry a dictionary ``card`` that says which row of ``krohn analyze`` it belongs to (``family``),
how many ``layers`` it has and how many ``steps`` it takes for a letter (Householder or rank-one), up to which
length it can be run (``longest``), and a ``remark`` to print. Nothing is inferred from code.
"""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from krohn.base.typed import Misfit, Types, annotations
from krohn.errors import InvalidInput, MissingDependency, UnknownName
from krohn.lab import random_streams
from krohn.lab.cards.harness import RAISED, Factory
from krohn.lab.models.network import ModelConfig, Network, architecture, kinds, model_config

LONGEST = 100_000
"""Letters of a long word."""
QUADRATIC = 4_096
"""The same where attention takes time and memory that grow with the square."""


@dataclass(frozen=True)
class CardLayer:
    """A layer and its metadata, known before it is run.

    Attributes:
        name: as it was given.
        factory: of one argument (width) or two (letters, states).
        family: a row of ``krohn analyze``; ``None`` if no theorem applies.
        layers: how many it has.
        steps: for each letter, Householder or rank-one.
        longest: length of the longest word it is run on.
        remark: printed below the card.
    """

    name: str
    factory: Factory
    family: str | None = None
    layers: int = 1
    steps: int = 1
    longest: int = LONGEST
    remark: str = ""


def find_layer(layer: str | Factory, width: int) -> CardLayer:
    """The layer of that name, or made by that factory: ``lstm``, ``gpt,positions=none``, ``PKG:FACTORY``."""
    if not isinstance(layer, str):
        return describe_layer(getattr(layer, "__name__", type(layer).__name__), layer)
    kind, *options = layer.split(",")
    if kind in kinds():
        return _own(layer, kind, options, width)
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


# Our own architectures


def _own(name: str, kind: str, options: list[str], width: int) -> CardLayer:
    known, given = annotations(architecture(kind)), {}
    for option in options:
        key, equals, value = option.partition("=")
        if not equals or key not in known:
            raise InvalidInput(
                f"an option of {kind} must be NAME=VALUE with a NAME among {', '.join(known)}; "
                f"got {option[:40]!r}"
            )
        try:
            given[key] = Types().parse(value, known[key])
        except Misfit as misfit:
            raise InvalidInput(f"{key} of {kind} must be {misfit}; got {value[:40]!r}") from misfit
    config = model_config(kind, **(SIZES.get(kind, _plain_size)(width) | given))
    reasons = config.reasons(2)
    if reasons:
        raise InvalidInput(f"{kind}: {reasons[0]}")

    def factory(letters: int, states: int) -> nn.Module:
        return Alone(config.build(letters, states))

    steps = int(getattr(config, "householders", getattr(config, "steps", 1)))
    longest = QUADRATIC if kind == "gpt" else LONGEST
    if getattr(config, "positions", "") == "learned":
        longest = min(longest, int(getattr(config, "context", longest)))
    return CardLayer(
        name, factory, _family(config), int(getattr(config, "layers", 1)), steps, longest, _remark(config)
    )


def _plain_size(width: int) -> dict[str, Any]:
    return {}


def _stack_size(width: int) -> dict[str, Any]:
    return {"dim": width, "mlp": 2 * width}


def _matrix_size(width: int) -> dict[str, Any]:
    head = max(1, width // 2)
    return _stack_size(width) | {"heads": 2, "key_dim": head, "value_dim": head}


SIZES: dict[str, Callable[[int], dict[str, Any]]] = {
    "gpt": lambda width: {"layers": 2, "dim": width, "heads": 4 if width % 4 == 0 else 1, "mlp": 4 * width},
    "lstm": lambda width: {"embedding": width, "hidden": 2 * width},
    "gru": lambda width: {"embedding": width, "hidden": 2 * width},
    "diagonal": lambda width: _stack_size(width) | {"channels": 2 * width},
    "deltaproduct": _matrix_size,
    "rankone": _matrix_size,
    "looped": lambda width: {"dim": width, "heads": 4 if width % 4 == 0 else 1, "mlp": 4 * width},
}
"""Small sizes of our architectures, by the width of the card."""

_GATES = {"unit": "diagonal [0, 1]", "signed": "diagonal [-1, 1]", "complex": "diagonal complex"}


def _family(config: ModelConfig) -> str | None:
    """The row of ``krohn analyze`` about such networks; ``None`` if there is none."""
    kind: str = config.kind

    def get(name: str) -> Any:
        return getattr(config, name)

    if kind == "gpt":
        return (
            "Transformer, soft attention of fixed precision"
            if get("positions") == "none"
            else "Transformer, fixed depth"
        )
    if kind == "diagonal":
        return _GATES[get("gate")]
    # Keys that are nowhere negative lie too close to each other for some groups of reflections.
    if kind == "deltaproduct" and get("key_norm") == "l2" and get("key_activation") != "relu":
        if get("beta_max") == 1:
            return "DeltaNet [0, 1]" if get("householders") == 1 else None
        return "DeltaNet [0, 2]" if get("householders") == 1 and not get("gate") else "DeltaProduct"
    if kind == "rankone" and get("rate_max") == 2:
        return "rank-one (RWKV-7)"
    if kind == "looped":
        return "Transformer, looped" if get("blocks") == 1 else "Transformer, log depth"
    return {"lstm": "LSTM", "gru": "GRU"}.get(kind)


def _remark(config: ModelConfig) -> str:
    if config.kind == "gpt":
        return f"long words end at {QUADRATIC:,} letters: attention takes time that grows with the square"
    return ""


class Alone(nn.Module):
    """One replicate of one of our networks as a module; its initial weights depend on torch's seed."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network
        key = random_streams.replicate_keys(int(torch.randint(1 << 31, ())), 1)
        first = network.layout.views(network.layout.initial(key))
        self.names = {name: name.replace(".", "_") for name in first}
        for name, value in first.items():
            self.register_parameter(self.names[name], nn.Parameter(value[0].clone()))

    def forward(self, words: Tensor) -> Tensor:
        """Logits of every position."""
        weights = {name: self.get_parameter(own)[None] for name, own in self.names.items()}
        return self.network.logits(weights, words[None])[0]
