"""A program as JSON and back, strict in both directions: unknown keys and wrong types are refused."""

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from krohn.errors import InvalidFile, InvalidInput
from krohn.network.attention_operations import AttentionOperation
from krohn.network.position_maps import PositionMap
from krohn.network.program import Places, Program, ProgramLayer, Readout, Register, Source
from krohn.network.transformer import Mask
from krohn.strict_json import require_keys, shown

# Values from a file as the types that a dataclass states: anything else is refused by name.


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


ATTENTION = {kind.__name__: kind for kind in get_args(AttentionOperation)}
MAPS = {kind.__name__: kind for kind in get_args(PositionMap)}


def program_to_json(program: Program) -> dict[str, Any]:
    """Plain lists, strings and integers; places only where there are some."""
    return {
        **({"places": [_plain(place) for place in program.places]} if program.places else {}),
        "mask": program.mask,
        "registers": [_plain(register) for register in program.registers],
        "sources": [_plain(source) for source in program.sources],
        "layers": [
            {
                "attention": [operation_to_json(operation) for operation in layer.attention],
                "maps": [operation_to_json(change) for change in layer.maps],
            }
            for layer in program.layers
        ],
        "readout": _plain(program.readout),
    }


def program_from_json(payload: object) -> Program:
    """The program, validated; a malformed one raises ``InvalidFile``."""
    keys = ("mask", "registers", "sources", "layers", "readout")
    data = require_keys(payload, keys, "program", optional=("places",))
    try:
        return Program(
            registers=tuple(built(Register, item) for item in _list(data["registers"], "registers")),
            sources=tuple(built(Source, item) for item in _list(data["sources"], "sources")),
            layers=tuple(_layer(item) for item in _list(data["layers"], "layers")),
            readout=built(Readout, data["readout"]),
            mask=named("mask", data["mask"], Mask),
            places=tuple(built(Places, item) for item in _list(data.get("places", []), "places")),
        )
    except InvalidFile:
        raise
    except InvalidInput as error:
        raise InvalidFile(str(error)) from error


def _layer(payload: object) -> ProgramLayer:
    data = require_keys(payload, ("attention", "maps"), "a layer of the program")
    return ProgramLayer(
        attention=tuple(_operation(ATTENTION, item) for item in _list(data["attention"], "attention")),
        maps=tuple(_operation(MAPS, item) for item in _list(data["maps"], "maps")),
    )


def _plain(value: Any) -> dict[str, Any]:
    return {item.name: _lists(getattr(value, item.name)) for item in fields(value)}


def operation_to_json(operation: Any) -> dict[str, Any]:
    """Its kind, and its fields as plain lists."""
    return {"operation": type(operation).__name__, **_plain(operation)}


def _lists(value: Any) -> Any:
    return [_lists(item) for item in value] if isinstance(value, tuple) else value


def _operation(kinds: dict[str, Any], payload: object) -> Any:
    given = payload.get("operation") if isinstance(payload, dict) else payload
    if not isinstance(payload, dict) or not isinstance(given, str) or given not in kinds:
        raise InvalidFile(f"an operation must be one of {', '.join(kinds)}; got {shown(given)}")
    return built(kinds[given], {key: value for key, value in payload.items() if key != "operation"})


def _list(payload: object, what: str) -> list[Any]:
    if not isinstance(payload, list):
        raise InvalidFile(f"{what} must be a list; got {shown(payload)}")
    return payload
