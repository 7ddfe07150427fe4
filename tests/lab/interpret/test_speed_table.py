"""The table of speeds is what the script writes from the results; a missing measurement is a dash."""

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "tools"))

import speed_table  # noqa: E402


def line(steps: int, ours: float, theirs: float, **other: object) -> dict[str, object]:
    plain = {"what": "layer", "kernel": "own", "length": 128, "steps": steps, "rows": 64}
    return plain | {"milliseconds": {"ours": ours, "flash-linear-attention": theirs}} | other


def test_the_page_is_what_the_script_writes() -> None:
    page = speed_table.PAGE.read_text(encoding="utf-8")
    assert speed_table.page_with(page, speed_table.table(speed_table.measurements())) == page


def test_a_row_has_both_times_and_their_ratio(tmp_path: Path) -> None:
    path = tmp_path / "speed.jsonl"
    lines = [line(1, 9.0, 9.0), line(1, 4.0, 2.0), line(2, 3.0, 6.0, length=256)]
    path.write_text("\n".join(map(json.dumps, lines)))
    first, _, *rows = speed_table.table(speed_table.measurements(path)).splitlines()
    assert first.count("steps:") == 3
    assert first.count("1 step:") == 3
    assert rows == [
        "| layer | 128 | 64 | 4.0 ms | 2.0 ms | 0.50 | – | – | – |",
        "| layer | 256 | 64 | – | – | – | 3.0 ms | 6.0 ms | 2.00 |",
    ]


def test_a_page_without_the_marks_is_refused() -> None:
    with pytest.raises(AssertionError, match="speed"):
        speed_table.page_with("no table", "table")
