"""What is assumed of GELU, against torch and against what the rule allows."""

import math

import numpy as np
import torch

from krohn.check.arithmetic.format import ASSUMPTIONS, ERF
from krohn.check.transformer.near import BENT, UNIT


def test_erf_of_torch_is_off_by_less_than_is_assumed() -> None:
    given = torch.linspace(-6, 6, 1 << 16, dtype=torch.float32)
    exact = np.array([math.erf(value) for value in given.tolist()])
    off = np.abs(torch.erf(given).double().numpy() - exact).max() / UNIT
    assert 0 < off <= ERF
    assert f"off by at most {ERF:.0f} roundings of 1" in ASSUMPTIONS["gelu"]


def test_the_rule_allows_gelu_what_its_assumption_leaves() -> None:
    """x / 2 · (1 + erf): half the error of erf, and three roundings of numbers up to x."""
    assert ERF / 2 + 3 <= BENT
