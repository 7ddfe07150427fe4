"""Values checked, converted and parsed by the annotations of dataclass fields."""

import dataclasses
import math
import types
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from krohn.base.files import shown

LARGEST = 2**63 - 1
_WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}


class Misfit(Exception):
    """A value that a field cannot take; the message says what it must be."""


_ANNOTATIONS: dict[type[Any], dict[str, Any]] = {}


def annotations(config: type[Any]) -> dict[str, Any]:
    """Field -> annotation of a dataclass; resolved once for each class."""
    if config not in _ANNOTATIONS:
        hints = get_type_hints(config)
        _ANNOTATIONS[config] = {field.name: hints[field.name] for field in dataclasses.fields(config)}
    return _ANNOTATIONS[config]


def fit_fields(config: Any, prefix: str = "") -> tuple[dict[str, Any], list[str]]:
    """The valid fields of a dataclass, canonical; and an error for each of the others.

    Canonical form: integers in float fields become floats, lists become tuples.
    """
    values, reasons = {}, []
    for name, annotation in annotations(type(config)).items():
        given = getattr(config, name)
        try:
            values[name] = fit_type(given, annotation)
        except Misfit as misfit:
            reasons.append(f"{prefix}{name} must be {misfit}; got {shown(given)}")
    return values, reasons


def fit_type(value: Any, annotation: Any) -> Any:
    """``value`` converted to the annotated type; annotations unknown here are not checked."""
    if annotation in _WORDS:
        return _plain(value, annotation)
    if annotation is Any:
        return value
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        if value is None and type(None) in arguments:
            return None
        return _one_of(arguments, lambda argument: fit_type(value, argument))
    if origin is Literal:
        if not isinstance(value, str) or value not in arguments:
            raise Misfit(describe(annotation))
        return value
    if origin is tuple:
        return _tuple(value, annotation, arguments)
    kind = origin or annotation
    if isinstance(kind, type) and not isinstance(value, kind):
        raise Misfit(describe(annotation))
    return value


def _plain(value: Any, kind: type[Any]) -> Any:
    numeric = isinstance(value, int | float) and not isinstance(value, bool)
    if kind is float and numeric:
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise Misfit("a finite number")
        return number
    if kind is int and type(value) is int and abs(value) > LARGEST:
        raise Misfit("a whole number below 2^63")
    if type(value) is not kind and not (kind is str and isinstance(value, str)):
        raise Misfit(_WORDS[kind])
    return value


def _one_of(arguments: tuple[Any, ...], attempt: Callable[[Any], Any]) -> Any:
    """The first alternative of a union for which ``attempt`` succeeds; ``None`` was handled before."""
    reasons = []
    for argument in arguments:
        if argument is not type(None):
            try:
                return attempt(argument)
            except Misfit as misfit:
                reasons.append(str(misfit))
    raise Misfit(" or ".join([*reasons, *(["none"] if type(None) in arguments else [])]))


def _tuple(value: Any, annotation: Any, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    several = arguments[-1] is Ellipsis
    members = value if isinstance(value, tuple | list) else (value,) if several else None
    if members is None or not (several or len(members) == len(arguments)):
        raise Misfit(describe(annotation))
    kinds = [arguments[0]] * len(members) if several else arguments
    try:
        return tuple(fit_type(member, kind) for member, kind in zip(members, kinds, strict=True))
    except Misfit as misfit:
        raise Misfit(f"{describe(annotation)}, each {misfit}") from misfit


def describe(annotation: Any) -> str:
    """What a field of this annotation must be, in words."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation in _WORDS:
        return _WORDS[annotation]
    if origin is Literal:
        return f"one of {', '.join(arguments)}"
    if origin is tuple and arguments[-1] is not Ellipsis:
        return f"a list of {len(arguments)}"
    if origin is Mapping:
        return "an object"
    return "a list" if origin is tuple else f"a {getattr(annotation, '__name__', annotation)}"


def parse_as(text: str, annotation: Any) -> Any:
    """Parses command-line ``text`` for a field of this annotation."""
    try:
        return fit_type(text, annotation)
    except Misfit:
        parts = [_literal(part) for part in text.split(",")]
        return fit_type(parts[0] if len(parts) == 1 else parts, annotation)


def _literal(text: str) -> Any:
    """The value that a word stands for: true, false, none, a number, or itself."""
    if text.lower() in _NAMED:
        return _NAMED[text.lower()]
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text


_NAMED = {"true": True, "false": False, "none": None}
