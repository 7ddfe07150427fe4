"""Hand-built networks that attack assumptions of the checker: each is wrong when run, none is certified.

Each docstring states the idea. Those in ``DECEIVED`` were certified by an earlier version of the checker or
of other proofs. ``CONTROLS`` are the same ideas with harmless sizes.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from check.test_deceivers import Construction, of, recency, with_idle_channel
from krohn.automata.semiautomaton import Semiautomaton
from krohn.network.transformer import Head, Layer, Mlp, Transformer
from proving.built_networks import compiled
from proving.test_attacks import DIM, LAST_LETTER, LENGTH, blank, chain, changed, layer

Attack = Callable[[], Construction]
NOTHING = Mlp((np.zeros((DIM, DIM)),), (np.zeros(DIM),))
COPY = layer(chain(1.0, 1.0))


def construction(network: Transformer, automaton: Semiautomaton = LAST_LETTER) -> Construction:
    return network, automaton, network.max_length


def longer(network: Transformer, length: int) -> Transformer:
    return replace(network, positions=np.zeros((len(network.padding) + length, network.dim)))


def coded(network: Transformer, channel: int, codes: list[float]) -> Transformer:
    """Letters carry these numbers in a channel; padding carries 0."""
    result = longer(network, len(codes))
    positions = result.positions.copy()
    positions[len(network.padding) :, channel] = codes
    return replace(result, positions=positions)


def head(asks: dict[int, float], keys: dict[int, float], read: int, write: int, share: float = 1.0) -> Head:
    """Queries and keys of one number each; a channel is read, and written to another."""
    query, key, value, output = (np.zeros((DIM, 1)) for _ in range(4))
    for matrix, entries in ((query, asks), (key, keys)):
        for channel, weight in entries.items():
            matrix[channel, 0] = weight
    value[read, 0], output[write, 0] = 1.0, share
    return Head(query, key, value, output.T)


def with_readout(network: Transformer, *entries: tuple[int, int, float]) -> Transformer:
    return replace(network, readout=changed(network.readout, *entries))


def recent(gap: float, length: int, channel: int = 0) -> Construction:
    """The last letter by recency, with a lead of ``gap`` per position."""
    base = coded(blank(), 2, [t + 0.5 for t in range(length)])
    embedding = changed(base.embedding, (0, 4, 1.0), (1, 4, 1.0))
    return construction(
        replace(base, embedding=embedding, layers=(layer(NOTHING, head({4: 1.0}, {2: gap}, channel, 1)),))
    )


def a_code_behind_a_bias(late: float = 1000.5) -> Construction:
    """Scan: the MLP adds 1 to a kept channel with a position code; the claim forgot the code."""
    network, automaton, length = of(compiled("FlipFlop", 40, "scan", "float32"))
    wider = with_idle_channel(network, 0.0, late, 30)
    first = wider.layers[0]
    biases = (*first.mlp.biases[:-1], np.append(first.mlp.biases[-1][:-1], 1.0))
    layers = (replace(first, mlp=replace(first.mlp, biases=biases)), *wider.layers[1:])
    readout, bias = changed(wider.readout, (wider.dim - 1, 0, 1.0)), wider.readout_bias.copy()
    bias[0] -= 1.0
    return replace(wider, layers=layers, readout=readout, readout_bias=bias), automaton, length


def two_errors_taken_for_one(gain: float = 1000.0) -> Construction:
    """Scan: two heads copy the same left number with different leaks; their errors were said to cancel."""
    network, automaton, length = of(compiled("FlipFlop", 8, "scan"))
    wider = with_idle_channel(network, 0.0, 0.0, 0)
    last, extra = wider.layers[-1], wider.dim - 1
    left, heads = last.heads[0], [last.heads[1]]
    for turn, scale, point, channel in ((0.0, 1.0, 3, 1), (0.05, 0.08, 2, 0), (-0.05, 0.08, 2, extra)):
        cosine, sine = np.cos(turn), np.sin(turn)
        asks = left.query @ np.array([[cosine, sine], [-sine, cosine]]) * scale
        value, output = np.zeros((wider.dim, 1)), np.zeros((1, wider.dim))
        value[point, 0] = output[0, channel] = 1.0
        heads.append(Head(asks, left.key * scale, value, output))
    first = changed(last.mlp.weights[0], (extra, 1, last.mlp.weights[0][0, 1]), (0, 1, 0.0))
    more, out = np.zeros((wider.dim, 2)), np.zeros((2, wider.dim))
    more[0, 0] = more[extra, 1] = gain
    more[3, 1], out[0, 2], out[1, 2] = 2.0**-20, 1.0, -1.0
    weights = np.c_[first, more], np.r_[last.mlp.weights[1], out]
    mlp = Mlp(weights, (np.append(last.mlp.biases[0], [gain, gain]), last.mlp.biases[1]))
    keeps = (np.append(keep[:-1], 0.0) for keep in (last.keep_attention, last.keep_mlp))
    result = replace(wider, layers=(*wider.layers[:-1], Layer(tuple(heads), mlp, *keeps)))
    return result, automaton, length


def a_weight_rounded_in_two_ways(more: float = 2.0**-40) -> Construction:
    """1 + 2^-8 + 2^-40 is above the middle of two bfloat16, but not once it has been a float32."""
    base = replace(blank(), layers=(COPY,))
    return construction(
        replace(
            base, readout=changed(base.readout, (1, 1, 1 + 2.0**-8 + more)), readout_bias=np.array([1.0, 0.0])
        )
    )


def queries_of_ordinary_weights_that_vanish() -> Construction:
    """float16: a code of 2^-11 times a weight of 2^-14 is stored as 0; neither weight is small."""
    return recency((2.0**-11, 2.0**-14), 8192.0, 1 << 13)


def averages_that_underflow_step_by_step(factor: float = 2.0**-50) -> Construction:
    """float32: a letter is scaled by 2^-50 three times, summed, and scaled back: each weight is harmless."""
    network, automaton, length = of(compiled("Parity", 24, "cascade", "float32"))
    block, one = network.layers[0], np.ones(3)
    down = np.array([[factor], [0.0], [0.0]])
    small = Mlp((down, np.array([[factor]]), down.T), (np.zeros(1), np.zeros(1), np.zeros(3)))
    shrink = Layer((), small, one, np.array([0.0, 1.0, 1.0]))
    summing = replace(block.heads[0], output=block.heads[0].output / factor)
    up, first = np.array([[1 / factor], [0.0], [0.0]]), block.mlp.weights[0][:1] / factor
    mlp = Mlp((up, first, *block.mlp.weights[1:]), (np.zeros(1), *block.mlp.biases))
    return replace(network, layers=(shrink, replace(block, heads=(summing,), mlp=mlp))), automaton, length


def a_unit_of_a_scan_that_overflows(factor: float = 2.0**50) -> Construction:
    """float32, scan: factors of 2^50 in a row, on a channel that nothing reads, from letter 30 on."""
    network, automaton, length = of(compiled("FlipFlop", 40, "scan", "float32"))
    wider = with_idle_channel(network, 0.0, factor, 30)
    layers = list(wider.layers)
    for index in (0, 1):
        mlp = layers[index].mlp
        column, row = np.zeros((wider.dim, 1)), np.zeros((1, wider.dim))
        column[-1, 0] = row[0, -1] = factor
        weights = np.c_[mlp.weights[0], column], np.r_[mlp.weights[1], row]
        biases = np.append(mlp.biases[0], 0.0), mlp.biases[1]
        layers[index] = replace(layers[index], mlp=Mlp(weights, biases))
    return replace(wider, layers=tuple(layers)), automaton, length


DECEIVED: list[tuple[Attack, str]] = [
    (a_code_behind_a_bias, "float64"),
    (a_code_behind_a_bias, "float32"),
    (two_errors_taken_for_one, "float64"),
    (a_weight_rounded_in_two_ways, "bfloat16"),
    (queries_of_ordinary_weights_that_vanish, "float16"),
]


COPIED = replace(blank(), layers=(COPY,), embedding=-0.0 + blank().embedding)
CONTROLS: list[tuple[Attack, str]] = [
    (lambda: a_code_behind_a_bias(late=0.25), "float32"),
    (lambda: two_errors_taken_for_one(gain=4.0), "float64"),
    (lambda: a_weight_rounded_in_two_ways(more=2.0**-12), "bfloat16"),
    (lambda: averages_that_underflow_step_by_step(factor=2.0**-20), "float32"),
    (lambda: a_unit_of_a_scan_that_overflows(factor=2.0**10), "float32"),
    (lambda: recent(9.0, 12), "float32"),
    (lambda: (COPIED, LAST_LETTER, LENGTH), "float16"),
]
