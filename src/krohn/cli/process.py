"""The process around a command: its standard streams, its signals, and the final flush."""

import io
import os
import signal
import sys
import warnings

from krohn.cli.app import app, run
from krohn.cli.output import note, silence
from krohn.errors import Interrupted

BROKEN = 2
"""Exit status when the answer could not be delivered."""

COMPLETION = "_KROHN_COMPLETE"
"""The variable by which a shell requests completion; click's name for a program called krohn."""

PROOFS = ("verify", "export", "suite")
"""Commands that multiply many small matrices, for which BLAS threads cost more time than they save."""


def run_as_process() -> int:
    """Runs the command line of this process and returns its exit status."""
    _open_streams()
    if sys.argv[1:2] and sys.argv[1] in PROOFS:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read once, when numpy is imported
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
    for number in (signal.SIGTERM, signal.SIGHUP) if os.name == "posix" else (signal.SIGTERM,):
        if signal.getsignal(number) is signal.SIG_DFL:  # ignored signals stay ignored
            signal.signal(number, Interrupted.by_signal)
    try:
        status = _answer() if sys.stdout is not None else _without_stdout()
    except KeyboardInterrupt:  # a signal outside the command
        status = 130
    return _flush(status)


def _answer() -> int:
    """Runs the command and returns its exit status; handles shell completion instead if requested."""
    shell = os.environ.get(COMPLETION)
    if not shell:
        return run()
    from click.shell_completion import shell_complete

    return BROKEN if shell_complete(app, {}, "krohn", COMPLETION, shell) else 0


def _without_stdout() -> int:
    note("error: standard output must be open; it is closed; send it to /dev/null if you want no output")
    return BROKEN


def _open_streams() -> None:
    """Escapes characters that a terminal cannot show; redirects a closed stderr to the null device."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _flush(status: int) -> int:
    """Flushes the streams, so that the interpreter has nothing left to write at exit; the exit status."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        silence(sys.stdout)
    except OSError as error:
        silence(sys.stdout)
        note(f"error: standard output cannot be written: {error.strerror}")
        status = BROKEN
    try:
        sys.stderr.flush()
    except OSError:
        silence(sys.stderr)
    return status
