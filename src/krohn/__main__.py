"""``python -m krohn`` and the console script: the ``krohn`` command as a process of its own."""

import signal
import sys


def main() -> None:
    """Runs the command line; Ctrl-C during import exits silently."""
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if ours:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from krohn.cli.process import run_as_process

    if ours:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(run_as_process())


if __name__ == "__main__":
    main()
