"""One test per property of a class of inputs: checks every input and names all that fail.

One test instead of one for each input: collecting thousands of tests takes longer than running them.
"""

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

Test = Callable[..., None]
LINE = 200
"""Characters of a failure beside the first."""


def every(names: str | Sequence[str], values: Iterable[Any]) -> Callable[[Test], Test]:
    """Like ``pytest.mark.parametrize``, in one test; all inputs share its fixtures."""
    keys = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    inputs = [dict(zip(keys, value if len(keys) > 1 else (value,), strict=True)) for value in values]
    assert inputs, "a property of no input at all cannot fail"

    def decorate(test: Test) -> Test:
        signature = inspect.signature(test)
        assert set(keys) <= set(signature.parameters), keys

        @functools.wraps(test)
        def checked(**fixtures: Any) -> None:
            failures = []
            for given in inputs:
                try:
                    test(**given, **fixtures)
                except (KeyboardInterrupt, SystemExit, pytest.skip.Exception, pytest.exit.Exception):
                    raise
                except BaseException as error:  # pytest.fail, too
                    error.add_note(f"with {given}")
                    failures.append(error)
            if failures:
                first, *others = failures
                if others:
                    first.add_note(f"{len(failures)} of {len(inputs)} inputs fail; the others:")
                for error in others:
                    first.add_note(_one_line(error))
                raise first

        parameters = [part for name, part in signature.parameters.items() if name not in keys]
        checked.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return checked

    return decorate


def _one_line(error: BaseException) -> str:
    """The inputs of a failure, and the first line of what it says."""
    notes = ", ".join(note.removeprefix("with ") for note in error.__notes__ if note.startswith("with "))
    said = (str(error) or type(error).__name__).splitlines()[0]
    return f"  {notes}: {type(error).__name__}: {said[:LINE]}"
