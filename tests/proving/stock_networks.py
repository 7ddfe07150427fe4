"""GPT-2s made with ``transformers`` alone, for tests of networks that krohn did not write."""

import importlib.util
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
import torch
from transformers import GPT2Config, GPT2LMHeadModel

SCRIPT = Path(__file__).parents[2] / "research" / "modular_addition.py"


def random_gpt2(
    seed: int, *, activation: str = "gelu_new", tied: bool = True, scale: float = 3.0
) -> GPT2LMHeadModel:
    """Two blocks with biases, gains and shifts all over the place; letters and states are tokens 0 to 4."""
    torch.manual_seed(seed)
    config = GPT2Config(
        vocab_size=5,
        n_positions=5,
        n_embd=12,
        n_layer=2,
        n_head=3,
        activation_function=activation,
        tie_word_embeddings=tied,
        bos_token_id=None,
        eos_token_id=None,
    )
    network = GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        for name, value in network.named_parameters():
            noise = torch.randn_like(value)
            value.copy_(1 + 0.3 * noise if "ln_" in name and "weight" in name else noise * 3 / 12**0.5)
    return network


def trained_sum(modulus: int, length: int, steps: int) -> GPT2LMHeadModel:
    """Addition modulo a number, by the script that trains the network of the documentation."""
    spec = importlib.util.spec_from_file_location("modular_addition", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    network: GPT2LMHeadModel = module.trained(modulus, length, steps, 0)
    return network.eval()


def every_word(letters: int, length: int) -> np.ndarray:
    return np.array(list(product(range(letters), repeat=length)), dtype=np.int64)


def mutants(network: GPT2LMHeadModel, count: int) -> Iterator[GPT2LMHeadModel]:
    """One tensor changed: noise from far below the margin to far above, entries, rows mixed, signs."""
    dice = torch.Generator().manual_seed(0)
    names = [name for name, _ in network.named_parameters()]
    for number in range(count):
        other = GPT2LMHeadModel(network.config).eval()
        other.load_state_dict(network.state_dict())
        name = names[int(torch.randint(len(names), (1,), generator=dice))]
        value, kind = dict(other.named_parameters())[name], number % 4
        with torch.no_grad():
            if kind == 0:
                size = 10 ** (-2 + 3 * torch.rand(1, generator=dice).item())
                value += size * torch.randn(value.shape, generator=dice) * value.abs().mean()
            elif kind == 1:
                place = int(torch.randint(value.numel(), (1,), generator=dice))
                value.view(-1)[place] += 30 * float(value.abs().max())
            elif kind == 2:
                rows = torch.randperm(len(value), generator=dice)[:2]
                share = torch.rand(1, generator=dice).item()
                value[rows] += share * (value[rows.flip(0)] - value[rows])
            else:
                value[int(torch.randint(len(value), (1,), generator=dice))] *= -1
        yield other
