"""Whether krohn wrote a file, by what files with its ending are made of.

That the word occurs is no sign: people write about krohn, and depend on it. What is not recognised is kept.
"""

import zipfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from krohn.check.files.folders import parse_json, read_json
from krohn.errors import InvalidFile, LimitExceeded


def object_in(path: Path) -> dict[str, Any]:
    """The JSON object in a file; an empty one if it holds anything else."""
    try:
        payload = read_json(path)
    except (InvalidFile, LimitExceeded):
        return {}
    return payload if isinstance(payload, dict) else {}


_BEGINNING = 4096
"""Bytes at the beginning of a file, where all that people read or write by hand has its signature."""
_TEXTS: dict[str, tuple[bytes, bytes]] = {
    ".svg": (b"<svg ", b"\n<!-- by krohn -->\n"),
    ".jff": (b"<?xml ", b"\n<!-- by krohn -->\n"),
    ".html": (b"<!doctype html>", b'<meta name="generator" content="krohn">'),
    ".dot": (b"digraph krohn {\n", b'\n__start0 [label="", shape=none];\n'),
}
"""How a text begins, and the line of its head that names the writer."""


def _is_own_text(first: bytes, line: bytes, path: Path, beginning: bytes) -> bool:
    return beginning.startswith(first) and line in beginning


def _is_own_json(path: Path, beginning: bytes) -> bool:
    """An object whose first key is the version of krohn's format, a number, before all others."""
    return beginning.lstrip()[:1] == b"{" and _is_versioned(object_in(path), "krohn")


def _is_versioned(payload: Mapping[str, Any], key: str) -> bool:
    return next(iter(payload), None) == key and type(payload[key]) is int


def _is_own_lines(path: Path, beginning: bytes) -> bool:
    """Results, whose first line has their version; documents, which name an automaton; or words."""
    try:
        with open(path, "rb") as stream:
            first = parse_json(stream.readline(_LINE))
    except InvalidFile:
        return False
    if not isinstance(first, dict):
        return False
    words = {"letters", "states"}, {"letters", "states", "observations"}
    named = len(first) > 1 and next(iter(first)) == "krohn" and isinstance(first["krohn"], str)
    return named or _is_versioned(first, "krohn-results") or set(first) in words


def _is_own_archive(path: Path, beginning: bytes) -> bool:
    """Words with the names of letters and states."""
    try:
        with zipfile.ZipFile(path) as archive:
            return {"letters.npy", "letter_names.npy", "state_names.npy"} <= set(archive.namelist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return False


def _is_own_table(path: Path, beginning: bytes) -> bool:
    """A table whose schema has an entry of krohn's, in the form in which parquet's footer writes a text."""
    size = path.stat().st_size
    with open(path, "rb") as stream:
        stream.seek(max(0, size - 8))
        end = stream.read()
        footer = min(int.from_bytes(end[:4], "little"), size, _LINE)
        stream.seek(max(0, size - 8 - footer))
        about = stream.read(footer)
    return beginning[:4] == end[4:] == b"PAR1" and b"\x18\x05krohn\x18" in about


_LINE = 1 << 24
"""Bytes of the first line, or of a footer, that are read."""
_SIGNED: dict[str, Callable[[Path, bytes], bool] | None] = {
    **{ending: partial(_is_own_text, *signs) for ending, signs in _TEXTS.items()},
    ".jsonl": _is_own_lines,
    ".npz": _is_own_archive,
    ".parquet": _is_own_table,
    ".csv": None,  # these have no place for a name, so whatever is there is kept
    ".att": None,
}
"""By its ending, how a file of krohn's is recognised; any other ending is that of a certificate, JSON."""


def is_signed(path: Path, ending: str) -> bool:
    """Whether krohn wrote the file; a blank one is anyone's."""
    with open(path, "rb") as stream:
        beginning = stream.read(_BEGINNING)
    if not beginning.strip() and len(beginning) < _BEGINNING:
        return True
    own = _SIGNED.get(ending, _is_own_json)
    return own is not None and own(path, beginning)
