"""A program as JSON and back, strict in both directions: unknown keys and wrong types are refused."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar

from krohn.errors import InvalidFile, InvalidInput
from krohn.network.operations import (
    Clamp,
    LatestMatch,
    LatestWrite,
    Linear,
    LookBack,
    Modulo,
    PrefixSum,
    Select,
    Table,
)
from krohn.network.program import Program, ProgramLayer, Readout, Register, Source

Kind = TypeVar("Kind")

ATTENTION = {kind.__name__: kind for kind in (PrefixSum, LatestWrite, LookBack, LatestMatch)}
MAPS = {kind.__name__: kind for kind in (Table, Modulo, Linear, Clamp, Select)}


def program_to_json(program: Program) -> dict[str, Any]:
    """Plain lists, strings and integers."""
    return {
        "mask": program.mask,
        "registers": [_plain(register) for register in program.registers],
        "sources": [_plain(source) for source in program.sources],
        "layers": [
            {
                "attention": [_named(operation) for operation in layer.attention],
                "maps": [_named(change) for change in layer.maps],
            }
            for layer in program.layers
        ],
        "readout": _plain(program.readout),
    }


def program_from_json(payload: object) -> Program:
    """The program, validated; a malformed one raises ``InvalidFile``."""
    data = _object(payload, {"mask", "registers", "sources", "layers", "readout"}, "program")
    try:
        return Program(
            registers=tuple(_build(Register, item) for item in _list(data["registers"], "registers")),
            sources=tuple(_build(Source, item) for item in _list(data["sources"], "sources")),
            layers=tuple(_layer(item) for item in _list(data["layers"], "layers")),
            readout=_build(Readout, data["readout"]),
            mask=data["mask"],
        )
    except (TypeError, AttributeError) as error:
        raise InvalidFile(f"a program must follow its format; {error}") from error
    except InvalidFile:
        raise
    except InvalidInput as error:
        raise InvalidFile(str(error)) from error


def _layer(payload: object) -> ProgramLayer:
    data = _object(payload, {"attention", "maps"}, "layer")
    return ProgramLayer(
        attention=tuple(_operation(ATTENTION, item) for item in _list(data["attention"], "attention")),
        maps=tuple(_operation(MAPS, item) for item in _list(data["maps"], "maps")),
    )


def _plain(value: Any) -> dict[str, Any]:
    return {item.name: _lists(getattr(value, item.name)) for item in fields(value)}


def _named(operation: Any) -> dict[str, Any]:
    return {"operation": type(operation).__name__, **_plain(operation)}


def _lists(value: Any) -> Any:
    return [_lists(item) for item in value] if isinstance(value, tuple) else value


def _tuples(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_tuples(item) for item in value)
    if value is None or (isinstance(value, (str, int)) and not isinstance(value, bool)):
        return value
    raise InvalidFile(f"a program holds only lists, strings and integers; got {value!r}")


def _operation(kinds: dict[str, Any], payload: object) -> Any:
    if not isinstance(payload, dict) or payload.get("operation") not in kinds:
        given = payload.get("operation") if isinstance(payload, dict) else payload
        raise InvalidFile(f"an operation must be one of {', '.join(kinds)}; got {given!r}")
    rest = {key: value for key, value in payload.items() if key != "operation"}
    return _build(kinds[payload["operation"]], rest)


def _build(kind: Callable[..., Kind], payload: object) -> Kind:
    names = {item.name for item in fields(kind)}  # type: ignore[arg-type]
    data = _object(payload, names, getattr(kind, "__name__", "item"))
    return kind(**{name: _tuples(value) for name, value in data.items()})


def _object(payload: object, keys: set[str], what: str) -> dict[str, Any]:
    if not isinstance(payload, dict) or set(payload) != keys:
        given = sorted(payload) if isinstance(payload, dict) else type(payload).__name__
        raise InvalidFile(f"{what} must be an object with keys {sorted(keys)}; got {given}")
    return payload


def _list(payload: object, what: str) -> list[Any]:
    if not isinstance(payload, list):
        raise InvalidFile(f"{what} must be a list; got {type(payload).__name__}")
    return payload
