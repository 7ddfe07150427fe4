"""Programs that must refuse within bounds of time and memory, each in a process of its own or together."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

SECONDS, KILOBYTES = 10, 1_000_000

# A small process in between: a child inherits its parent's peak memory, and pytest's is large.
WATCH = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
open("used.txt", "w").write(f"{used.ru_utime} {used.ru_maxrss}")
sys.exit(done.returncode)
"""

SEVERAL = """
import sys
from krohn.check.__main__ import main
from krohn.cli.app import run
for line in sys.argv[1:]:
    program, *words = line.split("|")
    print((run if program == "krohn" else main)(words))
"""


def survived(*command: str, folder: Path) -> str:
    """The error line of a program that must refuse within 10 seconds of CPU time and 1 GB."""
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
    """The stderr of a Python process, in bounded time and memory; without the progress on a busy machine."""
    done = subprocess.run(
        [sys.executable, "-c", WATCH, sys.executable, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=12 * SECONDS,  # a process that waits forever uses no CPU time
    )
    seconds, kilobytes = map(float, (folder / "used.txt").read_text().split())
    (folder / "used.txt").unlink()
    assert (done.returncode, done.stdout) == (status, out), done
    assert seconds < SECONDS
    assert kilobytes < KILOBYTES
    return "".join(line for line in done.stderr.splitlines(keepends=True) if ": at work for " not in line)
