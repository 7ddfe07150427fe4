"""Values from a file as the types that a dataclass states: anything else is refused by name."""

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from krohn.errors import InvalidFile
from krohn.strict_json import require_keys, shown

Kind = TypeVar("Kind")

MAX_INTEGER = 2**53
"""Registers hold integers that every float format of the checker knows."""


def built(kind: Callable[..., Kind], payload: object) -> Kind:
    """A dataclass from an object with exactly its fields."""
    name = getattr(kind, "__name__", "item")
    data = require_keys(payload, [item.name for item in fields(kind)], name)  # type: ignore[arg-type]
    return kind(**{key: named(f"{name}.{key}", value, _hints(kind)[key]) for key, value in data.items()})


def built_from_list(kind: Callable[..., Kind], payload: object) -> Kind:
    """A dataclass from a list of its fields in order."""
    hints = _hints(kind)
    name = getattr(kind, "__name__", "item")
    if not isinstance(payload, list) or len(payload) != len(hints):
        raise InvalidFile(f"{name} must be a list of {', '.join(hints)}; got {shown(payload)}")
    values = zip(hints.items(), payload, strict=True)
    return kind(*(named(f"{name}.{key}", value, hint) for (key, hint), value in values))


def named(where: str, value: object, annotation: Any) -> Any:
    """The value if it is of the type; an error says where it stands."""
    try:
        return fitted(value, annotation)
    except InvalidFile as error:
        raise InvalidFile(f"{where} {error}") from error


@cache
def _hints(kind: Callable[..., Any]) -> dict[str, Any]:
    found = get_type_hints(kind)
    return {item.name: found[item.name] for item in fields(kind)}  # type: ignore[arg-type]


def fitted(value: object, annotation: Any) -> Any:
    """The value if it is of the type; lists become tuples, integers floats where a float is wanted."""
    origin = get_origin(annotation)
    if origin in (Union, UnionType):
        (inner,) = (option for option in get_args(annotation) if option is not NoneType)
        return None if value is None else fitted(value, inner)
    if origin is tuple:
        return _fitted_tuple(value, get_args(annotation))
    good = {
        int: type(value) is int and abs(value) <= MAX_INTEGER,
        float: type(value) in (int, float),
        str: isinstance(value, str) and value.isprintable(),
    }.get(annotation, origin is Literal and isinstance(value, str) and value in get_args(annotation))
    if not good:
        raise InvalidFile(f"must be {_wanted(annotation)}; got {shown(value)}")
    return float(value) if annotation is float else value  # type: ignore[arg-type]


def _fitted_tuple(value: object, parts: tuple[Any, ...]) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise InvalidFile(f"must be a list; got {shown(value)}")
    if parts[-1] is Ellipsis:
        return tuple(fitted(item, parts[0]) for item in value)
    if len(value) != len(parts):
        raise InvalidFile(f"must be a list of {len(parts)}; got {shown(value)}")
    return tuple(fitted(item, part) for item, part in zip(value, parts, strict=True))


def _wanted(annotation: Any) -> str:
    if get_origin(annotation) is Literal:
        return f"one of {', '.join(get_args(annotation))}"
    return {int: "an integer of at most 53 bits", float: "a number", str: "a printable string"}[annotation]
