"""Every Triton kernel against the plain operation in float64, on fresh random inputs of several sizes."""

import itertools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from krohn.lab import random_streams
from krohn.lab.models.kernels import operations, plain
from krohn.lab.models.registry import model_config
from krohn.lab.training.adamw import plain_update
from krohn.lab.training.config import OptimizerConfig
from krohn.lab.training.muon import Muon
from krohn.lab.training.state import TrainState

Function = Callable[[list[Tensor], dict[str, Tensor]], Tensor | tuple[Tensor, ...]]


def check_kernels() -> list[dict[str, Any]]:
    """‖out − ref‖ / ‖ref‖ for outputs, input gradients and parameter gradients; bf16 allows about 1e-2."""
    rows: list[dict[str, Any]] = []
    fused = operations.load_fused()
    for batch, length, heads, head_dim in (
        (16, 100, 8, 64),
        (3, 20, 2, 32),
        (2, 128, 4, 16),
        (2, 150, 2, 64),
    ):
        dim, rep = heads * head_dim, 3
        n = batch * length
        keys = random_streams.replicate_keys(7, rep, device="cuda")
        rows += [
            compare(
                f"add_norm {n}x{dim} drop={drop is not None}",
                lambda a, p, drop=drop: fused.add_norm(a[0], a[1], p["b"], p["g"], p["s"], drop),
                lambda a, p, drop=drop: plain.add_norm(a[0], a[1], p["b"], p["g"], p["s"], drop),
                [_random(rep, n, dim), _random(rep, n, dim)],
                {"b": _random(rep, dim), "g": 1 + _random(rep, dim), "s": _random(rep, dim)},
            )
            for drop in (None, plain.Dropout(0.1, keys))
        ]
        rows.append(
            compare(
                f"bias_gelu {n}x{dim}",
                lambda a, p: fused.bias_gelu(a[0], p["b"]),
                lambda a, p: plain.bias_gelu(a[0], p["b"]),
                [_random(rep, n, dim)],
                {"b": _random(rep, dim)},
            )
        )
        recent = plain.alibi_slopes(heads, torch.device("cuda"))
        for slopes, drop in itertools.product((None, recent), (None, plain.Dropout(0.1, keys))):
            shape = plain.Heads(batch, length, heads, slopes, drop)
            options = f"recency={slopes is not None} drop={drop is not None}"
            rows.append(
                compare(
                    f"attention T={length} {heads}x{head_dim} {options}",
                    lambda a, p, shape=shape: fused.attention(a[0], p["b"], shape),
                    lambda a, p, shape=shape: plain.attention(a[0], p["b"], shape),
                    [_random(rep, n, 3 * dim)],
                    {"b": _random(rep, 3 * dim)},
                )
            )
        rows.append(
            compare(
                f"linear {n}x{dim}",
                lambda a, p: fused.linear(a[0], p["w"]),
                lambda a, p: plain.linear(a[0], p["w"]),
                [_random(rep, n, dim)],
                {"w": _random(rep, dim, 64)},
            )
        )
        targets = torch.randint(0, 9, (rep, n), device="cuda", dtype=torch.int32)
        shown = (torch.rand(rep, n, device="cuda") < 0.7).int()
        rows.append(
            compare(
                f"cross_entropy {n}",
                lambda a, p, t=targets, s=shown: fused.cross_entropy(a[0], p["b"], t, s, 9),
                lambda a, p, t=targets, s=shown: plain.cross_entropy(a[0], p["b"], t, s, 9),
                [_random(rep, n, 16)],
                {"b": _random(rep, 16)},
            )
        )
        wide = torch.randint(0, 1245, (rep, n), device="cuda", dtype=torch.int32)
        rows.append(
            compare(
                f"cross_entropy {n}, 1,245 classes, no bias",
                lambda a, _, t=wide, s=shown: fused.cross_entropy(a[0], None, t, s, 1245),
                lambda a, _, t=wide, s=shown: plain.cross_entropy(a[0], None, t, s, 1245),
                [_random(rep, n, 1248)],
                {},
            )
        )
    rows += [compare_adamw(), *compare_muon()]
    return rows


def compare(
    name: str, fused: Function, reference: Function, inputs: list[Tensor], parameters: dict[str, Tensor]
) -> dict[str, Any]:
    ours = [value.clone().requires_grad_() for value in inputs]
    weights = {key: value.clone().requires_grad_() for key, value in parameters.items()}
    for weight in weights.values():
        weight.grad = torch.full_like(weight, float("nan"))  # poisoned: every element must be written
    outputs = _tuple(fused(ours, weights))
    upstream = [torch.randn_like(out) for out in outputs]
    torch.autograd.backward(outputs, upstream)
    wide = [value.double().requires_grad_() for value in inputs]
    wide_weights = {key: value.double().requires_grad_() for key, value in parameters.items()}
    expected = _tuple(reference(wide, wide_weights))
    torch.autograd.backward(expected, [value.double() for value in upstream])
    errors = {
        "output": [_error(a, b) for a, b in zip(outputs, expected, strict=True)],
        "input_gradient": [_error(a.grad, b.grad) for a, b in zip(ours, wide, strict=True)],
        "weight_gradient": [_error(weights[key].grad, wide_weights[key].grad) for key in weights],
    }
    worst = {key: max(values, default=0.0) for key, values in errors.items()}
    return {"kernel": name, **worst, "ok": all(value < 1e-2 for value in worst.values())}


def compare_adamw() -> dict[str, Any]:
    from krohn.lab.training.kernels import adamw  # Triton exists only beside CUDA builds of torch

    replicates, size = 3, 100_003
    make = lambda: torch.randn(replicates, size, device="cuda")  # noqa: E731
    start = [make(), make().bfloat16(), make().bfloat16(), make(), make().abs(), make()]
    start[1] = start[0].bfloat16()
    rates = 0.01 + 0.1 * torch.rand(4, replicates, 3, device="cuda")
    position = torch.tensor([2], device="cuda")
    scale = torch.tensor([0.7, -1.0, 1.0], device="cuda")
    constants = (0.9, 0.98, 1e-8, 0.1, 0.9)
    results = []
    for apply in (adamw.update, plain_update):
        weight, compute, gradient, first, second, average = (value.clone() for value in start)
        apply(weight, compute, gradient, (first, second), average, rates, position, scale, constants)
        results.append((weight, first, second, average))
    worst = max(_error(a, b.double()) for a, b in zip(*results, strict=True))
    norm = _error(adamw.squared_norms(start[2]), start[2].double().square().sum(1))
    return {
        "kernel": "adamw, norm",
        "output": worst,
        "input_gradient": norm,
        "weight_gradient": 0.0,
        "ok": max(worst, norm) < 1e-5,
    }


def _error(value: Tensor | None, reference: Tensor | None) -> float:
    assert value is not None
    assert reference is not None
    error = float((value.detach().double() - reference.detach()).norm() / reference.detach().norm())
    return error if error == error else float("inf")


def compare_muon() -> list[dict[str, Any]]:
    """Two steps of Muon on the GPU, products in bf16, against the plain way in float64 on the CPU."""
    rows = []
    for dim, mlp, layers in ((512, 512, 2), (128, 384, 2), (256, 128, 1), (64, 192, 1)):
        layout = model_config("gpt", layers=layers, dim=dim, heads=2, mlp=mlp).build(4, 6).layout
        config = OptimizerConfig(method="muon", lr=(1e-2,), weight_decay=0.1)
        normal = torch.randn(3, 3, layout.size).bfloat16()
        weight = torch.randn(3, layout.size)
        rates = 0.01 + 0.1 * torch.rand(2, 3, 3)
        moved = []
        for device, master, low in (("cuda", torch.float32, torch.bfloat16), ("cpu",) + 2 * (torch.float64,)):
            state = _state(weight.to(device, master), low)
            state.alive[1] = False
            optimizer = Muon(config, state, 2, layout)
            optimizer.rates.copy_(rates)
            for gradient in normal[:2]:
                state.gradient.copy_(gradient)
                optimizer.step(torch.zeros(3, device=device), average=True)
            result = (state.weight, state.average, state.first)
            moved.append(
                [value.cpu().double() - weight.double() * (place < 2) for place, value in enumerate(result)]
            )
        errors = [_error(ours, theirs) for ours, theirs in zip(*moved, strict=True)]
        frozen = not any(bool(value[1].any()) for value in moved[0])
        named = dict(zip(("output", "input_gradient", "weight_gradient"), errors, strict=True))
        rows.append(
            {"kernel": f"muon {dim}, weight, average, momentum", **named, "ok": max(errors) < 3e-2 and frozen}
        )
    return rows


def _state(weight: Tensor, low: torch.dtype) -> TrainState:
    compute = weight if low == weight.dtype else weight.to(low)
    zeros = {name: torch.zeros_like(weight) for name in ("first", "second")}
    return TrainState(
        weight=weight,
        compute=compute,
        gradient=torch.zeros_like(compute),
        average=weight.clone(),
        best=weight.clone(),
        alive=torch.ones(len(weight), dtype=torch.bool, device=weight.device),
        **zeros,
    )


def _random(*shape: int) -> Tensor:
    return torch.randn(*shape, device="cuda").bfloat16()


def _tuple(value: Tensor | tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return value if isinstance(value, tuple) else (value,)
