"""Networks in folders that anyone may have written: bounded files, read strictly; nothing is executed.

The one reader of the package. Whatever opens a network, a certificate or a store opens it here: a pipe or a
device is refused before a byte is read; a tensor file whose header does not fit its size, before its numbers
are read. JSON has every key once and finite numbers only; its size in memory is bounded by what it lists.

Every field of a configuration is read or known not
to change any answer; an unknown field is refused. The digest covers all that is read, so a certificate is
about one network run in one way.
"""

import hashlib
import json
import math
import os
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count, takewhile
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from krohn.check.ground import afford
from krohn.errors import InvalidFile, LimitExceeded, need

MAX_BYTES = 64_000_000
MAX_ITEMS = 3_500_000
"""Items of lists and objects in a JSON file; one takes at most about 230 bytes of memory."""
MAX_TENSORS = 1 << 31
MAX_HEADER = 1 << 23
"""Bytes of the header of a tensor file: about 80,000 tensors."""
BYTES_HELD = 25
"""Bytes that a byte of numbers may take: as float64, once more as the claim's type holds them, and beside."""
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
        if sum(map(decoded.count, ",[{")) > MAX_ITEMS:
            raise InvalidFile(f"JSON must list at most {MAX_ITEMS:,} items; it lists more")
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
    if _has_holes(stream):
        afford(total, f"{short(path)}, a file with holes,", BYTES_HELD)
    size = int.from_bytes(stream.read(8), "little")
    _need(0 < size <= total - 8, path, "it must begin with the size of its header")
    _need(size <= MAX_HEADER, path, f"its header must have at most {MAX_HEADER:,} bytes")
    return size, total - 8 - size


def _has_holes(stream: IO[bytes]) -> bool:
    """Whether the disk holds less than the file: a few blocks may then stand for gigabytes of zeros."""
    descriptor, hole = stream.fileno(), getattr(os, "SEEK_HOLE", None)
    if hole is None:
        return False
    try:
        found = os.lseek(descriptor, 0, hole)
    except OSError:  # an empty file, or a file system that does not say
        return False
    os.lseek(descriptor, 0, os.SEEK_SET)
    return found < os.fstat(descriptor).st_size


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
        # Of an empty tensor, too, no axis is longer than the file: what is made of a shape takes memory.
        whole = isinstance(numbers, list) and all(type(n) is int and 0 <= n <= length for n in numbers)
        _need(whole and len(numbers) <= MAX_AXES, path, f"{called} have at most {MAX_AXES} axes, in the file")
    _need(len(span) == 2 and span[0] <= span[1], path, f"{called} lie inside the file")
    wanted = math.prod(shape) * np.dtype(KINDS[kind]).itemsize
    _need(span[1] - span[0] == wanted, path, f"{called} have as many bytes as its shape says")
    return span[0], span[1], name


def _tensor(entry: dict[str, Any], data: memoryview) -> npt.NDArray[Any]:
    values = np.frombuffer(data, dtype=KINDS[entry["dtype"]]).reshape(entry["shape"])
    if entry["dtype"] != "BF16":
        return values
    # bfloat16 is the upper half of a float32: shifted up it has the same value, and numpy knows the type.
    wide: npt.NDArray[Any] = (values.astype("<u4") << np.uint32(16)).view("<f4")
    return wide


def _need(condition: object, path: str | Path, text: str) -> None:
    if not condition:
        raise InvalidFile(f"{short(path)} must be a safetensors file; {text}")


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


COMPILED, RECURRENT, LOOPED, TRAINED = "compiled", "recurrent", "looped", "trained"
STOCK = "stock"
"""The kind of a folder that ``transformers`` saved."""
MODEL = "model.safetensors"
TOKENS = ("prompt", "letters", "states")
"""What tokens of a GPT-2 stand for; those of states are its outputs, observations too."""


@dataclass(frozen=True)
class Net:
    """``configuration`` has every field that the forward pass depends on, and the names of letters."""

    kind: str
    configuration: Mapping[str, Any]
    tensors: Tensors

    @property
    def digest(self) -> str:
        """SHA-256 of kind and configuration, and of names, types, shapes and bytes of all tensors."""
        about = {"kind": self.kind, "configuration": self.configuration}
        state = hashlib.sha256(json.dumps(about, sort_keys=True, separators=(",", ":")).encode())
        # Before the bytes what they mean: the same ones by another name or shape are another network.
        for name, tensor in sorted(self.tensors.items()):
            state.update(f"\n{json.dumps(name)} {tensor.dtype.str} {tensor.shape}\n".encode())
            state.update(np.ascontiguousarray(tensor).data)
        return state.hexdigest()


def read_fields(payload: Any, where: str, read: Mapping[str, Any], passed: frozenset[str]) -> dict[str, Any]:
    """The fields that decide answers, defaults filled in; an unknown field is refused by name.

    ``read`` has the default of each field, or ``...`` for one that must be there; ``passed`` are the fields
    that change no answer.
    """
    need(isinstance(payload, dict), f"{where} must be an object")
    unknown = sorted(set(payload) - set(read) - passed)
    need(not unknown, f"{where} has a field that is not understood: {shown(next(iter(unknown), ''))}")
    missing = [name for name, default in read.items() if default is ... and name not in payload]
    need(not missing, f"{where} must have the field {next(iter(missing), '')}")
    return {name: payload.get(name, default) for name, default in read.items()}


def names_of(automaton: Any, target: object = "state") -> dict[str, Any]:
    """The names of letters and states in a folder, and its target: all that is read of its automaton.

    The claim has its own table; the caller compares the two.
    """
    need(target in ("state", "observation"), "target must be state or observation")
    need(isinstance(automaton, dict), "the automaton must be an object")
    for key in ("states", "letters"):
        names = automaton.get(key)
        fits = isinstance(names, list) and names and all(isinstance(name, str) for name in names)
        need(fits and len(set(names)) == len(names), f"{key} must be a list of different names")
    return {"letters": automaton["letters"], "states": automaton["states"], "target": target}


def read_compiled(folder: Path) -> Net:
    """What krohn compile writes; the description of channels and registers is not read."""
    fields = {"krohn": ..., "length": ..., "mask": ..., "shape": ..., "automaton": ..., "target": "state"}
    passed = frozenset({"name", "method", "digest", "proved", "layout", "program"})
    found = read_fields(read_json(folder / "krohn.json"), "krohn.json", fields, passed)
    need(found["krohn"] == 1 and type(found["krohn"]) is int, "krohn.json must have version 1")
    names, tensors = names_of(found["automaton"], found["target"]), read_tensors(folder / MODEL)
    # The length decides no answer, but who reads the file takes it for what the network was built for.
    sizes = [tensors.get(name, np.zeros(())).shape[:1] for name in ("positions", "padding")]
    need(all(sizes), "positions and padding must be there")
    longest = sizes[0][0] - sizes[1][0]
    fits = type(found["length"]) is int and found["length"] == longest
    need(fits, f"length must be {longest}, as the positions say")
    return compiled_net(tensors, found["shape"], found["mask"], names)


def compiled_net(tensors: Tensors, shape: list[list[int]], mask: str, names: Mapping[str, Any]) -> Net:
    """A compiled network: everything that decides its answers, names and target included."""
    return Net(COMPILED, dict(sorted({**names, "mask": mask, "shape": shape}.items())), tensors)


def read_recurrent(folder: Path) -> Net:
    """What krohn compile --architecture writes."""
    fields = {"krohn": ..., "architecture": ..., "options": ..., "automaton": ...}
    found = read_fields(
        read_json(folder / "recurrent.json"), "recurrent.json", fields, frozenset({"name", "digest"})
    )
    need(found["krohn"] == 2 and type(found["krohn"]) is int, "recurrent.json must have version 2")
    names, tensors = names_of(found["automaton"]), read_tensors(folder / MODEL)
    return recurrent_net(tensors, found["architecture"], found["options"], names)


def recurrent_net(
    tensors: Tensors, architecture: str, options: Mapping[str, Any], names: Mapping[str, Any]
) -> Net:
    """A recurrent network: everything that decides its answers; the rules read architecture and options."""
    need(isinstance(architecture, str) and isinstance(options, Mapping), "architecture and options must fit")
    about = {"architecture": architecture, "options": dict(options), "target": "state"}
    return Net(RECURRENT, {**about, **names}, tensors)


def read_looped(folder: Path) -> Net:
    """What krohn compile --architecture looped writes."""
    fields = {"krohn": ..., "model": ..., "automaton": ...}
    found = read_fields(
        read_json(folder / "looped.json"), "looped.json", fields, frozenset({"name", "digest"})
    )
    need(found["krohn"] == 1 and type(found["krohn"]) is int, "looped.json must have version 1")
    return looped_net(read_tensors(folder / MODEL), found["model"], names_of(found["automaton"]))


def looped_net(tensors: Tensors, model: Any, names: Mapping[str, Any]) -> Net:
    """A looped network: everything that decides its answers; the rules read the fields of the model."""
    need(isinstance(model, Mapping), "looped.json: model must be an object")
    about = {"model": dict(model), "scratchpad": False, "bos": False, "target": "state"}
    return Net(LOOPED, {**about, **names}, tensors)


OF_TRAINING = frozenset(
    {"optimizer", "evaluation", "replicates", "steps", "precision", "seed", "curriculum", "halving"}
)


def read_trained(folder: Path, replicate: int) -> Net:
    """One replicate of a run of krohn train."""
    fields = {"task": ..., "model": ...}
    found = read_fields(read_json(folder / "config.json"), "config.json", fields, OF_TRAINING)
    stacked: Tensors = {}
    for file in weight_files(folder):
        part = read_tensors(file)
        # Which of two would be read depends on the reader.
        need(not stacked.keys() & part.keys(), f"{file.name} must hold no tensor of a file before it")
        stacked |= part
    fits = all(tensor.ndim and 0 <= replicate < len(tensor) for tensor in stacked.values())
    need(fits and stacked, f"there must be a replicate {replicate}")
    tensors = {name: tensor[replicate] for name, tensor in stacked.items()}
    return trained_net(tensors, found["model"], found["task"], replicate)


def part_name(number: int) -> str:
    """The file name of part ``number`` of a run's weights: the second is ``weights-2.safetensors``."""
    return "weights.safetensors" if number == 1 else f"weights-{number}.safetensors"


def weight_files(folder: Path) -> list[Path]:
    """The files of a run's weights, in order, up to the first that is missing."""
    return list(takewhile(Path.exists, (folder / part_name(number) for number in count(1))))


def trained_net(tensors: Tensors, model: Any, task: Any, replicate: int) -> Net:
    """A trained network: everything that decides its answers; the rules read the fields of the model."""
    fields = {"spec": ..., "target": "state", "scratchpad": False, "bos": False}
    found = read_fields(task, "config.json: task", fields, frozenset({"length", "reveal", "distribution"}))
    need(isinstance(model, Mapping), "config.json: model must be an object")
    return Net(TRAINED, {"model": dict(model), **found, "replicate": replicate}, tensors)
