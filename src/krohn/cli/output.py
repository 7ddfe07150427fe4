"""Output of commands: JSON, aligned tables, one-line errors, elapsed time."""

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self, TextIO

import click

AFTER, EVERY = 2.0, 0.5
"""Seconds until the line appears, and between updates."""
FIRST = 10.0
"""Seconds until a pipe or a file gets a line; each later one comes after twice the time."""

OWN = {"train", "reproduce", "sample", "run", "simulate", "explore", "card"}
"""Commands that show their own progress, or that wait for input."""


class Elapsed:
    """Shows the command and elapsed seconds on stderr; on a terminal the line is erased at the end."""

    def __init__(self, what: str) -> None:
        self._what, self._begin = what, time.monotonic()
        self._shown, self._lock, self._done = False, threading.Lock(), threading.Event()

    def __enter__(self) -> Self:
        global _current, _share
        _share = ""
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
                    sys.stderr.write(f"\r{self._what}: {_share}at work for {seconds:.0f} s")
                    sys.stderr.flush()
                    self._shown = True

    def _note(self) -> None:
        """Whole lines, at 10, 20, 40 … seconds."""
        after, before = FIRST, 0.0
        while not self._done.wait(after - before):
            sys.stderr.write(f"{self._what}: {_share}at work for {after:.0f} s\n")
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
_share = ""
"""How much of the work is done, where that is known: "3 of 19, "."""


def make_room() -> None:
    """Erases the line, if there is one, before something else is printed."""
    if _current is not None:
        _current.wipe()


def show_share(done: int, total: int) -> None:
    """Notes how much of the work is done, for the line of progress."""
    global _share
    _share = f"{done:,} of {total:,}, "


MAX_ERROR = 300
"""Most characters of an error line: longer ones are cut in the middle."""

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout.")


def emit(payload: dict[str, Any], *, as_json: bool, text: Callable[[], str]) -> None:
    """Prints ``payload`` as JSON, or the text for people; a closed pipe is not an error."""
    shown = _as_json(payload) if as_json else text()
    make_room()
    try:
        click.echo(shown)
        sys.stdout.flush()
    except BrokenPipeError:
        silence(sys.stdout)


_TOGETHER = 1 << 12
"""Characters that are printed at once: a line by itself costs more than the state of its word."""


def emit_lines(about: dict[str, Any], key: str, lines: Iterable[list[str]], *, as_json: bool) -> None:
    """Prints a line of names for each word as it comes; as JSON all of them below ``key``."""
    if as_json:
        emit({**about, key: list(lines)}, as_json=True, text=str)
        return
    ready, size = list[str](), 0
    try:
        for line in lines:
            ready.append(" ".join(line))
            size += len(ready[-1]) + 1
            if size >= _TOGETHER:
                click.echo("\n".join(ready))
                ready, size = [], 0
    finally:  # an error in a later word loses no answer
        if ready:
            click.echo("\n".join(ready))


@contextmanager
def word_bar(count: int, name: str) -> Iterator[Callable[[int], None]]:
    """A bar of progress over ``count`` words; gives the function that moves it on."""
    from tqdm import tqdm

    with tqdm(total=count, unit=" words", unit_scale=True, desc=name, leave=False) as bar:
        yield bar.update


def _as_json(payload: dict[str, Any]) -> str:
    plain = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "") != "utf8"
    return json.dumps(payload, ensure_ascii=plain, allow_nan=False)


def refuse(message: str, *, as_json: bool = False) -> int:
    """One line ``error: …`` on stderr, with ``--json`` an object on stdout too; the exit status, 2."""
    line = error_line(message)
    note(f"error: {line}")
    if as_json:
        emit({"error": line}, as_json=True, text=str)
    return 2


def error_line(message: str) -> str:
    """The message in one line of bounded length, without terminal control characters."""
    line = " ".join(message.split())
    line = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)
    if len(line) <= MAX_ERROR - len("error: "):
        return line
    tail = 80
    return f"{line[: MAX_ERROR - tail - len('error:  … ')]} … {line[-tail:]}"


def silence(stream: TextIO) -> None:
    """Discards further output to the stream, whose reader is gone."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def note(message: str) -> None:
    """Prints a remark to stderr, so that stdout stays clean for the result."""
    make_room()
    click.echo(message, err=True)
