"""Baseline on a CPU: a plain torch.nn loop for one network, prepared batches, fused AdamW, clipping."""

from itertools import cycle
from typing import Any

import torch
from stock_networks import StockLstm
from torch import Tensor, nn
from torch.nn import functional

from krohn.automata.zoo import parse_spec
from krohn.lab.models.architectures import gpt
from krohn.lab.models.architectures.gpt import GptConfig
from krohn.lab.models.architectures.lstm import LstmConfig
from krohn.lab.models.kernels.plain import alibi_slopes, recency_mask
from krohn.lab.tasks.batches import Task
from krohn.lab.training.config import RunConfig
from krohn.lab.training.state import replicate_keys

_BATCHES = 64
_NOTHING = -100  # the index that cross_entropy ignores


class PlainBlock(nn.Module):
    """A pre-LayerNorm block with ``scaled_dot_product_attention``."""

    def __init__(self, config: GptConfig, mask: Tensor | None) -> None:
        super().__init__()
        self.heads, self.rate = config.heads, config.dropout
        self.register_buffer("mask", mask)
        self.first, self.second = nn.LayerNorm(config.dim), nn.LayerNorm(config.dim)
        self.qkv, self.out = nn.Linear(config.dim, 3 * config.dim), nn.Linear(config.dim, config.dim)
        self.up, self.down = nn.Linear(config.dim, config.mlp), nn.Linear(config.mlp, config.dim)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, dim = x.shape
        q, k, v = (
            part.view(batch, length, self.heads, -1).transpose(1, 2)
            for part in self.qkv(self.first(x)).split(dim, dim=2)
        )
        mixed = functional.scaled_dot_product_attention(
            q, k, v, attn_mask=self.mask, is_causal=self.mask is None
        )
        x = x + self._drop(self.out(mixed.transpose(1, 2).reshape(batch, length, dim)))
        return x + self._drop(self.down(functional.gelu(self.up(self.second(x)), approximate="tanh")))

    def _drop(self, x: Tensor) -> Tensor:
        return functional.dropout(x, self.rate) if self.rate else x


class PlainGpt(nn.Module):
    """Tokens [B, T] to logits [B, T, classes]."""

    def __init__(self, config: GptConfig, vocabulary: int, classes: int, length: int) -> None:
        super().__init__()
        self.config = config
        cpu = torch.device("cpu")
        mask = recency_mask(alibi_slopes(config.heads, cpu), length)[None] if config.recency else None
        self.tokens = nn.Embedding(vocabulary, config.dim)
        self.places = nn.Embedding(config.context, config.dim) if config.positions == "learned" else None
        self.register_buffer("order", torch.arange(length))
        table = gpt.sinusoidal(length + gpt.LARGEST_SHIFT, config.dim, cpu)
        self.register_buffer("table", table.float())
        self.blocks = nn.Sequential(*(PlainBlock(config, mask) for _ in range(config.layers)))
        self.norm, self.head = nn.LayerNorm(config.dim), nn.Linear(config.dim, classes)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.tokens(tokens)
        length, kind = tokens.shape[1], self.config.positions
        if self.places is not None:
            x = x + self.places(self.order[:length])
        elif kind != "none":
            start = int(torch.randint(gpt.LARGEST_SHIFT + 1, ())) if kind == "shifted" else 0
            x = x + self.table[start : start + length]
        if self.config.dropout:
            x = functional.dropout(x, self.config.dropout)
        logits: Tensor = self.head(self.norm(self.blocks(x)))
        return logits


def plain_module(config: RunConfig, task: Task) -> nn.Module:
    """The network of a run in plain torch.nn."""
    if isinstance(config.model, LstmConfig):
        return StockLstm(task.vocabulary, config.model, task.classes)
    assert isinstance(config.model, GptConfig)
    return PlainGpt(config.model, task.vocabulary, task.classes, task.num_tokens)


class PlainLoop:
    """Trains one module indefinitely on batches prepared in advance, so that data cost no time."""

    def __init__(self, config: RunConfig, task: Task, module: nn.Module) -> None:
        self.module, self.clip = module.train(), config.optimizer.clip
        self.parameters = [value for value in module.parameters() if value.requires_grad]
        settings = config.optimizer
        options: dict[str, Any] = {"betas": settings.betas, "eps": settings.eps, "fused": True}
        self.optimizer = torch.optim.AdamW(
            self.parameters, lr=settings.lr[0], weight_decay=settings.weight_decay, **options
        )
        keys = replicate_keys(config, torch.device("cpu"))[:1]
        batch = task.batch(keys, torch.arange(_BATCHES)[:, None], settings.batch)
        targets = torch.where(batch.shown == 1, batch.targets, _NOTHING)[:, 0].long()
        self.batches = cycle(zip(batch.tokens[:, 0].long(), targets, strict=True))

    def run(self, steps: int) -> None:
        for _ in range(steps):
            tokens, targets = next(self.batches)
            loss = functional.cross_entropy(self.module(tokens).flatten(0, 1), targets.flatten())
            self.optimizer.zero_grad()
            loss.backward()
            if self.clip is not None:
                nn.utils.clip_grad_norm_(self.parameters, self.clip)
            self.optimizer.step()


def task_of(config: RunConfig) -> Task:
    return Task(config.task, parse_spec(config.task.spec), torch.device("cpu"))
