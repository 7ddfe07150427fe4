"""Files are written whole or not at all."""

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any


def write_whole(path: Path, write: Callable[[IO[bytes]], None]) -> None:
    """Calls ``write`` on a temporary file beside ``path``, syncs it, then renames it into place.

    A crash or a full disk at any moment leaves either the old file or the new one, never a part.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            write(stream)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    if os.name == "posix":  # the new name lasts only once its directory is on the disk
        directory = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def write_bytes(path: Path, data: bytes) -> None:
    """Writes ``data``, whole or not at all."""

    def put(stream: IO[bytes]) -> None:
        stream.write(data)

    write_whole(path, put)


def write_text(path: Path, text: str) -> None:
    """Writes ``text`` as UTF-8, whole or not at all."""
    write_bytes(path, text.encode())


def write_json(path: Path, payload: Any) -> None:
    """Writes ``payload`` as JSON with a final newline, whole or not at all; NaN is refused."""
    write_text(path, json.dumps(payload, indent=1, allow_nan=False, ensure_ascii=False) + "\n")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
