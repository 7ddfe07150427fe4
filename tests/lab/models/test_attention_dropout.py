"""Attention dropout in the Triton kernels: the mask, weight by weight, and what is made of it."""

import pytest
import torch
from torch import Tensor

from krohn.lab import random_streams
from krohn.lab.models.architectures.gpt import Gpt, GptConfig
from krohn.lab.models.kernels import operations, plain
from krohn.lab.models.network import Noise

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]

REPLICATES, BATCH, HEADS, SIZE, RATE = 2, 3, 2, 64, 0.3
LENGTHS = [5, 32, 64, 100, 150]  # tiles of 32 and of 64; one, two and three of them
KEYS = random_streams.replicate_keys(5, REPLICATES)


def heads(length: int) -> plain.Heads:
    return plain.Heads(BATCH, length, HEADS, dropout=plain.Dropout(RATE, KEYS.cuda()))


def mask(length: int) -> Tensor:
    """The mask [R, B, head, row, key] as the CPU draws it, causal order included."""
    positive = random_streams.dropout_factors(KEYS, BATCH * HEADS * length * length, RATE, torch.float32) != 0
    return positive.view(REPLICATES, BATCH, HEADS, length, length) & torch.ones(length, length).tril().bool()


def attend(q: Tensor, k: Tensor, v: Tensor, gradient: Tensor) -> tuple[Tensor, ...]:
    """Output, dq, dk, dv, each [R, B, head, T, size], for inputs [T, size] alike in all heads."""
    length = len(q)
    same = torch.stack([q, k, v]).view(1, 1, 3, length, 1, SIZE).permute(0, 1, 3, 2, 4, 5)
    qkv = same.expand(REPLICATES, BATCH, -1, -1, HEADS, -1).reshape(REPLICATES, BATCH * length, -1)
    qkv = qkv.bfloat16().cuda().requires_grad_()
    bias = torch.zeros(REPLICATES, 3 * HEADS * SIZE, device="cuda").bfloat16().requires_grad_()
    bias.grad = torch.zeros_like(bias)
    out = operations.load_fused().attention(qkv, bias, heads(length))
    up = gradient.view(1, 1, length, 1, SIZE).expand(REPLICATES, BATCH, -1, HEADS, -1)
    out.backward(up.reshape(out.shape).bfloat16().cuda())
    assert qkv.grad is not None
    parts = qkv.grad.view(REPLICATES, BATCH, length, 3, HEADS, SIZE).permute(3, 0, 1, 4, 2, 5).float().cpu()
    mixed = out.detach().view(REPLICATES, BATCH, length, HEADS, SIZE).transpose(2, 3).float().cpu()
    return mixed, *parts


def places(length: int) -> list[tuple[slice, Tensor]]:
    """Up to SIZE positions each, with the matrix [T, SIZE] that gives each of them a column of its own."""
    result = []
    for start in range(0, length, SIZE):
        some = slice(start, min(start + SIZE, length))
        unit = torch.zeros(length, SIZE)
        unit[some, : some.stop - start] = torch.eye(some.stop - start)
        result.append((some, unit))
    return result


@pytest.mark.parametrize("length", LENGTHS)
def test_the_mask_of_outputs_and_of_values_is_the_one_that_the_cpu_draws(length: int) -> None:
    """Scores are 0, so a row's weights are alike, and each shows in a column of its own."""
    nothing, wanted = torch.zeros(length, SIZE), mask(length)
    size = 1.0 / (1.0 - RATE) / torch.arange(1, length + 1)[:, None]
    for some, unit in places(length):
        columns = some.stop - some.start
        out = attend(nothing, nothing, unit, nothing)[0][..., :columns]
        assert torch.equal(out != 0, wanted[..., some])
        torch.testing.assert_close(out, wanted[..., some] * size, rtol=0.01, atol=0)
        dv = attend(nothing, nothing, nothing, unit)[3][..., :columns]
        assert torch.equal(dv != 0, wanted[..., some, :].mT)


@pytest.mark.parametrize("length", LENGTHS)
def test_the_gradients_of_scores_have_the_same_mask(length: int) -> None:
    """With ⟨dout, v⟩ = 1 the gradient of a score is positive where its weight is kept, else negative."""
    nothing, wanted = torch.zeros(length, SIZE), mask(length)
    one = nothing.clone()
    one[:, 0] = 1.0
    causal = torch.ones(length, length).tril().bool()
    mixed = (wanted | ~causal).logical_not().any(-1) & wanted.any(-1)  # else all of them are alike
    asked = mixed[..., None] & causal
    for some, unit in places(length):
        columns = some.stop - some.start
        dq = attend(nothing, unit, one, one)[1][..., :columns]
        assert torch.equal((dq > 0)[asked[..., some]], wanted[..., some][asked[..., some]])
        dk = attend(unit, nothing, one, one)[2][..., :columns].mT
        assert torch.equal((dk > 0)[asked[..., some, :]], wanted[..., some, :][asked[..., some, :]])


def test_a_network_with_attention_dropout_answers_as_on_the_cpu() -> None:
    gpt = Gpt(GptConfig(layers=2, dim=128, heads=2, mlp=128, attention_dropout=0.5), 4, 3)
    flat = (4 * gpt.layout.initial(random_streams.replicate_keys(1, REPLICATES))).bfloat16()
    tokens = torch.randint(0, 4, (REPLICATES, 4, 70), generator=torch.Generator().manual_seed(0))
    answers = []
    for weights, device, seed in ((flat.double(), "cpu", 2), (flat, "cuda", 2), (flat, "cuda", 3)):
        noise = Noise(random_streams.replicate_keys(seed, REPLICATES, device=device))
        logits = gpt.logits(gpt.layout.views(weights.to(device)), tokens.to(device), noise)
        answers.append(logits.cpu().double())
    exact, ours, other = answers
    assert (ours - exact).norm() < 0.05 * exact.norm()
    assert (other - exact).norm() > 0.2 * exact.norm(), "another mask"


def test_the_same_step_twice_gives_the_same_bits() -> None:
    generator = torch.Generator().manual_seed(1)
    inputs = [torch.randn(100, SIZE, generator=generator) for _ in range(4)]
    for one, other in zip(attend(*inputs), attend(*inputs), strict=True):
        assert torch.equal(one, other)
