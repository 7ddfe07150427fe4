"""A teacher's folder: every answer is right, or has a shortest wrong word, or a reason."""

import json
from pathlib import Path

import pytest

from krohn.cli.app import run


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    folder = tmp_path / "answers"
    folder.mkdir()
    # The language is a*b: one answer is right with one state too many, one accepts a*, one reads c.
    ada = {
        "p": {"a": "q", "b": "r"},
        "q": {"a": "p", "b": "r"},
        "r": {"a": "s", "b": "s"},
        "s": {"a": "s", "b": "s"},
    }
    bob = {"p": {"a": "p", "b": "s"}, "s": {"a": "s", "b": "s"}}
    eve = {"p": {"a": "p", "c": "p"}}
    for name, table, accept in (("ada", ada, "r"), ("bob", bob, "p"), ("eve", eve, "p")):
        payload = {"krohn": 1, "letters": [*table["p"]], "states": [*table], "start": "p", "next": table}
        payload["observe"] = {state: int(state == accept) for state in table}
        (folder / f"{name}.json").write_text(json.dumps(payload))
    (folder / "dan.json").write_text("{}")
    (folder / "notes.md").write_text("not an answer")
    return folder


def test_a_folder_is_graded(answers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["equal", "regex:a*b", str(answers), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    rows = {row["file"]: row for row in found["answers"]}
    assert (found["right"], found["of"], [*rows]) == (1, 4, ["ada.json", "bob.json", "dan.json", "eve.json"])
    assert rows["ada.json"]["right"]
    assert rows["bob.json"]["word"] == []
    assert "not compared" in rows["dan.json"]["remark"]
    # A pattern fails on letters that it does not read, and eve's reads c.
    assert not rows["eve.json"]["right"]
    assert run(["equal", "regex:a*b", str(answers)]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "1 of 4 right (25%)"


def test_a_folder_without_answers_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["equal", "regex:a*b", str(tmp_path)]) == 2
    assert "folder of answers must hold files" in capsys.readouterr().err
