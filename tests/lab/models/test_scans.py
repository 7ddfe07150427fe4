"""The chunked scans against plain loops: values and gradients, gates that are zero, exact numbers."""

import pytest
import torch
from torch import Tensor

from krohn.lab.models.architectures.diagonal import gates_of
from krohn.lab.models.kernels.delta_scan import delta_scan, rank_one_scan
from krohn.lab.models.kernels.linear_scan import linear_scan
from krohn.lab.models.registry import model_config


def random(*shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randn(shape, generator=generator, dtype=dtype).requires_grad_()


def plain_linear(gate: Tensor, write: Tensor, first: Tensor) -> Tensor:
    states, h = [], first
    for t in range(gate.shape[1]):
        h = gate[:, t] * h + write[:, t]
        states.append(h)
    return torch.stack(states, 1)


def plain_delta(query, key, value, beta, log_gate, memory):
    reads = []
    for t in range(key.shape[1]):
        memory = log_gate[:, t].exp()[:, None, None] * memory
        for s in range(key.shape[2]):
            k, v, b = key[:, t, s], value[:, t, s], beta[:, t, s, None]
            missing = b * (v - torch.einsum("nk,nkv->nv", k, memory))
            memory = memory + k[:, :, None] * missing[:, None]
        reads.append(torch.einsum("nk,nkv->nv", query[:, t], memory))
    return torch.stack(reads, 1), memory


def same_with_gradients(ours, plain, inputs) -> None:
    actual, wanted = ours(*inputs), plain(*inputs)
    torch.testing.assert_close(actual, wanted, rtol=0, atol=1e-9)
    weight = torch.linspace(-1, 1, wanted.numel(), dtype=torch.float64).view(wanted.shape)
    for one, other in zip(
        torch.autograd.grad((actual * weight).abs().square().sum(), inputs),
        torch.autograd.grad((wanted * weight).abs().square().sum(), inputs),
        strict=True,
    ):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
@pytest.mark.parametrize("length", [1, 2, 10])
def test_the_linear_scan_is_the_loop(dtype: torch.dtype, length: int) -> None:
    gate = random(2, length, 3, dtype=dtype)
    gate.data[:, ::3] = 0
    inputs = [gate, random(2, length, 3, dtype=dtype), random(2, 3, dtype=dtype)]
    same_with_gradients(linear_scan, plain_linear, inputs)


@pytest.mark.parametrize(("length", "steps", "chunk"), [(1, 2, 64), (11, 1, 4), (7, 3, 6), (5, 4, 2)])
def test_the_delta_scan_is_the_loop(length: int, steps: int, chunk: int) -> None:
    log_gate = random(2, length)
    log_gate.data.abs_().neg_()
    log_gate.data[:, length // 2] = -1e4  # a gate that is zero
    inputs = [
        random(2, length, 3),
        random(2, length, steps, 3),
        random(2, length, steps, 4),
        random(2, length, steps),
        log_gate,
        random(2, 3, 4),
    ]
    same_with_gradients(
        lambda *given: delta_scan(*given, chunk=chunk)[0], lambda *given: plain_delta(*given)[0], inputs
    )
    after = delta_scan(*inputs, chunk=chunk)[1]
    torch.testing.assert_close(after, plain_delta(*inputs)[1], rtol=0, atol=1e-9)


@pytest.mark.parametrize(("length", "steps", "chunk"), [(1, 2, 64), (7, 3, 6), (5, 4, 2)])
def test_the_rank_one_scan_is_the_loop(length: int, steps: int, chunk: int) -> None:
    def plain(query, key, look, value, memory):
        reads = []
        for t in range(length):
            for s in range(steps):
                missing = value[:, t, s] - torch.einsum("nk,nkv->nv", look[:, t, s], memory)
                memory = memory + key[:, t, s, :, None] * missing[:, None]
            reads.append(torch.einsum("nk,nkv->nv", query[:, t], memory))
        return torch.stack(reads, 1)

    inputs = [random(2, length, 3), random(2, length, steps, 3), random(2, length, steps, 3)]
    inputs[2].data *= 0.5
    inputs += [random(2, length, steps, 4), random(2, 3, 4)]
    same_with_gradients(lambda *given: rank_one_scan(*given, chunk=chunk)[0], plain, inputs)


def test_reflections_with_dyadic_keys_are_the_same_bits_in_chunks() -> None:
    generator = torch.Generator().manual_seed(0)
    pairs = torch.tensor([[0, 1], [1, 2], [0, 2]])
    code = torch.eye(3).repeat_interleave(2, 1)
    keys = ((code[pairs[:, 0]] - code[pairs[:, 1]]) / 2)[torch.randint(3, (1, 300, 2), generator=generator)]
    beta, value = torch.full((1, 300, 2), 2.0), torch.zeros(1, 300, 2, 1)
    query, memory = code.sum(0).expand(1, 300, -1), code[0].view(1, 6, 1)
    given = (query, keys, value, beta, torch.zeros(1, 300), memory)
    assert torch.equal(delta_scan(*given)[1], plain_delta(*given)[1])


@pytest.mark.parametrize(
    ("kind", "options", "reason"),
    [
        ("deltaproduct", {"beta_max": 3}, "beta_max must be 1 or 2; got 3"),
        ("deltaproduct", {"householders": 0}, "householders must be at least 1; got 0"),
        ("rankone", {"rate_max": 3}, "rate_max must be 1 or 2; got 3"),
        ("diagonal", {"mlp": -1}, "mlp must be at least 0; got -1"),
        ("diagonal", {"conv": 0}, "conv must be at least 1; got 0"),
    ],
)
def test_sizes_that_make_no_network_are_named(kind: str, options: dict[str, int], reason: str) -> None:
    assert model_config(kind, **options).reasons(8) == [reason]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_gates_on_an_axis_are_quarter_turns_to_the_last_bit(dtype: torch.dtype) -> None:
    """Judged by counting: a number over itself is 1; a product with its reciprocal need not be."""
    sizes = torch.arange(1, 4097).to(dtype)
    nothing = torch.zeros_like(sizes)
    for turn, parts in (
        (1, (sizes, nothing)),
        (-1, (-sizes, nothing)),
        (1j, (nothing, sizes)),
        (-1j, (nothing, -sizes)),
    ):
        assert (gates_of(torch.cat(parts), "complex") == turn).all()
    reciprocal = sizes.float() * (1 / sizes.float())
    assert not (reciprocal == 1).all()
