"""Trains the networks of a card on a GPU in steps that are recorded once and replayed (CUDA graphs).

A reference recurrence launches a thousand small kernels per step, and launching takes far longer than
computing. The first replay is compared with the eager pass: a network that cannot be recorded, or differs,
raises an error.
"""

from typing import Any

import torch
from torch import Tensor, nn

from krohn.lab.cards import harness


def record_steps() -> None:
    """Makes the harness train networks on a GPU in recorded steps from now on."""
    if not isinstance(harness.passes, Recorded):
        harness.passes = Recorded()


class Recorded:
    """Replacement for ``harness.passes``; holds the graph of one module at a time."""

    def __init__(self) -> None:
        self.eager = harness.passes
        self.module: nn.Module | None = None

    def __call__(self, module: nn.Module, words: Tensor, states: Tensor, count: int) -> tuple[Tensor, Tensor]:
        if not words.is_cuda:
            return self.eager(module, words, states, count)
        if module is not self.module:
            self.module = None
            self._record(module, words, states, count)
            self.module = module
        self.words.copy_(words)
        self.states.copy_(states)
        self.graph.replay()
        return self.logits, self.loss

    def _record(self, module: nn.Module, *batch: Any) -> None:
        self.words, self.states, count = batch[0].clone(), batch[1].clone(), batch[2]
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side), torch.device(self.words.device):
            for _ in range(3):
                _, loss = self.eager(module, self.words, self.states, count)
        torch.cuda.current_stream().wait_stream(side)
        eager = [loss.detach().clone(), *(grad.clone() for grad in gradients(module))]
        module.zero_grad()
        self.graph = torch.cuda.CUDAGraph()
        with torch.device(self.words.device), torch.cuda.graph(self.graph):
            self.logits, self.loss = self.eager(module, self.words, self.states, count)
        self.graph.replay()
        replayed = [self.loss.detach(), *gradients(module)]
        scale = max(float(one.abs().max()) for one in eager)
        gaps = [float((one - two).abs().max()) for one, two in zip(replayed, eager, strict=True)]
        if not max(gaps) <= 1e-3 * scale:
            raise RuntimeError(f"a recorded step is {max(gaps):.1e} from the step itself")


def gradients(module: nn.Module) -> list[Tensor]:
    return [parameter.grad for parameter in module.parameters() if parameter.grad is not None]
