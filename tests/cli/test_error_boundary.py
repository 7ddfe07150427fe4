"""One place turns what goes wrong into one line and an exit status."""

import subprocess
import sys

import click
import pytest

from krohn.cli import app
from krohn.errors import Interrupted, InvalidInput


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = captured.err.splitlines()
    assert len(lines) == 1
    return lines[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "error: a command must be one of zoo, analyze"),
        (["analyze"], "error: Missing argument 'SPEC': see krohn analyze --help"),
        (["analyze", "S4", "--bogus"], "error: No such option"),
        (["sample", "S4", "--length", "many", "--count", "1", "--out", "x.npz"], "error: Invalid value"),
    ],
)
def test_a_wrong_command_line_is_one_line_and_status_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert app.run(arguments) == 2
    assert one_line(capsys).startswith(message)


@pytest.mark.parametrize(
    ("raised", "status", "message"),
    [
        (InvalidInput("must be\n  even; got 3"), 2, "error: must be even; got 3"),
        (OSError(28, "No space left on device"), 2, "error: [Errno 28] No space left on device"),
        (MemoryError(), 2, "error: MemoryError"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (Interrupted("interrupted at step 5, saved", 2), 130, "interrupted at step 5, saved"),
        (Interrupted("interrupted at step 5, saved", 15), 143, "interrupted at step 5, saved"),
    ],
)
def test_what_a_command_raises_becomes_a_status(
    raised: BaseException,
    status: int,
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @click.command()
    def failing() -> None:
        raise raised

    monkeypatch.setattr(app.CommandTable, "get_command", lambda *_: failing)
    assert app.run(["zoo"]) == status
    assert one_line(capsys) == message


def test_our_own_broken_invariants_are_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    @click.command()
    def failing() -> None:
        raise AssertionError("an invariant of ours")

    monkeypatch.setattr(app.CommandTable, "get_command", lambda *_: failing)
    with pytest.raises(AssertionError, match="an invariant of ours"):
        app.run(["zoo"])


def test_a_reader_that_goes_away_is_no_error() -> None:
    command = f"{sys.executable} -m krohn simulate Parity | head -n 1; echo ${{PIPESTATUS[0]}}"
    words = "0 1 1\n" * 100_000
    done = subprocess.run(["bash", "-c", command], input=words, capture_output=True, text=True)
    assert done.stdout.splitlines() == ["0 1 0", "0"]
    assert done.stderr == ""
