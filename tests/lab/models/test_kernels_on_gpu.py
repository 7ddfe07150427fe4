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
