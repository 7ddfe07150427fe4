"""Every error a user can cause: one root, each child also the matching built-in.

A message says what must hold, what was given, and what to do, in one line. The command line
turns any ``KrohnError`` into ``error: …`` and exit status 2; our own broken invariants are
``assert``s and never reach a user.
"""

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, NoReturn, ParamSpec, TypeVar


def counted(number: int, noun: str, many: str = "") -> str:
    """``1 layer``, ``3 layers``, ``1,024 words``: a number with its noun, for messages."""
    return f"{number:,} {noun if number == 1 else many or noun + 's'}"


class KrohnError(Exception):
    """Root of all errors raised on purpose by krohn."""


class InvalidInput(KrohnError, ValueError):
    """Something the user gave (a name, a table, an option) cannot be accepted."""


class InvalidAutomaton(InvalidInput):
    """A transition table, start state, name list or observation map is malformed."""


class WrongArguments(InvalidInput, TypeError):
    """A function was called with missing, unknown or too many arguments."""


class UnknownName(InvalidInput, LookupError):
    """A name is not in the list of known names; the message lists them."""


class InvalidFile(InvalidInput):
    """A file does not exist, does not parse, or does not follow its format."""


class LimitExceeded(KrohnError, RuntimeError):
    """A stated limit was reached; the message names the count and the option that raises it."""


class Unsupported(KrohnError, ValueError):
    """The request is well formed but cannot be met; the message lists every reason at once."""


class MissingDependency(KrohnError, ImportError):
    """An optional package is needed; the message names the extra that installs it."""


class Interrupted(KeyboardInterrupt):
    """A signal ended the work, and what was done is saved; no error, so no ``KrohnError``.

    Attributes:
        status: the exit status of a process that ends by that signal.
    """

    def __init__(self, message: str, signal_number: int) -> None:
        super().__init__(message)
        self.status = 128 + signal_number

    @classmethod
    def by_signal(cls, number: int, frame: object) -> NoReturn:
        """Signal handler: ends the work as Ctrl-C does, and leaves no half-written file."""
        raise cls("terminated", number)


def need(condition: object, text: str) -> None:
    """Raises ``InvalidFile`` with this one line unless the condition holds."""
    if not condition:
        raise InvalidFile(text)


# Wrong arguments of public functions, refused in one line like all other bad input.


def _mistyped(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """The first argument that is not of its declared type, if that is a class or several."""
    declared = signature(function)
    for name, value in declared.bind(*args, **kwargs).arguments.items():
        kind = declared.parameters[name].annotation
        try:
            fits = isinstance(value, kind | int if kind is float else kind)
        except TypeError:  # nothing that isinstance takes
            continue
        if not fits:
            wanted = getattr(kind, "__name__", None) or " or ".join(one.__name__ for one in kind.__args__)
            return f"{name} must be {wanted.replace('NoneType', 'None')}; got {repr(value)[:60]}"
    return ""


P = ParamSpec("P")
Result = TypeVar("Result")


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
