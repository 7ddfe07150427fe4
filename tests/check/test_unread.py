"""Unread values are still computed: 0 times infinity is NaN.

Networks that lack exactly one hypothesis of the proof: that every number is finite, read or not. Each was
certified by an earlier version and is wrong in torch; its control, the same idea with harmless sizes, is
right and certified.
"""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from check.changes import changed
from check.judge import hard_words, runs
from check.test_deceivers import LAST_LETTER, Construction, certified, of, with_idle_channel
from check.torch_judge import outputs
from krohn.functions import simulate
from krohn.network.transformer import Head, Layer, Mlp, Transformer
from proving.built_networks import compiled


def right_in_torch(construction: Construction, dtype: str) -> bool:
    network, automaton, length = construction
    words = np.random.default_rng(0).integers(automaton.num_letters, size=(40, length))
    words[0], words[1] = 0, automaton.num_letters - 1
    with np.errstate(all="ignore"):
        return bool((outputs(network, words, dtype) == np.asarray(simulate(automaton, words))).all())


def judged(deceiver: Construction, control: Construction, dtype: str) -> None:
    assert not right_in_torch(deceiver, dtype)
    assert right_in_torch(control, dtype)
    assert certified(control, dtype)
    assert not certified(deceiver, dtype)


# ------------------------------------------------------------------ units of hidden layers


def with_late_unit(network: Transformer, stage: int, scale: float, first: int) -> Transformer:
    """Every MLP gets an identity between its layers; in the first block a unit that nothing reads is
    ``scale`` times an idle channel, which is ``scale`` from letter ``first`` on.
    """
    wide = with_idle_channel(network, 0.0, scale, first)

    def deeper(mlp: Mlp) -> Mlp:
        units = len(mlp.biases[0])
        weights = (mlp.weights[0], np.eye(units), *mlp.weights[1:])
        biases = (mlp.biases[0], np.zeros(units), *mlp.biases[1:])
        return replace(
            mlp, weights=weights, biases=biases, activations=(mlp.activations[0], *mlp.activations)
        )

    def unread(mlp: Mlp) -> Mlp:
        weights, biases, codes = list(mlp.weights), list(mlp.biases), list(mlp.activations)
        column = np.zeros((len(weights[stage]), 1))
        if stage == 0:
            column[-1] = scale
        else:
            carry = np.zeros((len(weights[0]), 1))
            carry[-1] = 1.0
            weights[0] = np.concatenate([weights[0], carry], axis=1)
            biases[0], codes[0] = np.append(biases[0], 0.0), np.append(codes[0], 0)
            column = np.zeros((weights[0].shape[1], 1))
            weights[1] = np.concatenate([weights[1], np.zeros((1, weights[1].shape[1]))])
            column[-1] = scale
        weights[stage] = np.concatenate([weights[stage], column], axis=1)
        biases[stage], codes[stage] = np.append(biases[stage], 0.0), np.append(codes[stage], 0)
        after = weights[stage + 1]
        weights[stage + 1] = np.concatenate([after, np.zeros((1, after.shape[1]))])
        return replace(mlp, weights=tuple(weights), biases=tuple(biases), activations=tuple(codes))

    layers = [replace(layer, mlp=deeper(layer.mlp)) for layer in wide.layers]
    layers[0] = replace(layers[0], mlp=unread(layers[0].mlp))
    return replace(wide, layers=tuple(layers))


@pytest.mark.parametrize("stage", [0, 1])
@pytest.mark.parametrize("method", ["scan", "cascade"])
def test_a_unit_that_nothing_reads_overflows_late(method: str, stage: int) -> None:
    name = "FlipFlop" if method == "scan" else "Parity"
    network, automaton, length = of(compiled(name, 40, method, "float32"))
    judged(
        (with_late_unit(network, stage, 2.0**100, 25), automaton, length),
        (with_late_unit(network, stage, 2.0**40, 25), automaton, length),
        "float32",
    )


# ------------------------------------------------------------------ values, averages, scores of a head


def with_head(network: Transformer, value: float, output: float, *, query: float = 0.0) -> Transformer:
    """One more channel, 1 at every position, and one more head of the first layer: it averages ``value``
    times that channel, and ``output`` times this goes into another channel that nothing reads.
    """
    wide = with_idle_channel(with_idle_channel(network, 0.0, 0.0, 0), 0.0, 0.0, 0)
    positions = wide.positions.copy()
    positions[:, -1] = 1.0
    dim = wide.embedding.shape[1]
    asks, read, write = np.zeros((dim, 1)), np.zeros((dim, 1)), np.zeros((1, dim))
    asks[-1], read[-1], write[0, -2] = query, value, output
    first = wide.layers[0]
    head = Head(asks, asks.copy(), read, write)
    return replace(
        wide, positions=positions, layers=(replace(first, heads=(*first.heads, head)), *wide.layers[1:])
    )


def test_a_silent_head_whose_average_is_stored_as_infinity() -> None:
    """fl(1/27) times 27 is more than 1, and 65504 is the largest number."""
    network, automaton, length = of(compiled("FlipFlop", 30, "auto", "float16"))
    judged(
        (with_head(network, 65504.0, 0.0), automaton, length),
        (with_head(network, 60000.0, 0.0), automaton, length),
        "float16",
    )


def last_letter(length: int) -> Construction:
    """The state is the last letter: nothing but a read-out."""
    nothing = Mlp((np.zeros((1, 1)),), (np.zeros(1),))
    layer = Layer((), nothing, np.ones(1), np.ones(1))
    embedding, readout = np.array([[0.0], [1.0]]), np.array([[0.0, 1.0]])
    network = Transformer(
        embedding, np.zeros((1, 1)), np.zeros((1 + length, 1)), (layer,), readout, np.array([0.5, 0.0])
    )
    return network, LAST_LETTER, length


@pytest.mark.parametrize("output", [2.0**-16, 0.0])
def test_a_sum_whose_average_is_stored_as_infinity(output: float) -> None:
    network, automaton, length = last_letter(30)
    judged(
        (with_head(network, 65504.0, output), automaton, length),
        (with_head(network, 60000.0, output), automaton, length),
        "float16",
    )


@pytest.mark.parametrize("method", ["scan", "cascade"])
def test_scores_of_a_silent_head_that_overflow(method: str) -> None:
    """Both scores are infinite: their difference is no number."""
    network, automaton, length = of(compiled("FlipFlop", 20, method, "float32"))
    judged(
        (with_head(network, 1.0, 0.0, query=2.0**65), automaton, length),
        (with_head(network, 1.0, 0.0, query=2.0**30), automaton, length),
        "float32",
    )


def mixing_two_points(name: str, scale: float, dtype: str = "float16") -> Construction:
    """A column of W_V that W_C does not read: the difference of two points, times ``scale``.

    Where both hold the same number it is 0, and the boxes of a scan have one row per number.
    """
    network, automaton, length = of(compiled(name, 6, "scan", dtype))
    first = network.layers[0]
    head = first.heads[0]
    points = np.flatnonzero((head.value @ head.output).any(axis=1))
    column = np.zeros((len(head.value), 1))
    column[points[0]], column[points[1]] = scale, -scale
    mixed = replace(
        head,
        value=np.concatenate([head.value, column], axis=1),
        output=np.concatenate([head.output, np.zeros((1, head.output.shape[1]))]),
    )
    changed = replace(first, heads=(mixed, *first.heads[1:]))
    return replace(network, layers=(changed, *network.layers[1:])), automaton, length


@pytest.mark.parametrize("name", ["C3", "C5"])
def test_a_column_of_values_that_nothing_reads_mixes_two_points(name: str) -> None:
    judged(mixing_two_points(name, 60000.0), mixing_two_points(name, 8000.0), "float16")


# ------------------------------------------------------------------ mutants

UNREAD = ("silent values", "silent scores", "large average", "mixed values", "cancelled heads")
UNREAD += ("cancelled units", "unread deep unit", "idle unit")
NETWORKS = (
    ("FlipFlop", 7, "scan", "float16"),
    ("C2", 8, "cascade", "float32"),
    ("C3", 8, "scan", "float32"),
)


def test_no_mutant_of_what_nothing_reads_is_certified_and_wrong_in_torch() -> None:
    seen = {True: 0, False: 0}
    for kind, (number, (name, length, method, dtype)) in product(UNREAD, enumerate(NETWORKS)):
        network, automaton, _ = of(compiled(name, length, method, dtype))
        mutant, other = changed(network, automaton, length, dtype, kind, (0, number))
        proved = certified((mutant, other, length), dtype)
        seen[proved] += 1
        for words in hard_words(other.num_letters, length, most=100) if proved else ():
            assert (outputs(mutant, words, dtype) == runs(other.table, other.start, words)).all(), kind
    assert min(seen.values()) > 5  # harmless ones are among them
