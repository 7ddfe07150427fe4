"""``krohn compile`` and ``krohn run``: files, numbers, words, and errors in one line."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

import krohn
from every import every
from krohn.cli.app import run
from krohn.explorer.page_data import describe
from krohn.exporting.standard_blocks import standard_blocks


def compiled(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert run(["compile", *arguments, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert isinstance(report, dict)
    return report


def test_the_json_has_the_promised_keys(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    payload = compiled(capsys, "S4", "--length", "64", "--out", str(tmp_path / "s4"))
    assert (payload["method"], payload["depth"], payload["dim"], payload["heads"], payload["head_dim"]) == (
        "cascade",
        3,
        6,
        1,
        2,
    )
    paper = payload["bound"]
    assert (payload["theorem"], paper["depth"], paper["blocks"]) == ("Theorem 1", 6, 12)
    assert payload["proved"] == "float32"
    for key in ("depth", "dim", "heads", "head_dim", "mlp_width", "max_weight"):
        assert key in payload
        assert key in payload["bound"]
    assert payload["paper"] == {
        **paper,
        "source": "Theorem 1",
    }  # ``bound`` is no bound: the paper's best network
    network = krohn.load(tmp_path / "s4")
    assert network.sizes()["num_parameters"] == payload["num_parameters"]
    assert sorted(path.name for path in (tmp_path / "s4").iterdir()) == ["krohn.json", "model.safetensors"]


@pytest.mark.parametrize(
    ("arguments", "method"),
    [
        (("Grid4", "--method", "grid"), "grid"),
        (("C2", "--method", "scan"), "scan"),
        (("C2", "--method", "paper"), "paper"),
        (("A5",), "scan"),
        (("regex:(ab)*", "--method", "cascade", "--objective", "width"), "cascade"),
    ],
)
def test_every_method_is_reachable(
    arguments: tuple[str, ...], method: str, capsys: pytest.CaptureFixture[str]
) -> None:
    payload = compiled(capsys, *arguments, "--length", "16", "--unproved")
    assert payload["method"] == method
    assert payload["bound"]["depth"] >= 1


def test_what_else_a_folder_holds_stays_and_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "c2").mkdir()
    for name in "abcd":
        (tmp_path / "c2" / name).write_text("mine")
    for _ in range(2):
        assert run(["compile", "C2", "--length", "4", "--out", str(tmp_path / "c2")]) == 0
        said = capsys.readouterr().err
        assert "holds other things too, left as they are: a, b, c and 1 more" in said
    assert (tmp_path / "c2" / "a").read_text() == "mine"
    assert run(["compile", "C2", "--length", "4", "--out", str(tmp_path / "new")]) == 0
    assert "other things" not in capsys.readouterr().err


def test_the_text_shows_built_paper_proof_and_what_heads_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compile", "D8", "--length", "17", "--method", "cascade"]) == 0
    text = capsys.readouterr().out
    for part in (
        "the paper's best (lemmas on groups)",
        "blocks of GPT-2",
        "counts how often drive has come, at places of kind 1",
        "proved: right on",
    ):
        assert part in text


def test_heads_that_differ_in_numbers_only_are_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compile", "Grid9", "--length", "20", "--unproved"]) == 0
    assert "8 × finds the last time it stood 1…8 below this, on the circle" in capsys.readouterr().out


def test_hidden_layers_are_counted_honestly(capsys: pytest.CaptureFixture[str]) -> None:
    proved = compiled(capsys, "S4", "--length", "100")
    narrow = compiled(capsys, "S4", "--length", "100", "--unproved")
    assert (proved["depth"], proved["blocks"], proved["mlp_depth"], proved["proved"]) == (3, 5, 1, "float32")
    assert (narrow["depth"], narrow["blocks"], narrow["mlp_depth"], narrow["proved"]) == (3, 16, 6, None)
    assert narrow["mlp_width"] < proved["mlp_width"]


@pytest.mark.parametrize("name", ["S4", "C2"])
def test_table_command_page_and_export_count_the_same_blocks(
    name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """``krohn export`` writes the blocks of ``standard_blocks``; of C2, the quickest, the files are read."""
    table = (Path(__file__).parents[2] / "docs" / "compiler.md").read_text()
    (row,) = [line.split(" | ") for line in table.splitlines() if line.startswith(f"| {name} | ")]
    blocks = int(row[1])
    built = compiled(capsys, name, "--length", "100", "--out", str(tmp_path / "net"))
    network = krohn.load(tmp_path / "net")
    page = {size["name"]: size["built"] for size in describe(network, None)["sizes"]["rows"]}
    analysed = krohn.analyze(name).depth.blocks
    export = len(standard_blocks(network.transformer).blocks)
    assert [built["blocks"], page["blocks"], analysed, export] == [blocks] * 4
    assert (built["proved"], row[5]) == ("float32", "float32")
    if name == "C2":
        krohn.export(network, "hf", tmp_path / "hf")
        assert json.loads((tmp_path / "hf" / "config.json").read_text())["n_layer"] == blocks


def test_a_network_in_the_way_is_replaced_and_other_files_stay(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    compiled(capsys, "S4", "--length", "8", "--out", str(tmp_path))
    compiled(capsys, "C3", "--length", "5", "--out", str(tmp_path))
    assert krohn.load(tmp_path).automaton.num_states == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "krohn.json",
        "model.safetensors",
        "notes.txt",
    ]


def test_options_of_the_paper_s_methods_are_passed_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        compiled(capsys, "Q8", "-T", "9", "--unproved", "--method", "scan", "--gadget", "hat")["mlp_width"]
        == 72
    )
    grid = compiled(capsys, "Grid9", "-T", "9", "--unproved", "--method", "grid", "--variant", "mod_sum")
    assert grid["dim"] == 9


def test_hundreds_of_states_are_beside_the_papers_best_too(capsys: pytest.CaptureFixture[str]) -> None:
    payload = compiled(capsys, "Dyck7,2", "--length", "8", "--unproved")
    assert (payload["depth"], payload["theorem"], payload["bound"]["depth"]) == (3, "Theorem 1", 3)
    assert payload["bound"]["dim"] == 2 * 256 + 2


def test_run_answers_like_simulate(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    words = "a b a b\r\n\nb\na a a a a a"
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


@every(
    ("arguments", "message"),
    [
        (["compile", "A5", "--length", "9", "--method", "cascade"], "A5 of order 60"),
        (["compile", "S4", "--length", "9", "--method", "grid"], "needs a gridworld"),
        (["compile", "S4", "--length", "0"], "0 is not in the range"),
        (["compile", "Nope", "--length", "4"], "Nope"),
        (["compile", "S5", "--length", "9", "--method", "paper"], "S5 of order 120"),
        (["compile", "S4", "--length", "9", "--gadget", "hat"], "an option of method scan"),
        (["barrington", "x & y", "--assign", "x=1,y=1,q=0"], "not in it: q"),
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
    for words, message in (
        ("a\na b a\n", "at most 2 letters here; line 2 has 3; compile with --length 3"),
        ("a z\n", "letter 2 is 'z'"),
    ):
        monkeypatch.setattr("sys.stdin", io.StringIO(words))
        assert run(["run", str(tmp_path)]) == 2
        assert message in capsys.readouterr().err
