"""Ctrl-C and SIGTERM during a resumable run: recorded at once, handled where nothing is lost."""

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, TypeVar

from krohn.errors import Interrupted

T = TypeVar("T")


# The signals that are handled, and the default handlers of Python and the command line for each.
_USUAL: dict[signal.Signals, tuple[Any, ...]] = {
    signal.SIGINT: (signal.default_int_handler,),
    signal.SIGTERM: (signal.SIG_DFL, Interrupted.by_signal),
}


class _Stop(KeyboardInterrupt):
    """Aborts work without side effects."""


class Interruption:
    """Context manager that handles SIGINT and SIGTERM and restores the previous handlers.

    The first signal is recorded for the loop to check between chunks of steps; a second one aborts at once.
    Python allows handlers in the main thread only; ignored signals and custom handlers are left alone.

    Attributes:
        signal: the signal received, if any.
    """

    def __init__(self, *, taken: bool = True) -> None:
        self.signal: signal.Signals | None = None
        self._taken = taken
        self._at_once = False
        self._former: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "Interruption":
        if self._taken and threading.current_thread() is threading.main_thread():
            for number, usual in _USUAL.items():
                if signal.getsignal(number) in usual:
                    self._former[number] = signal.signal(number, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._former.items():
            signal.signal(number, handler)

    def unless(self, work: Callable[[], T]) -> T | None:
        """The result of ``work``, or ``None`` if a signal came first: for work without side effects."""
        self._at_once = True
        try:
            return None if self.signal is not None else work()
        except _Stop:
            return None
        finally:
            self._at_once = False

    def obey(self, saved: str) -> None:
        """Ends the call if a signal has come; ``saved`` names the step and place of the checkpoint."""
        if self.signal is not None:
            raise Interrupted(f"interrupted {saved}; the same command continues it", self.signal)

    def _note(self, number: int, frame: FrameType | None) -> None:
        again, self.signal = self.signal is not None, signal.Signals(number)
        if again:
            raise Interrupted("interrupted at once; the previous checkpoint is kept", number)
        if self._at_once:
            raise _Stop
