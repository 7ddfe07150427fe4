"""Values compared with annotations: of files, of the settings of runs, of the arguments of public functions.

``Types().fit(value, annotation)`` is the value in its canonical form; ``Misfit`` says what it must be.
``plainly`` makes one line of the errors of a call that cannot be right.
"""

import dataclasses
import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import wraps
from inspect import signature
from types import UnionType
from typing import Any, ClassVar, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

from krohn.base.files import shown
from krohn.errors import KrohnError, WrongArguments

LARGEST = 2**63 - 1
P = ParamSpec("P")
Result = TypeVar("Result")


class Misfit(Exception):
    """A value that is not of its type: the message says what it must be, ``got`` is the wrong part."""

    def __init__(self, wanted: str, got: Any) -> None:
        super().__init__(wanted)
        self.got = got


_KNOWN: dict[Callable[..., Any], dict[str, Any]] = {}


def annotations(kind: Callable[..., Any]) -> dict[str, Any]:
    """Field -> annotation of a dataclass; resolved once for each class."""
    if kind not in _KNOWN:
        hints = get_type_hints(kind)
        own = dataclasses.fields(kind)  # type: ignore[arg-type]
        _KNOWN[kind] = {field.name: hints[field.name] for field in own}
    return _KNOWN[kind]


class Types:
    """How values are compared. Integers in float fields become floats, lists become tuples.

    A single value may stand for a list of one. Annotations that are unknown here are not checked.
    """

    none = "none"
    words: ClassVar[dict[Any, str]] = {
        int: "a whole number",
        float: "a number",
        bool: "true or false",
        str: "a text",
    }

    def fit(self, value: Any, annotation: Any) -> Any:
        """``value`` as one of the annotated type."""
        origin, arguments = get_origin(annotation), get_args(annotation)
        if annotation in self.words:
            return self.plain(value, annotation)
        if annotation is Any:
            return value
        if origin in (Union, UnionType):
            return self._one_of(value, arguments)
        if origin is Literal:
            if not isinstance(value, str) or value not in arguments:
                raise Misfit(self.describe(annotation), value)
            return value
        if origin is tuple:
            return self._tuple(value, annotation, arguments)
        kind = origin or annotation
        if isinstance(kind, type) and not isinstance(value, kind):
            raise Misfit(self.describe(annotation), value)
        return value

    def plain(self, value: Any, kind: type[Any]) -> Any:
        """A number, a truth value or a text."""
        numeric = isinstance(value, int | float) and not isinstance(value, bool)
        if kind is float and numeric:
            try:
                number = float(value)
            except OverflowError:
                number = math.inf
            if not math.isfinite(number):
                raise Misfit("a finite number", value)
            return number
        if kind is int and type(value) is int and abs(value) > LARGEST:
            raise Misfit("a whole number below 2^63", value)
        if type(value) is not kind and not (kind is str and isinstance(value, str)):
            raise Misfit(self.words[kind], value)
        return value

    def members(self, value: Any, *, several: bool) -> list[Any] | None:
        """What a list holds; none if it is no list."""
        if isinstance(value, tuple | list):
            return list(value)
        return [value] if several else None

    def _one_of(self, value: Any, arguments: tuple[Any, ...]) -> Any:
        """The first alternative of a union that the value fits."""
        optional = type(None) in arguments
        if value is None and optional:
            return None
        reasons = []
        for argument in arguments:
            if argument is not type(None):
                try:
                    return self.fit(value, argument)
                except Misfit as misfit:
                    reasons.append(str(misfit))
        raise Misfit(" or ".join([*reasons, *([self.none] if optional else [])]), value)

    def _tuple(self, value: Any, annotation: Any, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        several = arguments[-1] is Ellipsis
        members = self.members(value, several=several)
        if members is None or not (several or len(members) == len(arguments)):
            raise Misfit(self.describe(annotation), value)
        kinds = [arguments[0]] * len(members) if several else arguments
        try:
            return tuple(self.fit(member, kind) for member, kind in zip(members, kinds, strict=True))
        except Misfit as misfit:
            raise Misfit(f"{self.describe(annotation)}, each {misfit}", misfit.got) from misfit

    def describe(self, annotation: Any) -> str:
        """What a value of this annotation must be, in words."""
        origin, arguments = get_origin(annotation), get_args(annotation)
        if annotation in self.words:
            return self.words[annotation]
        if origin is Literal:
            return f"one of {', '.join(arguments)}"
        if origin is tuple:
            return "a list" if arguments[-1] is Ellipsis else f"a list of {len(arguments)}"
        if origin is Mapping:
            return "an object"
        return f"a {getattr(annotation, '__name__', annotation)}"

    def parse(self, text: str, annotation: Any) -> Any:
        """The value that is typed as ``text`` on the command line."""
        try:
            return self.fit(text, annotation)
        except Misfit:
            parts = [_literal(part) for part in text.split(",")]
            return self.fit(parts[0] if len(parts) == 1 else parts, annotation)


def _literal(text: str) -> Any:
    """The value that a word stands for: true, false, none, a number, or itself."""
    named = {"true": True, "false": False, "none": None}
    if text.lower() in named:
        return named[text.lower()]
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text


def fit_fields(config: Any, prefix: str = "") -> tuple[dict[str, Any], list[str]]:
    """The valid fields of a dataclass, canonical; and an error for each of the others."""
    values, reasons = {}, []
    for name, annotation in annotations(type(config)).items():
        given = getattr(config, name)
        try:
            values[name] = Types().fit(given, annotation)
        except Misfit as misfit:
            reasons.append(f"{prefix}{name} must be {misfit}; got {shown(given)}")
    return values, reasons


class _Arguments(Types):
    """Arguments of functions, by Python's names for types; they are tested, not converted."""

    none = "None"
    words: ClassVar[dict[Any, str]] = {float: "float"}

    def plain(self, value: Any, kind: type[Any]) -> Any:
        if not isinstance(value, float | int):
            raise Misfit("float", value)
        return value

    def describe(self, annotation: Any) -> str:
        return str(getattr(annotation, "__name__", annotation))


def _mistyped(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """The first argument that is not of its declared type."""
    declared = signature(function)
    for name, value in declared.bind(*args, **kwargs).arguments.items():
        kind = declared.parameters[name].annotation
        try:
            _Arguments().fit(value, kind)
        except Misfit as misfit:
            return f"{name} must be {misfit}; got {repr(value)[:60]}"
    return ""


def plainly(function: Callable[P, Result]) -> Callable[P, Result]:
    """The function; a call with missing, unknown, too many or mistyped arguments says what it takes.

    Types are looked at only once a call has failed: whatever works like a number or a string is one.
    """

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> Result:
        try:
            return function(*args, **kwargs)
        except (TypeError, AttributeError) as error:
            trace = error.__traceback__
            if isinstance(error, KrohnError):
                raise
            if trace is None or trace.tb_next is not None or isinstance(error, AttributeError):
                if mistyped := _mistyped(function, args, kwargs):
                    raise WrongArguments(mistyped) from error
                raise  # from inside the function
            names = ", ".join(name for name in signature(function).parameters if name != "self")
            raise WrongArguments(f"{error}; it takes ({names})") from None

    return call
