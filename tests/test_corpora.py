"""The benchmark of other people's machines: its rows, and what it does not measure twice."""

import json
from pathlib import Path

import bench_corpora
import pytest


def test_a_row_for_each_machine_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, rows = tmp_path / "corpus", tmp_path / "rows.jsonl"
    folder.mkdir()
    (folder / "ab.att").write_text("0 1 a\n1 0 b\n1\n")
    (folder / "bad.dot").write_text("graph { a -- b }")
    (folder / "web.re").write_text("a+b?\n(a)\\1\n")
    command = [str(folder), "--length", "8", "--jobs", "2", "--target", "observation", "--out", str(rows)]
    bench_corpora.main(command)
    found = {row["machine"]: row for row in map(json.loads, rows.read_text().splitlines())}
    assert set(found) == {"ab.att", "bad.dot", "web.re:1", "web.re:2"}
    keys = "machine states letters class layers blocks method parameters proved seconds megabytes refusal"
    assert all(set(keys.split()) <= row.keys() for row in found.values())
    good = found["ab.att"]
    assert (good["states"], good["letters"], good["proved"], good["refusal"]) == (3, 2, "float32", None)
    assert good["class"]
    assert "directed" in found["bad.dot"]["refusal"]
    assert "back-reference" in found["web.re:2"]["refusal"]
    assert "| . | observation | 2 | 1 | 1 | 0 | 0 |" in capsys.readouterr().out
    before = rows.read_text()
    bench_corpora.main(command)
    assert rows.read_text() == before


def test_both_targets_of_a_machine_and_what_is_not_begun(tmp_path: Path) -> None:
    folder, rows = tmp_path / "corpus", tmp_path / "rows.jsonl"
    folder.mkdir()
    (folder / "ab.att").write_text("0 1 a\n1 0 b\n1\n")
    (folder / "deep.att").write_text("0 1 a\n1 0 b\n1\n")
    command = [str(folder), "--length", "8", "--jobs", "1", "--target", "both", "--out", str(rows)]
    bench_corpora.main([*command, "--minutes", "0"])
    assert not rows.read_text()
    bench_corpora.main([*command, "--every", "2"])
    found = list(map(json.loads, rows.read_text().splitlines()))
    assert [(row["machine"], row["target"], row["proved"]) for row in found] == [
        ("ab.att", "state", "float32"),
        ("ab.att", "observation", "float32"),
    ]


def test_a_machine_that_takes_too_long_has_a_row_for_each_target(tmp_path: Path) -> None:
    (tmp_path / "slow.re").write_text("(?=.*[0-9].*[a-z])(?=.*[A-Z].*[!?]).{8,40}\n")
    rows = tmp_path / "rows.jsonl"
    bench_corpora.main([str(tmp_path), "--seconds", "0.2", "--target", "both", "--out", str(rows)])
    found = list(map(json.loads, rows.read_text().splitlines()))
    assert [(row["target"], row["refusal"]) for row in found] == [
        ("state", "timed out after 0.2 s"),
        ("observation", "timed out after 0.2 s"),
    ]
