"""Long work shows on a terminal that it goes on, and leaves no trace; elsewhere it is silent."""

import os
import pty
import sys
import time

import click
import pytest

from krohn.cli import app, progress
from krohn.cli.output import note


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    @click.command()
    def command() -> None:
        time.sleep(0.3)
        note("a remark")

    monkeypatch.setattr(app.CommandTable, "get_command", lambda *_: command)
    monkeypatch.setattr(progress, "AFTER", 0.1)
    monkeypatch.setattr(progress, "EVERY", 0.05)


def test_a_terminal_sees_that_work_goes_on_and_a_clean_line_after(
    slow: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, writer = pty.openpty()
    with os.fdopen(writer, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        assert app.run(["verify"]) == 0
        terminal.flush()
        seen = os.read(reader, 65536).decode()
    os.close(reader)
    shown, wiped, rest = seen.partition("\x1b[K")
    assert shown.startswith("\rkrohn verify: at work for 0 s")
    assert wiped
    assert rest == "a remark\r\n"


def test_elsewhere_nothing_is_shown(slow: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["verify"]) == 0
    assert capsys.readouterr().err == "a remark\n"


def test_commands_with_a_bar_of_their_own_show_no_second_one() -> None:
    assert set(app.COMMANDS) > progress.OWN
