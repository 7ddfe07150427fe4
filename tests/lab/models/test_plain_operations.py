"""The plain operations, the reference of the kernels, against scalar loops."""

from math import exp, log, pi, sqrt, tanh

import pytest
import torch
from torch import Tensor

from krohn.lab.models.kernels import operations, plain

R, B, T, H, K = 2, 2, 4, 2, 3
D = H * K


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("recency", [False, True])
def test_attention_is_a_softmax_over_the_positions_so_far(recency: bool) -> None:
    qkv, bias = normal(R, B * T, 3 * D), normal(R, 3 * D, seed=1)
    slopes = plain.alibi_slopes(H, torch.device("cpu")).double() if recency else None
    out = plain.attention(qkv, bias, plain.Heads(B, T, H, slopes))
    whole = (qkv + bias[:, None]).view(R, B, T, 3, H, K)
    for r, b, t, h in ((r, b, t, h) for r in range(R) for b in range(B) for t in range(T) for h in range(H)):
        q, k, v = (whole[r, b, :, part, h] for part in range(3))
        lost = 2.0 ** (-8 * (h + 1) / H) if recency else 0.0
        scores = [float(q[t] @ k[i]) / sqrt(K) - lost * (t - i) for i in range(t + 1)]
        total = sum(exp(s) for s in scores)
        wanted = sum(
            (exp(s) / total * v[i] for i, s in enumerate(scores)), torch.zeros(K, dtype=torch.float64)
        )
        torch.testing.assert_close(out.view(R, B, T, H, K)[r, b, t, h], wanted)


def test_the_loss_counts_shown_positions_and_classes_that_exist() -> None:
    classes, padded, rows = 3, 5, 6
    logits, bias = normal(R, rows, padded), normal(R, padded, seed=1)
    targets = torch.tensor([[0, 1, 2, 2, 1, 0], [2, 2, 0, 1, 1, 0]])
    shown = torch.tensor([[1, 0, 1, 1, 0, 1], [0, 0, 0, 0, 0, 0]])
    result = plain.cross_entropy(logits, bias, targets, shown, classes)
    losses = []
    for row in range(rows):
        scores = [float(logits[0, row, c] + bias[0, c]) for c in range(classes)]
        if shown[0, row]:
            losses.append(log(sum(exp(s) for s in scores)) - scores[int(targets[0, row])])
    assert float(result[0]) == pytest.approx(sum(losses) / len(losses))
    assert float(result[1]) == 0.0  # nothing is shown: nothing is lost, and nothing is divided by zero


def test_the_stream_is_normed_row_by_row_with_its_replicates_own_gain() -> None:
    x, y, bias, gain, shift = (
        normal(R, 3, D),
        normal(R, 3, D, seed=1),
        *(normal(R, D, seed=s) for s in (2, 3, 4)),
    )
    stream, normed = plain.add_norm(x, y, bias, gain, shift, None)
    for r in range(R):
        for row in range(3):
            value = x[r, row] + y[r, row] + bias[r]
            torch.testing.assert_close(stream[r, row], value)
            spread = sqrt(float(((value - value.mean()) ** 2).mean()) + 1e-5)
            torch.testing.assert_close(normed[r, row], (value - value.mean()) / spread * gain[r] + shift[r])
    alone = plain.add_norm(x[:1], None, None, gain[:1], shift[:1], None)
    torch.testing.assert_close(alone[0], x[:1])


def test_gelu_has_the_form_of_gpt2() -> None:
    u, bias = normal(1, 2, 3), normal(1, 3, seed=1)
    actual = plain.bias_gelu(u, bias)
    for row in range(2):
        for column in range(3):
            v = float(u[0, row, column] + bias[0, column])
            wanted = 0.5 * v * (1 + tanh(sqrt(2 / pi) * (v + 0.044715 * v**3)))
            assert float(actual[0, row, column]) == pytest.approx(wanted)


def test_look_ups_and_positions_pick_the_rows_they_name() -> None:
    tokens = torch.tensor([[[0, 2], [1, 1]], [[2, 2], [0, 1]]])  # R, B, T
    table = normal(2, 3, D)
    result = operations.PLAIN.lookup(tokens, table).view(2, 2, 2, D)
    places = normal(2, 5, D, seed=1)
    moved = plain.add_positions(result.reshape(2, 4, D), places, 2).view(2, 2, 2, D)
    for r, b, t in ((r, b, t) for r in range(2) for b in range(2) for t in range(2)):
        torch.testing.assert_close(result[r, b, t], table[r, int(tokens[r, b, t])])
        torch.testing.assert_close(moved[r, b, t], result[r, b, t] + places[r, t])


def test_dropout_of_a_replicate_does_not_depend_on_its_neighbours() -> None:
    keys = torch.tensor([11, 12])
    both = plain.Dropout(0.4, keys).mask(torch.ones(2, 50, 20))
    alone = plain.Dropout(0.4, keys[1:]).mask(torch.ones(1, 50, 20))
    assert torch.equal(both[1:], alone)
    assert not torch.equal(both[0], both[1])
    assert both.unique().tolist() == pytest.approx([0.0, 1 / 0.6])
    assert 0.35 < float((both == 0).double().mean()) < 0.45
    whole = torch.ones(2, 50, 20)
    assert torch.equal(plain.drop(whole, plain.Dropout(0.4, keys)), both)
