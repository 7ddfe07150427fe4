"""Programs and layouts as JSON and back; unknown keys and wrong types are refused.

Channels and heads, of which there are many, are lists of their fields; all other parts are objects.
"""

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar, TypeVar, get_args

from krohn.base.files import require_keys, shown
from krohn.base.typed import Misfit, Types, annotations
from krohn.errors import InvalidFile, InvalidInput
from krohn.network.layout import Channel, HeadMeaning
from krohn.network.operations import AttentionOperation, PositionMap
from krohn.network.program import Meaning, Program, ProgramLayer

Kind = TypeVar("Kind")

MAX_INTEGER = 2**53
"""Registers hold integers that are exact in every float format of the checker."""
MOST_NESTED = 8
"""Meanings inside meanings: krohn's own go four deep."""


class _Parts(Types):
    """Values of a file: no list of one without its brackets, no text that a terminal would obey."""

    words: ClassVar[dict[Any, str]] = {
        int: "an integer of at most 53 bits",
        float: "a number",
        str: "a printable string",
    }

    def fit(self, value: Any, annotation: Any) -> Any:
        if annotation is Meaning:
            return meaning_from_json(value)
        if annotation in (Channel, HeadMeaning):
            return _from_list(annotation, value)
        if annotation in (AttentionOperation, PositionMap):
            return _operation({kind.__name__: kind for kind in get_args(annotation)}, value)
        if is_dataclass(annotation):
            called = "a layer of the program" if annotation is ProgramLayer else ""
            return built(annotation, value, called)  # type: ignore[arg-type]
        return super().fit(value, annotation)

    def plain(self, value: Any, kind: type[Any]) -> Any:
        good = {
            int: type(value) is int and abs(value) <= MAX_INTEGER,
            float: type(value) in (int, float),
            str: isinstance(value, str) and value.isprintable(),
        }
        if not good[kind]:
            raise Misfit(self.words[kind], value)
        return float(value) if kind is float else value

    def members(self, value: Any, *, several: bool) -> list[Any] | None:
        return value if isinstance(value, list) else None


def from_json(value: object, annotation: Any, where: str) -> Any:
    """The value if it is of the type; ``where`` is what errors call it."""
    try:
        return _Parts().fit(value, annotation)
    except Misfit as misfit:
        raise InvalidFile(f"{where} must be {misfit}; got {shown(misfit.got)}") from misfit


def built(
    kind: Callable[..., Kind], payload: object, called: str = "", optional: tuple[str, ...] = ()
) -> Kind:
    """A dataclass from an object with its fields; errors call it by this name, its fields by theirs alone."""
    hints, name = annotations(kind), called or getattr(kind, "__name__", "item")
    data = require_keys(payload, hints.keys() - set(optional), name, optional)
    place = "" if called else f"{name}."
    return kind(**{key: from_json(value, hints[key], f"{place}{key}") for key, value in data.items()})


def _from_list(kind: Callable[..., Kind], payload: object) -> Kind:
    """A dataclass from a list of its fields in order."""
    hints = annotations(kind)
    name = getattr(kind, "__name__", "item")
    if not isinstance(payload, list) or len(payload) != len(hints):
        raise InvalidFile(f"{name} must be a list of {', '.join(hints)}; got {shown(payload)}")
    values = zip(hints.items(), payload, strict=True)
    return kind(*(from_json(value, hint, f"{name}.{key}") for (key, hint), value in values))


def meaning_from_json(payload: object, depth: int = 0) -> Meaning:
    """What a register means, from its kind and fields; anything else is refused."""
    hints = annotations(Meaning)
    data = dict(require_keys(payload, ("kind",), "a register's meaning", optional=hints))
    inner = data.pop("of", [])
    if not isinstance(inner, list) or depth > MOST_NESTED:
        raise InvalidFile(f"of must be a list of meanings, at most {MOST_NESTED} deep; got {shown(inner)}")
    of = tuple(meaning_from_json(each, depth + 1) for each in inner)
    parts = {key: from_json(value, hints[key], f"a meaning's {key}") for key, value in data.items()}
    return Meaning(**parts, of=of)


def _operation(kinds: dict[str, Any], payload: object) -> Any:
    given = payload.get("operation") if isinstance(payload, dict) else payload
    if not isinstance(payload, dict) or not isinstance(given, str) or given not in kinds:
        raise InvalidFile(f"an operation must be one of {', '.join(kinds)}; got {shown(given)}")
    return built(kinds[given], {key: value for key, value in payload.items() if key != "operation"})


def program_to_json(program: Program) -> dict[str, Any]:
    """Plain lists, strings and integers; places, before the rest, only where there are some."""
    whole = plain(program)
    places = whole.pop("places")
    return {"places": places, **whole} if places else whole


def program_from_json(payload: object) -> Program:
    """The program, validated; a malformed one raises ``InvalidFile``."""
    try:
        return built(Program, payload, "program", optional=("places",))
    except InvalidFile:
        raise
    except InvalidInput as error:
        raise InvalidFile(str(error)) from error


def plain(value: Any) -> Any:
    """Lists for tuples, channels and heads, objects for other dataclasses; operations with their kind."""
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    if isinstance(value, Meaning):
        return value.to_json()
    if not is_dataclass(value):
        return value
    parts = {item.name: plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, Channel | HeadMeaning):
        return list(parts.values())
    kind = {"operation": type(value).__name__} if isinstance(value, AttentionOperation | PositionMap) else {}
    return {**kind, **parts}
