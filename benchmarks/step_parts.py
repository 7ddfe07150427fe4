"""Possible speed-ups of each part of a training step, each measured as a replayed CUDA graph.

    python benchmarks/step_parts.py [--out FILE.json]        # one GPU, about a minute

The step is that of the speed table: L = 16, R = 20, batch 16, 100 letters, width 512. For each part the
fastest way that was found is named; their sum is what a step would take if all of them were built in.
"""

# Bodies under triton.jit are Triton, not Python: they carry no annotations.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call"

import argparse
import json
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from statistics import median
from typing import Any

import torch
import triton
from bench_training import build, paper_run, print_table
from step_profile import profile_step
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from triton import language as tl

from krohn.lab.models.kernels import bias_gelu, operations, plain
from krohn.lab.training.device import choose_device
from krohn.lab.training.kernels import adamw

LAYERS, REPLICATES, ROWS, WIDTH = 16, 20, 1600, 512
# Products of one layer, forward and backward: rows of x, columns of x, columns of the weight.
SHAPES = {"qkv": 3 * WIDTH, "projection": WIDTH, "MLP in": WIDTH, "MLP out": WIDTH}


def milliseconds(action: Callable[[], object], repeats: int = 20) -> float:
    """Median time of the action, captured as a graph and replayed."""
    stream: torch.cuda.Stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(2):
            action()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        action()
    for _ in range(3):
        graph.replay()
    result = []
    for _ in range(repeats):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        result.append(start.elapsed_time(end))
    return median(result)


def steps_in_one_graph() -> list[dict[str, Any]]:
    """A step as two graphs, as one, and eight steps as one graph."""
    rows = []
    for layers, replicates in ((1, 20), (2, 20), (4, 20), (16, 20), (1, 2), (2, 2)):
        _, stepper = build(paper_run(layers, replicates), choose_device(None))
        cuts = torch.ones(replicates, dtype=torch.float64)
        stepper.run(0, stepper.chunk, cuts, average=False)

        def one(count: int = 1, stepper: Any = stepper) -> None:
            for _ in range(count):
                stepper.gradients()
                stepper.update(average=False)
            stepper.optimizer.position.zero_()

        stepper.optimizer.position.zero_()
        torch.cuda.synchronize()
        began = time.perf_counter()
        stepper.run(64, 64, cuts, average=False)
        torch.cuda.synchronize()
        today = 1e3 * (time.perf_counter() - began) / 64
        stepper.optimizer.position.zero_()
        row = {"layers": layers, "replicates": replicates, "two graphs": today}
        row["one graph"] = milliseconds(one)
        row["eight steps in one"] = milliseconds(lambda one=one: one(8)) / 8
        rows.append(row)
        del stepper, one
        torch.cuda.empty_cache()
    return rows


def products() -> list[dict[str, Any]]:
    """The products of a step one after another, by each library: 12 a layer, forward and backward."""
    rows = []
    for library in ("cublas", "cublaslt"):
        torch.backends.cuda.preferred_blas_library(library)
        total, row = 0.0, {"library": library}
        for name, columns in SHAPES.items():
            x, dy, weight = _random(ROWS, WIDTH), _random(ROWS, columns), _random(WIDTH, columns)

            def forward(x: Tensor = x, weight: Tensor = weight) -> None:
                for _ in range(LAYERS):
                    torch.bmm(x, weight)

            def data(dy: Tensor = dy, weight: Tensor = weight) -> None:
                for _ in range(LAYERS):
                    torch.bmm(dy, weight.transpose(1, 2))

            def weights(x: Tensor = x, dy: Tensor = dy) -> None:
                for _ in range(LAYERS):
                    torch.bmm(x.transpose(1, 2), dy)

            times = [milliseconds(action, 8) for action in (forward, data, weights)]
            operations = 2 * LAYERS * REPLICATES * ROWS * WIDTH * columns
            row[name] = " ".join(f"{operations / one / 1e9:.0f}" for one in times)  # TFLOP/s
            total += sum(times)
        rows.append({**row, "ms": total})
    torch.backends.cuda.preferred_blas_library("default")
    return rows


def updates() -> list[dict[str, Any]]:
    """AdamW over the parameters of a step with moments of four and of two bytes."""
    _, stepper = build(paper_run(LAYERS, REPLICATES), choose_device(None))
    state, optimizer = stepper.state, stepper.optimizer
    scale = torch.ones(REPLICATES, device=state.weight.device)
    rows = []
    for name, kinds in {
        "both float32": (torch.float32, torch.float32),
        "second bf16": (torch.float32, torch.bfloat16),
        "both bf16": (torch.bfloat16, torch.bfloat16),
    }.items():
        moments = tuple(torch.zeros_like(state.weight, dtype=kind) for kind in kinds)

        def update(moments: Any = moments) -> None:
            adamw.update(
                state.weight, state.compute, state.gradient, moments, None,
                optimizer.rates, optimizer.position, scale, optimizer._constants,
            )  # fmt: skip

        optimizer.position.zero_()
        took = milliseconds(update)
        size = state.weight.numel() * (12 + 2 * sum(kind.itemsize for kind in kinds))
        rows.append({"moments": name, "ms": took, "TB/s": size / took / 1e9})
    return rows


@triton.jit
def _product_gelu(
    x, weight, bias, u, out, rows,
    WIDTH: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    replicate = tl.program_id(2).to(tl.int64)
    row = tl.program_id(0) * M + tl.arange(0, M)
    column = tl.program_id(1) * N + tl.arange(0, N)
    inner = tl.arange(0, K)
    left = x + replicate * rows * WIDTH + row[:, None] * WIDTH + inner[None, :]
    right = weight + replicate * WIDTH * WIDTH + inner[:, None] * WIDTH + column[None, :]
    total = tl.zeros([M, N], tl.float32)
    for start in range(0, WIDTH, K):
        a = tl.load(left + start, mask=row[:, None] < rows, other=0.0)
        b = tl.load(right + start * WIDTH)
        total = tl.dot(a, b, total)
    place = replicate * rows * WIDTH + row[:, None] * WIDTH + column[None, :]
    tl.store(u + place, total, mask=row[:, None] < rows)
    value = total + tl.load(bias + replicate * WIDTH + column).to(tl.float32)[None, :]
    inside = 0.7978845608028654 * (value + 0.044715 * value * value * value)
    result = 0.5 * value * (2.0 - 2.0 / (tl.exp(2.0 * inside) + 1.0))
    tl.store(out + place, result, mask=row[:, None] < rows)


def gelu_in_the_product() -> list[dict[str, Any]]:
    """MLP in, forward: a product and then bias and GELU, against one kernel that does both."""
    x, weight = _random(ROWS, WIDTH), _random(WIDTH, WIDTH) / 16
    bias = torch.randn(REPLICATES, WIDTH, device="cuda").to(torch.bfloat16)

    def apart() -> Tensor:
        with torch.no_grad():
            return bias_gelu.bias_gelu(torch.bmm(x, weight), bias)

    rows = [{"way": "product, then bias and GELU", "µs": 1e3 * milliseconds(apart), "error": 0.0}]
    rows.append(
        {"way": "product alone", "µs": 1e3 * milliseconds(lambda: torch.bmm(x, weight)), "error": 0.0}
    )
    expected = apart().float()
    u, out = torch.empty_like(x), torch.empty_like(x)
    for m, n, k, warps, stages in (
        (128, 128, 64, 8, 3),
        (128, 128, 64, 4, 3),
        (128, 256, 64, 8, 3),
        (64, 256, 64, 8, 4),
        (128, 128, 32, 8, 4),
    ):

        def fused(m: int = m, n: int = n, k: int = k, warps: int = warps, stages: int = stages) -> None:
            grid = (triton.cdiv(ROWS, m), WIDTH // n, REPLICATES)
            _product_gelu[grid](
                x, weight, bias, u, out, ROWS, WIDTH=WIDTH, M=m, N=n, K=k, num_warps=warps, num_stages=stages
            )

        name = f"one kernel, tiles {m} × {n} × {k}, {warps} warps"
        try:
            took = 1e3 * milliseconds(fused)
        except Exception as error:  # the tile does not fit into shared memory
            print(name, type(error).__name__)
            continue
        gap = float((out.float() - expected).norm() / expected.norm())
        rows.append({"way": name, "µs": took, "error": gap})
    return rows


def attentions() -> list[dict[str, Any]]:
    """Attention of a layer, forward and with its gradient: ours, and torch's on the same layout of qkv."""
    batch, length, heads = 16, ROWS // 16, 8
    shape = plain.Heads(batch, length, heads)
    bias = torch.zeros(REPLICATES, 3 * WIDTH, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    bias.grad = torch.zeros_like(bias)
    qkv = _random(ROWS, 3 * WIDTH).requires_grad_()
    dout = _random(ROWS, WIDTH)

    def ours() -> Tensor:
        return operations.choose(bias).attention(qkv, bias, shape)

    def stock() -> Tensor:
        return plain.attention(qkv, None, shape)

    ways = {"ours": (ours, None), "flash": (stock, SDPBackend.FLASH_ATTENTION)}
    ways |= {"cuDNN": (stock, SDPBackend.CUDNN_ATTENTION)}
    ways |= {"memory-efficient": (stock, SDPBackend.EFFICIENT_ATTENTION)}
    rows = []
    for name, (way, backend) in ways.items():
        with sdpa_kernel(backend) if backend else nullcontext():
            with torch.no_grad():
                forward = 1e3 * milliseconds(way)
            both = 1e3 * milliseconds(lambda way=way: torch.autograd.grad(way(), qkv, dout))
        rows.append({"kernel": name, "forward, µs": forward, "with gradient, µs": both})
    return rows


def ceilings() -> list[dict[str, Any]]:
    """Peak rates of the machine: a large product, a large copy."""
    side = 8192
    one, other = (torch.randn(side, side, device="cuda").to(torch.bfloat16) for _ in range(2))
    product = milliseconds(lambda: one @ other)
    source = torch.randn(2**30, device="cuda")
    target = torch.empty_like(source)
    copy = milliseconds(lambda: target.copy_(source))
    return [{"TFLOP/s": 2 * side**3 / product / 1e9, "TB/s": 2 * source.nbytes / copy / 1e9}]


def _random(rows: int, columns: int) -> Tensor:
    return torch.randn(REPLICATES, rows, columns, device="cuda").to(torch.bfloat16)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, help="also write all numbers as JSON here")
    options = parser.parse_args()
    print(torch.cuda.get_device_name(), torch.__version__)
    report: dict[str, Any] = {}
    parts: dict[str, Callable[[], list[dict[str, Any]]]] = {
        "ceilings": ceilings,
        "steps in one graph, ms a step": steps_in_one_graph,
        "kernels of a step, launched one by one": lambda: profile_step(
            build(paper_run(LAYERS, REPLICATES), choose_device(None))[1]
        ),
        "products, TFLOP/s forward, to the data, to the weights": products,
        "AdamW": updates,
        "bias and GELU in the product": gelu_in_the_product,
        "attention of a layer": attentions,
    }
    for name, measure in parts.items():
        try:
            report[name] = measure()
        except Exception as error:  # a failing part must not stop the others
            print(f"{name}: failed, {type(error).__name__}: {error}", flush=True)
            continue
        finally:
            torch.cuda.empty_cache()
        print(name, flush=True)
        print_table(report[name])
        if options.out:
            options.out.write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
