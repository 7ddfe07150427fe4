"""Elapsed time of a command: one line on a terminal, a few in a pipe or a file."""

import sys
import threading
import time
from types import TracebackType
from typing import Self

AFTER, EVERY = 2.0, 0.5
"""Seconds until the line appears, and between two times."""
FIRST = 10.0
"""Seconds until a pipe or a file gets a line; each later one comes after twice the time."""

OWN = {"train", "reproduce", "sample", "run", "simulate", "explore", "card", "bench"}
"""Commands that show how far they are themselves, or that wait for their input."""


class Elapsed:
    """Shows the command and elapsed seconds on stderr; on a terminal the line is erased at the end."""

    def __init__(self, what: str) -> None:
        self._what, self._begin = what, time.monotonic()
        self._shown, self._lock, self._done = False, threading.Lock(), threading.Event()

    def __enter__(self) -> Self:
        global _current
        if sys.stderr.isatty():
            _current = self
            threading.Thread(target=self._run, daemon=True).start()
        elif _has_descriptor():
            threading.Thread(target=self._note, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        global _current
        _current = None
        self._done.set()
        self.wipe()

    def _run(self) -> None:
        while not self._done.wait(EVERY):
            seconds = time.monotonic() - self._begin
            with self._lock:
                if seconds >= AFTER and not self._done.is_set():
                    sys.stderr.write(f"\r{self._what}: at work for {seconds:.0f} s")
                    sys.stderr.flush()
                    self._shown = True

    def _note(self) -> None:
        """Whole lines, at 10, 20, 40 … seconds."""
        after, before = FIRST, 0.0
        while not self._done.wait(after - before):
            sys.stderr.write(f"{self._what}: at work for {after:.0f} s\n")
            sys.stderr.flush()
            after, before = 2 * after, after

    def wipe(self) -> None:
        """Erases the line, so that something else can be printed."""
        with self._lock:
            if self._shown:
                sys.stderr.write("\r\x1b[K")
                sys.stderr.flush()
                self._shown = False


def _has_descriptor() -> bool:
    """Whether stderr is a real file descriptor, not a Python object that captures output."""
    try:
        return sys.stderr.fileno() >= 0
    except (OSError, ValueError):  # io.UnsupportedOperation is both
        return False


_current: Elapsed | None = None


def make_room() -> None:
    """Erases the line, if there is one, before something else is printed."""
    if _current is not None:
        _current.wipe()
