"""The benchmark of patterns: what it counts, and that a wrong automaton is found."""

import json
from pathlib import Path

import bench_patterns
import pytest

import krohn


def test_a_row_for_each_list(tmp_path: Path) -> None:
    web, rows = tmp_path / "web.re", tmp_path / "rows.jsonl"
    web.write_text("^\\d+(-\\d+)?$\n\n(a)\\1\n(?=.*a)b\n(\n/fo+/iU\n([03]|[14])*[14]\n")
    bench_patterns.main([str(web), "--jobs", "1", "--out", str(rows)])
    (row,) = map(json.loads, rows.read_text().splitlines())
    assert (row["lines"], row["compiles"], row["plain"], row["plain_read"], row["read"]) == (6, 5, 3, 3, 4)
    assert (row["strings"], row["wrong"], row["left_out"]) == (800, 0, 0)
    assert 100 < row["matches"] < 700
    assert list(row["refused"].values()) == [[3]]


def test_a_wrong_automaton_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if ``$`` were the end of the word alone, and ``\\d`` of ASCII."""
    for right, wrong in ((r"a+$\n?", r"a+\Z\n?"), (r"\d+", "[0-9]+"), ("(?i)s+", "[sS]+|[0-1]{99}")):
        monkeypatch.setattr(bench_patterns, "from_regex", lambda _, wrong=wrong: krohn.from_regex(wrong))
        row = bench_patterns.judged(right, 200)
        assert row["wrong"] > 0, right


def test_what_takes_re_too_long_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_patterns, "PATIENCE", 0.02)
    monkeypatch.setattr(bench_patterns, "strings", lambda *_: ["a" * 40 + "b", "aa"])
    row = bench_patterns.judged("(a|a|b)*$c|(a+)+", 2)
    assert (row["left_out"], row["strings"], row["wrong"]) == (1, 1, 0)
