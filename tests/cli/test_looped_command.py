"""A looped block by the commands: compiled, proved, run in loops and without end, extracted, studied."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import krohn
from every import every
from krohn.cli.app import run
from krohn.cli.words_on_stdin import endless_letters

LASTING = Path(__file__).parents[2] / "results" / "lasting"


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Status, output and errors of a command with this standard input."""

    def call(*words: str, given: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode()), encoding="utf-8"))
        status = run(words)
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return call


def test_it_is_compiled_proved_run_and_extracted(command: Any, tmp_path: Path) -> None:
    folder, certificate = str(tmp_path / "s3"), str(tmp_path / "s3.json")
    status, out, _ = command("compile", "S3", "--architecture", "looped", "--out", folder, "--json")
    assert status == 0
    about = json.loads(out)
    assert (about["architecture"], about["codes"], about["layers"]) == ("looped", 6, 1)
    status, out, _ = command("verify", folder, "--automaton", "S3", "--out", certificate, "--json")
    verdict = json.loads(out)
    assert (status, verdict["certified"], verdict["claim"]["lengths"]) == (0, True, "every")
    assert command("verify", folder, "--automaton", "S3", "--recheck", certificate)[0] == 0
    assert command("verify", folder, "--automaton", "D6")[0] == 1
    assert command("run", folder, "021", "102", "120")[1] == command("simulate", "S3", "021", "102", "120")[1]
    status, out, _ = command("extract", folder, "--length", "5", "--out", str(tmp_path / "x.json"), "--json")
    assert status == 0
    assert json.loads(out)["equivalent"]
    status, _, errors = command("compile", "S3", "--architecture", "looped", "--length", "8")
    assert (status, errors.count("\n")) == (2, 1)


@every("folder", ["d6", "c3"])
def test_a_trained_run_reads_without_end_what_it_reads_in_loops(command: Any, folder: str) -> None:
    names = krohn.zoo(folder.upper()).letter_names
    word = " ".join(names[letter] for letter in np.random.default_rng(0).integers(len(names), size=70))
    status, out, _ = command("run", str(LASTING / folder), "--online", given=word)
    assert status == 0
    assert out.split() == command("run", str(LASTING / folder), *word.split())[1].split()


def test_online_reads_line_ends_as_spaces_and_prints_a_line_a_letter(command: Any, tmp_path: Path) -> None:
    for architecture in ("looped", "gru"):
        folder = str(tmp_path / architecture)
        krohn.compile("abab", architecture=architecture, out=folder)
        _, out, _ = command("run", folder, "--online", given="abab\na b\n")
        assert out.split("\n") == [*map(str, krohn.simulate("abab", "ababab")), ""]
    assert command("run", folder, "--online", given="") == (0, "", "")


@every(
    ("options", "given", "error"),
    [
        (("--online",), "a x", "letter 2: every letter must be one of a b"),
        (("--online", "--json"), "a", "leave out letters"),
        (("--online", "a"), "", "leave out letters"),
        (("--online", "--dtype", "float64"), "a", "leave out letters"),
    ],
)
def test_what_online_cannot_do_is_one_line(
    command: Any, tmp_path: Path, options: tuple[str, ...], given: str, error: str
) -> None:
    krohn.compile("abab", architecture="looped", out=tmp_path)
    status, _, errors = command("run", str(tmp_path), *options, given=given)
    assert status == 2
    assert error in errors
    assert errors.count("\n") <= 1


def test_a_network_that_keeps_all_letters_has_no_end(command: Any, tmp_path: Path) -> None:
    krohn.compile("abab", 4, out=tmp_path, unproved=True)
    status, _, errors = command("run", str(tmp_path), "--online", given="a")
    assert status == 2
    assert "only recurrent and looped networks read a word without end" in errors


def test_letters_of_several_characters_are_kept_whole_between_stretches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = ["ab", "abc", "d"]
    for text in ("ab abc d", "ab\nabc  d ", "d"):

        class Slow(io.BytesIO):
            def read1(self, size: int | None = -1) -> bytes:
                return super().read1(1)  # a byte at a time

        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(Slow(text.encode())))
        found = list(endless_letters(lambda name: [names.index(name)], together=False))
        assert [number for part in found for number in part] == [names.index(name) for name in text.split()]


def test_a_trained_run_is_extracted_and_what_is_not_for_it_is_one_line(command: Any, tmp_path: Path) -> None:
    out = str(tmp_path / "x.json")
    status, printed, _ = command("extract", str(LASTING / "c3"), "--length", "4", "--out", out, "--json")
    assert status == 0
    assert json.loads(printed)["equivalent"]
    status, _, errors = command("understand", str(LASTING / "c3"))
    assert status == 2
    assert "understand needs blocks with a residual stream" in errors.splitlines()[-1]


def test_many_automata_are_learned_in_one_looped_run(command: Any, tmp_path: Path) -> None:
    for name in ("C2", "C3"):
        command("zoo", name, "--out", str(tmp_path / f"{name}.json"))
    sizes = [f"--option={option}" for option in ("dim=16", "heads=2", "mlp=16")]
    few = ["--length", "4", "--batch", "8", "--steps", "4", "--out", str(tmp_path / "run")]
    status, printed, _ = command(
        "train", "--each", str(tmp_path), "--model", "looped", *sizes, *few, "--json"
    )
    assert status == 0
    assert [row["automaton"] for row in json.loads(printed)["rows"]] == ["C2", "C3"]
