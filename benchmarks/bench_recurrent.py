"""Chunked scans of the recurrent architectures against a plain loop over positions, forward and backward.

Limit first: a loop over T positions is T (diagonal) or T × steps (DeltaProduct) operations that wait for
each other; the scans need about 2√T, and T × steps / 64. The least of a few repetitions, processor time on a
CPU, time between two synchronisations on a GPU.

Run: python benchmarks/bench_recurrent.py [--device cuda] [--length 128] [--rows 64] [--repeat 5]
"""

import argparse
import time
from collections.abc import Callable

import torch
from torch import Tensor

from krohn.models.kernels.delta_scan import delta_scan
from krohn.models.kernels.linear_scan import linear_scan

CHANNELS, KEY, VALUE = 64, 16, 16


def diagonal_loop(gate: Tensor, write: Tensor, first: Tensor) -> Tensor:
    """One multiplication and addition after the other."""
    states, h = [], first
    for t in range(gate.shape[1]):
        h = torch.addcmul(write[:, t], gate[:, t], h)
        states.append(h)
    return torch.stack(states, 1)


def delta_loop(
    query: Tensor, key: Tensor, value: Tensor, beta: Tensor, log_gate: Tensor, memory: Tensor
) -> Tensor:
    """One step after the other."""
    reads, gates = [], log_gate.exp()
    for t in range(key.shape[1]):
        memory = gates[:, t, None, None] * memory
        for s in range(key.shape[2]):
            column = key[:, t, s, :, None]
            missing = beta[:, t, s, None, None] * (value[:, t, s, None] - column.mT @ memory)
            memory = memory + column * missing
        reads.append((query[:, t, None] @ memory)[:, 0])
    return torch.stack(reads, 1)


def seconds(compute: Callable[..., Tensor], inputs: list[Tensor], repeat: int, device: str) -> float:
    """Least time of a forward and a backward pass."""
    best = float("inf")
    for _ in range(repeat + 1):
        if device == "cuda":
            torch.cuda.synchronize()
        clock = time.process_time if device == "cpu" else time.perf_counter
        begin = clock()
        torch.autograd.grad(compute(*inputs).square().sum(), inputs)
        if device == "cuda":
            torch.cuda.synchronize()
        best = min(best, clock() - begin)
    return best


def main() -> None:
    """One line for each scan."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--rows", type=int, default=64, help="sequences × replicates × heads")
    parser.add_argument("--repeat", type=int, default=5)
    asked = parser.parse_args()
    torch.manual_seed(0)

    def drawn(*shape: int) -> Tensor:
        return torch.rand(asked.rows, *shape, device=asked.device)

    length = asked.length
    gate, write, first = drawn(length, CHANNELS), drawn(length, CHANNELS), drawn(CHANNELS)
    cases: list[tuple[str, Callable[..., Tensor], Callable[..., Tensor], list[Tensor]]] = [
        ("diagonal", linear_scan, diagonal_loop, [gate, write, first])
    ]
    for steps in (1, 2, 4):
        keys = torch.nn.functional.normalize(drawn(length, steps, KEY) - 0.5, dim=-1)
        inputs = [drawn(length, KEY), keys, drawn(length, steps, VALUE), 2 * drawn(length, steps)]
        inputs += [-drawn(length), drawn(KEY, VALUE)]
        cases.append((f"deltaproduct, {steps} steps", lambda *x: delta_scan(*x)[0], delta_loop, inputs))
    for name, scan, loop, inputs in cases:
        inputs = [part.requires_grad_() for part in inputs]
        torch.testing.assert_close(scan(*inputs), loop(*inputs), rtol=1e-3, atol=1e-3)
        ours, plain = (seconds(f, inputs, asked.repeat, asked.device) for f in (scan, loop))
        print(f"{name}: scan {ours * 1e3:.1f} ms, loop {plain * 1e3:.1f} ms, {plain / ours:.1f} times faster")


if __name__ == "__main__":
    main()
