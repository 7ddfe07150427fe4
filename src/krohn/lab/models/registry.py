"""Architectures by name.

Sources: the modules of ``lab.models.architectures`` that define ``ARCHITECTURE``, installed packages that
name a configuration class under the entry point group ``krohn.architectures``, and calls of ``register``.
"""

import dataclasses
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from krohn.base.plugins import Plugins
from krohn.errors import InvalidInput, UnknownName
from krohn.lab.models import architectures
from krohn.lab.models.kernels.plain import one_hot as one_hot
from krohn.lab.models.network import ModelConfig


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
