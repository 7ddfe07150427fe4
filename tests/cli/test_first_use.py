"""What first users stumbled over: foreign files, words without spaces, misspelt names, long lines."""

import errno
import io
import json
import re
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import click
import pytest

import krohn
from every import every
from krohn.cli.app import COMMANDS, run

WRITERS = [
    ("zoo C2 --svg {}", ".svg"),
    ("decompose C2 --svg {}", ".svg"),
    ("explore C2 -T 3 --out {}", ".html"),
    ("extract net --length 2 --out {}", ".json"),
    ("explain net --out {}", ".json"),
    ("explain net 0 1 --out {}", ".svg"),
    ("understand net --effort 0.05 --out {}", ".html"),
]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a compiled network in it, in which the command runs."""
    krohn.save(krohn.compile("C2", length=4, unproved=True), tmp_path / "net")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refusal(capsys: pytest.CaptureFixture[str], line: str) -> str:
    capsys.readouterr()
    assert run(line.split()) == 2, line
    return capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize(("line", "ending"), WRITERS)
def test_a_file_that_krohn_did_not_write_stays(
    line: str, ending: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in (f"mine{ending}", "notes.txt"):
        (place / name).write_text('{"my": "work"}')
        message = refusal(capsys, line.format(name))
        assert name in message
        assert (place / name).read_text() == '{"my": "work"}'
    assert run(line.format(f"new{ending}").split()) == 0
    first = (place / f"new{ending}").read_bytes()
    (place / f"new{ending}").write_bytes(first + b"\n")
    assert run(line.format(f"new{ending}").split()) == 0  # its own file is written again
    assert (place / f"new{ending}").read_bytes() == first
    (place / f"empty{ending}").touch()
    assert run(line.format(f"empty{ending}").split()) == 0  # nothing is lost


@pytest.mark.parametrize("command", ["run abab-net", "simulate abab"])
def test_words_may_be_written_without_blanks(
    command: str, place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    krohn.save(krohn.compile("abab", length=8, unproved=True), place / "abab-net")
    answers = []
    for text in ("abb\nabab\n\n", "a b b\na b a b\n\n"):
        monkeypatch.setattr("sys.stdin", io.StringIO(text))
        assert run(command.split()) == 0
        answers.append(capsys.readouterr().out)
    assert answers[0] == answers[1]
    assert answers[0].splitlines()[0].split() == [str(q) for q in krohn.zoo("abab").run("abb")]


def test_understand_says_what_a_recurrent_network_is(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compile", "C2", "--architecture", "lstm", "--out", "lstm"]) == 0
    message = refusal(capsys, "understand lstm")
    assert "must be written by krohn compile" not in message
    assert "recurrent" in message


@every("name", sorted(COMMANDS))
def test_length_has_its_short_form_in_every_command(name: str) -> None:
    command = import_module(f"krohn.cli.{name}").command
    inner = command.commands.values() if isinstance(command, click.Group) else [command]
    for each in inner:
        for option in each.params:
            if "--length" in option.opts:
                assert "-T" in option.opts, f"{name}: {option.opts}"


@pytest.mark.parametrize(
    ("typed", "meant"), [("S44", "S4"), ("A55", "A5"), ("Dyck44,2", "Dyck4,2"), ("S4 ", "S4")]
)
def test_a_name_that_is_too_large_brings_the_near_one(
    typed: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert run(["analyze", typed]) == 2
    assert f"did you mean {meant}" in capsys.readouterr().err


def test_a_circuit_of_one_layer_becomes_so_and_so_deep(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["circuit", "C2", "-T", "2"]) == 0
    assert "1 layer becomes depth" in capsys.readouterr().out
    assert run(["circuit", "Grid4", "-T", "3"]) == 0
    assert re.search(r"1 layer becomes|\d layers become depth", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("compile C2 -T ten", "'ten' is not a whole number"),
        ("sample C2 -T ten --count 1 --out x.npz", "'ten' is not a whole number"),
        ("compile C2 -T 4 --effort much", "'much' is not a number"),
        ("extract net -T 2 --effort much", "'much' is not a number"),
    ],
)
def test_an_option_that_is_not_a_number_is_named(
    line: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    message = refusal(capsys, line)
    assert expected in message
    assert "range" not in message


def test_understand_prints_lines_that_fit(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    krohn.save(krohn.compile("S3", length=4, method="scan", unproved=True), place / "s3")
    capsys.readouterr()
    assert run(["understand", "s3", "--effort", "0.1"]) == 0
    out = capsys.readouterr().out
    prose = [line for line in out.splitlines() if not re.match(r"\S.*\s{2,}\S", line)]
    assert max(map(len, prose)) <= 100


def test_a_long_repetition_is_compiled_at_once() -> None:
    """A thousand heads that look back took minutes; seconds here are those of the processor."""
    begin = time.process_time()
    assert run(["compile", "regex:a{500}", "--length", "1"]) == 0
    assert time.process_time() - begin < 5


def test_the_circuit_of_many_heads_compares_no_pair_of_positions_that_cannot_match() -> None:
    """It looked at all of them, for each head: of a thousand heads that took minutes."""
    network = krohn.compile("regex:a{500}", length=3, unproved=True)
    begin = time.process_time()
    assert krohn.circuit(network).inputs == 3
    assert time.process_time() - begin < 5


def test_run_takes_the_letters_of_one_word(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    krohn.save(krohn.compile("S4", length=4, unproved=True), place / "s4")
    krohn.save(krohn.compile("C3", architecture="lstm"), place / "lstm3")
    capsys.readouterr()
    for line, states in (
        ("run s4 1023 1230", "1023 0231"),
        ("run lstm3 0 1 2", "0 1 0"),
        ("run lstm3 012", "0 1 0"),
    ):
        assert run(line.split()) == 0
        assert capsys.readouterr().out == f"{states}\n"
    assert run(["run", "s4", "1023", "1230", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["states"] == [["1023", "0231"]]
    assert "letter 2 is '9'" in refusal(capsys, "run s4 1023 9")
    assert "at most 4 letters" in refusal(capsys, "run lstm3".replace("lstm3", "s4") + " 1023" * 5)


@pytest.mark.parametrize("command", ["verify", "run", "explain", "understand"])
def test_an_automaton_in_place_of_a_network_is_to_be_compiled_first(
    command: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    message = refusal(capsys, f"{command} S4")
    assert "S4 is an automaton, not a network; compile it first: krohn compile S4 --length 64" in message


def test_brackets_in_a_name_are_taken_off(capsys: pytest.CaptureFixture[str]) -> None:
    assert "did you mean Dyck2,3?" in refusal(capsys, "zoo Dyck(2,3)")


def test_a_full_disk_is_named_in_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(krohn, "zoo", full)
    assert run(["zoo"]) == 2
    assert capsys.readouterr().err.startswith("error: there must be room for the output: No space left")


def test_help_reads_no_metadata_of_packages() -> None:
    code = "import sys, krohn.cli.process; sys.exit('email' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
