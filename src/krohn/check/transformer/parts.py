"""The rules that make a proof smaller: letters that act alike are one, parts that do not interact are proved
apart, each with a machine of its own.

A robot in the plane is two robots on a line. One machine for both has as many states as both numbers
multiplied; proved apart, they add.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from krohn.check.files.reader import Automaton, Head, Layer, Network
from krohn.check.files.witness import Layered, Parts
from krohn.check.ground import Array, Flags, Integers, Real, Refused, ample, distinct, inside, point, require
from krohn.check.transformer.stream import Anywhere, Moment, Setting, after_heads, finite_mlp, logits

Proof = Callable[[Setting, Network, Automaton, int, Layered], float]
"""The layer-by-layer proof of a network; it tells the setting each moment's claim, and returns the margin."""


@dataclass(frozen=True)
class Slice:
    """What some channels that are read out depend on, as a network of its own.

    Attributes:
        network: the channels of ``own`` alone, an output for each different column of the read-out, and a
            letter for each kind of letters that these channels tell apart.
        own: the channels that are computed at some moment, in order.
        held: for each moment which channels of the whole network the slice computes then; in others it is 0.
        kinds: the kind of each letter.
        columns: for each output of the whole network the output of the slice.
    """

    network: Network
    own: Integers
    held: tuple[Flags, ...]
    kinds: Integers
    columns: Integers


# Rule: letters alike.
# Hypotheses: letters of one class have the same embedding as stored, and lead from each state to one state.
# Conclusion: a network that is right on all words over one letter of each class is right on all words.
# Why: a word and the word of the leaders of its letters have the same streams and the same states.
def leaders_of(network: Network, automaton: Automaton) -> Integers:
    """The first letter of each class."""
    rows = np.concatenate([network.embedding, automaton.table.T.astype(np.float64)], axis=1)
    return np.sort(np.unique(distinct(rows)[1], return_index=True)[1])


def joined(network: Network, automaton: Automaton, leaders: Integers) -> tuple[Network, Automaton]:
    """Both with these letters alone."""
    fewer = replace(automaton, table=automaton.table[:, leaders])
    return replace(network, embedding=network.embedding[leaders]), fewer


# Rule: a slice.
# Hypotheses: no LayerNorm; every number of the whole network is finite. Conclusion: at each moment the
# channels in ``held`` are in the slice what they are in the whole network, in every order of adding.
# Why: backwards, a channel, unit, head or value of a head is left out only if all weights by which those that
# are kept would see it are 0. So terms of 0 times a finite number are missing, and no partial sum changes.
def slice_of(network: Network, ends: Integers, worth: Array) -> Slice:
    """What the channels ``ends`` depend on at the end; ``worth`` are the biases of its read-out."""
    gains = [network.gain, *(g for layer in network.layers for g in (layer.gain_attention, layer.gain_mlp))]
    require(all(gain is None for gain in gains), "parts interact in a LayerNorm")
    need = np.isin(np.arange(len(network.readout)), ends)
    held, layers = [need], list[Layer]()
    for layer in reversed(network.layers):
        with_mlp, middle = _sliced_mlp(layer, need)
        made, need = _sliced_heads(with_mlp, middle)
        held[:0] = [need, middle]
        layers.insert(0, made)
    own = np.flatnonzero(np.any(held, axis=0))
    letters, kinds = distinct((network.embedding * need)[:, own])
    values, columns = distinct(network.readout[ends].T)
    require(worth.shape == (len(values),), "witness: one worth for each column of the read-out")
    readout = np.zeros((len(own), len(values)))
    readout[np.searchsorted(own, ends)] = values.T
    part = replace(
        network,
        embedding=letters,
        padding=(network.padding * need)[:, own],
        positions=(network.positions * need)[:, own],
        layers=tuple(_in_channels(layer, own) for layer in layers),
        readout=readout,
        readout_bias=worth,
    )
    return Slice(part, own, tuple(held), kinds, columns)


def _sliced_mlp(layer: Layer, need: Flags) -> tuple[Layer, Flags]:
    """The MLP that writes the channels ``need`` alone, and the channels that these depend on."""
    units = [need]
    for weight in reversed(layer.weights):
        units.insert(0, (weight[:, units[0]] != 0).any(axis=1))
    for hidden in units[1:-1]:
        hidden[0] |= not hidden.any()  # a matrix has a unit; nothing reads this one
    before, hidden_units = units[0] | (need & (layer.keep_mlp > 0)), units[1:-1]
    every = np.ones(len(need), dtype=bool)
    kept = [np.flatnonzero(flags) for flags in (every, *hidden_units, every)]
    weights = [w[np.ix_(*sides)] for w, sides in zip(layer.weights, pairwise(kept), strict=True)]
    biases = [bias[after] for bias, after in zip(layer.biases, kept[1:], strict=True)]
    weights[0], weights[-1], biases[-1] = (
        weights[0] * units[0][:, None],
        weights[-1] * need,
        biases[-1] * need,
    )
    sine = tuple(code[units] for code, units in zip(layer.sine, kept[1:-1], strict=True))
    made = replace(
        layer, weights=tuple(weights), biases=tuple(biases), sine=sine, keep_mlp=layer.keep_mlp * need
    )
    return made, before


def _sliced_heads(layer: Layer, need: Flags) -> tuple[Layer, Flags]:
    """The heads that write the channels ``need``, and the channels that these depend on."""
    heads, before = list[Head](), need & (layer.keep_attention > 0)
    for head in layer.heads:
        output = head.output * need
        values = output.any(axis=1)
        if values.any():
            made = Head(head.query, head.key, head.value[:, values], output[values])
            heads.append(made)
            before = before | np.any(
                [(m != 0).any(axis=1) for m in (made.query, made.key, made.value)], axis=0
            )
    return replace(layer, heads=tuple(heads), keep_attention=layer.keep_attention * need), before


def _in_channels(layer: Layer, own: Integers) -> Layer:
    """The layer on these channels alone; others are 0 there."""
    heads = tuple(Head(h.query[own], h.key[own], h.value[own], h.output[:, own]) for h in layer.heads)
    weights, biases = list(layer.weights), list(layer.biases)
    weights[0] = weights[0][own]
    weights[-1], biases[-1] = weights[-1][:, own], biases[-1][own]
    return replace(
        layer,
        heads=heads,
        weights=tuple(weights),
        biases=tuple(biases),
        keep_attention=layer.keep_attention[own],
        keep_mlp=layer.keep_mlp[own],
    )


def factor_of(automaton: Automaton, cut: Slice, labels: Integers) -> Automaton:
    """The automaton of labels, which must follow from label and kind of letter, and show one column each."""
    count = len(automaton.table)
    require(labels.shape == (count,) and (labels < count).all(), "witness: one label for each state")
    table = np.zeros((int(labels.max()) + 1, len(cut.network.embedding)), dtype=np.int64)
    shows, follow = np.zeros(len(table), dtype=np.int64), labels[automaton.table]
    table[labels[:, None], cut.kinds] = follow
    shows[labels] = cut.columns[automaton.shows]
    fits = (shows[labels] == cut.columns[automaton.shows]).all()
    for letter, kind in enumerate(cut.kinds):  # letter by letter: a table may be large
        fits = fits and (table[labels, kind] == follow[:, letter]).all()
    require(fits, "witness: labels do not follow from the label before and what the part sees of a letter")
    return Automaton(table, int(labels[automaton.start]), shows)


# Rule: parts.
# Hypotheses: each part is a slice; labels of the automaton's states make an automaton for it, which the slice
# simulates by at least a margin; each channel that is read out is in one part; each output has columns of its
# own; its bias is the sum of what its columns are worth, up to ``off``; every number of the whole network is
# finite. Conclusion: the network simulates the automaton, by the least margin less twice ``off`` and the
# rounding of a logit.
# Why: at each letter the slices show the columns of the right output (labels follow the word). Another output
# has another column in some part, and loses its margin there; where columns are equal nothing is lost or won.
# In real numbers a logit is the sum of those of the parts, but for ``off``.
def prove_parts(
    setting: Setting, network: Network, automaton: Automaton, whole_net: Moment, witness: Parts, prove: Proof
) -> float:
    """The certified margin of the whole network, whose numbers are as stored."""
    length, d = whole_net.length, len(network.readout)
    taken = np.concatenate([part.channels for part in witness.parts])
    require((taken < d).all() and len(set(taken.tolist())) == len(taken), "witness: parts share a channel")
    require(np.isin(np.flatnonzero(network.readout.any(axis=1)), taken), "witness: a channel is in no part")
    margins, bounds, columns = [], list[tuple[Slice, dict[str, Real]]](), list[Integers]()
    off = point(network.readout_bias)
    for number, part in enumerate(witness.parts, 1):
        heard: dict[str, Real] = {}

        def note(name: str, claim: object, heard: dict[str, Real] = heard) -> None:
            if isinstance(claim, Moment):  # of several claims about one moment each holds
                heard[name] = claim.anywhere

        with inside(f"part {number}"):
            worth = setting.fmt.stores(part.worth, "witness")
            cut = slice_of(network, part.channels, worth)
            factor = factor_of(automaton, cut, part.labels)
            own = replace(setting, note=note)
            margins.append(prove(own, cut.network, factor, length, part.proof))
        off = off - point(worth[cut.columns])
        bounds.append((cut, heard))
        columns.append(cut.columns)
    told = distinct(np.stack(columns, axis=1))[0]
    require(len(told) == network.readout.shape[1], "witness: two outputs have the same columns")
    stream = _finite(setting, network, whole_net, bounds)
    with inside("read-out", len(network.layers) + 1):
        rounding = setting.fmt.off_linear(stream.size[None], network.readout, network.readout_bias)
        lost = float(ample(2 * (rounding[0] + off.size).max()))
        left = min(margins) - lost
        if not left > 0:
            raise Refused(
                f"the parts lead by {min(margins):.3g}, and logits of the whole may err by {lost:.3g}"
            )
    return left


# Hypotheses: what slices compute is in their boxes. Conclusion: every number of the network is finite.
# Why: block by block plain intervals bound what comes out; in channels that a slice computes its claim does.
def _finite(
    setting: Setting, network: Network, moment: Moment, bounds: list[tuple[Slice, dict[str, Real]]]
) -> Real:
    """What the stream holds at the end, at any position; refuses unless all that is computed is finite."""

    def known(stream: Real, done: int, name: str) -> Real:
        lo, hi = stream.lo.copy(), stream.hi.copy()
        for cut, heard in bounds:
            channels = np.flatnonzero(cut.held[done])
            at = np.searchsorted(cut.own, channels)
            lo[channels], hi[channels] = heard[name].lo[at], heard[name].hi[at]
        return Real(lo, hi)

    stream = moment.anywhere
    for number, layer in enumerate(network.layers):
        with inside(f"block {number + 1}", number + 1):
            everything = Anywhere(setting, stream, moment.positions)
            mixed = after_heads(everything, layer, everything.row).box
            stream = known(mixed.part[0], 2 * number + 1, f"layer.{number}.mixed")
            stream = known(finite_mlp(setting, stream, layer), 2 * number + 2, f"layer.{number}.stream")
    everything = Anywhere(setting, stream, moment.positions)
    logits(everything, network, everything.row)
    return stream
