import pytest
import torch
from stock_networks import gpt_to_stock, lstm_to_stock

from krohn.lab import random_streams
from krohn.lab.models.architectures.gpt import Gpt, GptConfig
from krohn.lab.models.architectures.gru import Gru, GruConfig
from krohn.lab.models.architectures.lstm import Lstm, LstmConfig

VOCABULARY, CLASSES, LENGTH = 5, 3, 9


def tokens() -> torch.Tensor:
    return torch.randint(VOCABULARY, (4, LENGTH), generator=torch.Generator().manual_seed(0))


def single(network: Gpt | Lstm, row: int = 1) -> dict[str, torch.Tensor]:
    flat = network.layout.initial(random_streams.replicate_keys(5, 2))
    # biases start at zero: move everything, so that no parameter can be forgotten
    views = network.layout.views(
        flat + 0.05 * torch.randn(flat.shape, generator=torch.Generator().manual_seed(1))
    )
    return {name: value[row] for name, value in views.items()}


def ours(network: Gpt | Lstm, weights: dict[str, torch.Tensor]) -> torch.Tensor:
    stacked = {name: value[None] for name, value in weights.items()}
    return network.logits(stacked, tokens()[None])[0]


@pytest.mark.parametrize("positions", ["sinusoidal", "linear", "none", "shifted", "learned"])
def test_stock_gpt2_and_ours_agree(positions: str) -> None:
    config = GptConfig(layers=2, dim=16, heads=2, mlp=24, positions=positions, context=12)
    network = Gpt(config, VOCABULARY, CLASSES)
    weights = single(network)
    stock = gpt_to_stock(config, weights, vocabulary=VOCABULARY, classes=CLASSES, length=LENGTH)
    with torch.no_grad():
        expected = stock(tokens())
    torch.testing.assert_close(ours(network, weights), expected, rtol=0, atol=1e-5)


def test_stock_lstm_and_ours_agree() -> None:
    config = LstmConfig(embedding=6, hidden=10)
    network = Lstm(config, VOCABULARY, CLASSES)
    weights = single(network)
    stock = lstm_to_stock(config, weights, vocabulary=VOCABULARY, classes=CLASSES)
    with torch.no_grad():
        torch.testing.assert_close(ours(network, weights), stock(tokens()), rtol=0, atol=1e-5)


def test_our_gru_is_the_stock_gru() -> None:
    network = Gru(GruConfig(embedding=6, hidden=10), VOCABULARY, CLASSES)
    weights = single(network)
    module = torch.nn.GRU(6, 10, batch_first=True)
    turned = {f"{name}_l0": weights[name].T for name in ("weight_ih", "weight_hh")}
    turned |= {f"{name}_l0": weights[name] for name in ("bias_ih", "bias_hh")}
    module.load_state_dict(turned)
    with torch.no_grad():
        states, _ = module(weights["wte"][tokens()])
        expected = (states @ weights["head.weight"] + weights["head.bias"])[..., :CLASSES]
        torch.testing.assert_close(ours(network, weights), expected, rtol=0, atol=1e-5)
