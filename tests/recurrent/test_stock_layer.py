"""The witness in flash-linear-attention's stock layer: what is inverted, and the layer if it is installed."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def stock(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import stock_deltaproduct

    return stock_deltaproduct


def test_silu_is_inverted(stock) -> None:
    wanted = np.array([-0.25, -0.1, 0.0, 0.25, 3.0])
    actual = stock.before_silu(wanted)
    assert np.allclose(actual / (1 + np.exp(-actual)), wanted, rtol=0, atol=1e-14)


def test_the_stock_arithmetic_is_right_without_epsilon_and_has_a_horizon_with_it(stock) -> None:
    from krohn.automata.zoo import parse_spec

    group = stock.Group(parse_spec("S3"))
    assert stock.first_error(group, 0.0, 3_000) is None
    assert stock.first_error(group, 1e-6, 3_000) is None
    near = stock.first_error(group, 1e-3, 3_000)  # a larger ε, a nearer horizon
    assert near is not None
    assert near > 2


@pytest.mark.skipif(
    find_spec("fla") is None or find_spec("triton") is None, reason="needs flash-linear-attention and triton"
)
def test_the_stock_layer_tracks_s3() -> None:
    command = [
        sys.executable,
        str(BENCHMARKS / "stock_deltaproduct.py"),
        "S3",
        "--letters",
        "20",
        "--longest",
        "10",
    ]
    done = subprocess.run(
        command, env={**os.environ, "TRITON_INTERPRET": "1"}, capture_output=True, text=True, check=False
    )
    assert "20 of 20 letters right" in done.stdout, done.stderr[-500:]
