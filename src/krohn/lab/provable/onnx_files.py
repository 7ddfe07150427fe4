"""Reading ``.onnx``: the messages of its protocol buffers that a network needs, and nothing else.

The reader knows the numbers of the fields (onnx.proto), so that no generated code and no package is needed;
what it does not know it passes over, as the format says.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.check.files.folders import open_bounded, read_bytes, short
from krohn.check.graph.graph import LARGEST
from krohn.errors import InvalidFile, need

MOST_FIELDS = 1 << 20
"""Fields of all messages."""
TYPES = {
    1: "f4",
    2: "u1",
    3: "i1",
    4: "u2",
    5: "i2",
    6: "i4",
    7: "i8",
    9: "?",
    10: "f2",
    11: "f8",
    12: "u4",
    13: "u8",
}
"""Element types by their numbers."""
ENTRIES = {1: 4, 10: 5, 6: 5, 5: 5, 3: 5, 2: 5, 4: 5, 9: 5, 7: 7, 11: 10}
"""Where the entries of such a tensor are, if not as raw bytes."""


@dataclass(frozen=True, eq=False)
class OnnxNode:
    """An operator: its name, tensors in and out, and attributes."""

    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any]


@dataclass(frozen=True, eq=False)
class OnnxModel:
    """A graph: nodes in order, constants, inputs with their sizes, outputs, and the set of operators."""

    opset: int
    nodes: tuple[OnnxNode, ...]
    constants: dict[str, npt.NDArray[Any]]
    inputs: dict[str, tuple[int, list[int | None]]]
    outputs: tuple[str, ...]


@dataclass
class Reading:
    """How much was read, and where tensors kept apart are."""

    folder: Path
    fields: int = 0
    entries: int = 0

    def of(self, data: memoryview) -> Iterator[tuple[int, Any]]:
        """Fields of a message: number and value, an int or bytes."""
        at = 0
        while at < len(data):
            self.fields += 1
            need(self.fields <= MOST_FIELDS, f"an ONNX file must have at most {MOST_FIELDS:,} fields")
            key, at = _varint(data, at)
            kind = key & 7
            if kind == 0:
                value, at = _varint(data, at)
                yield key >> 3, value
                continue
            need(kind in (1, 2, 5), "an ONNX file must have fields of kinds that the format has")
            size = 8 if kind == 1 else 4
            if kind == 2:
                size, at = _varint(data, at)
            need(at + size <= len(data), "an ONNX file must be whole; it breaks off")
            yield key >> 3, data[at : at + size]
            at += size

    def parts(self, data: memoryview, **names: int) -> dict[str, list[Any]]:
        """The values of some fields, in order."""
        found: dict[str, list[Any]] = {name: [] for name in names}
        place = {number: name for name, number in names.items()}
        for number, value in self.of(data):
            if number in place:
                found[place[number]].append(value)
        return found


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        need(at < len(data), "an ONNX file must be whole; it breaks off")
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value & (2**64 - 1), at
    raise InvalidFile("an ONNX file must have numbers of at most 64 bits")


def _signed(value: int) -> int:
    return value - 2**64 if value >= 2**63 else value


def _text(value: Any) -> str:
    need(isinstance(value, memoryview), "an ONNX file must have names where the format has names")
    try:
        return bytes(value).decode()
    except UnicodeDecodeError as error:
        raise InvalidFile("an ONNX file must have names in UTF-8") from error


def _message(value: Any) -> memoryview:
    need(isinstance(value, memoryview), "an ONNX file must have messages where the format has messages")
    out: memoryview = value
    return out


def _numbers(values: list[Any]) -> list[int]:
    """Whole numbers, one by one or packed."""
    out = []
    for value in values:
        if isinstance(value, int):
            out.append(_signed(value))
            continue
        at = 0
        while at < len(value):
            number, at = _varint(value, at)
            out.append(_signed(number))
    return out


def _floats(values: list[Any], code: str = "f") -> list[float]:
    out: list[float] = []
    for value in values:
        data = bytes(_message(value))
        size = struct.calcsize(code)
        need(len(data) % size == 0, "an ONNX file must have whole floats")
        out += struct.unpack(f"<{len(data) // size}{code}", data)
    return out


def read_onnx(path: Path) -> OnnxModel:
    """The model in a file; anything malformed is refused."""
    reading = Reading(path.parent)
    model = reading.parts(memoryview(read_bytes(path)), graph=7, opset=8, functions=25)
    need(len(model["graph"]) == 1, f"{short(path)} must be an ONNX model; it has no graph")
    need(not model["functions"], "an ONNX file with functions of its own is not read: export it inlined")
    opset = 0
    for entry in model["opset"]:
        parts = reading.parts(_message(entry), domain=1, version=2)
        if not parts["domain"] or _text(parts["domain"][-1]) in ("", "ai.onnx"):
            opset = max([opset, *_numbers(parts["version"])])
    need(opset >= 13, f"{short(path)} must be of operator set 13 or later; got {opset}")
    graph = reading.parts(
        _message(model["graph"][0]), node=1, initializer=5, input=11, output=12, sparse_initializer=15
    )
    need(not graph["sparse_initializer"], "sparse tensors of ONNX are not read")
    constants = {}
    for entry in graph["initializer"]:
        name, values = _tensor(reading, _message(entry))
        constants[name] = values
    inputs = {}
    for entry in graph["input"]:
        name, kind, sizes = _input(reading, _message(entry))
        if name not in constants:
            inputs[name] = (kind, sizes)
    outputs = tuple(_input(reading, _message(entry))[0] for entry in graph["output"])
    nodes = tuple(_node(reading, _message(entry)) for entry in graph["node"])
    return OnnxModel(opset, nodes, constants, inputs, outputs)


def _input(reading: Reading, data: memoryview) -> tuple[str, int, list[int | None]]:
    parts = reading.parts(data, name=1, type=2)
    need(len(parts["name"]) == 1, "an input or output of ONNX must have a name")
    kind, sizes = 0, []
    for one in parts["type"]:
        for tensor in reading.parts(_message(one), tensor=1)["tensor"]:
            inner = reading.parts(_message(tensor), kind=1, shape=2)
            kind = _numbers(inner["kind"])[-1] if inner["kind"] else 0
            for shape in inner["shape"]:
                for size in reading.parts(_message(shape), size=1)["size"]:
                    number = _numbers(reading.parts(_message(size), value=1)["value"])
                    sizes.append(number[-1] if number and number[-1] > 0 else None)
    return _text(parts["name"][0]), kind, sizes


def _node(reading: Reading, data: memoryview) -> OnnxNode:
    parts = reading.parts(data, inputs=1, outputs=2, op=4, attributes=5, domain=7)
    need(len(parts["op"]) == 1, "a node of ONNX must have an operator")
    domain = _text(parts["domain"][-1]) if parts["domain"] else ""
    op = _text(parts["op"][0])
    op = op if domain in ("", "ai.onnx") else f"{domain}::{op}"
    attributes = dict(_attribute(reading, _message(entry)) for entry in parts["attributes"])
    inputs, outputs = (tuple(map(_text, parts[name])) for name in ("inputs", "outputs"))
    return OnnxNode(op, inputs, outputs, attributes)


def _attribute(reading: Reading, data: memoryview) -> tuple[str, Any]:
    parts = reading.parts(data, name=1, f=2, i=3, s=4, t=5, g=6, floats=7, ints=8, type=20)
    need(len(parts["name"]) == 1, "an attribute of ONNX must have a name")
    name = _text(parts["name"][0])
    kind = _numbers(parts["type"])[-1] if parts["type"] else 0
    if kind == 1 or (not kind and parts["f"]):
        return name, _floats(parts["f"])[-1] if parts["f"] else 0.0
    if kind == 3 or (not kind and parts["s"]):
        return name, _text(parts["s"][-1]) if parts["s"] else ""
    if kind == 4 or (not kind and parts["t"]):
        need(len(parts["t"]) == 1, "an attribute of ONNX must be whole")
        return name, _tensor(reading, _message(parts["t"][0]))[1]
    if kind == 6 or (not kind and parts["floats"]):
        return name, _floats(parts["floats"])
    if kind == 7 or (not kind and parts["ints"]):
        return name, _numbers(parts["ints"])
    if kind == 2 or (not kind and parts["i"]):
        return name, _numbers(parts["i"])[-1] if parts["i"] else 0
    return name, None  # a graph, a type, texts: no operator that is read has one


def _tensor(reading: Reading, data: memoryview) -> tuple[str, npt.NDArray[Any]]:
    numbers = {f"entries{n}": n for n in (4, 5, 7, 10)}
    parts = reading.parts(data, dims=1, kind=2, name=8, raw=9, apart=13, place=14, **numbers)
    name = _text(parts["name"][-1]) if parts["name"] else ""
    kind = _numbers(parts["kind"])[-1] if parts["kind"] else 0
    said = "bfloat16" if kind == 16 else f"type {kind}"
    need(kind in TYPES, f"a tensor of ONNX must be of whole numbers, booleans or float32; got {said}")
    dims = _numbers(parts["dims"])
    size = 1
    for dim in dims:
        need(0 <= dim <= 1 << 24, "a tensor of ONNX must have sizes from 0 on")
        size *= dim
    reading.entries += size
    need(reading.entries <= LARGEST, f"an ONNX file must have at most {LARGEST:,} entries of tensors")
    dtype = np.dtype(TYPES[kind]).newbyteorder("<")
    if parts["place"] and _numbers(parts["place"])[-1] == 1:
        raw = [_kept_apart(reading, parts["apart"], size * dtype.itemsize)]
    else:
        raw = [_message(one) for one in parts["raw"]]
    if raw:
        need(len(raw[-1]) == size * dtype.itemsize, f"the tensor {name[:40]} must have {size} entries")
        values = np.frombuffer(raw[-1], dtype).astype(dtype.newbyteorder("="))
    else:
        place = ENTRIES.get(kind, 0)
        need(place, f"the tensor {name[:40]} must have its entries as raw bytes")
        held = parts[f"entries{place}"]
        found = _floats(held, "f" if place == 4 else "d") if place in (4, 10) else _numbers(held)
        need(len(found) == size, f"the tensor {name[:40]} must have {size} entries; got {len(found)}")
        whole = np.array(found, dtype=np.float64 if place in (4, 10) else np.int64)
        values = whole.astype(np.uint16).view(np.float16) if kind == 10 else whole.astype(TYPES[kind])
    return name, values.reshape(dims)


def _kept_apart(reading: Reading, entries: list[Any], size: int) -> memoryview:
    """Bytes of a file beside the model."""
    about = {}
    for entry in entries:
        pair = reading.parts(_message(entry), key=1, value=2)
        need(len(pair["key"]) == len(pair["value"]) == 1, "external data of ONNX must be pairs")
        about[_text(pair["key"][0])] = _text(pair["value"][0])
    name, offset = about.get("location", ""), about.get("offset", "0")
    fits = name and Path(name).name == name and name not in (".", "..") and offset.isdecimal()
    need(fits and len(offset) < 16, "external data of ONNX must be in a file beside the model")
    need(not (reading.folder / name).is_symlink(), "external data of ONNX must be in a file, not a link")
    with open_bounded(reading.folder / name) as stream:
        stream.seek(int(offset))
        return memoryview(stream.read(size))
