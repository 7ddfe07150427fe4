"""Wrong arguments of public functions, refused in one line like all other bad input."""

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import ParamSpec, TypeVar

from krohn.errors import WrongArguments

P = ParamSpec("P")
Result = TypeVar("Result")


def plainly(function: Callable[P, Result]) -> Callable[P, Result]:
    """The function; a call with missing, unknown or too many arguments says which it takes."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> Result:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            trace = error.__traceback__
            if trace is None or trace.tb_next is not None or isinstance(error, WrongArguments):
                raise  # from inside the function
            names = ", ".join(name for name in signature(function).parameters if name != "self")
            raise WrongArguments(f"{error}; it takes ({names})") from None

    return call
