"""JSON from files that anyone may have written: bounded, every key once, every number finite."""

import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from krohn.errors import InvalidFile, LimitExceeded

MAX_BYTES = 256_000_000


def read_json(path: str | Path, *, max_bytes: int = MAX_BYTES) -> Any:
    """The file's content; an error is one line that begins with the file's name."""
    try:
        with open(path, "rb") as stream:
            data = stream.read(max_bytes + 1)
    except FileNotFoundError as error:
        raise InvalidFile(f"{short(path)} must exist; it does not") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidFile(f"{short(path)} must be readable: {reason}") from error
    if len(data) > max_bytes:
        raise LimitExceeded(f"{short(path)} must have at most {max_bytes:,} bytes; it has more")
    try:
        return parse_json(data)
    except InvalidFile as error:
        raise InvalidFile(f"{short(path)}: {error}") from error


def parse_json(text: str | bytes) -> Any:
    """The value, if the text is JSON with each key once in its object and numbers that are finite."""
    try:
        decoded = text.decode("utf-8-sig") if isinstance(text, bytes) else text
        return json.loads(decoded, object_pairs_hook=_once, parse_constant=_no_constant, parse_float=_finite)
    except RecursionError as error:
        raise InvalidFile("JSON must not be nested this deeply") from error
    except UnicodeDecodeError as error:
        raise InvalidFile(f"it must be JSON in UTF-8; byte {error.start} is not") from error
    except InvalidFile:
        raise
    except ValueError as error:
        raise InvalidFile(f"it must be JSON; {error}") from error


def require_keys(
    payload: Any, keys: Iterable[str], what: str, optional: Iterable[str] = ()
) -> dict[str, Any]:
    """The object, if it has these keys and no others; the first that is wrong is named."""
    wanted, known = set(keys), {*keys, *optional}
    if not isinstance(payload, dict):
        raise InvalidFile(f"{what} must be an object; got {shown(payload)}")
    missing, unknown = sorted(wanted - set(payload)), sorted(set(payload) - known)
    if missing or unknown:
        wrong = f"{missing[0]!r} is missing" if missing else f"{shown(unknown[0])} is not one of them"
        raise InvalidFile(f"{what} must have the keys {', '.join(sorted(known))}; {wrong}")
    return payload


def with_sorted_metadata(tensors: bytes) -> bytes:
    """A safetensors file whose metadata are in order; the library writes them in a new order every time."""
    end = 8 + int.from_bytes(tensors[:8], "little")
    header = json.loads(tensors[8:end])
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + tensors[end:]


def shown(value: Any) -> str:
    """A value in a message: short, and without characters that steer a terminal."""
    if isinstance(value, dict) or (isinstance(value, list) and not _is_plain(value)):
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value)}"
    text = repr(value)
    text = text if text.isprintable() else ascii(value)
    return text if len(text) <= 60 else text[:57] + "…"


def _is_plain(values: list[Any]) -> bool:
    return len(values) <= 4 and not any(isinstance(value, (dict, list)) for value in values)


def short(path: str | Path) -> str:
    """A path in a message: its end, where it is long."""
    text = str(path)
    text = text if text.isprintable() else ascii(text)[1:-1]
    return text if len(text) <= 80 else "…" + text[-79:]


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise InvalidFile(f"a key must appear once in its object; {shown(key)} appears twice")
            seen.add(key)
    return mapping


def _no_constant(text: str) -> float:
    raise InvalidFile(f"numbers must be finite; got {text}")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise InvalidFile(f"numbers must be finite; got {text[:40]}")
    return value
