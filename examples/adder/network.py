"""A Transformer that adds two numbers of ten digits, least digit first: one block with RMSNorm and RoPE.

Tokens are x₀ … x₉ + y₀ … y₉ =, then the answer z₀ … z₁₀, each digit of which is read again.
``trained`` is what ``research/decimal_adder.py`` learned; in ``perturbed`` one row of two numbers is moved.
"""

from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

DIGITS, PLUS, EQUALS, VOCABULARY = 10, 10, 11, 12
PERIODS = (11.0, 5.5)
"""Positions after which each pair of channels has turned once."""
WEIGHTS = Path(__file__).with_name("weights.safetensors")


class Adder(nn.Module):
    """Width 6, one head with queries and keys of 4 channels and values of 2, eight hidden units."""

    def __init__(self, width: int = 6, values: int = 2, hidden: int = 8) -> None:
        super().__init__()
        channels = 2 * len(PERIODS)
        self.embedding = nn.Embedding(VOCABULARY, width)
        self.norms = nn.ModuleList([nn.RMSNorm(width, eps=1e-5) for _ in range(3)])
        self.query, self.key = nn.Linear(width, channels), nn.Linear(width, channels)
        self.value, self.out = nn.Linear(width, values, bias=False), nn.Linear(values, width, bias=False)
        self.up, self.down = nn.Linear(width, hidden), nn.Linear(hidden, width, bias=False)
        self.begin()

    def begin(self) -> None:
        """Where training starts: digits on a spiral; a head that looks at the column that is due."""
        digit = torch.arange(DIGITS) * (2 * torch.pi / DIGITS)
        spiral = torch.stack([digit.cos(), digit.sin(), torch.linspace(-1, 1, DIGITS)], dim=1)
        ahead = 0.8 * 2 * torch.pi / torch.tensor(PERIODS)
        with torch.no_grad():
            self.embedding.weight.mul_(0.2)[:DIGITS, :3] = spiral
            self.query.bias.copy_(2 * torch.cat([ahead.cos(), ahead.sin()]))
            self.key.bias.copy_(2 * torch.cat([torch.ones(2), torch.zeros(2)]))
            for part in (self.query, self.key):
                part.weight.mul_(0.1)

    def forward(self, tokens: Tensor, first: int = 0) -> Tensor:
        """Logits of the next token at each position, from a first one on."""
        x = self.embedding(tokens)
        length = tokens.shape[1]
        angle = torch.arange(length)[:, None] * (2 * torch.pi / torch.tensor(PERIODS))
        h = self.norms[0](x)
        keys, x = turned(self.key(h), angle), x[:, first:]
        scores = turned(self.query(h[:, first:]), angle[first:]) @ keys.transpose(1, 2)
        later = torch.ones(length, length, dtype=torch.bool).triu(1)[first:]
        weights = torch.softmax(scores.masked_fill(later, float("-inf")), dim=-1)
        x = x + self.out(weights @ self.value(h))
        x = x + self.down(nn.functional.gelu(self.up(self.norms[1](x))))
        logits: Tensor = self.norms[2](x) @ self.embedding.weight.T
        return logits


def turned(x: Tensor, angle: Tensor) -> Tensor:
    """RoPE: each pair of channels [position, pair] turned by the angle of its position."""
    a, b = x.chunk(2, dim=-1)
    cos, sin = angle.cos(), angle.sin()
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)


def trained() -> Adder:
    """The learned weights."""
    network = Adder()
    network.load_state_dict(load_file(WEIGHTS))
    return network.eval()


def perturbed() -> Adder:
    """What the head adds to one channel of the stream, 15% less: few pairs are wrong."""
    network = trained()
    with torch.no_grad():
        network.out.weight[0].mul_(0.85)
    return network
