"""Atomic file writes: whole or not at all, following links; pipes and devices are written to directly."""

import json
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from krohn.errors import InvalidInput

_BEGINNING = 4096
"""Size of the part of a file, at its beginning or its end, that names its writer."""
_MARKS = {".npz": (b"state_names.npy", b"targets.npy"), ".jsonl": (b'{"letters": [', b'"targets": [')}
"""What a data set of krohn's begins with, where the format has no place for a name."""
_KEYS = frozenset({"krohn.json", "recurrent.json", "export.json", "weights.safetensors"})
_PARTS = _KEYS | {"model.safetensors", "automaton.json", "meaning.json", "config.json", "README.md"}
"""Files of a network, which no other output replaces."""

_IN_MEMORY = 1 << 26
"""Bytes buffered in memory for a pipe or a device; beyond this, in a temporary file."""


def write_whole(path: Path, write: Callable[[IO[bytes]], None]) -> None:
    """Calls ``write`` on a temporary file beside ``path``, syncs it, then renames it into place.

    A crash or a full disk at any moment leaves either the old file or the new one, never a part. Links are
    followed: their target is replaced. A pipe or a device is written to, never replaced.
    """
    mode = _mode(path)
    if mode is not None and not stat.S_ISREG(mode):
        _write_straight(path, write)
        return
    target = Path(os.path.realpath(path))
    with _make_folder(target.parent):
        descriptor, temporary = tempfile.mkstemp(prefix=f".{target.name[:40]}.", dir=target.parent)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                write(stream)
                stream.flush()
                os.fsync(stream.fileno())
            os.chmod(temporary, 0o666 & ~_umask() if mode is None else stat.S_IMODE(mode))
            os.replace(temporary, target)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    _sync(target.parent)


def write_folder(
    folder: Path, files: Mapping[str, bytes], *, key: str, stale: frozenset[str] = frozenset()
) -> None:
    """Writes files that belong together; on any failure the folder is left unchanged.

    All are staged beside the folder before the first rename. ``key`` is the file that makes readers
    accept the folder: the old one goes first, the new one comes last, so that nobody pairs new files
    with old. Names in ``stale`` that are not written again are removed.
    """
    folder = Path(os.path.realpath(folder))
    with (
        _make_folder(folder),
        tempfile.TemporaryDirectory(prefix=f".{folder.name[:40]}.", dir=folder) as beside,
    ):
        for name, data in files.items():
            with open(Path(beside) / name, "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
        for name in (key, *sorted(stale - set(files))):
            (folder / name).unlink(missing_ok=True)
        for name in sorted(files, key=lambda name: name == key):
            os.replace(Path(beside) / name, folder / name)
    _sync(folder)


def write_bytes(path: Path, data: bytes) -> None:
    """Writes ``data``, whole or not at all."""

    def put(stream: IO[bytes]) -> None:
        stream.write(data)

    write_whole(path, put)


def check_output(path: Path, *endings: str) -> None:
    """Refuses a wrong file extension, an existing file that does not name krohn, and a part of a network.

    Without ``endings`` every extension will do.

    Links are followed first. A pipe or a device may have any name.
    """
    mode = _mode(path)
    if mode is not None and not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        return
    if endings and path.suffix not in endings:
        wanted = f"one of {', '.join(endings)}" if len(endings) > 1 else endings[0]
        raise InvalidInput(f"the file must end in {wanted}; got {str(path)[-80:]!r}")
    if mode is None or not stat.S_ISREG(mode):
        return
    real = Path(os.path.realpath(path))
    if real.name in _PARTS and any((real.parent / key).exists() for key in _KEYS):
        raise InvalidInput(f"{str(path)[-80:]} is a file of a network, so it is kept: choose another name")
    with open(real, "rb") as stream:
        ends = stream.read(_BEGINNING)
        stream.seek(-min(_BEGINNING, real.stat().st_size), os.SEEK_END)
        ends += b"\n" + stream.read()
    marks = (b"krohn", *_MARKS.get(path.suffix, ()))
    if ends.strip() and not any(mark in ends for mark in marks):
        raise InvalidInput(
            f"{str(path)[-80:]} exists and krohn did not write it, so it is kept: "
            "choose another name, or remove it"
        )


def write_text(path: Path, text: str) -> None:
    """Writes ``text`` as UTF-8, whole or not at all."""
    write_bytes(path, text.encode())


def write_json(path: Path, payload: Any) -> None:
    """Writes ``payload`` as JSON with a final newline, whole or not at all; NaN is refused."""
    write_bytes(path, json_bytes(payload))


def json_bytes(payload: Any) -> bytes:
    """``payload`` as JSON with a final newline; NaN is refused."""
    return (json.dumps(payload, indent=1, allow_nan=False, ensure_ascii=False) + "\n").encode()


def _mode(path: Path) -> int | None:
    """The mode of the path's target, links followed; ``None`` if it does not exist."""
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None


def _write_straight(path: Path, write: Callable[[IO[bytes]], None]) -> None:
    """Buffers the output first: writers may seek, a pipe cannot."""
    with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY) as collected:
        write(collected)
        collected.seek(0)
        with open(path, "wb") as stream:
            shutil.copyfileobj(collected, stream)


@contextmanager
def _make_folder(folder: Path) -> Iterator[None]:
    """Creates a folder and its parents; those it created are removed again if the body fails."""
    missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        for parent in missing:
            try:
                parent.rmdir()
            except OSError:  # another process has put something there
                break
        raise


def _sync(folder: Path) -> None:
    """Syncs the folder: a rename is durable only once its folder is on disk."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
