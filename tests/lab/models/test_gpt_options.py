import math

import pytest
import torch

from every import every
from krohn.lab import random_streams
from krohn.lab.models.architectures.gpt import ENCODINGS, Gpt, GptConfig, linear, sinusoidal
from krohn.lab.models.kernels import plain
from krohn.lab.models.network import Noise
from krohn.lab.models.registry import model_config


def naive_attention(q: list, k: list, v: list, slope: float) -> list:
    """One head by the definition: softmax of ⟨q, k⟩/√d − slope·distance over keys up to the row."""
    rows = []
    for t in range(len(q)):
        scores = [
            sum(a * b for a, b in zip(q[t], k[i], strict=True)) / math.sqrt(len(q[t])) - slope * (t - i)
            for i in range(t + 1)
        ]
        weights = [math.exp(score - max(scores)) for score in scores]
        total = sum(weights)
        rows.append([sum(w / total * v[i][c] for i, w in enumerate(weights)) for c in range(len(q[t]))])
    return rows


@pytest.mark.parametrize("recency", [False, True])
def test_attention_is_the_definition(recency: bool) -> None:
    replicates, batch, length, count, size = 2, 2, 5, 2, 3
    generator = torch.Generator().manual_seed(0)
    qkv = torch.randn(replicates, batch * length, 3 * count * size, dtype=torch.float64, generator=generator)
    bias = torch.randn(replicates, 3 * count * size, dtype=torch.float64, generator=generator)
    slopes = plain.alibi_slopes(count, torch.device("cpu")) if recency else None
    output = plain.attention(qkv, bias, plain.Heads(batch, length, count, slopes))
    full = (qkv + bias[:, None]).view(replicates, batch, length, 3, count, size)
    for r in range(replicates):
        for b in range(batch):
            for head in range(count):
                q, k, v = (full[r, b, :, which, head].tolist() for which in range(3))
                slope = 2.0 ** (-8.0 * (head + 1) / count) if recency else 0.0
                expected = torch.tensor(naive_attention(q, k, v, slope), dtype=torch.float64)
                block = output[r].view(batch, length, count, size)[b, :, head]
                torch.testing.assert_close(block, expected, rtol=0, atol=1e-12)


def test_sinusoidal_rows_follow_the_formula() -> None:
    table = sinusoidal(7, 6, torch.device("cpu"))
    for t in range(7):
        for column in range(6):
            angle = t / 10000 ** (2 * (column // 2) / 6)
            assert float(table[t, column]) == pytest.approx(
                math.cos(angle) if column % 2 else math.sin(angle)
            )


def test_linear_rows_are_proportional_to_the_position() -> None:
    table = linear(10, 4, torch.device("cpu"))
    torch.testing.assert_close(table[:, 0], table[0, 0] * torch.arange(1, 11, dtype=torch.float64))
    assert table[:, 1:].abs().max() == 0


def gpt(**options: object) -> Gpt:
    config = model_config("gpt", layers=1, dim=16, heads=2, mlp=16, **options)
    assert isinstance(config, GptConfig)
    return Gpt(config, 4, 3)


def logits(network: Gpt, noise: Noise | None, replicates: int = 2) -> torch.Tensor:
    weights = network.layout.views(
        network.layout.initial(random_streams.replicate_keys(3, replicates)).double()
    )
    tokens = torch.arange(6).remainder(4).expand(replicates, 1, 6)
    return network.logits(weights, tokens, noise)


def test_shifted_positions_start_at_a_random_offset_per_batch_in_training_only() -> None:
    noise = Noise(random_streams.replicate_keys(8, 2))
    offsets = random_streams.integers(noise.site(1_000_003), 401)
    assert len(set(offsets.tolist())) == 2
    plainly, shifted = gpt(positions="sinusoidal"), gpt(positions="shifted")
    torch.testing.assert_close(logits(shifted, None), logits(plainly, None))
    table = sinusoidal(410, 16, torch.device("cpu"))
    nothing = {"wte": torch.zeros(2, 16, 16, dtype=torch.float64)}
    result = shifted.embed(nothing, torch.zeros(2, 1, 6, dtype=torch.int32), noise)
    for row, offset in enumerate(offsets.tolist()):
        assert 0 <= offset <= 400
        torch.testing.assert_close(result[row], table[offset : offset + 6])
    assert not torch.allclose(logits(shifted, noise), logits(plainly, noise))


def test_no_positions_make_the_last_prediction_of_one_layer_ignore_the_order() -> None:
    network = gpt(positions="none")
    weights = network.layout.views(network.layout.initial(random_streams.replicate_keys(3, 1)).double())
    one, other = (
        network.logits(weights, torch.tensor([[word]]))[..., -1, :] for word in ([0, 1, 2, 3], [2, 0, 1, 3])
    )
    torch.testing.assert_close(one, other)


def test_dropout_zeroes_the_stated_fraction_and_keeps_the_mean() -> None:
    mask = plain.Dropout(0.25, random_streams.replicate_keys(0, 2)).mask(torch.ones(2, 200, 100))
    assert mask.unique().tolist() == [0.0, pytest.approx(1 / 0.75)]
    assert float((mask == 0).double().mean()) == pytest.approx(0.25, abs=0.01)
    assert not torch.equal(mask[0], mask[1])


def test_dropout_acts_in_training_only_and_does_not_depend_on_neighbours() -> None:
    network = gpt(dropout=0.5)
    keys = random_streams.replicate_keys(9, 2)
    assert not torch.allclose(logits(network, None), logits(network, Noise(keys)))
    torch.testing.assert_close(
        logits(network, Noise(keys))[:1], logits(network, Noise(keys[:1]), replicates=1)
    )


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"dim": 10, "heads": 4}, "divisible by heads"),
        ({"positions": "rotary"}, "positions must be one of"),
        ({"positions": "learned", "context": 8}, "learned positions reach 8"),
        ({"dropout": 1.0}, "dropout must lie"),
        ({"layers": 0}, "layers must be at least 1"),
    ],
)
def test_what_cannot_be_built_is_named(options: dict[str, object], reason: str) -> None:
    reasons = model_config("gpt", **options).reasons(length=9)
    assert len(reasons) == 1
    assert reason in reasons[0]


@every("kind", ENCODINGS)
@every("recency", [False, True])
def test_reading_two_tokens_at_a_time_gives_the_logits_of_one_pass(kind: str, recency: bool) -> None:
    network = gpt(positions=kind, recency=recency)
    flat = network.layout.initial(random_streams.replicate_keys(4, 2)).double() * 4
    weights = network.layout.views(flat)
    tokens = torch.randint(3, (2, 3, 6), generator=torch.Generator().manual_seed(1))
    decoder = network.decoder(weights, 3, 6)
    wanted = network.logits(weights, tokens)
    for end in (2, 4, 6):
        torch.testing.assert_close(
            decoder.step(tokens[..., end - 2 : end]), wanted[:, :, end - 1], rtol=0, atol=1e-9
        )


def test_attention_dropout_thins_the_weights_of_each_head_and_nothing_else() -> None:
    replicates, batch, length, count, size = 2, 3, 4, 2, 5
    generator = torch.Generator().manual_seed(1)
    qkv = torch.randn(replicates, batch * length, 3 * count * size, dtype=torch.float64, generator=generator)
    dropout = plain.Dropout(0.3, torch.tensor([11, 12]))
    output = plain.attention(qkv, None, plain.Heads(batch, length, count, dropout=dropout))
    mask = dropout.mask(torch.zeros(replicates, batch * count * length, length, dtype=torch.float64))
    mask = mask.view(replicates, batch, count, length, length)
    assert mask.unique().tolist() == pytest.approx([0.0, 1 / 0.7])
    full = qkv.view(replicates, batch, length, 3, count, size)
    for r in range(replicates):
        for b in range(batch):
            for head in range(count):
                q, k, v = (full[r, b, :, which, head] for which in range(3))
                scores = (q @ k.T / math.sqrt(size)).masked_fill(
                    torch.ones(length, length).triu(1) > 0, -1e30
                )
                expected = (scores.softmax(-1) * mask[r, b, head]) @ v
                block = output[r].view(batch, length, count, size)[b, :, head]
                torch.testing.assert_close(block, expected, rtol=0, atol=1e-12)


def test_attention_dropout_acts_in_training_only_and_its_gradient_is_that_of_the_loss() -> None:
    config = GptConfig(layers=2, dim=8, heads=2, mlp=8, attention_dropout=0.4)
    network = config.build(2, 2)
    flat = network.layout.initial(torch.tensor([3])).double()
    gradient = torch.zeros_like(flat)
    leaves = network.layout.leaves(flat, gradient)
    assert not network.writes_gradients(leaves)
    tokens = torch.tensor([[[0, 1, 1, 0, 1]]])
    shown = torch.ones_like(tokens)
    noise = Noise(torch.tensor([9]))
    quiet = GptConfig(layers=2, dim=8, heads=2, mlp=8).build(2, 2)
    views = network.layout.views(flat)
    torch.testing.assert_close(network.logits(views, tokens), quiet.logits(views, tokens))
    assert not torch.allclose(network.logits(views, tokens, noise), network.logits(views, tokens))
    loss = network.loss(leaves, tokens, tokens, shown, noise)
    (result,) = torch.autograd.grad(loss.sum(), [leaves["h.0.attn.c_attn.weight"]])
    weight = views["h.0.attn.c_attn.weight"]
    before, step = float(weight[0, 1, 20]), 1e-6
    ends = []
    for sign in (1, -1):
        weight[0, 1, 20] = before + sign * step
        ends.append(float(network.loss(views, tokens, tokens, shown, noise)))
    weight[0, 1, 20] = before
    assert float(result[0, 1, 20]) == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-5)
