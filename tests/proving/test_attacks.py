"""Networks built to deceive the checker: right on paper, wrong when they are run. None is certified."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch

from krohn.automata.semiautomaton import Semiautomaton
from krohn.check.ground import Array
from krohn.lab.bridge import to_torch
from krohn.network.forward import run as run_in
from krohn.network.transformer import Head, Layer, Mlp, Transformer
from krohn.paper.theorem1 import build_scan
from krohn.proving.attempts import arithmetic, attempt
from proving.built_networks import compiled
from proving.mutants import Mutant, is_wrong

LAST_LETTER = Semiautomaton.from_letters([(0, 0), (1, 1)])
ROTATE = Semiautomaton.from_letters([(1, 2, 3, 4, 5, 6, 0), (0, 0, 2, 3, 4, 6, 5)])
LENGTH = 6
DIM = 5


def blank() -> Transformer:
    """Channel 0 holds the letter, channel 1 is read out; nothing connects them."""
    embedding, readout = np.zeros((2, DIM)), np.zeros((DIM, 2))
    embedding[1, 0], readout[1, 1] = 1.0, 1.0
    positions = np.zeros((1 + LENGTH, DIM))
    return Transformer(embedding, np.zeros((1, DIM)), positions, (), readout, np.array([0.5, 0.0]))


def chain(*factors: float) -> Mlp:
    """Channel 0 times each factor in turn, a hidden unit between any two, into channel 1."""
    first, last = np.zeros((DIM, 1)), np.zeros((1, DIM))
    first[0, 0], last[0, 1] = factors[0], factors[-1]
    weights = (first, *(np.array([[factor]]) for factor in factors[1:-1]), last)
    return Mlp(weights, tuple(np.zeros(weight.shape[1]) for weight in weights))


def layer(mlp: Mlp, *heads: Head) -> Layer:
    return Layer(heads, mlp, np.ones(DIM), np.ones(DIM))


def changed(matrix: Array, *entries: tuple[int, int, float]) -> Array:
    out = matrix.copy()
    for row, column, value in entries:
        out[row, column] = value
    return out


def products_that_underflow() -> Transformer:
    """2^−160 is 0 in float32, however exact powers of two are."""
    return replace(blank(), layers=(layer(chain(2.0**-80, 2.0**-80, 2.0**80, 2.0**80)),))


def a_forgotten_channel_that_grows() -> Transformer:
    """Nothing reads channel 2, but it becomes infinite, and 0 times infinity is not a number."""
    mlps = [chain(1.0, 1.0), chain(0.0, 0.0)]
    grown = [replace(mlp, biases=(mlp.biases[0], np.array([0, 0, 2e38, 0, 0]))) for mlp in mlps]
    return replace(blank(), layers=tuple(layer(mlp) for mlp in grown))


def a_silent_head_that_overflows() -> Transformer:
    nothing = np.zeros((DIM, 1))
    head = Head(nothing, nothing, changed(nothing, (0, 0, 3e38)), nothing.T)
    base = blank()
    twice = replace(base, embedding=2 * base.embedding)
    return replace(twice, layers=(layer(chain(1.0, 1.0), head),))


def coded() -> Transformer:
    """Channels 2 and 3 hold the same position code, channel 4 the number 1."""
    base = blank()
    positions = base.positions.copy()
    positions[:, 2] = positions[:, 3] = np.arange(len(positions)) / 7
    positions[:, 4] = 1.0
    return replace(base, positions=positions)


def codes_that_cancel_in_an_mlp() -> Transformer:
    """One unit is the letter and a code times 2^30, another that code alone: no sum has more than two terms.

    So no order of summation, and no fused multiplication and addition, saves the letter.
    """
    first = changed(np.zeros((DIM, 2)), (0, 0, 1.0), (2, 0, 2.0**30), (3, 1, 2.0**30))
    last = changed(np.zeros((2, DIM)), (0, 1, 1.0), (1, 1, -1.0))
    return replace(coded(), layers=(layer(Mlp((first, last), (np.zeros(2), np.zeros(DIM)))),))


def codes_that_cancel_in_the_read_out() -> Transformer:
    """The letter is added to a code times 2^30 in the stream, from which the read-out takes the same."""
    base = coded()
    positions = base.positions * [1.0, 1.0, 2.0**30, 2.0**30, 1.0]
    mlp = chain(1.0, 1.0)
    into_code = replace(mlp, weights=(mlp.weights[0], changed(np.zeros((1, DIM)), (0, 2, 1.0))))
    readout = changed(np.zeros((DIM, 2)), (2, 1, 1.0), (3, 1, -1.0))
    return replace(base, positions=positions, readout=readout, layers=(layer(into_code),))


def codes_that_cancel_in_a_value() -> Transformer:
    """A head that looks at its own position takes the letter and a code times 2^30, and that code alone."""
    none = np.zeros((DIM, 1))
    value = changed(np.zeros((DIM, 2)), (0, 0, 1.0), (2, 0, 2.0**30), (3, 1, 2.0**30))
    output = changed(np.zeros((2, DIM)), (0, 1, 1.0), (1, 1, -1.0))
    head = Head(changed(none, (4, 0, 2000.0)), changed(none, (2, 0, 1.0)), value, output)
    return replace(coded(), layers=(layer(Mlp((np.zeros((DIM, DIM)),), (np.zeros(DIM),)), head),))


def a_unit_nothing_depends_on_that_overflows() -> Transformer:
    base = blank()
    first, last = np.zeros((DIM, 2)), np.zeros((2, DIM))
    first[0, 0], first[2, 1], last[0, 1] = 1.0, 1e30, 1.0
    mlp = Mlp((first, last), (np.zeros(2), np.zeros(DIM)))
    return replace(base, embedding=changed(base.embedding, (1, 2, 1e30)), layers=(layer(mlp),))


SMALL: list[Callable[[], Transformer]] = [
    products_that_underflow,
    a_forgotten_channel_that_grows,
    a_silent_head_that_overflows,
    codes_that_cancel_in_an_mlp,
    codes_that_cancel_in_the_read_out,
    codes_that_cancel_in_a_value,
    a_unit_nothing_depends_on_that_overflows,
]


@pytest.mark.parametrize("attack", SMALL, ids=lambda attack: attack.__name__)
def test_small_networks_that_break_in_float32_are_refused(attack: Callable[[], Transformer]) -> None:
    network = attack()
    assert is_wrong(Mutant("attack", "", network, LAST_LETTER), LENGTH, "float32")
    assert attempt(network, LAST_LETTER, LENGTH, arithmetic("float32"))[1] is not None


def test_the_network_they_start_from_is_certified() -> None:
    network = replace(blank(), layers=(layer(chain(1.0, 1.0)),))
    assert attempt(network, LAST_LETTER, LENGTH, arithmetic("float32"))[1] is None


def test_counters_whose_units_overflow_are_refused() -> None:
    """ReLU layers can be scaled by 2^124 and back: nothing changes but the range."""
    network = compiled("Parity", 64, "cascade", "float32")
    block = network.transformer.layers[0]
    weights, biases = list(block.mlp.weights), list(block.mlp.biases)
    weights[0], biases[0], weights[1] = weights[0] * 2.0**124, biases[0] * 2.0**124, weights[1] / 2.0**124
    mlp = replace(block.mlp, weights=tuple(weights), biases=tuple(biases))
    large = replace(network.transformer, layers=(replace(block, mlp=mlp), *network.transformer.layers[1:]))
    assert is_wrong(Mutant("attack", "", large, network.automaton), 64, "float32")
    assert attempt(large, network.automaton, 64, arithmetic("float32"))[1] is not None


def with_second_choice(mlp: Mlp, outputs: list[int], lefts: list[int], right: int) -> Mlp:
    """Adds f(0) to f(x) where x = 1: four more units per output."""
    columns, biases, rows = [], [], []
    for output, left in zip(outputs, lefts, strict=True):
        for shift, sign in ((0, 1.0), (1, -1.0)):
            for share in (1.0, 0.0):
                column, row = np.zeros(len(mlp.weights[0])), np.zeros(len(outputs) * 2 + 2)
                column[left], column[right] = 8.0, share
                row[output] = sign * (2 * share - 1)
                columns.append(column)
                rows.append(row)
                biases.append(-8.0 * (1 + shift))
    first = np.column_stack([mlp.weights[0], *columns])
    return Mlp(
        (first, np.vstack([mlp.weights[1], *rows])),
        (np.concatenate([mlp.biases[0], biases]), mlp.biases[1]),
    )


def test_a_composition_that_adds_a_second_value_is_refused() -> None:
    scan = build_scan(ROTATE, 7).transformer
    points = ROTATE.num_states
    lefts, rights = list(range(points)), list(range(points, 2 * points))
    layers = [replace(b, mlp=with_second_choice(b.mlp, rights, lefts, rights[0])) for b in scan.layers]
    network = replace(scan, layers=tuple(layers))
    assert is_wrong(Mutant("attack", "", network, ROTATE), 7, "float64")
    assert attempt(network, ROTATE, 7, arithmetic("float64"))[1] is not None


def test_rounding_noise_in_a_position_code_is_refused() -> None:
    """A head adds a·m + b·m − (a + b)·m to the code of the next layer: 0 on paper, rounding errors in fact.

    Each product is rounded as a value of the head, and its output adds the three as they are, so that a
    processor with fused multiplication and addition makes the same errors as one without.
    """
    scan = build_scan(ROTATE, 7).transformer
    code = int(np.flatnonzero(scan.positions.any(axis=0))[0])
    factors = np.array([333333344.0, 142857152.0, 476190496.0])
    assert factors[0] + factors[1] == factors[2]
    assert (factors.astype(np.float32) == factors).all()

    def noisy(head: Head) -> Head:
        value = np.concatenate([factors * head.value[:, -1:], head.value], axis=1)
        output = np.concatenate([np.zeros((3, scan.dim)), head.output])
        if head.value[:, -1].any():
            output[:3, code] = 1.0, 1.0, -1.0
        return Head(head.query, head.key, value, output)

    network = replace(
        scan, layers=tuple(replace(block, heads=tuple(map(noisy, block.heads))) for block in scan.layers)
    )
    assert is_wrong(Mutant("attack", "", network, ROTATE), 7, "float32")
    assert attempt(network, ROTATE, 7, arithmetic("float32"))[1] is not None


@pytest.mark.parametrize(("dtype", "base"), [("bfloat16", 256.0), ("float16", 4096.0)])
def test_a_product_that_is_rounded_before_its_bias_comes_is_refused(dtype: str, base: float) -> None:
    """x + base − base: with one rounding at the end it would be exact; torch rounds the product first."""
    first = changed(np.zeros((DIM, 1)), (0, 0, 1.0), (4, 0, base))
    mlp = Mlp((first, changed(np.zeros((1, DIM)), (0, 1, 1.0))), (np.array([-base]), np.zeros(DIM)))
    network = replace(blank(), layers=(layer(mlp),))
    positions = network.positions.copy()
    positions[:, 4] = 1.0
    network = replace(network, positions=positions)
    words = torch.tensor([[0, 1, 0, 1, 1, 0]])
    states = to_torch(network, dtype=getattr(torch, dtype)).states(words)
    assert (states != words).any()
    assert (run_in(network, words.numpy(), arithmetic(dtype)) == states.numpy()).all()
    assert attempt(network, LAST_LETTER, LENGTH, arithmetic(dtype))[1] is not None
