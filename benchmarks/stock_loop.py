"""Baseline: Hugging Face GPT2Model, fp32, eager, AdamW, one network; batches are already on the device."""

import time

import torch
import transformers
from stock_networks import gpt_to_stock
from torch import Tensor, nn

from krohn.automata.zoo import parse_spec
from krohn.lab.models.architectures.gpt import GptConfig
from krohn.lab.models.parameters import Weights
from krohn.lab.tasks.batches import Task
from krohn.lab.training.config import RunConfig
from krohn.lab.training.learning_rates import shape
from krohn.lab.training.state import replicate_keys
from krohn.lab.training.step import Stepper


class StockLoop:
    """The loop the paper's authors ran, for replicate 0 of a run."""

    def __init__(self, config: RunConfig, device: torch.device, weights: Weights | None = None) -> None:
        transformers.logging.set_verbosity_error()
        assert isinstance(config.model, GptConfig)
        self.config = config
        self.task = Task(config.task, parse_spec(config.task.spec), device)
        network = config.model.build(self.task.vocabulary, self.task.classes)
        if weights is None:
            weights = network.layout.views(network.layout.initial(replicate_keys(config, device)))
        self.module = gpt_to_stock(
            config.model,
            {name: value[0] for name, value in weights.items()},
            vocabulary=self.task.vocabulary,
            classes=self.task.classes,
            length=config.task.length,
        )
        self.module.to(device).train()
        settings = config.optimizer
        trained = [p for name, p in self.module.named_parameters() if "wpe" not in name]
        self.optimizer = torch.optim.AdamW(
            trained,
            lr=settings.lr[0],
            betas=settings.betas,
            eps=settings.eps,
            weight_decay=settings.weight_decay,
        )
        self.parameters = trained

    def step(self, tokens: Tensor, targets: Tensor, *, clip: bool = False) -> Tensor:
        loss = nn.functional.cross_entropy(self.module(tokens).flatten(0, 1), targets.flatten())
        loss.backward()
        if clip and self.config.optimizer.clip is not None:
            nn.utils.clip_grad_norm_(self.parameters, self.config.optimizer.clip)
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss.detach()

    def seconds_per_step(self, count: int) -> float:
        keys = replicate_keys(self.config, self.task.device)[:1]
        steps = torch.arange(count, device=self.task.device)[:, None]
        batch = self.task.batch(keys, steps, self.config.optimizer.batch)
        tokens, targets = batch.tokens[:, 0].long(), batch.targets[:, 0].long()
        for index in range(5):
            self.step(tokens[index], targets[index])
        _wait(tokens)
        started = time.perf_counter()
        for index in range(count):
            self.step(tokens[index], targets[index])
        _wait(tokens)
        return (time.perf_counter() - started) / count

    def train_on(self, stepper: Stepper, steps: int) -> list[float]:
        """Losses on the same batches as replicate 0 of ``stepper``, with the same clipping and warm-up."""
        losses = []
        for step in range(steps):
            stepper._first.fill_(step)
            stepper.draw()
            for group in self.optimizer.param_groups:
                group["lr"] = self.config.optimizer.lr[0] * shape(self.config.optimizer, step, steps)
            tokens, targets = stepper._buffers[0, 0, 0].long(), stepper._buffers[1, 0, 0].long()
            losses.append(float(self.step(tokens, targets, clip=True)))
        return losses


def _wait(tensor: Tensor) -> None:
    if tensor.is_cuda:
        torch.cuda.synchronize()
