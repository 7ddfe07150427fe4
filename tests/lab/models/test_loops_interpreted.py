"""The kernels that loop along the word, run by Triton's interpreter on a CPU, against the plain scans."""

import os
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest
import torch

from krohn.lab.models.kernels import delta_scan, linear_scan

TRITON_AND_NUMPY = "only 0-dimensional arrays can be converted to Python scalars"
"""From numpy 2.5 on, until Triton's interpreter stops converting arrays of one element."""

if os.environ.get("TRITON_INTERPRET") != "1":

    @pytest.mark.skipif(find_spec("triton") is None, reason="needs triton")
    def test_the_loops_in_a_process_with_the_interpreter() -> None:
        """Triton decides at its import whether it interprets, so this file is run again."""
        run = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", __file__]
        done = subprocess.run(
            run, env={**os.environ, "TRITON_INTERPRET": "1"}, capture_output=True, text=True, check=False
        )
        if "InterpreterError" in done.stdout and TRITON_AND_NUMPY in done.stdout:
            pytest.skip(f"Triton's interpreter does not run with numpy {np.__version__}: {TRITON_AND_NUMPY}")
        assert done.returncode == 0, done.stdout[-2000:]
        assert "passed" in done.stdout

else:

    def _random(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        generator = torch.Generator().manual_seed(sum(shape))
        return torch.randn(shape, generator=generator, dtype=dtype).requires_grad_()

    def _same(ours, plain, inputs) -> None:
        actual, wanted = ours(*inputs), plain(*inputs)
        weights = [torch.randn_like(part) for part in wanted]
        for one, other in zip(actual, wanted, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)
        gradients = [
            torch.autograd.grad(outputs, inputs, weights, retain_graph=True) for outputs in (actual, wanted)
        ]
        for one, other in zip(*gradients, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-3)

    @pytest.mark.parametrize(("length", "steps", "dk", "dv"), [(1, 2, 4, 4), (7, 1, 3, 5), (6, 3, 8, 2)])
    def test_the_delta_loop_is_the_chunked_scan(length: int, steps: int, dk: int, dv: int) -> None:
        from krohn.lab.models.kernels.delta_loop import delta_loop

        log_gate = _random(2, length)
        log_gate.data.abs_().neg_()
        log_gate.data[:, length // 2] = -200.0 if length > 1 else -0.5  # a gate that is zero
        key = torch.nn.functional.normalize(_random(2, length, steps, dk).detach(), dim=-1).requires_grad_()
        beta = (2 * _random(2, length, steps).detach().sigmoid()).requires_grad_()
        value, first = _random(2, length, steps, dv), _random(2, dk, dv)
        inputs = [_random(2, length, dk), key, value, beta, log_gate, first]
        _same(delta_loop, delta_scan.chunked, inputs)

    @pytest.mark.parametrize("dtype", [torch.float32, torch.complex64])
    @pytest.mark.parametrize(("length", "width"), [(1, 3), (9, 40)])
    def test_the_linear_loop_is_the_blocked_scan(
        monkeypatch: pytest.MonkeyPatch, dtype: torch.dtype, length: int, width: int
    ) -> None:
        gate = _random(2, 2, length, width, dtype=dtype)
        gate.data *= 0.5
        gate.data[:, :, ::3] = 0
        inputs = [gate, _random(2, 2, length, width, dtype=dtype), _random(2, 2, width, dtype=dtype)]
        plain = linear_scan.linear_scan(*inputs)
        weight = torch.randn_like(plain)
        wanted = torch.autograd.grad(plain, inputs, weight)
        monkeypatch.setattr(linear_scan, "_fits", lambda gate: True)
        ours = linear_scan.linear_scan(*inputs)
        torch.testing.assert_close(ours, plain, rtol=1e-5, atol=1e-5)
        for one, other in zip(torch.autograd.grad(ours, inputs, weight), wanted, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)
