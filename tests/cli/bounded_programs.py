"""Programs that must refuse within bounds of time and memory, each in a process of its own or together."""

import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

SECONDS, KILOBYTES = 10, 1_000_000


SEVERAL = """
import sys
from krohn.check.__main__ import main
from krohn.cli.app import run
for line in sys.argv[1:]:
    program, *words = line.split("|")
    print((run if program == "krohn" else main)(words))
"""


def survived(*command: str, folder: Path) -> str:
    """The one line of a program that refuses; it took at most 10 seconds of a processor and 1 GB."""
    (line,) = bounded(["-m", *command], folder, status=2).splitlines()
    assert line.startswith("error: ")
    return line


def survived_each(commands: Sequence[tuple[str, ...]], folder: Path) -> list[str]:
    """The same for several programs, in one process: each refuses in one line."""
    lines = bounded(["-c", SEVERAL, *map("|".join, commands)], folder, status=0, out="2\n" * len(commands))
    errors = lines.splitlines()
    assert len(errors) == len(commands)
    assert all(line.startswith("error: ") for line in errors)
    return errors


def bounded(words: Sequence[str], folder: Path, *, status: int, out: str = "") -> str:
    """What Python prints as errors, in bounded time and memory."""
    streams = {name: (folder / name).open("w+") for name in ("out.txt", "err.txt")}
    with streams["out.txt"] as stdout, streams["err.txt"] as stderr:
        process = subprocess.Popen([sys.executable, *words], cwd=folder, stdout=stdout, stderr=stderr)
        alarm = threading.Timer(12 * SECONDS, process.kill)  # what waits for ever uses no processor
        alarm.start()
        _, ended, used = os.wait4(process.pid, 0)  # of this process alone
        process.returncode = os.waitstatus_to_exitcode(ended)
        alarm.cancel()
        texts = [stream.seek(0) or stream.read() for stream in (stdout, stderr)]
    assert (process.returncode, texts[0]) == (status, out), texts
    assert used.ru_utime < SECONDS
    assert used.ru_maxrss < KILOBYTES
    return texts[1]
