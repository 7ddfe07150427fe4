"""The error boundary: one line and an exit status for every error."""

import json

import click
import pytest

from krohn.cli import app
from krohn.errors import Interrupted, InvalidInput

HOW = "KROHN_TRACEBACK=1 in the environment shows where"

HOW = "KROHN_TRACEBACK=1 in the environment shows where"


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = captured.err.splitlines()
    assert len(lines) == 1
    return lines[0]


def failing_command(monkeypatch: pytest.MonkeyPatch, raised: BaseException) -> None:
    @click.command(context_settings={"ignore_unknown_options": True})
    @click.argument("rest", nargs=-1)
    def failing(rest: tuple[str, ...]) -> None:
        raise raised

    monkeypatch.setattr(app.CommandTable, "get_command", lambda *_: failing)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "error: no command 'nothing': must be one of zoo, analyze"),
        (["anlyze"], "error: no command 'anlyze': did you mean analyze? see krohn --help"),
        (["analyze"], "error: Missing argument 'SPEC': see krohn analyze --help"),
        (["analyze", "--effort"], "error: Option '--effort' requires an argument: see krohn analyze --help"),
        (["analyze", "S4", "--bogus"], "error: No such option"),
        (["simulate", "abab", "abc"], "error: every letter must be one of a b; letter 3 is 'c'"),
        (["simulate", "abab", "ab", "a"], "error: every letter must be one of a b; letter 1 is 'ab'"),
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
        (
            OSError(28, "No space left on device"),
            2,
            "error: there must be room for the output: No space left on device; free some, or choose another "
            "place",
        ),
        (
            MemoryError(),
            2,
            "error: this needs more memory than there is: use a shorter --length, or a smaller input",
        ),
        (
            MemoryError("Unable to allocate 18.6 GiB for an array with shape (50000, 50000)"),
            2,
            "error: this needs more memory than there is (20.0 GB at once): use a shorter --length, or a "
            "smaller input",
        ),
        (
            RuntimeError(
                "DefaultCPUAllocator: can't allocate memory: you tried to allocate 5376005376 bytes"
            ),
            2,
            "error: this needs more memory than there is (5.4 GB at once): use a shorter --length, or a "
            "smaller input",
        ),
        (
            AssertionError("an invariant"),
            2,
            "error: internal error, please report it: AssertionError('an invariant'); " + HOW,
        ),
        (SystemExit(1), 2, "error: internal error, please report it: SystemExit(1); " + HOW),
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
    failing_command(monkeypatch, raised)
    assert app.run(["zoo"]) == status
    assert one_line(capsys) == message


def test_the_environment_asks_for_the_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failing_command(monkeypatch, AssertionError("an invariant"))
    monkeypatch.setenv("KROHN_TRACEBACK", "1")
    assert app.run(["zoo"]) == 2
    text = capsys.readouterr().err
    assert "Traceback (most recent call last)" in text
    assert text.splitlines()[-1].startswith("error: internal error")


@pytest.mark.parametrize("raised", [InvalidInput("must be\n even"), ZeroDivisionError("oh")])
def test_with_json_an_error_is_an_object_on_stdout_too(
    raised: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failing_command(monkeypatch, raised)
    assert app.run(["zoo", "--json"]) == 2
    captured = capsys.readouterr()
    assert captured.err == f"error: {json.loads(captured.out)['error']}\n"


def test_an_error_line_is_short_and_steers_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failing_command(monkeypatch, InvalidInput("must not be \x1b[2J" + "x" * 10_000 + ": choose another"))
    assert app.run(["zoo"]) == 2
    line = one_line(capsys)
    assert len(line) == 300
    assert line.startswith("error: must not be \\x1b[2Jxxx")
    assert line.endswith("xxx: choose another")
