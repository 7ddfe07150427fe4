"""Files that anyone may have written: regular ones of bounded size, read strictly; nothing is executed.

The one reader of the package. Whatever opens a network, a certificate or a store opens it here: a pipe or a
device is refused before a byte is read; a tensor file whose header does not fit its size, before its numbers
are read. JSON has every key once and finite numbers only; its size in memory is bounded by what it lists.
"""

import json
import math
import os
import stat
import sys
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from krohn.errors import InvalidFile, LimitExceeded

MAX_BYTES = 64_000_000
MAX_ENTRIES = 3_500_000
"""Items of lists and objects in a JSON file; one takes at most about 230 bytes of memory."""
MAX_TENSORS = 1 << 31
MAX_HEADER = 1 << 23
"""Bytes of the header of a tensor file: about 80,000 tensors."""
MAX_AXES = 4
KINDS: dict[str, npt.DTypeLike] = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "BF16": "<u2"}
KINDS |= {"U8": "|u1", "BOOL": "|u1"}

Tensors = dict[str, npt.NDArray[Any]]


def open_bounded(path: str | Path) -> IO[bytes]:
    """Opens a regular file for reading; anything else is refused, without blocking on a pipe."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError as error:
        raise InvalidFile(f"{short(path)} must exist; it does not") from error
    except (OSError, ValueError) as error:
        raise InvalidFile(
            f"{short(path)} must be readable: {getattr(error, 'strerror', None) or error}"
        ) from error
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        what = "Is a directory" if stat.S_ISDIR(mode) else "it is a pipe or a device, not a regular file"
        raise InvalidFile(f"{short(path)} must be readable: {what}")
    return os.fdopen(descriptor, "rb")


def read_bytes(path: str | Path, limit: int = MAX_BYTES) -> bytes:
    """All of a regular file of at most ``limit`` bytes."""
    with open_bounded(path) as stream:
        # One byte more than allowed shows that there are more, even where the file grows meanwhile.
        data = stream.read(limit + 1)
    if len(data) > limit:
        raise LimitExceeded(f"{short(path)} must have at most {limit:,} bytes; it has more")
    return data


def read_json(path: str | Path, *, max_bytes: int = MAX_BYTES) -> Any:
    """The file's content; an error is one line that begins with the file's name."""
    data = read_bytes(path, max_bytes)
    try:
        return parse_json(data)
    except InvalidFile as error:
        raise InvalidFile(f"{short(path)}: {error}") from error


def parse_json(text: str | bytes) -> Any:
    """The value, if the text is JSON with each key once in its object and numbers that are finite."""
    try:
        decoded = text.decode("utf-8-sig") if isinstance(text, bytes) else text
        if sys.getsizeof(decoded) > 2 * MAX_BYTES:  # one character beyond 16 bits makes all of them wide
            raise InvalidFile(f"JSON must take at most {2 * MAX_BYTES:,} bytes of memory; it takes more")
        # Before parsing: there are at most as many values as commas and opening brackets, and one.
        if sum(map(decoded.count, ",[{")) > MAX_ENTRIES:
            raise InvalidFile(f"JSON must list at most {MAX_ENTRIES:,} items; it lists more")
        return json.loads(decoded, object_pairs_hook=_once, parse_constant=_no_constant, parse_float=_finite)
    except RecursionError as error:
        raise InvalidFile("JSON must not be nested this deeply") from error
    except UnicodeDecodeError as error:
        raise InvalidFile(f"it must be JSON in UTF-8; byte {error.start} is not") from error
    except InvalidFile:
        raise
    except ValueError as error:
        raise InvalidFile(f"it must be JSON; {error}") from error


def read_tensors(path: str | Path, limit: int = MAX_TENSORS) -> Tensors:
    """The tensors of a safetensors file: no gaps, no overlaps, as many bytes as the header says."""
    with open_bounded(path) as stream:
        size, length = sizes_of(stream, path, limit)
        header = _header(stream.read(size), path)
        spans = sorted(_span(name, entry, length, path) for name, entry in header.items())
        # Each tensor begins where the one before it ends, and the last ends the file: nothing is hidden.
        ends = [0, *(end for _, end, _ in spans)]
        _need([first for first, _, _ in spans] + [length] == ends, path, "tensors must leave no gaps")
        body = memoryview(stream.read(length))
    _need(len(body) == length, path, "it must not change while it is read")
    return {name: _tensor(header[name], body[first:end]) for first, end, name in spans}


def sizes_of(stream: IO[bytes], path: str | Path, limit: int = MAX_TENSORS) -> tuple[int, int]:
    """Bytes of the header and of the numbers of an open tensor file, each bounded; only these are read."""
    total = os.fstat(stream.fileno()).st_size
    if total > limit:
        raise LimitExceeded(f"{short(path)} must have at most {limit:,} bytes; it has more")
    size = int.from_bytes(stream.read(8), "little")
    _need(0 < size <= total - 8, path, "it must begin with the size of its header")
    _need(size <= MAX_HEADER, path, f"its header must have at most {MAX_HEADER:,} bytes")
    return size, total - 8 - size


def _header(text: bytes, path: str | Path) -> dict[str, Any]:
    try:
        header = parse_json(text)
    except InvalidFile as error:
        raise InvalidFile(f"{short(path)} must be a safetensors file; its header: {error}") from error
    _need(isinstance(header, dict), path, "its header must be an object")
    return {name: entry for name, entry in header.items() if name != "__metadata__"}


def _span(name: str, entry: Any, length: int, path: str | Path) -> tuple[int, int, str]:
    """Where the tensor lies, if its entry is well formed."""
    called = f"{shown(name)} must"
    fits = isinstance(entry, dict) and set(entry) == {"dtype", "shape", "data_offsets"}
    _need(fits, path, f"{called} have a dtype, a shape and data_offsets")
    kind, shape, span = entry["dtype"], entry["shape"], entry["data_offsets"]
    _need(isinstance(kind, str) and kind in KINDS, path, f"{called} be of a type in {', '.join(KINDS)}")
    for numbers in (shape, span):
        whole = isinstance(numbers, list) and all(type(n) is int and 0 <= n <= MAX_TENSORS for n in numbers)
        _need(whole and len(numbers) <= MAX_AXES, path, f"{called} have at most {MAX_AXES} axes")
    _need(len(span) == 2 and span[0] <= span[1] <= length, path, f"{called} lie inside the file")
    wanted = math.prod(shape) * np.dtype(KINDS[kind]).itemsize
    _need(span[1] - span[0] == wanted, path, f"{called} have as many bytes as its shape says")
    return span[0], span[1], name


def _tensor(entry: dict[str, Any], data: memoryview) -> npt.NDArray[Any]:
    values = np.frombuffer(data, dtype=KINDS[entry["dtype"]]).reshape(entry["shape"])
    if entry["dtype"] != "BF16":
        return values
    wide: npt.NDArray[Any] = (values.astype("<u4") << np.uint32(16)).view("<f4")
    return wide


def _need(condition: object, path: str | Path, text: str) -> None:
    if not condition:
        raise InvalidFile(f"{short(path)} must be a safetensors file; {text}")


def need(condition: object, text: str) -> None:
    """Raises an error with this one line unless the condition holds."""
    if not condition:
        raise InvalidFile(text)


def whole_numbers(value: Any, below: float, *lengths: int | None, least: int = 0) -> bool:
    """Whether it is a number from ``least`` to below ``below``, or lists of such numbers of these lengths."""
    if not lengths:
        return type(value) is int and least <= value < below
    fits = isinstance(value, list) and lengths[0] in (None, len(value))
    return fits and all(whole_numbers(item, below, *lengths[1:], least=least) for item in value)


def shown(value: Any) -> str:
    """A value for a message: short, and without terminal control characters."""
    if isinstance(value, dict) or (isinstance(value, list) and not _is_plain(value)):
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value)}"
    text = repr(value)
    text = text if text.isprintable() else ascii(value)
    return text if len(text) <= 60 else text[:57] + "…"


def _is_plain(values: list[Any]) -> bool:
    return len(values) <= 4 and not any(isinstance(value, (dict, list)) for value in values)


def short(path: str | Path) -> str:
    """A path in a message: its end, where it is long."""
    text = one_line(str(path))
    return text if len(text) <= 80 else "…" + text[-79:]


def one_line(text: str) -> str:
    """The text without line breaks and terminal control characters: these are escaped."""
    return text if text.isprintable() else ascii(text)[1:-1]


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
