"""Random weights and odd shapes neither crash the checker nor fool it."""

from itertools import pairwise

import numpy as np

from every import every
from krohn.automata.semiautomaton import Semiautomaton
from krohn.network.transformer import Head, Layer, Mlp, Transformer
from krohn.proving.attempts import arithmetic, attempt
from proving.mutants import Mutant, is_wrong

PARITY = Semiautomaton.from_letters([(0, 1), (1, 0)])
IDLE = Semiautomaton.from_letters([(0, 1), (0, 1)])


def random_network(seed: int) -> Transformer:
    dice = np.random.default_rng(seed)
    dim, depth = int(dice.integers(2, 5)), int(dice.integers(0, 3))
    tau = int(dice.integers(0, 3))
    scale = float(dice.choice([1.0, 30.0]))

    def matrix(*shape: int) -> np.ndarray:  # type: ignore[type-arg]
        result = dice.integers(-2, 3, size=shape) * scale if dice.random() < 0.5 else dice.normal(size=shape)
        return result * (dice.random(shape) < 0.6)

    def layer() -> Layer:
        heads = tuple(
            Head(matrix(dim, k), matrix(dim, k), matrix(dim, v), matrix(v, dim))
            for k, v in dice.integers(1, 3, size=(int(dice.integers(0, 3)), 2))
        )
        widths = [dim, *dice.integers(1, 4, size=int(dice.integers(0, 3))), dim]
        weights = tuple(matrix(a, b) for a, b in pairwise(widths))
        mlp = Mlp(weights, tuple(matrix(len(w.T)) for w in weights))
        return Layer(heads, mlp, dice.integers(0, 2, size=dim) * 1.0, dice.integers(0, 2, size=dim) * 1.0)

    return Transformer(
        matrix(2, dim),
        matrix(tau, dim),
        matrix(tau + 5, dim),
        tuple(layer() for _ in range(depth)),
        matrix(dim, 2),
        matrix(2),
    )


@every("seed", range(20))
def test_random_networks_are_judged_without_error(seed: int) -> None:
    network = random_network(seed)
    for automaton in (PARITY, IDLE):
        for dtype in ("float64", "float32"):
            if attempt(network, automaton, 5, arithmetic(dtype))[1] is None:
                assert not is_wrong(Mutant("random", "", network, automaton), 5, dtype)


def test_a_constant_network_is_certified_for_an_automaton_that_never_moves() -> None:
    network = Transformer(
        np.zeros((2, 1)), np.zeros((1, 1)), np.zeros((6, 1)), (), np.zeros((1, 2)), np.array([1.0, 0])
    )
    assert attempt(network, IDLE, 5, arithmetic("float64"))[1] is None
    refused = attempt(network, PARITY, 5, arithmetic("float64"))[1]
    assert refused is not None
    assert refused.word == (1,)


def test_a_network_without_padding_is_refused_in_words() -> None:
    network = Transformer(
        np.zeros((2, 1)), np.zeros((0, 1)), np.zeros((5, 1)), (), np.zeros((1, 2)), np.array([1.0, 0])
    )
    refused = attempt(network, IDLE, 5, arithmetic("float64"))[1]
    assert refused is not None
    assert "padding" in str(refused)
