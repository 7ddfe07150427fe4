"""The start of the process: signals while the modules are read, and the exit status of the command."""

import signal
from collections.abc import Callable
from types import FrameType

import pytest

from krohn import __main__ as start
from krohn.cli import process

Handler = Callable[[int, FrameType | None], object] | int | signal.Handlers | None


@pytest.mark.parametrize("before", [signal.default_int_handler, signal.SIG_IGN])
def test_ctrl_c_is_an_exception_again_once_the_command_runs_and_stays_ignored_if_it_was(
    before: Handler, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Handler] = []

    def command() -> int:
        seen.append(signal.getsignal(signal.SIGINT))
        return 7

    monkeypatch.setattr(process, "run_as_process", command)
    old = signal.signal(signal.SIGINT, before)
    try:
        with pytest.raises(SystemExit) as ended:
            start.main()
    finally:
        signal.signal(signal.SIGINT, old)
    assert (ended.value.code, seen) == (7, [before])
