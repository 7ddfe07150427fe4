"""The network and the automaton as the checker reads them, from tensors and JSON data.

Nothing is guessed: a wrong type, a matrix that does not fit or an extra tensor is an error.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.check.arithmetic.format import Format
from krohn.check.ground import Array, Flags, Integers
from krohn.errors import need

MAX_LAYERS = 10_000
MAX_OUTPUT = 1 << 31
SINE = 1
OUTER = ("embedding", "padding", "positions", "readout", "readout_bias")


@dataclass(frozen=True)
class Head:
    """Matrices d × k, d × k, d × v and v × d."""

    query: Array
    key: Array
    value: Array
    output: Array


@dataclass(frozen=True)
class Shifts:
    """What a GPT-2 adds: after LayerNorms, to queries, keys and values of each head, to what heads write.

    Heads then write together: one product of all their averages side by side.
    """

    attention: Array
    mlp: Array
    heads: tuple[tuple[Array, ...], ...]
    written: Array


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
    shifts: Shifts | None = None


@dataclass(frozen=True)
class Network:
    """All matrices, as written in the file."""

    embedding: Array
    padding: Array
    positions: Array
    layers: tuple[Layer, ...]
    readout: Array
    readout_bias: Array
    gain: Array | None = None  # of a LayerNorm before the read-out
    epsilon: float = 0.0
    root: float = 1.0  # scores are divided by it
    shift: Array | None = None  # of that LayerNorm
    bend: str = "relu"  # what units do that are no sines

    @property
    def plain(self) -> bool:
        """Whether it is of the shape that compiled networks and exports have."""
        return self.shift is None and self.bend == "relu" and all(x.shifts is None for x in self.layers)


@dataclass(frozen=True)
class Automaton:
    """``table[state, letter]`` is the next state; ``shows[state]`` the output that is right there."""

    table: Integers
    start: int
    shows: Integers


class Given:
    """Tensors that are taken by name, each once; one that is left over is an error."""

    def __init__(self, tensors: Mapping[str, npt.NDArray[Any]], kind: str = "<f8") -> None:
        self.left, self.kind = dict(tensors), kind

    def pop(self, name: str) -> npt.NDArray[Any]:
        """A tensor as it is."""
        need(name in self.left, f"the tensor {name} must be there")
        return self.left.pop(name)

    def take(self, name: str, axes: int = 2, kind: str = "") -> npt.NDArray[Any]:
        """A finite tensor of so many axes; floats become double precision."""
        tensor, wanted = self.pop(name), np.dtype(kind or self.kind)
        need(tensor.ndim == axes and tensor.dtype == wanted, f"{name} must have {axes} axes of {wanted}")
        need(np.isfinite(tensor).all(), f"{name} must be finite")
        return tensor.astype(np.int64 if wanted.kind == "i" else np.float64, copy=False)

    def done(self) -> None:
        """Refuses tensors that were not used."""
        need(not self.left, f"unknown tensor {next(iter(self.left), '')}")


def network_of(tensors: Mapping[str, npt.NDArray[Any]], shape: Any, mask: object) -> Network:
    """The network with layers ``shape = [[heads, MLP matrices], …]``; every matrix must fit."""
    need(mask == "causal", "mask must be causal")
    need(isinstance(shape, list) and len(shape) <= MAX_LAYERS, "shape must be a list of layers")
    given, layers = Given(tensors), []
    for index, sizes in enumerate(shape):
        pair = isinstance(sizes, list) and len(sizes) == 2 and all(type(n) is int for n in sizes)
        need(
            pair and 0 <= sizes[0] <= len(given.left) and 1 <= sizes[1] <= len(given.left),
            "shape must list [heads, matrices]",
        )
        layers.append(_layer(f"layers.{index}", sizes[0], sizes[1], given))
    outer: dict[str, Any] = {name: given.take(name, 1 if name == "readout_bias" else 2) for name in OUTER}
    given.done()
    return network_that_fits(Network(**outer, layers=tuple(layers)))


def _layer(prefix: str, heads: int, depth: int, given: Given) -> Layer:
    def head(number: int) -> Head:
        names = (f"{prefix}.heads.{number}.{part}" for part in ("W_Q", "W_K", "W_V", "W_C"))
        return Head(*map(given.take, names))

    codes = [given.take(f"{prefix}.mlp.{m}.activation", 1, "<i8") for m in range(depth - 1)]
    need(all(((code == 0) | (code == SINE)).all() for code in codes), f"{prefix}: activations must be 0 or 1")
    return Layer(
        heads=tuple(map(head, range(heads))),
        weights=tuple(given.take(f"{prefix}.mlp.{m}.W") for m in range(depth)),
        biases=tuple(given.take(f"{prefix}.mlp.{m}.b", 1) for m in range(depth)),
        sine=tuple(code == SINE for code in codes),
        keep_attention=given.take(f"{prefix}.keep_attention", 1),
        keep_mlp=given.take(f"{prefix}.keep_mlp", 1),
    )


def network_that_fits(net: Network) -> Network:
    """The network itself, if the shapes of all matrices fit together."""
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


def fits(network: Network, automaton: Automaton) -> bool:
    """Whether the automaton has the network's letters, and its states show exactly the network's outputs."""
    table, shows, states = automaton.table, automaton.shows, len(automaton.table)
    whole = table.shape == (states, len(network.embedding)) and ((table >= 0) & (table < states)).all()
    shown = shows.shape == (states,) and shows.min() >= 0 and shows.max() + 1 == network.readout.shape[1]
    return bool(whole and shown and 0 <= automaton.start < states)


def stored(net: Network, fmt: Format) -> Network:
    """The same network with every number as the dtype holds it, whatever field it is in."""

    def cast(part: Any, name: str) -> Any:
        if isinstance(part, np.ndarray):
            return fmt.stores(part, name) if part.dtype.kind == "f" else part
        if isinstance(part, tuple):
            return tuple(cast(each, name) for each in part)
        if isinstance(part, Layer | Head | Shifts):
            return replace(part, **{key: cast(value, name) for key, value in vars(part).items()})
        return part

    outer = {key: cast(value, key) for key, value in vars(net).items() if key != "layers"}
    layers = tuple(cast(layer, f"layer {number}") for number, layer in enumerate(net.layers, 1))
    return replace(net, **outer, layers=layers)
