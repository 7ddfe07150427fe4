"""The checker's own reader: matrices from ``model.safetensors``, mask, shape, automaton from ``krohn.json``.

Everything is bounded before it is made, and nothing is guessed: a wrong type, a key twice, a number too many
is an error. The description in ``krohn.json`` (program, layout) is not read at all.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.check.format import Format
from krohn.check.real import Array, Flags, Integers
from krohn.errors import InvalidFile

MAX_BYTES = 1 << 31
MAX_HEADER = 1 << 26
MAX_LAYERS = 10_000
SINE = 1
KINDS: dict[str, npt.DTypeLike] = {"F64": "<f8", "I64": "<i8"}
OUTER = ("embedding", "padding", "positions", "readout", "readout_bias")


@dataclass(frozen=True)
class Head:
    """Matrices d × k, d × k, d × v and v × d."""

    query: Array
    key: Array
    value: Array
    output: Array


@dataclass(frozen=True)
class Layer:
    """``x ← keep x + Σ heads``, then ``x ← keep' x + mlp(x)``; ``sine`` marks the units that are no ReLU."""

    heads: tuple[Head, ...]
    weights: tuple[Array, ...]
    biases: tuple[Array, ...]
    sine: tuple[Flags, ...]
    keep_attention: Array
    keep_mlp: Array
    gain_attention: Array | None = None  # of a LayerNorm before the heads
    gain_mlp: Array | None = None


@dataclass(frozen=True)
class Network:
    """All matrices, as written in the file."""

    embedding: Array
    padding: Array
    positions: Array
    layers: tuple[Layer, ...]
    readout: Array
    readout_bias: Array
    strict: bool
    gain: Array | None = None  # of a LayerNorm before the read-out
    epsilon: float = 0.0
    root: float = 1.0  # scores are divided by it


@dataclass(frozen=True)
class Automaton:
    """``table[state, letter]`` is the next state; ``shows[state]`` the output that is right there."""

    table: Integers
    start: int
    shows: Integers


def need(condition: object, text: str) -> None:
    """One line for a file that does not fit."""
    if not condition:
        raise InvalidFile(text)


def read_json(path: Path, limit: int = MAX_HEADER) -> Any:
    """JSON without duplicate keys, of bounded size."""
    try:
        need(path.stat().st_size <= limit, f"{path} must be at most {limit} bytes")
        return _parsed(path.read_bytes(), str(path))
    except OSError as error:
        raise InvalidFile(f"{path} must be a readable file; {error.strerror}") from error


def _parsed(text: bytes, name: str) -> Any:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        need(len(found) == len(pairs), f"{name} must not hold a key twice")
        return found

    def number(text: str) -> Any:
        raise InvalidFile(f"{name} must not hold {text}")

    try:
        return json.loads(text.decode("utf-8"), object_pairs_hook=once, parse_constant=number)
    except InvalidFile:
        raise
    except (ValueError, RecursionError) as error:
        raise InvalidFile(f"{name} must be JSON; {type(error).__name__}") from error


def read_tensors(path: Path) -> dict[str, npt.NDArray[Any]]:
    """The tensors of a safetensors file: float64 and int64, no gaps, no overlaps."""
    try:
        need(path.stat().st_size <= MAX_BYTES, f"{path} must be at most {MAX_BYTES} bytes")
        data = path.read_bytes()
    except OSError as error:
        raise InvalidFile(f"{path} must be a readable file; {error.strerror}") from error
    size = int.from_bytes(data[:8], "little")
    need(len(data) >= 8 and size <= min(MAX_HEADER, len(data) - 8), f"{path} must be a safetensors file")
    header = _parsed(data[8 : 8 + size], f"the header of {path}")
    need(isinstance(header, dict), f"{path} must have a header object")
    header.pop("__metadata__", None)
    body, found = data[8 + size :], {}
    spans = []
    for name, entry in header.items():
        tensor, span = _tensor(name, entry, body)
        found[name] = tensor
        spans.append(span)
    ends = [0, *(end for _, end in sorted(spans))]
    need(
        [first for first, _ in sorted(spans)] + [len(body)] == ends,
        f"{path} must hold its tensors without gaps",
    )
    return found


def _tensor(name: str, entry: Any, body: bytes) -> tuple[npt.NDArray[Any], tuple[int, int]]:
    need(
        isinstance(entry, dict) and set(entry) == {"dtype", "shape", "data_offsets"},
        f"{name} must be a tensor",
    )
    kind, shape, span = entry["dtype"], entry["shape"], entry["data_offsets"]
    need(isinstance(kind, str) and kind in KINDS, f"{name} must be float64 or int64")
    for numbers in (shape, span):
        whole = isinstance(numbers, list) and all(type(n) is int and 0 <= n <= MAX_BYTES for n in numbers)
        need(whole and len(numbers) <= 2, f"{name} must have at most two axes of whole numbers")
    need(len(span) == 2 and span[0] <= span[1] <= len(body), f"{name} must lie inside the file")
    count = 1
    for axis in shape:
        count *= axis
    need(span[1] - span[0] == 8 * count, f"{name} must have as many bytes as its shape says")
    return np.frombuffer(body[span[0] : span[1]], dtype=KINDS[kind]).reshape(shape), (span[0], span[1])


def network_of(tensors: Mapping[str, npt.NDArray[Any]], shape: Any, mask: object) -> Network:
    """The network with layers ``shape = [[heads, MLP matrices], …]``; every matrix must fit."""
    need(mask in ("causal", "strict"), "mask must be causal or strict")
    need(isinstance(shape, list) and len(shape) <= MAX_LAYERS, "shape must be a list of layers")
    left = dict(tensors)

    def take(name: str, axes: int, kind: str = "f") -> npt.NDArray[Any]:
        need(name in left, f"the tensor {name} must be there")
        matrix = left.pop(name)
        need(
            matrix.ndim == axes and matrix.dtype.kind == kind,
            f"{name} must have {axes} axes of the right type",
        )
        need(np.isfinite(matrix).all(), f"{name} must be finite")
        return matrix.astype(np.float64 if kind == "f" else np.int64)

    layers = []
    for index, sizes in enumerate(shape):
        pair = isinstance(sizes, list) and len(sizes) == 2 and all(type(n) is int for n in sizes)
        need(
            pair and 0 <= sizes[0] <= len(left) and 1 <= sizes[1] <= len(left),
            "shape must list [heads, matrices]",
        )
        layers.append(_layer(f"layers.{index}", sizes[0], sizes[1], take))
    outer: dict[str, Any] = {name: take(name, 1 if name == "readout_bias" else 2) for name in OUTER}
    need(not left, f"unknown tensor {next(iter(left), '')}")
    return network_that_fits(Network(**outer, layers=tuple(layers), strict=mask == "strict"))


def _layer(prefix: str, heads: int, depth: int, take: Any) -> Layer:
    def head(number: int) -> Head:
        names = (f"{prefix}.heads.{number}.{part}" for part in ("W_Q", "W_K", "W_V", "W_C"))
        return Head(*(take(name, 2) for name in names))

    codes = [take(f"{prefix}.mlp.{m}.activation", 1, "i") for m in range(depth - 1)]
    need(all(((code == 0) | (code == SINE)).all() for code in codes), f"{prefix}: activations must be 0 or 1")
    return Layer(
        heads=tuple(map(head, range(heads))),
        weights=tuple(take(f"{prefix}.mlp.{m}.W", 2) for m in range(depth)),
        biases=tuple(take(f"{prefix}.mlp.{m}.b", 1) for m in range(depth)),
        sine=tuple(code == SINE for code in codes),
        keep_attention=take(f"{prefix}.keep_attention", 1),
        keep_mlp=take(f"{prefix}.keep_mlp", 1),
    )


def network_that_fits(net: Network) -> Network:
    """The network itself, if every matrix has the shape that the others ask for."""
    letters, d = net.embedding.shape
    states = net.readout.shape[1]
    need(letters and d and states, "a network needs letters, channels and outputs")
    need(
        net.padding.shape[1] == d and net.positions.shape[1] == d,
        f"padding and positions must have {d} channels",
    )
    need(
        net.readout.shape[0] == d and net.readout_bias.shape == (states,),
        f"the read-out must read {d} channels",
    )
    need(len(net.positions) > len(net.padding), "there must be positions for letters")
    for number, layer in enumerate(net.layers, 1):
        for keep in (layer.keep_attention, layer.keep_mlp):
            need(
                keep.shape == (d,) and np.isin(keep, (0.0, 1.0)).all(), f"layer {number}: keep must be 0 or 1"
            )
        for head in layer.heads:
            need(head.query.shape == head.key.shape, f"layer {number}: queries and keys must fit")
            need(head.value.shape == head.output.T.shape, f"layer {number}: values and outputs must fit")
            need(len(head.query) == len(head.value) == d, f"layer {number}: heads must read {d} channels")
        widths = [d, *(len(bias) for bias in layer.biases)]
        shapes = list(pairwise(widths))
        need(
            [w.shape for w in layer.weights] == shapes and widths[-1] == d,
            f"layer {number}: the MLP must fit",
        )
        need([len(code) for code in layer.sine] == widths[1:-1], f"layer {number}: one activation per unit")
    gains = [net.gain, *(g for layer in net.layers for g in (layer.gain_attention, layer.gain_mlp))]
    need(all(gain is None or gain.shape == (d,) for gain in gains), f"LayerNorm must have {d} gains")
    return net


def read_network(directory: Path) -> tuple[Network, Automaton]:
    """What a directory holds: the network, and the automaton it claims to be."""
    payload = read_json(directory / "krohn.json")
    need(isinstance(payload, dict) and type(payload.get("krohn")) is int, "krohn.json must be an object")
    network = network_of(
        read_tensors(directory / "model.safetensors"), payload.get("shape"), payload.get("mask")
    )
    length = payload.get("length")
    longest = len(network.positions) - len(network.padding)
    need(type(length) is int and length == longest, f"length must be {longest}, as the positions say")
    return network, automaton_of(payload.get("automaton"), payload.get("target", "state"))


def automaton_of(payload: Any, target: object = "state") -> Automaton:
    """States and letters are numbered in the order of their lists; outputs are states, or observations."""
    need(isinstance(payload, dict), "the automaton must be an object")
    names = {key: payload.get(key) for key in ("states", "letters")}
    for key, listed in names.items():
        fits = isinstance(listed, list) and listed and all(isinstance(name, str) for name in listed)
        need(fits and len(set(listed)) == len(listed), f"{key} must be a list of different names")
    number = {state: n for n, state in enumerate(names["states"] or [])}
    following = payload.get("next")
    need(isinstance(following, dict) and set(following) == set(number), "next must have every state")
    for state in number:
        row = following[state]
        fits = isinstance(row, dict) and set(row) == set(names["letters"] or [])
        need(
            fits and all(isinstance(s, str) and s in number for s in row.values()),
            f"next of {state!r:.40} must fit",
        )
    table = [[number[following[state][letter]] for letter in names["letters"] or []] for state in number]
    start = payload.get("start")
    need(isinstance(start, str) and start in number, "start must be a state")
    return Automaton(np.array(table, dtype=np.int64), number[start], _shown(payload, target, number))


def _shown(payload: dict[str, Any], target: object, number: Mapping[str, int]) -> Integers:
    need(target in ("state", "observation"), "target must be state or observation")
    if target == "state":
        return np.arange(len(number))
    seen = payload.get("observe")
    need(isinstance(seen, dict) and set(seen) == set(number), "observe must have every state")
    values = [dict(seen or {})[state] for state in number]
    need(all(type(n) is int and 0 <= n < MAX_BYTES for n in values), "observations must be numbers from 0 on")
    return np.array(values, dtype=np.int64)


def stored(net: Network, fmt: Format) -> Network:
    """The same network with every number as the dtype holds it."""

    def cast(name: str, matrix: Array) -> Array:
        return fmt.stores(matrix, name)

    def one(number: int, layer: Layer) -> Layer:
        name = f"layer {number}"
        heads = tuple(Head(*(cast(name, getattr(h, f.name)) for f in fields(Head))) for h in layer.heads)
        weights = tuple(cast(name, matrix) for matrix in layer.weights)
        biases = tuple(cast(name, bias) for bias in layer.biases)
        gains = (
            gain if gain is None else cast(name, gain) for gain in (layer.gain_attention, layer.gain_mlp)
        )
        return Layer(heads, weights, biases, layer.sine, layer.keep_attention, layer.keep_mlp, *gains)

    outer: dict[str, Any] = {name: cast(name, getattr(net, name)) for name in OUTER}
    layers = tuple(one(n, layer) for n, layer in enumerate(net.layers, 1))
    gain = net.gain if net.gain is None else cast("gain", net.gain)
    return replace(net, **outer, layers=layers, gain=gain)
