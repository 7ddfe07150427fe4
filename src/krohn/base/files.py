"""Files: untrusted JSON read strictly, everything written whole or not at all, folders that krohn wrote.

JSON is read with the checker's reader. Writes follow links; pipes and devices are written to directly. A
folder says which kind of network it holds, and what may be written to it; the checker recognises the same
kinds by the same files with its own code (``check.files.folders``).
"""

import json
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn, final

from krohn.base.signatures import is_signed, object_in
from krohn.check.files.folders import (
    open_bounded,
    parse_json,
    read_bytes,
    read_json,
    read_tensors,
    short,
    shown,
    sizes_of,
)
from krohn.errors import InvalidFile, InvalidInput

__all__ = [
    "open_bounded",
    "parse_json",
    "read_bytes",
    "read_json",
    "read_tensors",
    "require_keys",
    "short",
    "shown",
    "sizes_of",
    "with_sorted_metadata",
]


def require_keys(
    payload: Any, keys: Iterable[str], what: str, optional: Iterable[str] = ()
) -> dict[str, Any]:
    """The object, if it has these keys and no others; the error names the first wrong one."""
    wanted, known = set(keys), {*keys, *optional}
    if not isinstance(payload, dict):
        raise InvalidFile(f"{what} must be an object; got {shown(payload)}")
    missing, unknown = sorted(wanted - set(payload)), sorted(set(payload) - known)
    if missing or unknown:
        wrong = f"{missing[0]!r} is missing" if missing else f"{shown(unknown[0])} is not one of them"
        raise InvalidFile(f"{what} must have the keys {', '.join(sorted(known))}; {wrong}")
    return payload


def with_sorted_metadata(tensors: bytes) -> bytes:
    """A safetensors file with sorted metadata; the library's own order changes from run to run."""
    end = 8 + int.from_bytes(tensors[:8], "little")
    header = json.loads(tensors[8:end])
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + tensors[end:]


_IN_MEMORY = 1 << 26
"""Bytes buffered in memory for a pipe or a device; beyond this, in a temporary file."""


def write_whole(path: Path, write: Callable[[IO[bytes]], object]) -> None:
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
    write_whole(path, lambda stream: stream.write(data))


def check_place(path: Path) -> None:
    """Refuses, before the work, a file or a folder that could not be made where it is to be."""
    own = Path(os.path.realpath(path))
    folder = next(each for each in (own, *own.parents) if each.is_dir() or (each != own and each.exists()))
    if not (folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)):
        raise InvalidInput(
            f"{str(folder)[-80:]} must be a folder that can be written to: choose another place"
        )


def check_output(path: Path, *endings: str) -> None:
    """Refuses a wrong file extension, an existing file that krohn did not write, and a part of a network.

    An automaton is kept as well, since people write them by hand, unless .jff is among the ``endings``: then
    another one is written. Without ``endings`` every extension will do.

    Links are followed first. A pipe or a device may have any name.
    """
    mode = _mode(path)
    if mode is not None and not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        return
    if endings and path.suffix not in endings:
        wanted = f"one of {', '.join(endings)}" if len(endings) > 1 else endings[0]
        raise InvalidInput(f"the file must end in {wanted}; got {str(path)[-80:]!r}")
    if mode is not None and stat.S_ISDIR(mode):
        raise InvalidInput(f"{short(path)} must be a file; it is a directory: choose another name")
    check_place(path)
    if mode is None:
        return
    real = Path(os.path.realpath(path))
    if real.name in _PARTS and any((real.parent / key).exists() for key in KEYS.values()):
        raise InvalidInput(f"{str(path)[-80:]} is a file of a network, so it is kept: choose another name")
    if not is_signed(real, path.suffix):
        raise InvalidInput(
            f"{str(path)[-80:]} exists and krohn did not write it, so it is kept: "
            "choose another name, or remove it"
        )
    if ".jff" not in endings and _holds_automaton(real):
        raise InvalidInput(f"{str(path)[-80:]} is an automaton, so it is kept: choose another name")


def _holds_automaton(path: Path) -> bool:
    return {"letters", "states", "start", "next"} <= object_in(path).keys()


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


def _write_straight(path: Path, write: Callable[[IO[bytes]], object]) -> None:
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


COMPILED, RECURRENT, LOOPED = "compiled", "recurrent", "looped"
EXPORT, TRAINED = "export", "trained"
STOCK = "stock"
CALLABLE = "callable"
"""What was brought as a function: it has no folder, and runs in whatever type it computes in."""
MODULE = "module"
"""A module of torch, in memory or as ``module.py:NAME``: the user's own code."""
MODEL_FILES = (".onnx", ".pt2")
"""Files that hold a module as data."""
STOCK_FILES = ("config.json", "model.safetensors")
"""A GPT-2 that ``transformers`` saved: known by both files, and by none of the keys below."""
KEYS = {
    COMPILED: "krohn.json",
    RECURRENT: "recurrent.json",
    LOOPED: "looped.json",
    EXPORT: "export.json",
    TRAINED: "weights.safetensors",
}
"""The file by which each kind is recognised; a folder that has two is of the first kind."""
_PARTS = {*KEYS.values(), "model.safetensors", "automaton.json", "meaning.json", "config.json", "README.md"}
"""Files of a network, which no other output replaces."""
CONTENTS = {
    COMPILED: "a compiled network",
    RECURRENT: "a recurrent network",
    LOOPED: "a looped network",
    EXPORT: "an export",
    TRAINED: "a training run",
    STOCK: "a GPT-2 saved by transformers",
}
WRITERS = {
    COMPILED: "krohn compile",
    RECURRENT: "krohn compile --architecture",
    LOOPED: "krohn compile --architecture looped",
    EXPORT: "krohn export",
    TRAINED: "krohn train",
    STOCK: "save_pretrained",
}
CHECKPOINT = "state.safetensors"
"""The checkpoint of a training run, present before its final weights are."""


@final
@dataclass(frozen=True)
class Folder:
    """A path, with or without a network of krohn's."""

    path: Path

    @property
    def kind(self) -> str | None:
        """The kind of its network; ``None`` if there is none."""
        own = next((kind for kind, name in KEYS.items() if (self.path / name).exists()), None)
        stock = own is None and all((self.path / name).exists() for name in STOCK_FILES)
        return STOCK if stock else own

    def check_target(self, kind: str, names: Iterable[str]) -> None:
        """Refuses if writing these files would overwrite foreign ones or mix two kinds of network."""
        if self.path.exists() and not self.path.is_dir():
            raise InvalidInput(f"{short(self.path)} must be a directory; it is a file: choose another name")
        check_place(self.path)
        kinds = {**{KEYS[other]: other for other in KEYS if other != kind}, CHECKPOINT: TRAINED}
        for name, other in kinds.items():
            if (self.path / name).exists():
                raise InvalidInput(
                    f"{short(self.path)} must not hold {CONTENTS[other]}; it has {name}: "
                    "choose another directory"
                )
        foreign = sorted(name for name in names if (self.path / name).exists())
        if foreign and not self._is_signed(kind):
            raise InvalidInput(
                f"{short(self.path)} must hold no {foreign[0]} but that of {CONTENTS[kind]}; krohn did not "
                "write this one: choose another directory"
            )

    def _is_signed(self, kind: str) -> bool:
        """Whether krohn wrote the file of that kind: it has the key ``krohn``."""
        return "krohn" in object_in(self.path / KEYS[kind])


NO_PATH = "a path must have a name; got none (the current folder is .)"


def path_of(given: str | Path) -> Path:
    """The path, refused if it is empty, as of an unset variable: that would be the current folder."""
    if given == "":
        raise InvalidInput(NO_PATH)
    return Path(given)


def require(network: Any, purpose: str, *kinds: str) -> str:
    """The kind of network in a folder, if it is one of ``kinds``; the error begins by ``purpose``."""
    kind = Folder(path_of(network)).kind if isinstance(network, str | Path) else None
    if kind not in kinds:
        refuse_network(network, purpose, *kinds)
    return kind


def refuse_network(network: Any, purpose: str, *kinds: str) -> NoReturn:
    """What was given instead of a network of these kinds, or its folder, and how to get one."""
    wanted = _either([CONTENTS[each] for each in kinds])
    if not isinstance(network, str | Path):
        raise InvalidInput(f"{purpose} {wanted}, or its folder; got {type(network).__name__}")
    path = path_of(network)
    kind = Folder(path).kind
    if kind is not None:
        raise InvalidInput(
            f"{purpose} {wanted}; {short(path)} holds {CONTENTS[kind]}; "
            f"write one by {_either([WRITERS[each] for each in kinds])}"
        )
    if path.suffix in MODEL_FILES:
        raise InvalidFile(f"{purpose} {wanted}; files {path.suffix} are read by krohn verify alone")
    if path.is_file():
        raise InvalidFile(f"{short(path)} must be a directory with {wanted}; it is a file")
    if not path.is_dir():
        raise InvalidFile(f"{short(path)} must exist and be a directory with {wanted}; there is none")
    names = _either([KEYS[each] for each in kinds if each in KEYS])
    raise InvalidFile(f"{short(path)} must be a directory with {wanted}; it has no {names}")


def _either(names: list[str]) -> str:
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))
