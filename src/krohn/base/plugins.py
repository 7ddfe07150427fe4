"""Plugins from other packages: architectures, automaton families, constructions, export formats.

An installed package adds values through an entry point group; ``Plugins.register`` does the same from Python.
krohn's own names cannot be overridden. Nothing is ever loaded because a data file names it.
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from krohn.errors import InvalidInput

T = TypeVar("T")


class Plugins(Generic[T]):
    """One kind of thing by name: krohn's own, registered ones, and those of installed packages.

    Args:
        group: the entry point group, ``krohn.`` and a plural.
        noun: what one is called in errors, with its article.
        own: krohn's own values by name.
        check: returns the value if it is sound under that name, and raises InvalidInput if not.
    """

    def __init__(
        self, group: str, noun: str, own: Callable[[], Mapping[str, T]], check: Callable[[Any, str], T]
    ):
        self.group, self.noun, self._own, self._check = group, noun, own, check
        self._registered: dict[str, T] = {}

    def register(self, name: str, value: T) -> T:
        """Adds a value to this process; refuses a name that is taken by another one."""
        known = self._own().get(name) or self._registered.get(name)
        if known is not None and known is not value:
            raise InvalidInput(f"{self.noun} must have a name of its own; {name!r} is taken: rename it")
        self._registered[name] = self._check(value, name)
        return value

    def names(self) -> list[str]:
        """All names in alphabetical order; the values of installed packages are not loaded."""
        return sorted({*self._own(), *self._registered, *self._installed})

    def get(self, name: str) -> T | None:
        """The value of that name, loaded if it belongs to an installed package; ``None`` if there is none."""
        known = self._own().get(name) or self._registered.get(name)
        if known is not None or name not in self._installed:
            return known
        entry = self._installed[name]
        try:
            loaded = entry.load()
        except Exception as error:  # a third-party module may raise anything on import
            raise InvalidInput(f"{self.noun} {name!r} must load from {entry.value}; {error!r}") from error
        return self._check(loaded, name)

    def forget(self) -> None:
        """Removes the registrations of this process; installed packages are looked up again."""
        self._registered.clear()
        self.__dict__.pop("_installed", None)

    def added(self) -> dict[str, T]:
        """Values added by other packages or registered, by name; loads those of installed packages."""
        others = {name: self.get(name) for name in self.names() if name not in self._own()}
        return {name: value for name, value in others.items() if value is not None}

    @cached_property
    def _installed(self) -> dict[str, EntryPoint]:
        return {
            entry.name: entry for entry in entry_points(group=self.group) if entry.name not in self._own()
        }


def instance_of(kind: type[T], noun: str) -> Callable[[Any, str], T]:
    """A check for ``Plugins``: the value must be a ``kind``."""

    def check(value: Any, name: str) -> T:
        if not isinstance(value, kind):
            raise InvalidInput(f"{noun} {name!r} must be a {kind.__name__}; got {value!r:.60}")
        return value

    return check
