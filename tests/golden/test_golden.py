"""Every file that is promised byte for byte has the bytes it had when its digest was kept."""

import json
from pathlib import Path

import pytest

from golden.digests import KEPT, KINDS, differences, digests


@pytest.mark.parametrize("kind", KINDS)
def test_files_have_the_kept_bytes(kind: str) -> None:
    kept = json.loads(KEPT.read_text())[kind]
    found = {line: digests(line) for line in KINDS[kind]()}
    assert differences(found, kept) == []
    assert found.keys() == kept.keys()
    assert all(found.values())


def test_another_byte_a_missing_file_and_a_new_one_are_named() -> None:
    kept = {"a": {"net": "1", "gone": "2"}, "b": {"net": "3"}}
    found = {"a": {"net": "0", "more": "2"}, "b": {"net": "3"}, "c": {"net": "4"}}
    assert differences(found, kept) == [
        "gone is missing: krohn a",
        "more is not kept: krohn a",
        "net differs: krohn a",
        "net is not kept: krohn c",
    ]
    assert differences(kept, kept) == []


def test_only_what_the_last_command_wrote_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other").write_text("not of the commands")
    line = "sample C2 --length 2 --count 1 --out a.jsonl && sample C3 --length 2 --count 1 --out b.jsonl"
    assert list(digests(line)) == ["b.jsonl"]
    with pytest.raises(SystemExit, match="krohn compile nothing: error: "):
        digests("compile nothing")
