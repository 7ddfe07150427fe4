"""Hints: heads of their own after the blocks of a network, trained in the same step, kept beside it.

A hint is a LayerNorm and a matrix on the residual stream after a block, with a cross-entropy of its own. The
network's parameters, first weights and answers are those it has without hints.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import torch
from torch import Tensor
from torch.nn import functional

from krohn.automata.distributions import parse_distribution
from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import KrohnError
from krohn.lab.models.architectures.gpt import Gpt, GptConfig
from krohn.lab.models.kernels import operations
from krohn.lab.models.kernels.operations import Operations
from krohn.lab.models.network import Network, Noise, round_up
from krohn.lab.models.parameters import Parameter, ParameterLayout, Weights
from krohn.lab.tasks.batches import Batch, Task
from krohn.lab.tasks.cascade_levels import cascade
from krohn.lab.tasks.doubling import doubling
from krohn.lab.tasks.lessons import Lessons
from krohn.lab.training.config import RunConfig

PREFIX: Final = "hint."
# Share of the validation letters from which a hint counts as solved (``--teach-until solved``).
SOLVED: Final = 0.99
# Words that hints are judged on during training: they decide nothing but ``--teach-until solved``.
JUDGED: Final = 256
_STD = 0.02


def lessons_of(config: RunConfig, automaton: Semiautomaton, device: torch.device) -> Lessons:
    """The hints that a run asks for."""
    teach, model = config.teach, config.model
    assert teach is not None
    assert isinstance(model, GptConfig)
    if teach.kind == "cascade":
        return cascade(automaton, model.layers, device)
    follows = parse_distribution(config.task.distribution, automaton).follows_state
    return doubling(automaton, teach.places(config.task.length), device, feasible=follows)


def teach_reasons(config: RunConfig, automaton: Semiautomaton) -> list[str]:
    """Why this automaton cannot be taught so; empty if it can, and without hints."""
    if config.teach is None:
        return []
    try:
        lessons_of(config, automaton, torch.device("cpu"))
    except KrohnError as error:
        return [str(error)]
    return []


class Teaching:
    """The hints of a run, and the network they are beside.

    Attributes:
        network: what is taught.
        lessons: what is asked, and the labels.
        layout: the network's parameters, then the hints'.
    """

    def __init__(self, config: RunConfig, task: Task, network: Network) -> None:
        assert isinstance(network, Gpt)
        self.network, self._begin = network, int(config.task.bos)
        self.lessons = lessons_of(config, task.automaton, task.device)
        self.hints = self.lessons.hints
        self._of_block = {hint.block: number for number, hint in enumerate(self.hints)}
        self.layout = ParameterLayout.of((*network.layout.parameters, *self._parameters(network.config.dim)))

    def _parameters(self, dim: int) -> list[Parameter]:
        return [
            parameter
            for number, hint in enumerate(self.hints)
            for parameter in (
                Parameter(f"{PREFIX}{number}.ln.weight", (dim,), "constant", 1.0),
                Parameter(f"{PREFIX}{number}.ln.bias", (dim,)),
                Parameter(
                    f"{PREFIX}{number}.weight", (dim, hint.parts * round_up(hint.classes)), "normal", _STD
                ),
            )
        ]

    def heads(self, flat: Tensor) -> dict[str, Tensor]:
        """The hints' parameters by name, of buffers that hold network and hints."""
        return {name: value for name, value in self.layout.views(flat).items() if name.startswith(PREFIX)}

    def labels(self, tokens: Tensor) -> Tensor:
        """Labels [hints, ..., tokens, parts] for tokens [..., tokens]; 0 at the beginning token."""
        result = self.lessons.labels(tokens[..., self._begin :])
        return functional.pad(result, (0, 0, self._begin, 0)).int()

    def losses(
        self, weights: Weights, batch: Batch, labels: Tensor, noise: Noise | None = None
    ) -> tuple[Tensor, Tensor]:
        """The network's loss [R], and the sum of those of the hints [R]."""
        scores: dict[int, Tensor] = {}
        after = partial(self._ask, weights, scores)
        loss = self.network.loss(weights, batch.tokens, batch.targets, batch.shown, noise, after)
        ops = operations.choose(weights["head.bias"])
        return loss, torch.stack(
            [
                ops.cross_entropy(
                    scores[number].view(len(loss), -1, round_up(hint.classes)),
                    None,
                    labels[number].flatten(1),
                    batch.shown.flatten(1).repeat_interleave(hint.parts, 1),
                    hint.classes,
                )
                for number, hint in enumerate(self.hints)
            ]
        ).sum(0)

    def _ask(
        self, weights: Weights, scores: dict[int, Tensor], block: int, x: Tensor, ops: Operations
    ) -> Tensor:
        """Puts the answers to the hint after ``block`` into ``scores``; the stream ``x`` goes on as it is."""
        number = self._of_block.get(block)
        if number is None:
            return x
        name = f"{PREFIX}{number}."
        norm = weights[f"{name}ln.weight"], weights[f"{name}ln.bias"]
        x, h = ops.add_norm(x, None, None, *norm, None)  # its x, so that gradients of the stream add up there
        scores[number] = ops.linear(h, weights[f"{name}weight"])
        return x

    @torch.no_grad()
    def accuracy(self, weights: Weights, batch: Batch, per_pass: int) -> Tensor:
        """Share of the letters [R, hints] at which a hint reads its label, for a batch [1, sequences, T]."""
        replicates = len(next(iter(weights.values())))
        right = torch.zeros(replicates, len(self.hints), dtype=torch.float64, device=batch.tokens.device)
        for first in range(0, batch.tokens.shape[1], per_pass):
            part = slice(first, first + per_pass)
            tokens = batch.tokens[:, part].expand(replicates, -1, -1).contiguous()
            scores: dict[int, Tensor] = {}
            self.network.logits(weights, tokens, None, partial(self._ask, weights, scores))
            labels, shown = self.labels(tokens), batch.shown[:, part].expand_as(tokens).bool()
            for number, hint in enumerate(self.hints):
                answers = scores[number].view(*tokens.shape, hint.parts, -1)[..., : hint.classes].argmax(-1)
                right[:, number] += ((answers == labels[number]).all(-1) & shown).sum((1, 2))
        return (right / batch.shown.sum()).cpu()

    def report(self, shares: Tensor) -> list[list[dict[str, Any]]]:
        """For each replicate its hints as plain values, with the share [R, hints] that each reads right."""
        return [
            [
                {"block": hint.block, "about": hint.about, "classes": hint.classes, "accuracy": share}
                for hint, share in zip(self.hints, row, strict=True)
            ]
            for row in shares.tolist()
        ]


def has_learned(rows: Sequence[dict[str, Any]], replicate: int) -> bool:
    """Whether all hints of a replicate were solved at some evaluation."""
    return any(min(row["hints"][replicate]) >= SOLVED for row in rows)
