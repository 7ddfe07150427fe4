"""``krohn compile`` and ``krohn run``: files, numbers, words, and errors in one line."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

import krohn
from krohn.cli.app import run


def compiled(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert run(["compile", *arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, dict)
    return found


def test_the_json_has_the_promised_keys(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    found = compiled(capsys, "S4", "--length", "64", "--out", str(tmp_path / "s4"))
    assert (found["method"], found["depth"], found["dim"], found["heads"], found["head_dim"]) == (
        "cascade",
        3,
        6,
        1,
        2,
    )
    assert found["bound"]["depth"] == 8091
    assert found["recipe"]["depth"] == 12
    for key in ("depth", "dim", "heads", "head_dim", "mlp_width", "max_weight"):
        assert key in found
        assert key in found["bound"]
    network = krohn.load(tmp_path / "s4")
    assert network.sizes()["num_parameters"] == found["num_parameters"]
    assert sorted(path.name for path in (tmp_path / "s4").iterdir()) == ["krohn.json", "model.safetensors"]


@pytest.mark.parametrize(
    ("arguments", "method"),
    [
        (("Grid4", "--method", "grid"), "grid"),
        (("C2", "--method", "scan"), "scan"),
        (("C2", "--method", "paper"), "paper"),
        (("A5",), "scan"),
        (("regex:(ab)*", "--mask", "strict", "--objective", "width"), "cascade"),
    ],
)
def test_every_method_is_reachable(
    arguments: tuple[str, ...], method: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = compiled(capsys, *arguments, "--length", "16")
    assert found["method"] == method
    assert found["bound"]["depth"] >= 1


def test_the_text_shows_built_recipe_bound_and_what_heads_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compile", "D8", "--length", "20"]) == 0
    text = capsys.readouterr().out
    for part in ("paper's recipe", "Theorem 2", "prefix sum of", "mlp_width"):
        assert part in text


def test_thousands_of_states_have_a_bound_too(capsys: pytest.CaptureFixture[str]) -> None:
    found = compiled(capsys, "Dyck7,2", "--length", "8")
    assert (found["depth"], found["bound"]["depth"]) == (3, (3 * 256**2 * 8 + 7 * 256))
    assert found["bound"]["dim"] == "> 1e77"


def test_run_answers_like_simulate(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    words = "a b a b\n\nb\na a a a a a\n"
    assert run(["compile", "abab", "--length", "6", "--out", str(tmp_path)]) == 0
    capsys.readouterr()
    answers = []
    for command in (["simulate", "abab"], ["run", str(tmp_path)], ["run", str(tmp_path), "--device", "cpu"]):
        monkeypatch.setattr("sys.stdin", io.StringIO(words))
        assert run(command) == 0
        answers.append(capsys.readouterr().out)
    assert answers[0] == answers[1] == answers[2]
    monkeypatch.setattr("sys.stdin", io.StringIO(words))
    assert run(["run", str(tmp_path), "--json", "--dtype", "float32"]) == 0
    assert json.loads(capsys.readouterr().out)["states"] == [line.split() for line in answers[0].splitlines()]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compile", "A5", "--length", "9", "--method", "cascade"], "A5 of order 60"),
        (["compile", "S4", "--length", "9", "--method", "grid"], "needs a gridworld"),
        (["compile", "S4", "--length", "0"], "0 is not in the range"),
        (["compile", "Nope", "--length", "4"], "Nope"),
        (["run", "no/such/directory"], "must exist"),
    ],
)
def test_bad_input_is_one_line_and_status_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.startswith("error: ")
    assert error.count("\n") == 1


def test_a_word_that_is_too_long_or_has_a_foreign_letter_is_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert run(["compile", "abab", "--length", "2", "--out", str(tmp_path)]) == 0
    for words, message in (("a b a\n", "length ≤ 2; got 3"), ("a z\n", "line 1, letter 2")):
        monkeypatch.setattr("sys.stdin", io.StringIO(words))
        assert run(["run", str(tmp_path)]) == 2
        assert message in capsys.readouterr().err
