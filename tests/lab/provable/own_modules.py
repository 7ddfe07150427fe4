"""Small modules as somebody may write them, by hand: the tests know what each computes."""

import torch
from torch import Tensor, nn


class Seen(nn.Module):
    """State 1 once letter 1 was read: an average over the letters so far against a threshold."""

    def __init__(self, threshold: float = 0.03, sharp: float = 8.0) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.tensor([[0.0], [1.0]]))
        self.out = nn.Linear(1, 2)
        with torch.no_grad():
            self.out.weight.copy_(torch.tensor([[-sharp], [sharp]]))
            self.out.bias.copy_(torch.tensor([sharp * threshold, -sharp * threshold]))

    def forward(self, tokens: Tensor) -> Tensor:
        length = tokens.shape[1]
        x = self.table[tokens]
        scores = x @ x.transpose(1, 2) * 0.1
        hidden = torch.ones(length, length).triu(1).bool()
        weights = torch.softmax(scores.masked_fill(hidden, float("-inf")), dim=-1)
        out: Tensor = self.out(weights @ x)
        return out


class Normed(nn.Module):
    """Any numbers: RMSNorm, RoPE, a gate, LayerNorm, tanh and attention of torch, for bounds on rounding."""

    def __init__(self, seed: int, width: int = 8, words: int = 5) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.embed = nn.Embedding(words, width)
        self.q, self.k, self.v = (nn.Linear(width, width, bias=False) for _ in range(3))
        self.gain = nn.Parameter(torch.rand(width) + 0.5)
        self.norm = nn.LayerNorm(width)
        self.up, self.gate, self.down = nn.Linear(width, 16), nn.Linear(width, 16), nn.Linear(16, width)
        self.out = nn.Linear(width, words)

    def turned(self, x: Tensor) -> Tensor:
        place = torch.arange(x.shape[1], dtype=torch.float32)
        angle = place[:, None] * torch.tensor([1.0, 0.1, 0.01, 0.001])
        out = torch.empty_like(x)
        out[..., ::2] = x[..., ::2] * angle.cos() - x[..., 1::2] * angle.sin()
        out[..., 1::2] = x[..., ::2] * angle.sin() + x[..., 1::2] * angle.cos()
        return out

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed(tokens)
        h = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.gain
        q, k, v = self.turned(self.q(h)), self.turned(self.k(h)), self.v(h)
        heads = (part.unflatten(-1, (2, 4)).transpose(1, 2) for part in (q, k, v))
        mixed = nn.functional.scaled_dot_product_attention(*heads, is_causal=True)
        x = x + mixed.transpose(1, 2).flatten(2)
        h = self.norm(x)
        x = x + self.down(nn.functional.silu(self.gate(h)) * self.up(h)) + torch.tanh(h)
        out: Tensor = self.out(nn.functional.gelu(x))
        return out
