"""Every error a user can cause: one root, each child also the matching built-in.

A message says what must hold, what was given, and what to do, in one line. The command line
turns any ``KrohnError`` into ``error: …`` and exit status 2; our own broken invariants are
``assert``s and never reach a user.
"""

from typing import NoReturn


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
