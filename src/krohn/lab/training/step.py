"""A whole training step: draw a batch, compute gradients, update the weights.

Many steps run without host synchronisation, as CUDA graphs where there is a GPU.
A chunk of batches is drawn at once, so that the loop over positions that computes the states costs next to
nothing; a counter on the device picks the next batch and the next learning rate.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from krohn.lab import random_streams
from krohn.lab.models.network import Network, Noise
from krohn.lab.tasks.batches import Batch, Task
from krohn.lab.training.adamw import AdamW, at_least_float
from krohn.lab.training.config import RunConfig
from krohn.lab.training.learning_rates import rate_table
from krohn.lab.training.muon import Muon
from krohn.lab.training.state import DATA, NOISE, TrainState, replicate_keys
from krohn.lab.training.teaching import Teaching

Action = Callable[[], None]


class Stepper:
    """Training steps on one device, on the first ``tokens`` tokens of each sequence.

    ``replicates`` are those whose rows the state holds: all of the run by default. With ``teaching`` the
    state holds the hints' parameters too, and ``taught`` says which rows get hints.
    """

    def __init__(
        self,
        config: RunConfig,
        network: Network,
        task: Task,
        state: TrainState,
        tokens: int | None = None,
        replicates: Sequence[int] | None = None,
        teaching: Teaching | None = None,
    ) -> None:
        device, count = state.weight.device, len(state.weight)
        rows = range(count) if replicates is None else replicates
        chosen = torch.tensor(rows)
        self.config, self.network, self.task, self.state = config, network, task.of(rows), state
        self.teaching, layout = teaching, network.layout if teaching is None else teaching.layout
        self.chunk = 64 if device.type == "cuda" else 16
        self.leaves = layout.leaves(state.compute, state.gradient)
        self.optimizer = (
            Muon(config.optimizer, state, self.chunk, layout)
            if config.optimizer.method == "muon"
            else AdamW(config.optimizer, state, self.chunk)
        )
        self.loss = torch.zeros(count, dtype=at_least_float(state.compute), device=device)
        self.loss_sum = torch.zeros_like(self.loss, dtype=torch.float64)
        self._rates = torch.tensor(config.learning_rates, dtype=torch.float64)[chosen]
        self._first = torch.zeros(1, dtype=torch.int64, device=device)
        keys = replicate_keys(config, device)[chosen.to(device)]
        self._data_keys, self._noise_keys = (
            random_streams.derive(keys, DATA),
            random_streams.derive(keys, NOISE),
        )
        self.tokens = task.num_tokens if tokens is None else tokens
        # Mask the loss beyond each replicate's window.
        self.windows = torch.full((count,), self.tokens, device=device)
        shape = (self.chunk, count, config.optimizer.batch, self.tokens)
        self._step_noise = torch.zeros(self.chunk, count, dtype=torch.int64, device=device)
        self._buffers = torch.zeros(3, *shape, dtype=torch.int32, device=device)
        self.taught = torch.ones(count, device=device)
        self._hint_weights = torch.zeros(self.chunk, count, device=device)
        if teaching is not None:
            parts = teaching.hints[0].parts
            self._labels = torch.zeros(len(teaching.hints), *shape, parts, dtype=torch.int32, device=device)
        self._actions = _capture(self) if device.type == "cuda" else _eager(self)

    def run(self, first: int, count: int, cuts: Tensor, *, average: bool) -> None:
        """Steps ``first`` … ``first + count − 1``; ``cuts`` are the rows' plateau factors."""
        for start in range(first, first + count, self.chunk):
            length = min(self.chunk, first + count - start)
            table = rate_table(self.config.optimizer, self._rates, cuts, start, length, self.config.steps)
            self.optimizer.rates[:length].copy_(table)
            self.optimizer.position.zero_()
            self._first.fill_(start)
            if self.teaching is not None:
                self._hint_weights.copy_(self.taught.expand_as(self._hint_weights))
                self._hint_weights[max(0, self._hints_end - start) :] = 0.0
            self._actions["draw"]()
            for _ in range(length):
                self._actions["gradients"]()
                self._actions["average" if average else "update"]()

    @property
    def _hints_end(self) -> int:
        """The step from which no replicate gets hints."""
        until = None if self.config.teach is None else self.config.teach.until
        return until if isinstance(until, int) else self.config.steps

    def draw(self) -> None:
        """Fills the buffers with the batches of the next chunk of steps."""
        steps = self._first + torch.arange(self.chunk, device=self._first.device)
        batch = self.task.batch(self._data_keys, steps[:, None], self.config.optimizer.batch)
        self._step_noise.copy_(random_streams.derive(self._noise_keys, steps[:, None]))
        for buffer, tensor in zip(self._buffers, (batch.tokens, batch.targets, batch.shown), strict=True):
            buffer.copy_(tensor[..., : self.tokens])
        if self.teaching is not None:
            self._labels.copy_(self.teaching.labels(self._buffers[0]))
        self._buffers[2] *= torch.arange(self.tokens, device=steps.device) < self.windows[:, None, None]

    def gradients(self) -> None:
        """Loss and gradients of the batch at the counter."""
        position = self.optimizer.position
        tokens, targets, shown = self._buffers.index_select(1, position).squeeze(1)
        noise = Noise(self._step_noise.index_select(0, position).squeeze(0))
        if self.teaching is None:
            loss = total = self.network.loss(self.leaves, tokens, targets, shown, noise)
        else:
            labels = self._labels.index_select(1, position).squeeze(1)
            batch = Batch(tokens, targets, shown)
            loss, hints = self.teaching.losses(self.leaves, batch, labels, noise)
            weights = self._hint_weights.index_select(0, position).squeeze(0)
            total = loss + hints * weights.to(hints.dtype)
        if self.network.writes_gradients(self.leaves):
            total.sum().backward()  # type: ignore[no-untyped-call]
        else:
            result = torch.autograd.grad(total.sum(), list(self.leaves.values()))
            for leaf, gradient in zip(self.leaves.values(), result, strict=True):
                assert leaf.grad is not None
                leaf.grad.copy_(gradient)
        self.loss.copy_(loss.detach())

    def update(self, *, average: bool) -> None:
        """Optimiser step; advances the counter."""
        self.optimizer.step(self.loss, average=average)
        self.loss_sum += self.loss

    def take_losses(self, count: int) -> Tensor:
        """Returns the mean training loss [R] of the last ``count`` steps and resets the sum."""
        mean = self.loss_sum.cpu() / count
        self.loss_sum.zero_()
        return mean


def _eager(stepper: Stepper) -> dict[str, Action]:
    return {
        "draw": stepper.draw,
        "gradients": stepper.gradients,
        "update": lambda: stepper.update(average=False),
        "average": lambda: stepper.update(average=True),
    }


def _capture(stepper: Stepper) -> dict[str, Action]:
    """The same actions as CUDA graphs. The warm-up changes nothing: every replicate is frozen during it."""
    state, position = stepper.state, stepper.optimizer.position
    alive = state.alive.clone()
    stream: torch.cuda.Stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    graphs: dict[str, Action] = {}
    for name, action in _eager(stepper).items():
        state.alive.zero_()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(2):
                position.zero_()
                action()
        torch.cuda.current_stream().wait_stream(stream)
        position.zero_()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            action()
        graphs[name] = graph.replay
    state.alive.copy_(alive)
    position.zero_()
    stepper.loss_sum.zero_()
    return graphs
