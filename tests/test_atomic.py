"""Files are written whole or not at all."""

import json
from pathlib import Path
from typing import IO

import pytest

from krohn.atomic import write_json, write_text, write_whole


def test_a_file_holds_what_was_written(tmp_path: Path) -> None:
    write_text(tmp_path / "deep" / "note.txt", "häppchen\n")
    assert (tmp_path / "deep" / "note.txt").read_text() == "häppchen\n"


def test_a_failure_in_the_middle_keeps_the_old_file_and_leaves_no_trace(tmp_path: Path) -> None:
    path = tmp_path / "value.bin"
    write_whole(path, lambda stream: _ignore(stream.write(b"old")))

    def fail(stream: IO[bytes]) -> None:
        stream.write(b"half of the n")
        raise OSError("No space left on device")

    with pytest.raises(OSError, match="No space left"):
        write_whole(path, fail)
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["value.bin"]


def test_json_refuses_what_json_cannot_say(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(tmp_path / "x.json", {"value": float("nan")})
    write_json(tmp_path / "x.json", {"value": 1})
    assert json.loads((tmp_path / "x.json").read_text()) == {"value": 1}


def _ignore(_: object) -> None:
    return None
