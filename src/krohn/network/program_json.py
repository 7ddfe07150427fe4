"""A program as JSON and back, strict in both directions: unknown keys and wrong types are refused."""

from dataclasses import fields
from typing import Any

from krohn.errors import InvalidFile, InvalidInput
from krohn.network.attention_operations import LatestMatch, LatestWrite, LookBack, PlaceSum, PrefixSum
from krohn.network.json_types import built, named
from krohn.network.position_maps import Clamp, Linear, Modulo, Select, Table
from krohn.network.program import Places, Program, ProgramLayer, Readout, Register, Source
from krohn.network.transformer import Mask
from krohn.strict_json import require_keys, shown

ATTENTION = {kind.__name__: kind for kind in (PrefixSum, PlaceSum, LatestWrite, LookBack, LatestMatch)}
MAPS = {kind.__name__: kind for kind in (Table, Modulo, Linear, Clamp, Select)}


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
