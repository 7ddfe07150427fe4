"""Scans of the recurrent architectures against a plain loop over positions, forward and backward.

Limit first: a loop over T positions is T (diagonal) or T × steps (DeltaProduct) operations that wait for
each other; scans in chunks need about 2√T, and T × steps / 64. The least of a few repetitions, processor time
on a CPU, time between two synchronisations on a GPU. Values and gradients are compared with the loop in
float64.

Run: python benchmarks/bench_recurrent.py [--device cuda] [--length 128] [--rows 64] [--repeat 5]
"""

import argparse
import time
from collections.abc import Callable

import torch
from torch import Tensor

from krohn.lab.models.kernels.delta_scan import delta_scan
from krohn.lab.models.kernels.linear_scan import linear_scan

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
        torch.autograd.grad(compute(*inputs).abs().square().sum(), inputs)
        if device == "cuda":
            torch.cuda.synchronize()
        best = min(best, clock() - begin)
    return best


def furthest(compute: Callable[..., Tensor], loop: Callable[..., Tensor], inputs: list[Tensor]) -> float:
    """‖ours − loop‖ / ‖loop‖ of the result and of every gradient, the loop in float64; the greatest."""
    torch.manual_seed(1)
    wide = [part.detach().to(torch.promote_types(part.dtype, torch.float64)) for part in inputs]
    wide = [part.requires_grad_() for part in wide]
    actual, wanted = compute(*inputs), loop(*wide)
    weight = torch.randn_like(actual)
    pairs = [(actual, wanted)]
    ours, theirs = (
        torch.autograd.grad(actual, inputs, weight),
        torch.autograd.grad(wanted, wide, weight.to(wide[0])),
    )
    pairs += zip(ours, theirs, strict=True)
    return max(float((one - other).detach().norm() / other.detach().norm()) for one, other in pairs)


def main() -> None:
    """One line for each scan."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--rows", type=int, default=64, help="sequences × replicates × heads")
    parser.add_argument("--repeat", type=int, default=5)
    asked = parser.parse_args()
    torch.manual_seed(0)
    length = asked.length

    def normal(*shape: int) -> Tensor:
        return torch.rand(asked.rows, *shape, device=asked.device)

    Ways = dict[str, Callable[..., Tensor]]
    gate, write, first = normal(length, CHANNELS), normal(length, CHANNELS), normal(CHANNELS)
    turned = torch.polar(gate, 6 * gate), torch.polar(write, write), torch.polar(first, first)
    diagonal: Ways = {"ours": linear_scan, "loop": diagonal_loop}
    cases: list[tuple[str, Ways, list[Tensor]]] = [
        ("diagonal", diagonal, [gate, write, first]),
        ("diagonal, complex", diagonal, list(turned)),
    ]
    for steps in (1, 2, 4):
        keys = torch.nn.functional.normalize(normal(length, steps, KEY) - 0.5, dim=-1)
        inputs = [normal(length, KEY), keys, normal(length, steps, VALUE), 2 * normal(length, steps)]
        inputs += [-normal(length) * (steps > 1), normal(KEY, VALUE)]
        ways: Ways = {
            "ours": lambda *x: delta_scan(*x)[0],
            "loop": delta_loop,
        }
        cases.append((f"deltaproduct, {steps} steps", ways, inputs))
    for name, ways, given in cases:
        inputs = [part.detach().requires_grad_() for part in given]
        error = furthest(ways["ours"], ways["loop"], inputs)
        assert error < 1e-3, f"{name}: {error}"
        taken = {way: seconds(ways[way], inputs, asked.repeat, asked.device) for way in ways}
        words = ", ".join(f"{way} {time_of * 1e3:.2f} ms" for way, time_of in taken.items())
        print(
            f"{name}: {words}; loop / ours {taken['loop'] / taken['ours']:.1f}; error {error:.1e}", flush=True
        )


if __name__ == "__main__":
    main()
