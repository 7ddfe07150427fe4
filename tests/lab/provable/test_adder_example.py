"""The trained adder of ``examples/adder``: its files, its proof, and a perturbed copy that is wrong."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import krohn

FOLDER = Path(__file__).parents[3] / "examples" / "adder"
SPEC, TOKENS = FOLDER / "sum.csv", FOLDER / "tokens.json"


def network() -> Any:
    """The module of the example."""
    spec = importlib.util.spec_from_file_location("adder_example", FOLDER / "network.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def generated(module: Any, x: int, y: int) -> int:
    """What the module writes after the tokens of both numbers, digit by digit."""
    tokens = [int(digit) for number in (x, y) for digit in f"{number:010d}"[::-1]]
    tokens = [*tokens[:10], 10, *tokens[10:], 11]
    for _ in range(11):
        with torch.no_grad():
            tokens.append(int(module(torch.tensor([tokens]))[0, -1].argmax()))
    return int("".join(map(str, tokens[22:][::-1])))


def test_the_specification_is_addition() -> None:
    automaton = krohn.automaton(str(SPEC))
    dice = np.random.default_rng(0)
    for x, y in dice.integers(0, 10**10, (50, 2)).tolist():
        letters = [f"{a}+{b}" for a, b in zip(f"{x:011d}"[::-1], f"{y:011d}"[::-1], strict=True)]
        shown = [automaton.observed[state] for state in automaton.run(letters)]
        assert int("".join(shown[::-1])) == x + y
    given = json.loads(TOKENS.read_text())
    assert given["letters"] == {f"{a}+{b}": [a, b] for a in range(10) for b in range(10)}


def test_the_network_adds_and_the_perturbed_one_is_wrong_somewhere() -> None:
    made = network()
    assert sum(one.numel() for one in made.trained().parameters()) == 274
    assert generated(made.trained(), 9_999_999_999, 1) == 10**10
    verdict = krohn.verify(made.perturbed(), automaton=str(SPEC), tokens=TOKENS)
    assert not verdict.certified
    assert verdict.counterexample is not None
    digits = [divmod(letter, 10) for letter in verdict.counterexample.word]
    x, y = (sum(pair[i] * 10**k for k, pair in enumerate(digits)) for i in range(2))
    assert generated(made.perturbed(), x, y) != x + y == generated(made.trained(), x, y)


@pytest.mark.slow
def test_the_network_is_proved_on_all_pairs() -> None:
    verdict = krohn.verify(network().trained(), automaton=str(SPEC), tokens=TOKENS)
    assert verdict.certified
    assert verdict.to_json()["inputs"] == str(10**20)
