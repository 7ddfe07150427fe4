"""How much of long work is done, told to whoever shows it: a command, or nobody."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Show = Callable[[int, int], object]
_show: ContextVar[Show | None] = ContextVar("show", default=None)


@contextmanager
def shown_by(show: Show) -> Iterator[None]:
    """Work inside tells ``show`` how much is done, and of how much."""
    before = _show.set(show)
    try:
        yield
    finally:
        _show.reset(before)


def tell(done: int, total: int) -> None:
    """Tells it."""
    show = _show.get()
    if show is not None:
        show(done, total)
