"""Architectures by name: every module of ``krohn.models.architectures`` that defines ``ARCHITECTURE``."""

import dataclasses
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from krohn.errors import InvalidInput, UnknownName
from krohn.models import architectures
from krohn.models.network import ModelConfig


@cache
def registered() -> dict[str, type[ModelConfig]]:
    """Kind -> configuration class, in alphabetical order."""
    names = sorted(module.name for module in iter_modules(architectures.__path__))
    modules = [import_module(f"{architectures.__name__}.{name}") for name in names]
    found = [module.ARCHITECTURE for module in modules if hasattr(module, "ARCHITECTURE")]
    return {config.kind: config for config in found}


def model_config(kind: str, **options: Any) -> ModelConfig:
    """The configuration of the architecture ``kind``; an unknown option is refused by name."""
    if kind not in registered():
        raise UnknownName(f"a model must be one of {', '.join(registered())}; got {kind!r}")
    config = registered()[kind]
    known = {field.name for field in dataclasses.fields(config)}
    unknown = sorted(set(options) - known)
    if unknown:
        raise InvalidInput(
            f"options of {kind} must be among {', '.join(sorted(known))}; got {', '.join(unknown)}"
        )
    return config(**options)
