"""Where the time of a training step goes, by kind of kernel."""

from collections import defaultdict
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from krohn.lab.training.step import Stepper

_STEPS = 8
_KINDS = (
    ("optimiser: update", ("_adamw_update",)),
    ("optimiser: norm", ("_adamw_squares",)),
    ("attention forward", ("_attention_forward",)),
    ("attention backward", ("_attention_backward",)),
    ("residual + LayerNorm forward", ("_add_norm_forward",)),
    ("residual + LayerNorm backward", ("_add_norm_backward",)),
    ("GELU forward", ("_bias_gelu_forward",)),
    ("GELU backward", ("_bias_gelu_backward",)),
    ("column sums", ("_column_sum",)),
    ("cross-entropy", ("_cross_entropy_rows",)),
    ("matrix products", ("gemm", "nvjet", "cutlass", "xmma", "sm90_")),
)


def profile_step(stepper: Stepper) -> list[dict[str, Any]]:
    """Milliseconds per step by kind of kernel, launched singly: profilers do not see inside a graph."""
    cuts = torch.ones(stepper.config.replicates, dtype=torch.float64)
    stepper.run(0, stepper.chunk, cuts, average=False)
    stepper.optimizer.position.zero_()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as records:
        for _ in range(_STEPS):
            stepper.gradients()
            stepper.update(average=False)
        torch.cuda.synchronize()
    total: defaultdict[str, float] = defaultdict(float)
    count: defaultdict[str, int] = defaultdict(int)
    for event in records.key_averages():
        kind = _kind(event.key)
        total[kind] += event.self_device_time_total / 1e3 / _STEPS
        count[kind] += event.count
    rows: list[dict[str, Any]] = [
        {"kind": kind, "ms": total[kind], "kernels": count[kind] / _STEPS}
        for kind in sorted(total, key=lambda kind: -total[kind])
        if total[kind] > 0.0
    ]
    return [*rows, {"kind": "total", "ms": sum(total.values()), "kernels": sum(count.values()) / _STEPS}]


def _kind(name: str) -> str:
    for kind, marks in _KINDS:
        if any(mark in name for mark in marks):
            return kind
    return name[:60]
