"""One test per property of a class of inputs: checks every input and names a failing one."""

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

Test = Callable[..., None]


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
            for given in inputs:
                try:
                    test(**given, **fixtures)
                except BaseException as error:
                    error.add_note(f"with {given}")
                    raise

        parameters = [part for name, part in signature.parameters.items() if name not in keys]
        checked.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return checked

    return decorate
