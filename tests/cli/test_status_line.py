"""Progress of long work: a status line on a terminal that is removed at the end; lines in a pipe."""

import os
import pty
import re
import select
import sys
import time

import click
import pytest

from krohn.cli import app, output
from krohn.cli.output import note


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that takes a third of a second, and on a terminal as long as the line needs to appear."""

    @click.command()
    def command() -> None:
        time.sleep(0.3)
        until = time.monotonic() + 60
        while (line := output._current) is not None and not line._shown and time.monotonic() < until:
            time.sleep(0.01)
        note("a remark")

    monkeypatch.setattr(app.CommandTable, "get_command", lambda *_: command)
    monkeypatch.setattr(output, "AFTER", 0.1)
    monkeypatch.setattr(output, "EVERY", 0.05)


def read_until(reader: int, end: str) -> str:
    """The output to a terminal, possibly in pieces, until it ends or a minute passes without any."""
    seen = ""
    while not seen.endswith(end) and select.select([reader], [], [], 60)[0]:
        seen += os.read(reader, 65536).decode()
    return seen.removesuffix(end)


def test_a_terminal_shows_progress_and_a_clean_line_after(
    slow: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, writer = pty.openpty()
    with os.fdopen(writer, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        assert app.run(["verify"]) == 0
        terminal.write("that was all")
        terminal.flush()
        seen = read_until(reader, "that was all")
    os.close(reader)
    shown = r"(\rkrohn verify: at work for \d+ s)+\r\x1b\[K"  # again after the remark, if the machine is slow
    assert re.fullmatch(rf"{shown}a remark\r\n({shown})?", seen), repr(seen)


def test_elsewhere_nothing_is_shown(slow: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["verify"]) == 0
    assert capsys.readouterr().err == "a remark\n"


def test_a_pipe_gets_whole_lines_each_after_twice_the_time(
    slow: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "FIRST", 0.05)
    reader, writer = os.pipe()
    with os.fdopen(writer, "w") as pipe:
        monkeypatch.setattr(sys, "stderr", pipe)
        assert app.run(["verify"]) == 0
    with os.fdopen(reader) as lines:
        seen = lines.read()
    assert re.fullmatch(r"(krohn verify: at work for \d+ s\n){2,}a remark\n(krohn verify: .*\n)*", seen), seen
    assert len(seen.splitlines()) < 12  # not one for each tick


def test_commands_with_a_bar_of_their_own_show_no_second_one() -> None:
    assert set(app.COMMANDS) > output.OWN
