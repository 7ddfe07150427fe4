"""Files are written whole or not at all."""

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import IO

import pytest

from krohn.base.files import write_bytes, write_folder, write_json, write_text, write_whole


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


def test_a_link_is_followed_and_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    real, link, dangling = tmp_path / "there" / "real", tmp_path / "link", tmp_path / "dangling"
    real.write_bytes(b"old")
    link.symlink_to(real)
    dangling.symlink_to("there/new")
    write_bytes(link, b"new")
    write_bytes(dangling, b"made")
    assert link.is_symlink()
    assert dangling.is_symlink()
    assert real.read_bytes() == b"new"
    assert (tmp_path / "there" / "new").read_bytes() == b"made"


def test_a_circle_of_links_is_refused_and_stays(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="symbolic links"):
        write_bytes(tmp_path / "a", b"new")
    assert (tmp_path / "a").is_symlink()


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[bytes] = []
    reader = Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()

    def back_and_forth(stream: IO[bytes]) -> None:
        stream.write(b"xxx second")
        stream.seek(0)
        stream.write(b"1st")

    write_whole(pipe, back_and_forth)
    reader.join(timeout=60)
    assert got == [b"1st second"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert os.listdir(tmp_path) == ["pipe"]


def test_a_full_device_is_an_error_and_stays_a_device() -> None:
    with pytest.raises(OSError, match="No space left"):
        write_bytes(Path("/dev/full"), b"new")
    assert stat.S_ISCHR(Path("/dev/full").stat().st_mode)


def test_a_private_file_stays_private(tmp_path: Path) -> None:
    path = tmp_path / "value"
    path.write_bytes(b"old")
    path.chmod(0o600)
    write_bytes(path, b"new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_folders_made_for_a_file_that_failed_go_again(tmp_path: Path) -> None:
    def fail(stream: IO[bytes]) -> None:
        raise OSError("No space left on device")

    (tmp_path / "there").mkdir()
    with pytest.raises(OSError, match="No space left"):
        write_whole(tmp_path / "there" / "deep" / "deeper" / "value", fail)
    assert os.listdir(tmp_path) == ["there"]
    assert os.listdir(tmp_path / "there") == []


def test_files_that_belong_together_are_all_written_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "folder"
    write_folder(folder, {"a": b"1", "key": b"1", "old": b"1"}, key="key")
    (folder / "other").write_bytes(b"kept")
    sync, count = os.fsync, iter(range(100))

    def full_at_the_second(descriptor: int) -> None:
        if next(count) == 1:
            raise OSError(28, "No space left on device")
        sync(descriptor)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full_at_the_second)
        with pytest.raises(OSError, match="No space left"):
            write_folder(folder, {"a": b"2", "key": b"2"}, key="key", stale=frozenset({"old"}))
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {
        **{"a": b"1", "key": b"1", "old": b"1"},
        "other": b"kept",
    }
    write_folder(folder, {"a": b"2", "key": b"2"}, key="key", stale=frozenset({"old"}))
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {
        **{"a": b"2", "key": b"2"},
        "other": b"kept",
    }


def test_a_crash_between_two_files_leaves_a_folder_that_no_reader_accepts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, rename = tmp_path / "folder", os.replace
    write_folder(folder, {"a": b"1", "key": b"1"}, key="key")

    def crash_at_the_key(source: Path, target: Path) -> None:
        if target.name == "key":
            raise SystemExit
        rename(source, target)

    monkeypatch.setattr(os, "replace", crash_at_the_key)
    with pytest.raises(SystemExit):
        write_folder(folder, {"key": b"2", "a": b"2"}, key="key")
    assert os.listdir(folder) == ["a"]


def test_json_refuses_what_json_cannot_say(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(tmp_path / "x.json", {"value": float("nan")})
    write_json(tmp_path / "x.json", {"value": 1})
    assert json.loads((tmp_path / "x.json").read_text()) == {"value": 1}


def _crash(*_: object) -> None:
    raise SystemExit


def _ignore(_: object) -> None:
    return None
