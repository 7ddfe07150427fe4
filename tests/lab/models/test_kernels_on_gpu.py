import sys
from pathlib import Path

import pytest
import torch

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


def test_every_kernel_agrees_with_the_plain_operation_in_float64(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, str(Path(__file__).parents[3] / "benchmarks")])
    from kernel_check import check_kernels

    assert [row for row in check_kernels() if not row["ok"]] == []


@pytest.mark.parametrize("steps", [1, 2, 4])
def test_the_kernel_of_flash_linear_attention_is_the_delta_rule(steps: int) -> None:
    pytest.importorskip("fla.ops.gated_delta_product")
    from krohn.lab.models.kernels.delta_scan import by_fla, chunked

    draw = torch.Generator("cuda").manual_seed(steps)
    shapes = [(6, 70, 64), (6, 70, steps, 64), (6, 70, steps, 64), (6, 70, steps), (6, 64, 64)]
    query, key, value, beta, memory = (
        torch.rand(shape, generator=draw, device="cuda") - 0.5 for shape in shapes
    )
    given = [query, torch.nn.functional.normalize(key, dim=-1), value, 1 + beta]
    given = [part.bfloat16().float().requires_grad_() for part in [*given, memory]]
    no_gate, wide = torch.zeros(6, 70, device="cuda"), [part.detach().double() for part in given]
    wide = [part.requires_grad_() for part in wide]
    for result, wanted in zip(
        by_fla(*given[:4], no_gate, given[4]), chunked(*wide[:4], no_gate.double(), wide[4]), strict=True
    ):
        pairs = [(result, wanted)]
        pairs += zip(
            torch.autograd.grad(result.square().sum(), given, retain_graph=True, materialize_grads=True),
            torch.autograd.grad(wanted.square().sum(), wide, retain_graph=True, materialize_grads=True),
            strict=True,
        )
        for one, other in pairs:
            assert float((one - other).detach().norm()) <= 0.03 * float(other.detach().norm()) + 1e-9
