"""One root for what users cause, each kind also the built-in that callers know; signals are no errors."""

import builtins
import re
import signal
from pathlib import Path

import pytest

import krohn
from krohn import errors

PACKAGE = Path(krohn.__file__).parent
OURS = {"AssertionError", "TypeError", "AttributeError"}
"""Built-ins that the package raises: our own mistakes, and what Python asks of a module's ``__getattr__``."""


@pytest.mark.parametrize(
    ("kind", "builtin"),
    [
        (errors.InvalidInput, ValueError),
        (errors.InvalidAutomaton, errors.InvalidInput),
        (errors.UnknownName, LookupError),
        (errors.InvalidFile, errors.InvalidInput),
        (errors.LimitExceeded, RuntimeError),
        (errors.Unsupported, ValueError),
        (errors.MissingDependency, ImportError),
    ],
)
def test_an_error_can_be_caught_by_the_root_and_by_its_built_in(
    kind: type[Exception], builtin: type[Exception]
) -> None:
    for caught in (errors.KrohnError, builtin):
        with pytest.raises(caught, match=r"^must be even; got 3$"):
            raise kind("must be even; got 3")


def test_an_unsupported_request_is_not_invalid_input() -> None:
    """A reader of files may pass over what is malformed, not over what cannot be done."""
    assert not issubclass(errors.Unsupported, errors.InvalidInput)
    assert not issubclass(errors.LimitExceeded, ValueError)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_a_signal_ends_the_work_past_every_handler_of_errors(number: int) -> None:
    before = signal.signal(number, errors.Interrupted.by_signal)
    try:
        with pytest.raises(errors.Interrupted, match=r"^terminated$") as ended:
            signal.raise_signal(number)
    finally:
        signal.signal(number, before)
    assert ended.value.status == 128 + number
    assert isinstance(ended.value, KeyboardInterrupt)
    assert not isinstance(ended.value, Exception)


def test_the_package_raises_no_built_in_at_its_users() -> None:
    result = [
        f"{path.relative_to(PACKAGE)} raises {name}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for name in re.findall(r"^ +raise (\w+)", path.read_text(), re.MULTILINE)
        if issubclass(getattr(builtins, name, object), BaseException) and name not in OURS
    ]
    assert result == []
