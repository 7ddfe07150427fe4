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
