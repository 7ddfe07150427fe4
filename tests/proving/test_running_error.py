"""The bound beside the forward pass holds in many orders of adding, and is not too wide to say anything."""

import numpy as np
import pytest

pytest.importorskip("transformers")
import torch
from tests.proving.stock_networks import every_word, random_gpt2
from transformers import GPT2LMHeadModel

from check.runs import WAYS, logged
from krohn.check.files.reader import Network
from krohn.check.transformer.near import Near, Passed
from krohn.check.transformer.running_error import Running
from krohn.check.transformer.stream import logits as checked_logits
from krohn.check.transformer.words import after, stock_network
from krohn.network.gpt2.reference import OneAfterAnother, logits
from krohn.network.gpt2.stock import decoder_of_stock, net_of_module

TOKENS = {"prompt": [3], "letters": [0, 1, 2], "states": [4, 2, 1]}


def bounds(network: Network, word: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The least and the largest lead of every token over every other one after the word [right, other]."""
    path: list[Passed] = []
    for token in (*network.padding, *network.embedding[word]):
        run, stream = after(network, token[None], path)
        path.append(run.made)
    answer = checked_logits(run, network, stream)
    low = np.concatenate([run.lead(answer, np.array([token])) for token in range(5)])
    return low, -low.T


def permuted(network: GPT2LMHeadModel, seed: int) -> GPT2LMHeadModel:
    """The same function with channels and hidden units in another order: all sums are added otherwise."""
    torch.manual_seed(seed)
    d, other = network.config.n_embd, GPT2LMHeadModel(network.config).eval()
    order, units = torch.randperm(d), torch.randperm(4 * d)
    state = {}
    for name, value in network.state_dict().items():
        if name.endswith(("wte.weight", "wpe.weight", "lm_head.weight", "c_proj.weight")):
            value = value[:, order]
        elif name.endswith(("c_attn.weight", "c_fc.weight")) or "ln_" in name or name.endswith("c_proj.bias"):
            value = value[order]
        if "mlp.c_fc" in name:
            value = value[..., units]
        elif name.endswith("mlp.c_proj.weight"):
            value = value[units]
        state[name] = value
    other.load_state_dict(state)
    return other


def runs(network: GPT2LMHeadModel, ids: np.ndarray, words: np.ndarray) -> dict[str, np.ndarray]:
    """Logits at the last token, in float32, each way in another order."""
    tokens, out = torch.from_numpy(ids), {}
    with torch.no_grad():
        for way in ("eager", "sdpa"):
            network.set_attn_implementation(way)
            out[way] = network(tokens).logits[:, -1].numpy()
        for seed in range(4):
            out[f"permuted {seed}"] = permuted(network, seed)(tokens).logits[:, -1].numpy()
        out["one by one"] = torch.cat([network(row[None]).logits[:, -1] for row in tokens]).numpy()
    decoder = decoder_of_stock(net_of_module(network, TOKENS))
    out["numpy"] = logits(decoder, words)[:, -1]
    out["from left to right"] = logits(decoder, words, np.float32, OneAfterAnother())[:, -1]
    return out


@pytest.mark.parametrize(
    ("seed", "activation", "tied"),
    [(0, "gelu_new", True), (1, "relu", False), (2, "gelu", True), (3, "gelu_pytorch_tanh", False)],
)
def test_every_run_in_float32_lies_within_the_bounds(seed: int, activation: str, tied: bool) -> None:
    network = random_gpt2(seed, activation=activation, tied=tied)
    checked = stock_network(net_of_module(network, TOKENS))
    words = every_word(3, 3)[::4]
    ids = np.concatenate([np.full((len(words), 1), 3), words], axis=1)
    with np.errstate(all="ignore"):
        low, high = (np.stack(side) for side in zip(*(bounds(checked, word) for word in words), strict=True))
    off = ~np.eye(5, dtype=bool)
    closest = 0.0
    for way, given in runs(network, ids, words).items():
        wide = given.astype(np.float64)
        lead = (wide[:, :, None] - wide[:, None, :])[:, off]
        assert (low[:, off] < lead).all(), way
        assert (lead < high[:, off]).all(), way
        middle, half = (low[:, off] + high[:, off]) / 2, (high[:, off] - low[:, off]) / 2
        closest = max(closest, float((np.abs(lead - middle) / half).max()))
    assert half.max() < 0.05, "a bound that says nothing would hold as well"
    assert closest > 1e-3, "rounding of real runs is not a thousandth of the bound"


def test_a_single_changed_rounding_is_noticed() -> None:
    """The test above can fail: logits moved by the half-width of the bounds lie outside."""
    network = random_gpt2(0)
    low, high = bounds(stock_network(net_of_module(network, TOKENS)), np.array([0, 1]))
    with torch.no_grad():
        given = network(torch.tensor([[3, 0, 1]])).logits[0, -1].double().numpy()
    given[0] += high[0, 1] - low[0, 1]
    assert not low[0, 1] < given[0] - given[1] < high[0, 1]


@pytest.mark.parametrize(("seed", "activation"), [(0, "gelu_new"), (1, "relu")])
def test_every_tensor_of_the_forward_pass_lies_within_its_bound(
    seed: int, activation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stream after each half block at each position, in six orders of adding, and one bound too small."""
    network = stock_network(net_of_module(random_gpt2(seed, activation=activation), TOKENS))
    word, streams, claims, path = np.array([[0, 2, 1]]), [], [], []
    total = Running.total

    def noted(run: Running, parts: list[Near]) -> Near:
        made = total(run, parts)
        streams.append((made.value[0], run.radius(made)[0]))
        return made

    monkeypatch.setattr(Running, "total", noted)
    for token in (*network.padding, *network.embedding[word[0]]):
        streams.clear()
        run, _ = after(network, token[None], path)
        path.append(run.made)
        claims.append(list(streams))
    names = [f"layer.{n}.{part}" for n in range(len(network.layers)) for part in ("mixed", "stream")]
    shares = []
    for way in WAYS:
        logs = logged(network, word, "float32", way)
        for place, claimed in enumerate(claims):
            for name, (value, radius) in zip(names, claimed, strict=True):
                shares.append(np.abs(logs[name][0, place] - value) / radius)
    assert np.max(shares) < 1
    assert np.max(shares) > 1e-3, "a bound that says nothing would hold as well"
