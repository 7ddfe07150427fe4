"""Symmetries that must not change the answers, and small cases with known answers."""

import math
from fractions import Fraction
from itertools import pairwise, product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from every import every
from krohn.lab.models.architectures.gpt import Gpt, GptConfig
from krohn.lab.models.kernels import linear_scan, operations, plain
from krohn.lab.models.kernels.delta_scan import delta_scan, rank_one_scan
from krohn.lab.models.network import Network
from krohn.lab.models.recurrent_stack import last_positions
from lab.models.test_gradients import each, labels, network_of
from lab.models.test_whole_networks import CLASSES, VOCABULARY, moved, one_of, tokens


def draws(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@each
def test_names_of_letters_and_of_classes_do_not_matter(kind: str, options: dict[str, object]) -> None:
    """Other numbers for the letters and other rows of the table; other columns of the head."""
    network, words = network_of(kind, options), tokens()
    weights = moved(network)
    letters, order = torch.tensor([2, 0, 1]), torch.tensor([3, 1, 0, 2])
    other = {name: value.clone() for name, value in weights.items()}
    other["wte"][:, letters] = weights["wte"][:, :VOCABULARY]
    other["head.weight"][..., :CLASSES] = weights["head.weight"][..., order]
    other["head.bias"][..., :CLASSES] = weights["head.bias"][..., order]
    logits = network.logits(other, letters[words])
    torch.testing.assert_close(logits, network.logits(weights, words)[..., order])


@each
def test_words_of_a_batch_and_what_pads_the_weights_are_not_seen(
    kind: str, options: dict[str, object]
) -> None:
    network, words = network_of(kind, options), tokens(batch=3)
    weights = moved(network)
    wanted = network.logits(weights, words)
    changed = words.clone()
    changed[:, 1] = (changed[:, 1] + 1) % VOCABULARY
    dirty = {name: value.clone() for name, value in weights.items()}
    dirty["wte"][:, VOCABULARY:] = 1e3
    dirty["head.weight"][..., CLASSES:] = 1e3
    dirty["head.bias"][..., CLASSES:] = 1e3
    logits = network.logits(dirty, changed)
    torch.testing.assert_close(logits[:, [0, 2]], wanted[:, [0, 2]])
    assert not torch.allclose(logits[:, 1], wanted[:, 1])
    loss = (network.loss(own, words, *labels(words)) for own in (weights, dirty))
    torch.testing.assert_close(next(loss), next(loss))


@pytest.mark.parametrize("kind", ["gpt", "lstm", "diagonal"])
def test_a_number_added_to_all_scores_changes_no_loss(kind: str) -> None:
    cell: dict[str, object] = {"embedding": 4, "hidden": 4}
    network, words = network_of(kind, cell if kind == "lstm" else {"layers": 1, "dim": 8, "mlp": 4}), tokens()
    weights = dict(moved(network))
    before = network.loss(weights, words, *labels(words))
    weights["head.bias"] = weights["head.bias"] + torch.tensor([[700.0], [-900.0]], dtype=torch.float64)
    torch.testing.assert_close(network.loss(weights, words, *labels(words)), before)


def gpt(**options: object) -> tuple[Gpt, dict[str, Tensor]]:
    config = GptConfig(layers=2, dim=6, heads=3, mlp=5, **options)  # type: ignore[arg-type]
    network = Gpt(config, VOCABULARY, CLASSES)
    return network, {name: value.clone() for name, value in moved(network).items()}


@pytest.mark.parametrize("recency", [False, True])
def test_heads_may_change_places_unless_recency_tells_them_apart(recency: bool) -> None:
    network, weights = gpt(recency=recency)
    before = network.logits(weights, tokens())
    columns = torch.arange(6).view(3, 2)[[2, 0, 1]].flatten()
    for layer in range(2):
        name = f"h.{layer}.attn."
        for part in ("c_attn.weight", "c_attn.bias"):
            whole = weights[name + part]
            weights[name + part] = whole.view(*whole.shape[:-1], 3, 6)[..., columns].flatten(-2)
        weights[f"{name}c_proj.weight"] = weights[f"{name}c_proj.weight"][:, columns]
    assert torch.allclose(network.logits(weights, tokens()), before) is not recency


def test_the_bias_of_keys_does_nothing_and_those_of_queries_and_values_do() -> None:
    for part, matters in enumerate([True, False, True]):
        network, weights = gpt()
        before = network.logits(weights, tokens())
        weights["h.0.attn.c_attn.bias"][:, 6 * part : 6 * part + 6] += draws(6)
        assert torch.allclose(network.logits(weights, tokens()), before) is not matters


def test_a_number_added_to_the_whole_stream_is_taken_away_by_the_norms() -> None:
    network, weights = gpt()
    before = network.logits(weights, tokens())
    weights["wte"] += 3.0
    weights["h.1.mlp.c_proj.bias"] -= 5.0
    torch.testing.assert_close(network.logits(weights, tokens()), before)


def sigma(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def lstm_states(w: dict[str, np.ndarray], word: list[int]) -> list[list[float]]:
    """The cell unit by unit: gates in the order in, forget, new, out."""
    size = len(w["weight_hh"])
    h, c, result = [0.0] * size, [0.0] * size, []
    for letter in word:
        z = w["wte"][letter] @ w["weight_ih"] + np.array(h) @ w["weight_hh"] + w["bias"]
        for u in range(size):
            i, f, g, o = (float(z[part * size + u]) for part in range(4))
            c[u] = sigma(f) * c[u] + sigma(i) * math.tanh(g)
            h[u] = sigma(o) * math.tanh(c[u])
        result.append(list(h))
    return result


def gru_states(w: dict[str, np.ndarray], word: list[int]) -> list[list[float]]:
    """The cell unit by unit: gates in the order reset, update, new."""
    size = len(w["weight_hh"])
    h, result = [0.0] * size, []
    for letter in word:
        x, y = w["wte"][letter] @ w["weight_ih"] + w["bias_ih"], np.array(h) @ w["weight_hh"] + w["bias_hh"]
        for u in range(size):
            reset, update = sigma(x[u] + y[u]), sigma(x[size + u] + y[size + u])
            new = math.tanh(x[2 * size + u] + reset * y[2 * size + u])
            h[u] = (1 - update) * new + update * h[u]
        result.append(list(h))
    return result


@pytest.mark.parametrize(("kind", "states"), [("lstm", lstm_states), ("gru", gru_states)])
def test_a_cell_is_what_its_definition_says_in_every_replicate(kind: str, states: Any) -> None:
    network: Network = network_of(kind, {"embedding": 3, "hidden": 5})
    weights, words = moved(network), tokens()
    logits = network.logits(weights, words).numpy()
    for row, batch in product(range(2), range(2)):
        own = one_of(network, weights, row)
        wanted = np.array(states(own, words[row, batch].tolist())) @ own["head.weight"] + own["head.bias"]
        np.testing.assert_allclose(logits[row, batch], wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize("recency", [False, True])
def test_without_queries_attention_is_a_mean_of_what_came_before(recency: bool) -> None:
    """Of all alike, or of each half as much for every 1/slope·ln 2 positions back."""
    values, zeros = draws(1, 6, 2), torch.zeros(1, 6, 4, dtype=torch.float64)
    slopes = torch.tensor([math.log(2.0), math.log(4.0)], dtype=torch.float64) if recency else None
    output = plain.attention(torch.cat([zeros, values], -1), None, plain.Heads(1, 6, 2, slopes))
    for head, t in product(range(2), range(6)):
        base = Fraction(1, 2 * (head + 1)) if recency else Fraction(1)
        shares = [base ** (t - i) for i in range(t + 1)]
        mean = sum(float(share / sum(shares)) * float(values[0, i, head]) for i, share in enumerate(shares))
        assert float(output[0, t, head]) == pytest.approx(mean, abs=1e-12)


def test_with_sharp_scores_attention_is_the_mean_over_earlier_letters_of_the_same_name() -> None:
    word = [0, 2, 1, 0, 0, 2, 1, 1]
    codes, values = torch.eye(3, dtype=torch.float64)[word], draws(8, 3)
    qkv = torch.cat([1e3 * codes, codes, values], -1)[None]
    result = plain.attention(qkv, None, plain.Heads(1, 8, 1))[0]
    for t, letter in enumerate(word):
        same = [i for i in range(t + 1) if word[i] == letter]
        torch.testing.assert_close(result[t], values[same].mean(0), rtol=0, atol=1e-12)


def test_the_slope_of_the_loss_is_the_softmax_less_the_target() -> None:
    """At shown positions, over their number; 0 elsewhere and for classes that do not exist."""
    logits, bias = draws(2, 5, 6).requires_grad_(), draws(2, 6, seed=1)
    targets = torch.tensor([[0, 1, 2, 3, 1], [3, 3, 0, 2, 1]])
    shown = torch.tensor([[1, 0, 1, 1, 0], [0, 0, 0, 0, 1]])
    (actual,) = torch.autograd.grad(plain.cross_entropy(logits, bias, targets, shown, 4).sum(), logits)
    scores = logits.detach()
    for r, n in product(range(2), range(5)):
        powers = [math.exp(float(scores[r, n, c]) + float(bias[r, c])) for c in range(4)]
        for c in range(6):
            slope = powers[c] / sum(powers) - (c == int(targets[r, n])) if c < 4 else 0.0
            wanted = slope * int(shown[r, n]) / int(shown[r].sum())
            assert float(actual[r, n, c]) == pytest.approx(wanted, abs=1e-12)


def test_the_loss_of_narrow_scores_is_wide_and_finite() -> None:
    scores = torch.tensor([[[300.0, 0.0], [-300.0, 300.0]]], dtype=torch.bfloat16)
    targets, shown = torch.tensor([[1, 1]]), torch.ones(1, 2, dtype=torch.int64)
    result = plain.cross_entropy(scores, torch.zeros(1, 2, dtype=torch.bfloat16), targets, shown, 2)
    assert result.dtype == torch.float32
    assert result.tolist() == [150.0]


def test_a_scan_whose_gates_are_units_or_zero_rounds_nothing() -> None:
    """Whole numbers stay whole, up to i; every length to 20, so that every last block is met."""
    generator = torch.Generator().manual_seed(4)
    units = torch.tensor([0, 1, -1, 1j, -1j], dtype=torch.complex64)
    for length in range(1, 21):
        gate = units[torch.randint(5, (length, 3), generator=generator)]
        write = torch.complex(
            *(torch.randint(-9, 10, (length, 3), generator=generator).float() for _ in "ab")
        )
        state, wanted = torch.tensor([1.0, -2.0, 3j]), []
        for t in range(length):
            state = gate[t] * state + write[t]
            wanted.append(state)
        actual = linear_scan.linear_scan(gate, write, torch.tensor([1.0, -2.0, 3j]))
        assert torch.equal(actual, torch.stack(wanted))


@pytest.mark.parametrize("cuts", [(0, 9), (0, 1, 9), (0, 4, 5, 9)])
def test_scans_read_a_word_in_parts_as_they_read_it_whole(cuts: tuple[int, ...]) -> None:
    query, key, value = draws(2, 9, 3), draws(2, 9, 2, 3, seed=1) / 2, draws(2, 9, 2, 4, seed=2)
    beta, gate, first = draws(2, 9, 2, seed=3).sigmoid(), -draws(2, 9, seed=4).abs(), draws(2, 3, 4, seed=5)
    scans: list[tuple[Any, tuple[Tensor, ...]]] = [
        (delta_scan, (query, key, value, beta, gate)),
        (rank_one_scan, (query, key, 0.5 * key.flip(-1), value)),
    ]
    for scan, given in scans:
        whole, last = scan(*given, first, chunk=4)
        memory, reads = first, []
        for start, end in pairwise(cuts):
            read, memory = scan(*(part[:, start:end] for part in given), memory, chunk=6)
            reads.append(read)
        torch.testing.assert_close(torch.cat(reads, 1), whole)
        torch.testing.assert_close(memory, last)


@every(("width", "length"), [*product([1, 2, 4], [1, 2, 5])])
def test_a_window_holds_the_current_position_first_and_zeros_before_the_word(width: int, length: int) -> None:
    x = draws(2, 3, length, 4)
    actual = last_positions(x, width)
    for t in range(length):
        wanted = [x[:, :, t - back] if back <= t else torch.zeros(2, 3, 4) for back in range(width)]
        assert torch.equal(actual[:, :, t], torch.cat(wanted, -1))


@pytest.mark.parametrize("triton", [False, True])
def test_kernels_are_used_only_on_a_gpu_with_triton_and_numbers_they_take(
    triton: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    fused = object()
    monkeypatch.setattr(operations, "find_spec", lambda name: fused if triton else None)
    monkeypatch.setattr(operations, "load_fused", lambda: fused)
    kinds = (torch.bfloat16, torch.float32, torch.float64)
    for cuda, dtype in product([False, True], kinds):
        tensor: Any = SimpleNamespace(is_cuda=cuda, dtype=dtype)
        ready = cuda and triton
        assert operations.choose(tensor) is (fused if ready and dtype == torch.bfloat16 else operations.PLAIN)


def test_a_decoder_refuses_more_tokens_than_it_has_room_for() -> None:
    network, weights = gpt()
    decoder = network.decoder(weights, 2, 8)
    decoder.step(tokens()[..., :6])
    with pytest.raises(AssertionError, match="the cache is full"):
        decoder.step(tokens()[..., :3])
    last = decoder.step(tokens()[..., 6:])  # nothing was lost by asking
    torch.testing.assert_close(last, network.logits(weights, tokens())[:, :, -1])
