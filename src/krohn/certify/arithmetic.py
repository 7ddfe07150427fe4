"""The names of the float formats."""

from krohn.check.format import FORMATS
from krohn.errors import InvalidInput

ARITHMETICS = tuple(FORMATS)


def arithmetic(name: str) -> str:
    """The name of a dtype, if it is one."""
    if name not in ARITHMETICS:
        raise InvalidInput(f"dtype must be one of {', '.join(ARITHMETICS)}; got {name!r}")
    return name
