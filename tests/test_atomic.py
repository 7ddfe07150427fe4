"""Files are written whole or not at all."""

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest

from krohn.atomic import write_bytes, write_json, write_text, write_whole


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


@pytest.mark.parametrize(
    "write", [lambda path: write_bytes(path, b"new"), lambda path: write_text(path, "new")]
)
def test_a_crash_before_the_rename_leaves_the_former_file(
    write: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "value"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, "replace", _crash)
    with pytest.raises(SystemExit):
        write(path)
    assert path.read_bytes() == b"old"


def test_the_contents_are_on_the_disk_before_the_name_and_the_name_before_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, done = tmp_path / "value", []
    sync, rename = os.fsync, os.replace

    def note_sync(descriptor: int) -> None:
        state = os.fstat(descriptor)
        done.append("directory" if stat.S_ISDIR(state.st_mode) else f"{state.st_size} bytes")
        sync(descriptor)

    def note_rename(source: str, target: Path) -> None:
        done.append("rename")
        rename(source, target)

    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(os, "replace", note_rename)
    write_bytes(path, b"x" * 100_003)
    assert done == ["100003 bytes", "rename", "directory"]


def test_json_refuses_what_json_cannot_say(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(tmp_path / "x.json", {"value": float("nan")})
    write_json(tmp_path / "x.json", {"value": 1})
    assert json.loads((tmp_path / "x.json").read_text()) == {"value": 1}


def _crash(*_: object) -> None:
    raise SystemExit


def _ignore(_: object) -> None:
    return None
