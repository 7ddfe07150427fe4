"""Corrupted files: JSON, raw bytes, and safetensors with their headers."""

import json
import random
from copy import deepcopy
from typing import Any

import numpy as np
from safetensors.numpy import load, save

NASTY: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    -1,
    2,
    10**9,
    -(10**30),
    0.5,
    8.0,
    "",
    "x",
    "\x1b[2J",
    "a b",
    [],
    {},
]
NASTY += [
    [[]],
    [0],
    ["x"],
    {"": None},
    "é" * 300,
    [[10**9, 10**9]],
    {"krohn": 1},
    1e308,
    "S4",
    "causal",
    2**53,
]


NUMBERS = [0.0, 1.0, -1.0, 0.5, np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 2.0**24 + 3, 1e30, 1e-30]


def json_damage(rng: random.Random, text: str) -> bytes:
    """A JSON text with one to three defects in its values, keys or bytes."""
    way = rng.random()
    if way < 0.1:
        return rng.choice(
            [b"", b"[" * 100_000, b'{"a":' * 50_000, b"\xff\xfe", b"null", b"NaN", b"1" * 6000, b"[]"]
        )
    if way < 0.25:
        return bytes_damage(rng, text.encode())
    payload = json.loads(text)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        holder, key = _place(rng, payload)
        if holder is None:
            continue
        if isinstance(holder, dict) and rng.random() < 0.2:
            value = holder.pop(key)
            if rng.random() < 0.5:
                holder[rng.choice(["x", "krohn", "", key + " "])] = value
        elif isinstance(holder, list) and rng.random() < 0.25:
            holder.insert(key, holder[key]) if rng.random() < 0.5 else holder.pop(key)
        elif type(holder[key]) is int and rng.random() < 0.4:
            holder[key] += rng.choice([-1, 1, 10**6, 2**60])
        else:
            holder[key] = deepcopy(rng.choice(NASTY))
    result = json.dumps(payload)
    if rng.random() < 0.05:
        result = result.replace("{", '{"krohn": 1, "krohn": 1, ', 1)
    return result.encode(errors="surrogatepass")


def _place(rng: random.Random, payload: Any) -> tuple[Any, Any]:
    holder, key = None, None
    spot = payload
    while isinstance(spot, (dict, list)) and len(spot):
        if holder is not None and rng.random() < 0.25:
            break
        holder, key = spot, rng.choice(sorted(spot) if isinstance(spot, dict) else range(len(spot)))
        spot = holder[key]
    return holder, key


def bytes_damage(rng: random.Random, data: bytes) -> bytes:
    """Bytes flipped, deleted, duplicated, truncated or inserted."""
    out = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 8])):
        at = rng.randrange(len(out) + 1) if rng.random() < 0.6 else rng.randrange(min(len(out), 400) + 1)
        way = rng.random()
        if way < 0.4 and at < len(out):
            out[at] = rng.randrange(256)
        elif way < 0.6:
            del out[at : at + rng.choice([1, 8, 100])]
        elif way < 0.75:
            out[at:at] = bytes(rng.randrange(256) for _ in range(rng.choice([1, 8])))
        elif way < 0.9:
            del out[at:]
        else:
            out[at:at] = out[at : at + 64]
    return bytes(out)


def header_damage(rng: random.Random, data: bytes) -> bytes:
    """A safetensors file whose header is corrupted JSON, with a correct or wrong length prefix."""
    size = int.from_bytes(data[:8], "little")
    header = json_damage(rng, data[8 : 8 + size].decode())
    stated = len(header) if rng.random() < 0.8 else rng.choice([0, 2**63, 10**9, size])
    return stated.to_bytes(8, "little") + header + data[8 + size :]


def tensor_damage(rng: random.Random, data: bytes) -> bytes:
    """A valid safetensors file with numbers, shapes or names that fit no network."""
    tensors = {name: np.array(values) for name, values in load(data).items()}
    for _ in range(rng.choice([1, 1, 3])):
        name = rng.choice(sorted(tensors))
        values = tensors[name]
        way = rng.random()
        if way < 0.5 and values.size:
            values.reshape(-1)[rng.randrange(values.size)] = rng.choice(
                NUMBERS if values.dtype.kind == "f" else [7, -1]
            )
        elif way < 0.6:
            tensors[name] = values * rng.choice([0.0, -1.0, 1e300, 1e-300, 2.0**60])
        elif way < 0.75:
            tensors[name] = values[: rng.choice([0, 1])]
        elif way < 0.85:
            tensors[name] = values.reshape(-1) if rng.random() < 0.5 else values[None]
        elif way < 0.93:
            tensors[rng.choice(["x", "layers.9.mlp.0.W", "layers.0.heads.9.W_Q"])] = tensors.pop(name)
        else:
            tensors[name] = values.astype(rng.choice(["float32", "float16", "int64", "bool"]))
    return save({name: np.ascontiguousarray(values) for name, values in tensors.items()})
