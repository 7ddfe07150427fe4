"""DeltaProduct on a GPU, forward and backward: ours, a plain loop, and flash-linear-attention's, in one run.

*Recurrence* is the scan alone, *layer* the projections around it as well (4 heads, width 4 × head). Theirs
runs in bfloat16, for it refuses float32; ours keeps memories in float32, and its layer has bfloat16 weights
too. Without gates: on Hopper theirs refuses their gradient with Triton 3.4 to 3.7.0, and one line says
what it answered here. A way that fails is named with its message, and the others go on.

With --letters the number of rows falls as words grow. The loop, and its float64 form that errors are measured
against, keep every memory; --no-loop leaves them out.

Run: python benchmarks/bench_fla.py [--lengths 128] [--rows 2560 | --letters 524288] [--head 16]
                                    [--steps 1 2 4] [--repeat 5] [--no-loop] [--kernel fla] [--out FILE.jsonl]

With --kernel fla our layer runs on their kernel, and only layers are timed.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from bench_recurrent import delta_loop
from stock_protocol import one_configuration
from torch import Tensor

from krohn.lab.models.architectures import deltaproduct
from krohn.lab.models.kernels.delta_scan import delta_scan

HEADS = 4
OURS, LOOP, THEIRS = "ours", "loop", "flash-linear-attention"
Way = tuple[Callable[..., Tensor], list[Tensor]]


def passes(way: Way) -> list[Tensor]:
    """The result of a forward pass and the gradients of a backward pass."""
    compute, inputs = way
    result = compute(*inputs)
    places, channels = (torch.linspace(-1, 1, result.shape[at], device=result.device) for at in (1, -1))
    weight = (places.view(1, -1, *[1] * (result.ndim - 2)) * channels).expand_as(result).to(result.dtype)
    return [result.detach(), *torch.autograd.grad(result, inputs, weight)]


def seconds(way: Way, repeat: int) -> float:
    """Least time of both passes between two synchronisations, after a warm-up."""
    best = float("inf")
    for _ in range(repeat + 1):
        _synchronise()
        begin = time.perf_counter()
        passes(way)
        _synchronise()
        best = min(best, time.perf_counter() - begin)
    return best


def _synchronise() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def furthest(actual: list[Tensor], wanted: list[Tensor]) -> float:
    """‖found − wanted‖ / ‖wanted‖ of the result and of every gradient; the greatest."""
    pairs = zip(actual, wanted, strict=True)
    return max(float((one.double().view_as(two) - two).norm() / two.norm()) for one, two in pairs)


def leaves(parts: list[Tensor], kind: torch.dtype) -> list[Tensor]:
    """Copies as leaves that require gradients."""
    return [part.detach().to(kind).requires_grad_() for part in parts]


def chunked_theirs(*parts: Tensor, log_gate: Tensor | None = None) -> Tensor:
    """Their kernel, HEADS memories to a sequence as in their layer: parts [rows / HEADS, T, HEADS, …]."""
    from fla.ops.gated_delta_product import chunk_gated_delta_product  # type: ignore[import-not-found]

    query, *steps = parts
    count = steps[0].shape[1] // query.shape[1]
    read: Tensor = chunk_gated_delta_product(
        query, *steps[:2], log_gate, steps[2], num_householder=count, scale=1.0
    )[0]
    return read


def as_theirs(part: Tensor) -> Tensor:
    """[rows, places, …] -> [rows / HEADS, places, HEADS, …]."""
    return part.unflatten(0, (-1, HEADS)).transpose(1, 2).contiguous()


def as_ours(part: Tensor) -> Tensor:
    """[rows / HEADS, places, HEADS, …] -> [rows, places, …]."""
    return part.transpose(1, 2).flatten(0, 1)


def recurrence(rows: int, length: int, steps: int, head: int, device: str) -> dict[str, Way]:
    """The scan alone: queries, keys, values and rates are given, and memories start at zero."""

    def normal(*shape: int) -> Tensor:
        return torch.rand(rows, *shape, device=device)

    keys = torch.nn.functional.normalize(normal(length, steps, head) - 0.5, dim=-1)
    parts = [normal(length, head), keys, normal(length, steps, head), 2 * normal(length, steps)]
    parts = [part.bfloat16() for part in parts]  # same random numbers for all variants
    no_gate, empty = torch.zeros(rows, length, device=device), torch.zeros(rows, head, head, device=device)

    def ours(*given: Tensor) -> Tensor:
        return delta_scan(*given, no_gate, empty)[0]

    def loop(*given: Tensor) -> Tensor:
        kind = given[0].dtype
        return delta_loop(*given, no_gate.to(kind), empty.to(kind))

    ways = {OURS: (ours, leaves(parts, torch.float32)), LOOP: (loop, leaves(parts, torch.float32))}
    exact: Way = (loop, leaves(parts, torch.float64))
    theirs = [as_theirs(parts[0]), *(as_theirs(part.flatten(1, 2)) for part in parts[1:])]
    return {**ways, THEIRS: (chunked_theirs, leaves(theirs, torch.bfloat16)), "exact": exact}


def layer(rows: int, length: int, steps: int, head: int, device: str, kernel: str = "own") -> dict[str, Way]:
    """Projections, recurrence and output of one layer on a stream of HEADS · head channels."""
    width = HEADS * head
    stream = torch.randn(rows // HEADS, length, width, device=device).bfloat16().requires_grad_()
    config = deltaproduct.DeltaProductConfig(
        **{"dim": width, "mlp": 0, "norm": "none", "householders": steps, "heads": HEADS},
        **{"key_dim": head, "value_dim": head, "kernel": kernel},
    )
    network = deltaproduct.DeltaProduct(config, 2, 2)
    names = [part for part in network.layout.parameters if ".mix." in part.name]
    weights = [(torch.randn(1, *part.shape, device=device) * width**-0.5).bfloat16() for part in names]
    weights = [weight.requires_grad_() for weight in weights]

    def ours(x: Tensor, *given: Tensor) -> Tensor:
        named = {part.name: weight for part, weight in zip(names, given, strict=True)}
        return network.mix(named, "h.0.", x[None], network.start(x[None], len(x)))[0][0]

    def looped(x: Tensor, *given: Tensor) -> Tensor:
        with mock.patch.object(deltaproduct, "delta_scan", lambda *parts: (delta_loop(*parts), parts[5])):
            return ours(x, *given)

    ways: dict[str, Way] = {OURS: (ours, [stream, *weights]), LOOP: (looped, [stream, *weights])}
    try:
        from fla.layers import GatedDeltaProduct

        theirs = GatedDeltaProduct(
            **{"hidden_size": width, "expand_v": 1, "head_dim": head, "num_heads": HEADS},
            **{"use_output_gate": False, "use_short_conv": False, "use_forget_gate": False},
            num_householder=steps,
        ).to(device, torch.bfloat16)
        ways[THEIRS] = (lambda x, *_: theirs(x)[0], [stream, *theirs.parameters()])
    except Exception as error:  # its import can raise anything
        print(f"layer: {THEIRS} failed: {message(error)}", flush=True)
    return ways


def message(error: Exception) -> str:
    """The type of an exception and the beginning of its message."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def measured(name: str, ways: dict[str, Way], repeat: int) -> dict[str, Any]:
    """One line: the times, ratios to ours, and how far the results are from the loop in float64."""
    exact = ways.pop("exact", None)
    wanted = None if exact is None else [part.detach().double() for part in passes(exact)]
    taken: dict[str, float] = {}
    far: dict[str, float] = {}
    failed: dict[str, str] = {}
    for way, both in ways.items():
        try:
            taken[way] = seconds(both, repeat)
            if wanted is not None:
                order = as_ours if way == THEIRS else Tensor.detach
                far[way] = furthest([order(part) for part in passes(both)], wanted)
        except Exception as error:  # the kernel does not compile or raises
            failed[way] = message(error)
            print(f"{name}: {way} failed: {failed[way]}", flush=True)
    words = [f"{way} {time_of * 1e3:.2f} ms" for way, time_of in taken.items()]
    others = [way for way in taken if OURS in taken and way != OURS]
    words += [f"{way} / ours {taken[way] / taken[OURS]:.1f}" for way in others]
    errors = ", ".join(f"{way} {share:.1e}" for way, share in far.items()) or "not compared"
    print(f"{name}: {', '.join(words)}; error {errors}", flush=True)
    return {
        "milliseconds": {way: 1e3 * time_of for way, time_of in taken.items()},
        "error": far,
        "failed": failed,
    }


def gated(length: int, steps: int, head: int, device: str) -> None:
    """What their kernel, untuned, answers with a gate: a refusal, or how far it is from the loop."""
    ways = recurrence(HEADS, length, steps, head, device)
    parts, wide = ways[THEIRS][1], ways["exact"][1]
    log_gate = torch.full((HEADS, length), -0.1, device=device, dtype=torch.float64, requires_grad=True)
    empty = wide[0].new_zeros(HEADS, head, head)
    exact: Way = (lambda *given: delta_loop(*given, empty), [*wide, log_gate])
    theirs: Way = (
        lambda *given: chunked_theirs(*given[:4], log_gate=given[4]),
        [*parts, as_theirs(log_gate.detach().float()).requires_grad_()],
    )
    try:
        one_configuration()
        far = furthest([as_ours(part) for part in passes(theirs)], passes(exact))
        print(f"gated, {steps} steps: {THEIRS} is {far:.1e} from the loop", flush=True)
    except Exception as error:  # the exception is the result here
        print(f"gated, {steps} steps: {THEIRS} failed: {message(error)}", flush=True)


def main() -> None:
    """Two lines for each length and number of steps."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--lengths", type=int, nargs="+", default=[128])
    sizes = parser.add_mutually_exclusive_group()
    sizes.add_argument("--rows", type=int, default=2560, help="sequences × heads")
    sizes.add_argument("--letters", type=int, help="rows × length")
    parser.add_argument("--head", type=int, default=16, help="numbers in a key and in a value")
    parser.add_argument("--steps", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--kernel", choices=("own", "fla"), default="own", help="kernel of our layer")
    parser.add_argument("--no-loop", action="store_true", help="leave out the loop and the errors")
    parser.add_argument("--out", type=Path, help="a file to append a JSON line for each measurement to")
    asked = parser.parse_args()
    for length in asked.lengths:
        rows = max(HEADS, asked.letters // length) if asked.letters else asked.rows
        print(f"rows {rows}, length {length}, head {asked.head}", flush=True)
        for steps in asked.steps:
            for what in ("recurrence", "layer") if asked.kernel == "own" else ("layer",):
                torch.manual_seed(0)
                sizes = rows, length, steps, asked.head, asked.device
                ways = recurrence(*sizes) if what == "recurrence" else layer(*sizes, asked.kernel)
                if asked.no_loop or asked.kernel == "fla":
                    ways = {name: way for name, way in ways.items() if name not in (LOOP, "exact")}
                line = {"what": what, "steps": steps, "length": length, "rows": rows, "head": asked.head}
                line["kernel"] = asked.kernel
                line |= measured(f"{what}, {steps} steps", ways, asked.repeat) | versions(asked.device)
                if asked.out is not None:
                    with asked.out.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(line) + "\n")
    gated(asked.lengths[0], asked.steps[-1], asked.head, asked.device)


def versions(device: str) -> dict[str, str]:
    """Versions of torch and CUDA, and the GPU."""
    name = torch.cuda.get_device_name() if device == "cuda" else device
    return {"torch": torch.__version__, "device": name}


if __name__ == "__main__":
    main()
