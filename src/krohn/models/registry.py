"""Architectures by name.

They come from three places: the modules of ``krohn.models.architectures`` that define ``ARCHITECTURE``,
installed packages that name a configuration class under the entry point group ``krohn.architectures``, and
``register``, called from Python. Nothing is ever loaded because a file of data names it.
"""

import dataclasses
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pkgutil import iter_modules
from typing import Any

from krohn.errors import InvalidInput, UnknownName
from krohn.models import architectures
from krohn.models.network import ModelConfig

GROUP = "krohn.architectures"
_added: dict[str, type[ModelConfig]] = {}


def register(config: type[ModelConfig]) -> type[ModelConfig]:
    """Adds an architecture to this process; returns it, so that it can decorate the class."""
    known = _own().get(config.kind) or _added.get(config.kind)
    if known is not None and known is not config:
        raise InvalidInput(
            f"an architecture must have a name of its own; {config.kind!r} is taken: rename it"
        )
    _added[config.kind] = _checked(config, config.kind)
    return config


def kinds() -> list[str]:
    """The names of all architectures, in alphabetical order; none of the installed ones is loaded."""
    return sorted({*_own(), *_added, *_installed()})


def architecture(kind: str) -> type[ModelConfig]:
    """The configuration class of the architecture ``kind``."""
    found = _own().get(kind) or _added.get(kind)
    if found is not None:
        return found
    if kind not in _installed():
        raise UnknownName(f"a model must be one of {', '.join(kinds())}; got {kind!r}")
    entry = _installed()[kind]
    try:
        loaded = entry.load()
    except Exception as error:  # whatever somebody else's module does when it is imported
        raise InvalidInput(f"the architecture {kind!r} must load from {entry.value}; {error!r}") from error
    return _checked(loaded, kind)


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
    found = [module.ARCHITECTURE for module in modules if hasattr(module, "ARCHITECTURE")]
    return {config.kind: config for config in found}


@cache
def _installed() -> dict[str, EntryPoint]:
    """Entry points by name; a name of our own stays ours."""
    return {entry.name: entry for entry in entry_points(group=GROUP) if entry.name not in _own()}


def _checked(config: Any, kind: str) -> type[ModelConfig]:
    sound = isinstance(config, type) and issubclass(config, ModelConfig) and dataclasses.is_dataclass(config)
    if not sound or getattr(config, "kind", None) != kind:
        raise InvalidInput(
            f"an architecture must be a dataclass, a ModelConfig whose kind is {kind!r}; got {config!r}"
        )
    return config  # type: ignore[no-any-return]
