"""Networks of every shape for the containment test: honest ones, changed at random in every field of a layer.

A change need not keep the network right. Each box that is claimed before a refusal counts.
"""

from collections.abc import Callable
from dataclasses import fields, replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

import krohn
from krohn.check.arithmetic.format import FORMATS
from krohn.check.files.reader import Automaton, Head, Layer, Network
from krohn.errors import KrohnError
from krohn.exporting.from_compiled import decoder_of_compiled
from krohn.proving.claims import Question
from krohn.proving.compiled import verify_compiled
from krohn.proving.export import checkable_decoder, prove, token_table
from krohn.proving.witness.search import checkable

Dice = np.random.Generator
Array = npt.NDArray[Any]
Witness = dict[str, Any]
Subject = tuple[Network, Automaton, Witness]
Change = Callable[[Dice, Network, Witness, str], tuple[Network, Witness]]

DTYPES = ("float64", "float32", "bfloat16", "float16")
SCANS = [
    ("FlipFlop", "scan", 5),
    ("C2", "wide", 18),
    ("S3", "scan", 3),
    ("C3", "scan", 8),
    ("FlipFlop", "wide", 10),
]
LAYERED = [(n, m, 6) for n in ("C2", "FlipFlop", "abab", "D6", "Add") for m in ("auto", "cascade", "paper")]
LAYERED += [("Grid4", "grid", 6), ("C3", "features", 6)]
EXPORTS = [("FlipFlop", "scan", 4), ("C2", "auto", 4), ("abab", "auto", 4)]


@cache
def honest(name: str, method: str, length: int, dtype: str) -> Subject | None:
    """A compiled network with its witness; ``None`` if there is none in this float type."""
    try:
        # A scan is proved below, once; the others are the default's networks, which its proof chooses.
        scan = method in ("scan", "wide")
        network = krohn.compile(name, length=length, method=method, dtype=dtype, unproved=scan)
        proof = verify_compiled(network, Question(dtype, second_opinion=False), described=True)
    except KrohnError:
        return None
    return (*checkable(network.transformer, network.automaton), proof.witness) if proof.certified else None


@cache
def exported(name: str, method: str, length: int) -> Subject:
    """An export as GPT-2, with LayerNorms, and its witness."""
    network = krohn.compile(name, length=length, method=method)
    decoder = decoder_of_compiled(network, normalized=True)
    proof = prove(decoder, network)
    assert proof.certified
    return checkable_decoder(decoder), token_table(decoder, network.automaton), proof.witness


def number(dice: Dice) -> float:
    """A weight: often a small dyadic number, else any."""
    if dice.random() < 0.5:
        return float(dice.choice([1, -1, 0.5, 2, -2, 3, 0.25]))
    return float(dice.normal() * 2.0 ** dice.integers(-12, 4))


def at(network: Network, index: int, layer: Layer) -> Network:
    return replace(network, layers=(*network.layers[:index], layer, *network.layers[index + 1 :]))


def some_layer(dice: Dice, network: Network) -> tuple[int, Layer]:
    index = int(dice.integers(len(network.layers)))
    return index, network.layers[index]


def column(matrix: Array, values: Array | float = 0.0) -> Array:
    return np.concatenate([matrix, np.broadcast_to(values, len(matrix))[:, None]], axis=1)


def row(matrix: Array) -> Array:
    return np.concatenate([matrix, np.zeros((1, matrix.shape[1]))])


def wider(dice: Dice, network: Network, witness: Witness, dtype: str) -> tuple[Network, Witness]:
    """One more channel with random letters, padding and position codes; kept everywhere, read by nothing."""

    def values(count: int) -> Array:
        made = np.full(count, number(dice) if dice.random() < 0.7 else 0.0)
        if dice.random() < 0.5:
            made = np.array([number(dice) for _ in range(count)])
        return made

    def block(layer: Layer) -> Layer:
        weights = [row(layer.weights[0]), *layer.weights[1:]]
        weights[-1] = column(weights[-1])
        gains = (g if g is None else np.append(g, 1.0) for g in (layer.gain_attention, layer.gain_mlp))
        heads = (Head(row(h.query), row(h.key), row(h.value), column(h.output)) for h in layer.heads)
        keeps = (np.append(keep, 1.0) for keep in (layer.keep_attention, layer.keep_mlp))
        biases = (*layer.biases[:-1], np.append(layer.biases[-1], 0.0))
        return Layer(tuple(heads), tuple(weights), biases, layer.sine, *keeps, *gains)

    outer = {
        name: column(part, values(len(part)))
        for name in ("embedding", "padding", "positions")
        for part in [getattr(network, name)]
    }
    gain = network.gain if network.gain is None else np.append(network.gain, 1.0)
    layers = tuple(map(block, network.layers))
    return replace(network, **outer, layers=layers, readout=row(network.readout), gain=gain), witness


def another_layer(dice: Dice, network: Network, witness: Witness, dtype: str) -> tuple[Network, Witness]:
    """A layer of one, two or three matrices in the end; heads that are silent or none."""
    if "channels" not in witness or network.gain is not None:
        return network, witness
    d, depth, maps = network.embedding.shape[1], int(dice.integers(1, 4)), witness["channels"][-1]
    free = [channel for channel in range(d) if channel not in maps]
    widths = [d, *(int(dice.integers(1, 4)) for _ in range(depth - 1)), d]
    weights = tuple(np.zeros(shape) for shape in pairwise(widths))
    for weight in weights:
        for _ in range(int(dice.integers(1, 4))):
            to = dice.choice(free) if weight is weights[-1] and free and dice.random() < 0.7 else None
            weight[dice.integers(len(weight)), dice.integers(weight.shape[1]) if to is None else to] = number(
                dice
            )
    few = dice.random() < 0.5
    biases = tuple(np.array([0.0 if few else number(dice) for _ in range(width)]) for width in widths[1:])
    silent = Head(np.zeros((d, 1)), np.zeros((d, 1)), number(dice) * np.eye(d)[:, :1], np.zeros((1, d)))
    keep = np.where((dice.random((2, d)) < 0.1) & ~np.isin(np.arange(d), maps), 0.0, 1.0)
    sine = tuple(np.zeros(width, dtype=bool) for width in widths[1:-1])
    layer = Layer((silent,) * int(dice.integers(2)), weights, biases, sine, *keep)
    more = {**witness, "channels": [*witness["channels"], maps]}
    more |= {"cuts": [*witness["cuts"], []]} if "cuts" in witness else {}
    return replace(network, layers=(*network.layers, layer)), more


def more_units(dice: Dice, network: Network, witness: Witness, dtype: str) -> tuple[Network, Witness]:
    """One more hidden unit, which reads and writes random channels."""
    index, layer = some_layer(dice, network)
    if len(layer.weights) < 2:
        return network, witness
    into, out = np.zeros(len(layer.weights[0])), np.zeros((1, layer.weights[1].shape[1]))
    for _ in range(int(dice.integers(0, 3))):
        into[dice.integers(len(into))] = number(dice)
    for _ in range(int(dice.integers(1, 3))):
        out[0, dice.integers(out.shape[1])] = number(dice) * 2.0 ** -dice.integers(0, 8)
    weights = (column(layer.weights[0], into), np.concatenate([layer.weights[1], out]), *layer.weights[2:])
    biases = (np.append(layer.biases[0], number(dice)), *layer.biases[1:])
    sine = (np.append(layer.sine[0], False), *layer.sine[1:])
    return at(network, index, replace(layer, weights=weights, biases=biases, sine=sine)), witness


def ties(dice: Dice, network: Network, witness: Witness, dtype: str) -> tuple[Network, Witness]:
    """Units without inputs write into new channels, beside a bias and a position code: sums of three stores,
    half way between two numbers of the format, where each rounding is as large as can be.
    """
    new = 6
    for _ in range(new):
        network, witness = wider(dice, network, witness, dtype)
    index, layer = some_layer(dice, network)
    if len(layer.weights) != 2:
        return network, witness
    channels, count = np.arange(-new, 0), int(dice.integers(1, 4))
    unit = FORMATS[dtype].outer.unit
    outer = {name: getattr(network, name).copy() for name in ("embedding", "padding", "positions")}
    outer["embedding"][:, channels] = outer["padding"][:, channels] = 0.0
    outer["positions"][:, channels] = dice.choice([1, unit, 3 * unit, 0], size=new)
    out, bias = np.zeros((count, len(layer.biases[1]))), layer.biases[1].copy()
    out[:, channels] = dice.choice([1, unit, 3 * unit, 0], size=(count, new))
    bias[channels] = dice.choice([1, unit, 3 * unit, 0], size=new)
    weights = np.concatenate([layer.weights[0], np.zeros((len(layer.weights[0]), count))], axis=1), out
    weights = weights[0], np.concatenate([layer.weights[1], out])
    biases, sine = (np.append(layer.biases[0], np.ones(count)), bias), np.zeros(count, dtype=bool)
    made = replace(layer, weights=weights, biases=biases, sine=(np.append(layer.sine[0], sine),))
    return at(replace(network, **outer), index, made), witness


def bumped(dice: Dice, network: Network, witness: Witness, dtype: str) -> tuple[Network, Witness]:
    """A number of an MLP changes by a factor near 1, or a bias by a little."""
    index, layer = some_layer(dice, network)
    place = int(dice.integers(len(layer.weights)))
    weights, biases = ([part.copy() for part in parts] for parts in (layer.weights, layer.biases))
    entries, little = np.argwhere(weights[place]), dice.normal() * 2.0 ** -dice.integers(2, 14)
    if dice.random() < 0.5 and len(entries):
        weights[place][tuple(entries[dice.integers(len(entries))])] *= 1 + little
    else:
        biases[place][dice.integers(len(biases[place]))] += little
    return at(network, index, replace(layer, weights=tuple(weights), biases=tuple(biases))), witness


def turned(dice: Dice, network: Network, witness: Witness, dtype: str) -> tuple[Network, Witness]:
    """A number of a head, or a column outside the layers, changes by a factor near 1."""
    factor = 1 + dice.normal() * 2.0 ** -dice.integers(2, 14)
    index, layer = some_layer(dice, network)
    if layer.heads and dice.random() < 0.5:
        which = int(dice.integers(len(layer.heads)))
        name = fields(Head)[dice.integers(4)].name
        matrix = getattr(layer.heads[which], name).copy()
        if len(entries := np.argwhere(matrix)):
            matrix[tuple(entries[dice.integers(len(entries))])] *= factor
        heads = list(layer.heads)
        heads[which] = replace(heads[which], **{name: matrix})
        return at(network, index, replace(layer, heads=tuple(heads))), witness
    name = str(dice.choice(["embedding", "padding", "positions", "readout"]))
    matrix = getattr(network, name).copy()
    if len(entries := np.argwhere(matrix)):
        matrix[:, entries[dice.integers(len(entries))][1]] *= factor
    return replace(network, **{name: matrix}), witness


def another_window(dice: Dice, network: Network, witness: Witness, dtype: str) -> tuple[Network, Witness]:
    """In an MLP with rounds the units of a window pass on one window before the round."""
    cuts = (witness.get("cuts") or [[]])[0]
    if len(cuts) < 2:
        return network, witness
    layer, index = network.layers[0], int(dice.integers(1, len(cuts)))
    weights, biases = ([part.copy() for part in parts] for parts in (layer.weights, layer.biases))
    for number_of_round in (index, min(index + 1, len(cuts) - 1)):
        first, before = cuts[number_of_round - 1]["stage"], cuts[number_of_round - 1]["units"]
        window = len(cuts[number_of_round]["units"]) - 1 if number_of_round == index else 0
        source = before[min(2 * window + int(number_of_round != index), len(before) - 1)]
        ends = cuts[number_of_round]["units"][window]
        hidden = np.flatnonzero((weights[first + 1][:, ends] != 0).any(axis=1))
        weights[first][:, hidden], biases[first][hidden], weights[first + 1][hidden] = 0, 0, 0
        biases[first + 1][ends] = 0
        for unit, start, end in zip(hidden, source, ends, strict=False):
            weights[first][start, unit] = weights[first + 1][unit, end] = 1.0
    return at(network, 0, replace(layer, weights=tuple(weights), biases=tuple(biases))), witness


def last_norm(dice: Dice, network: Network, witness: Witness, dtype: str) -> tuple[Network, Witness]:
    """A LayerNorm before the read-out, and a pair of channels far larger than the others."""
    if network.gain is not None or FORMATS[dtype].coarse:
        return network, witness
    large = 2.0 ** dice.integers(4, 12)
    for sign in (1, -1):
        network, witness = wider(dice, network, witness, dtype)
        outer = {name: getattr(network, name).copy() for name in ("embedding", "padding", "positions")}
        outer["embedding"][:, -1] = outer["padding"][:, -1] = sign * large
        outer["positions"][:, -1] = 0.0
        network = replace(network, **outer)
    return replace(network, gain=np.full(network.embedding.shape[1], float(large)), epsilon=1e-5), witness


CHANGES: dict[str, tuple[Change, ...]] = {
    "scan": (another_layer, more_units, bumped, another_window, ties, turned, last_norm),
    "layered": (more_units, bumped, turned),
    "export": (more_units, bumped, turned),
}


def rounded(network: Network, dtype: str) -> Network:
    """The same network with numbers that the format holds, so that they are read in one way."""
    fmt = FORMATS[dtype]

    def cast(part: Array) -> Array:
        return fmt.outer.cast(fmt.inner.cast(np.asarray(part, dtype=np.float64)))

    def block(layer: Layer) -> Layer:
        heads = tuple(Head(*(cast(getattr(h, f.name)) for f in fields(Head))) for h in layer.heads)
        weights, biases = (tuple(map(cast, parts)) for parts in (layer.weights, layer.biases))
        return replace(layer, heads=heads, weights=weights, biases=biases)

    names = ("embedding", "padding", "positions", "readout", "readout_bias")
    outer = {name: cast(getattr(network, name)) for name in names}
    return replace(network, **outer, layers=tuple(map(block, network.layers)))


def generated(seed: int, kind: str) -> tuple[str, str, int, Subject] | None:
    """A network by its number: what was done to it, the float type, the length, and all that is checked."""
    dice = np.random.default_rng(seed)
    bases = {"scan": SCANS, "layered": LAYERED, "export": EXPORTS}[kind]
    name, method, length = bases[dice.integers(len(bases))]
    dtype = str(dice.choice({"scan": DTYPES, "layered": DTYPES[:2], "export": DTYPES[1:2]}[kind]))
    subject = exported(name, method, length) if kind == "export" else honest(name, method, length, dtype)
    if subject is None:
        return None
    network, automaton, witness = subject
    known = CHANGES[kind]
    changes = [known[dice.integers(len(known))] for _ in range(int(dice.integers(1, 4)))]
    for change in (wider, *changes) if kind == "scan" else changes:
        network, witness = change(dice, network, witness, dtype)
    done = f"{name} {method} {dtype}: {', '.join(change.__name__ for change in changes)}"
    return done, dtype, length, (rounded(network, dtype), automaton, witness)
