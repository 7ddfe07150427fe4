"""The commands zoo, simulate and sample, as a user runs them."""

import io
import json
from pathlib import Path

import numpy as np
import pytest

from krohn.automata.diagram import diagram
from krohn.automata.files import dump_automaton
from krohn.automata.reader import states_of_all
from krohn.automata.regular import from_regex
from krohn.automata.zoo import zoo, zoo_names
from krohn.cli.app import run
from krohn.functions import simulate


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run(arguments) == 0
    return capsys.readouterr().out


def give(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))


def test_zoo_lists_every_name_with_its_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    payload = json.loads(answer(capsys, "zoo", "--json"))
    listed = {row["name"]: (row["num_states"], row["num_letters"]) for row in payload["automata"]}
    assert tuple(listed) == zoo_names()
    assert (listed["S5"], listed["Dyck4,2"], listed["Rubik"]) == ((120, 8), (32, 4), (48, 6))
    text = answer(capsys, "zoo")
    assert all(name in text for name in zoo_names())


def test_zoo_draws_one_automaton(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer(capsys, "zoo", "regex:(a|b)*abb", "--svg", str(tmp_path / "new" / "abb.svg"))
    assert (tmp_path / "new" / "abb.svg").read_text() == diagram(from_regex("(a|b)*abb"))
    assert run(["zoo", "--svg", str(tmp_path / "all.svg")]) == 2
    assert "say which" in capsys.readouterr().err


def test_zoo_shows_one_automaton(capsys: pytest.CaptureFixture[str]) -> None:
    payload = json.loads(answer(capsys, "zoo", "abab@accept", "--json"))
    assert payload["letters"] == ["a", "b"]
    assert payload["start"] == "3"
    assert payload["table"] == zoo("abab").table.tolist()
    assert payload["observe"] == [0, 0, 0, 1, 0]
    assert "… and 80 more states" in answer(capsys, "zoo", "S5")


def test_simulate_prints_the_states_by_name(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    give(monkeypatch, "a b a b b a b a b\n\na\n")
    assert answer(capsys, "simulate", "abab") == "0 1 2 3 4 4 4 4 4\n\n0\n"
    give(monkeypatch, "a b a b b a b a b")
    assert answer(capsys, "simulate", "abab@accept", "--observe") == "0 0 0 1 0 0 0 0 0\n"
    give(monkeypatch, "( [ ] ) )\n")
    assert answer(capsys, "simulate", "Dyck4,2") == "( ([ ( empty sink\n"
    give(monkeypatch, "0 1\n1 1 1\n")
    assert json.loads(answer(capsys, "simulate", "Parity", "--json"))["states"] == [
        ["0", "1"],
        ["1", "0", "1"],
    ]


def test_simulate_reads_regexes_and_files(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    give(monkeypatch, "a b a a\n")
    assert answer(capsys, "simulate", "regex:(ab)*", "--observe") == "0 1 0 0\n"
    dump_automaton(zoo("D6"), tmp_path / "d6.json")
    give(monkeypatch, "drive toggle drive\n")
    assert answer(capsys, "simulate", str(tmp_path / "d6.json")) == "0,1 1,1 1,0\n"


def test_simulate_handles_many_words_of_many_lengths(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    words = [rng.integers(0, 5, size=rng.integers(0, 9)).tolist() for _ in range(5_000)]
    give(monkeypatch, "".join(" ".join(map(str, word)) + "\n" for word in words))
    lines = answer(capsys, "simulate", "C5").split("\n")[:-1]
    assert lines == [" ".join(map(str, zoo("C5").run(word))) for word in words]


@pytest.mark.parametrize("suffix", ["npz", "parquet", "jsonl"])
def test_sample_writes_a_data_set_and_says_so(
    suffix: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / f"s.{suffix}"
    arguments = ("sample", "S4", "--length", "8", "--count", "100", "--out", str(path), "--seed", "3")
    payload = json.loads(answer(capsys, *arguments, "--json"))
    assert (payload["count"], payload["length"]) == (100, 8)
    assert payload["seconds"] > 0
    first = path.read_bytes()
    assert "100 words of length 8 (uniform)" in answer(capsys, *arguments)
    assert path.read_bytes() == first


def test_sample_follows_the_distribution_asked_for(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "p.npz"
    answer(
        capsys,
        *("sample", "Parity", "--length", "50", "--count", "400", "--out", str(path)),
        *("--distribution", "bernoulli:0.1"),
    )
    with np.load(path) as archive:
        assert archive["letters"].mean() == pytest.approx(0.1, abs=0.02)
        assert np.array_equal(archive["states"], simulate(zoo("Parity"), archive["letters"]))


def test_sample_shows_a_progress_bar_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    terminal = io.StringIO()
    terminal.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr("sys.stderr", terminal)
    answer(capsys, "sample", "C2", "--length", "5", "--count", "9", "--out", str(tmp_path / "c.npz"))
    assert "c.npz" in terminal.getvalue()


@pytest.mark.parametrize("command", ["zoo", "simulate", "sample"])
def test_help_has_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert f"krohn {command}" in answer(capsys, command, "--help")


def test_few_words_and_many_of_one_length_give_the_same_states() -> None:
    automaton = zoo("Dyck4,2")
    words = [[index % 4, 2, index % 3, 1, 0] for index in range(40)]
    expected = [automaton.run(word) for word in words]
    assert list(states_of_all(automaton, words)) == expected
    assert list(states_of_all(automaton, words[:3])) == expected[:3]
