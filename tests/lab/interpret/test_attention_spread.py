"""How widely heads attend, on attention of which the answer is known."""

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

RESEARCH = Path(__file__).parents[3] / "research"


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(RESEARCH / "attention_spread.py"))


def test_the_effective_number_of_letters_of_an_average_is_all_of_them(script: dict[str, Any]) -> None:
    average = torch.ones(1, 9, 9, dtype=torch.float64).tril()
    average /= average.sum(dim=-1, keepdim=True)
    assert script["effective_letters"](average) == pytest.approx(np.mean(range(2, 10)))
    assert script["effective_letters"](torch.eye(9, dtype=torch.float64)[None]) == pytest.approx(1.0)


def test_the_share_on_the_last_letters_is_counted_letter_by_letter(script: dict[str, Any]) -> None:
    dice = np.random.default_rng(0)
    attention = np.tril(dice.random((3, 7, 7)))
    attention /= attention.sum(axis=-1, keepdims=True)
    shares = [
        sum(attention[word, t, s] for s in range(t + 1) if t - s < 4)
        for word in range(3)
        for t in range(4, 7)
    ]
    assert script["share_near"](torch.from_numpy(attention), 4) == pytest.approx(np.mean(shares))
