"""The abstract residual stream: at every moment, for every word at once.

A letter's position t holds ``nominal[c] + wide @ Z_t + places[t]`` up to ``radius``, where c is the class
the machine shows and Z_t are its running counters (prefix sums). Padding positions see no letter: their
vectors ``pads`` are plain numbers up to ``pad_radius``.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from krohn.certify.arithmetic import OWN, Arithmetic, Array
from krohn.certify.machine import Integers, Machine, distinct_rows, explore, minimise, used_classes
from krohn.certify.rhythm import rhythm_of
from krohn.network.transformer import Transformer

Flags = npt.NDArray[np.bool_]

DIGITS = 5
"""Vectors that agree to this many decimals (of their channel's size) are one class; the rest is radius."""


@dataclass(frozen=True, eq=False)
class Stream:
    """One moment of the forward pass; see the module's text. ``reach[k]`` are the ends of counter k."""

    machine: Machine
    nominal: Array  # classes × d
    radius: Array  # d
    wide: Array  # d × counters
    reach: Integers  # counters × 2
    pads: Array  # τ × d
    pad_radius: Array  # d
    places: Array  # (τ + T) × d: the position codes that vary along letters (already part of pads)
    lost: Array  # d: size of what was forgotten; nothing reads it, but infinity times 0 is not 0
    clocked: bool = False  # whether classes know places, so that not all of them stand everywhere

    @property
    def num_padding(self) -> int:
        """τ."""
        return len(self.pads)

    @property
    def length(self) -> int:
        """T, the longest word considered."""
        return len(self.places) - len(self.pads)

    def carries_code(self, weight: Array) -> bool:
        """Whether a matrix looks at a position code, be it that its terms cancel."""
        codes = (self.places[self.num_padding :] != 0).any(axis=0)
        return bool((codes & (weight != 0).any(axis=1)).any())

    def size(self) -> Array:
        """The largest absolute value of each channel at a letter's position."""
        far = np.abs(self.reach).max(axis=1, initial=0)
        out: Array = (
            np.abs(self.nominal).max(axis=0, initial=0.0)
            + np.abs(self.wide) @ far
            + np.abs(self.places).max(axis=0, initial=0.0)
            + self.radius
        )
        return out


def embed(network: Transformer, length: int, arith: Arithmetic) -> Stream:
    """The stream after the embedding. Position codes that stay or repeat along letters join the classes."""
    tau = network.num_padding
    codes = network.positions[: tau + length]
    along = codes[tau:]
    steady = (along == along[:1]).all(axis=0) if length else np.ones(network.dim, dtype=bool)
    rhythm = rhythm_of(along)
    constant = np.zeros((rhythm.readings, network.dim))  # a reading that no word reaches may have any code
    reached = along[: rhythm.readings]
    constant[: len(reached)] = np.where(steady | rhythm.channels, reached, 0.0)
    places = np.where(steady | rhythm.channels, 0.0, codes)
    letters, dim = network.embedding.shape
    # Adding a position to a token rounds once where both are there.
    mixed = (np.abs(network.embedding).max(axis=0) > 0) & (np.abs(along).max(axis=0, initial=0.0) > 0)
    size = np.abs(network.embedding).max(axis=0) + np.abs(along).max(axis=0, initial=0.0)
    pads = network.padding + codes[:tau]
    doubled = (network.padding != 0) & (codes[:tau] != 0)
    pad_radius = np.where(doubled, (arith.unit + OWN) * (np.abs(network.padding) + np.abs(codes[:tau])), 0.0)
    return Stream(
        rhythm.clock(letters),
        (network.embedding[None, :, :] + constant[:, None, :]).reshape(-1, dim),
        np.where(mixed, (arith.unit + OWN) * size, 0.0),
        np.zeros((dim, 0)),
        np.zeros((0, 2), dtype=np.int64),
        pads,
        pad_radius.max(axis=0, initial=0.0),
        places,
        np.zeros(dim),
        rhythm.readings > 1,
    )


def settle(stream: Stream, live: Flags, *, merge: bool = True) -> Stream:
    """Forgets dead channels and counters, merges classes that look alike and states that act alike."""
    keep = live.astype(np.float64)
    wide = stream.wide * keep[:, None]
    counters = np.flatnonzero((wide != 0).any(axis=0))
    nominal, classes, drift = cluster(stream.nominal * keep)
    machine = used_classes(stream.machine, classes)
    machine = replace(machine, steps=machine.steps[:, :, counters])
    if merge:
        machine = minimise(machine)
    whole = np.maximum(stream.size(), np.abs(stream.pads).max(axis=0, initial=0.0) + stream.pad_radius)
    return replace(
        stream,
        machine=machine,
        nominal=nominal,
        radius=(stream.radius + drift) * keep,
        wide=wide[:, counters],
        reach=stream.reach[counters],
        pads=stream.pads * keep,
        pad_radius=stream.pad_radius * keep,
        places=stream.places * keep,
        lost=(stream.lost + whole) * (1 - keep),
    )


def resolved(stream: Stream, counters: Integers) -> Stream:
    """The same stream with these counters written out: one class per value, where a sum is read as it is."""
    if not len(counters):
        return stream
    old, count = stream.machine, len(counters)

    def expand(rows: Integers) -> tuple[Integers, Integers]:
        state = rows[:, 0]
        sums = rows[:, None, 1:] + old.steps[state][:, :, counters]
        after = np.concatenate([old.follow[state][..., None], sums], axis=2)
        return after, np.concatenate([old.shown[state][..., None], sums, old.steps[state]], axis=2)

    follow, outputs = explore(np.zeros(1 + count, dtype=np.int64), expand, stream.length)
    rows, classes = distinct_rows(outputs[..., : 1 + count].reshape(-1, 1 + count))
    others = np.setdiff1d(np.arange(len(stream.reach)), counters)
    steps = outputs[..., 1 + count :][..., others]
    machine = replace(old, follow=follow, shown=classes.reshape(follow.shape), steps=steps)
    nominal = stream.nominal[rows[:, 0]] + rows[:, 1:] @ stream.wide[:, counters].T
    return replace(
        stream, machine=machine, nominal=nominal, wide=stream.wide[:, others], reach=stream.reach[others]
    )


def cluster(vectors: Array) -> tuple[Array, Integers, Array]:
    """Representatives, the representative of each vector, and the largest distance per channel."""
    if not vectors.size:
        found, where = distinct_rows(np.zeros((len(vectors), 0), dtype=np.int64))
        return vectors[: len(found)], where, np.zeros(vectors.shape[1])
    scale = np.maximum(np.abs(vectors).max(axis=0), 1e-300)
    grid = np.rint(vectors / scale * 10.0**DIGITS).astype(np.int64)
    _, where = distinct_rows(grid)
    _, first = np.unique(where, return_index=True)
    chosen = vectors[first]
    return chosen, where, np.abs(vectors - chosen[where]).max(axis=0)


def live_channels(network: Transformer) -> list[Flags]:
    """Which channels something later reads: after the embedding, after each attention, after each MLP."""
    live = (network.readout != 0).any(axis=1)
    moments = [live]
    for layer in reversed(network.layers):
        live = ((layer.keep_mlp > 0) & live) | _read_by_mlp(layer.mlp.weights, live)
        moments.append(live)
        before = (layer.keep_attention > 0) & live
        for head in layer.heads:
            for matrix in (head.query, head.key, head.value):
                before = before | (matrix != 0).any(axis=1)
        live = before
        moments.append(live)
    return moments[::-1]


def _read_by_mlp(weights: tuple[Array, ...], live: Flags) -> Flags:
    wanted = live
    for weight in reversed(weights):
        wanted = (weight[:, wanted] != 0).any(axis=1)
    return wanted
