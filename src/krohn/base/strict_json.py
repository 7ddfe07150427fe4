"""Reads untrusted JSON with the checker's reader, and checks the keys of objects."""

import json
from collections.abc import Iterable
from typing import Any

from krohn.check.files.bounded import (
    open_bounded,
    parse_json,
    read_bytes,
    read_json,
    read_tensors,
    short,
    shown,
    sizes_of,
)
from krohn.errors import InvalidFile

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
