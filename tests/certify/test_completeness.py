"""What the compiler builds is certified: a sample of random automata and regular expressions."""

import numpy as np
import pytest

import krohn
from certify.built_networks import compiled
from krohn.certify.arithmetic import arithmetic
from krohn.certify.verification import attempt

PATTERNS = ["(ab)*", "a*b(a|b)*", "(aab)*", "(a|b)*abb", "a(ba)*b*"]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_random_automata_are_certified(seed: int, dtype: str) -> None:
    dice = np.random.default_rng(seed)
    states = int(dice.integers(3, 7))
    automaton = krohn.Semiautomaton(table=dice.integers(states, size=(states, 2)).astype(np.int32))
    network = krohn.compile(automaton, 32, dtype=dtype)
    assert attempt(network.transformer, automaton, 32, arithmetic(dtype))[1] is None


@pytest.mark.parametrize("pattern", PATTERNS)
def test_regular_expressions_are_certified(pattern: str) -> None:
    automaton = krohn.from_regex(pattern)
    network = krohn.compile(automaton, 32)
    assert krohn.verify(network).certified


@pytest.mark.parametrize("mask", ["causal", "strict"])
@pytest.mark.parametrize("activation", ["relu", "sin"])
@pytest.mark.parametrize("length", [1, 2, 7, 64])
def test_masks_activations_and_lengths_are_certified(mask: str, activation: str, length: int) -> None:
    for spec in ("C3", "abab", "Grid4"):
        network = krohn.compile(
            krohn.zoo(spec),
            length,
            method="cascade",
            mask=mask,
            activation=activation,  # type: ignore[arg-type]
        )
        outcome = attempt(network.transformer, network.automaton, length, arithmetic("float64"))[1]
        assert outcome is None, spec


@pytest.mark.parametrize("length", [1, 2, 7])
@pytest.mark.parametrize("method", ["scan", "paper", "grid"])
def test_faithful_constructions_are_certified_at_small_lengths(method: str, length: int) -> None:
    network = compiled("Grid4", length, method)
    assert attempt(network.transformer, network.automaton, length, arithmetic("float64"))[1] is None
