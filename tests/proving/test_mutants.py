"""Soundness: nothing that brute force shows to be wrong is certified."""

from collections import Counter

import pytest

from krohn.proving.attempts import arithmetic, attempt
from proving.built_networks import compiled
from proving.mutants import is_wrong, mutants

CASES = [
    ("FlipFlop", "cascade", "float32"),
    ("D6", "cascade", "float64"),
    ("abab", "cascade", "float32"),
    ("Grid4", "cascade", "float64"),
    ("Dyck1,2", "cascade", "float64"),
    ("Grid4", "grid", "float64"),
    ("abab", "paper", "float64"),
    ("C3", "scan", "float32"),
]


@pytest.mark.parametrize(("spec", "method", "dtype"), CASES)
def test_no_wrong_mutant_is_certified(spec: str, method: str, dtype: str) -> None:
    network = compiled(spec, 7, method, dtype if method == "cascade" else "float64")
    seen: Counter[tuple[bool, bool]] = Counter()
    for mutant in mutants(network, 18, seed=len(spec)):
        certified = attempt(mutant.network, mutant.automaton, 7, arithmetic(dtype))[1] is None
        wrong = is_wrong(mutant, 7, dtype)
        assert not (certified and wrong), (mutant.kind, mutant.what)
        seen[certified, wrong] += 1
    assert seen[False, True] >= 5, "mutation must really break networks"
    assert seen[True, False] >= 3, "harmless changes must still be certified"
