"""A line on the terminal that says how long a command has been at work."""

import sys
import threading
import time
from types import TracebackType
from typing import Self

AFTER, EVERY = 2.0, 0.5
"""Seconds until the line appears, and between two times."""

OWN = {"train", "reproduce", "sample", "run", "simulate", "explore", "card", "bench"}
"""Commands that show how far they are themselves, or that wait for their input."""


class Elapsed:
    """Shows on stderr, if that is a terminal, what is done and for how many seconds; then wipes it away."""

    def __init__(self, what: str) -> None:
        self._what, self._begin = what, time.monotonic()
        self._shown, self._lock, self._done = False, threading.Lock(), threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        global _current
        if sys.stderr.isatty():
            _current = self
            self._thread.start()
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

    def wipe(self) -> None:
        """Takes the line away, so that something else can be printed."""
        with self._lock:
            if self._shown:
                sys.stderr.write("\r\x1b[K")
                sys.stderr.flush()
                self._shown = False


_current: Elapsed | None = None


def make_room() -> None:
    """Wipes the line away, if there is one, before something else is printed."""
    if _current is not None:
        _current.wipe()
