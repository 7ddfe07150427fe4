"""Scores of each replicate on a validation or test set, and the history of a run."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import torch
from torch import Tensor

from krohn.lab.models.network import Network
from krohn.lab.models.parameters import Weights
from krohn.lab.tasks.batches import Batch


@dataclass(frozen=True)
class Scores:
    """Accuracies of R replicates on one set of sequences; float64 on the CPU.

    Attributes:
        token: fraction of right positions [R].
        error: standard error of ``token`` over sequences [R]: errors within a sequence are correlated.
        sequence: fraction of sequences with no mistake [R].
        position: fraction right at each position [R, T].
        loss: mean cross-entropy [R].
    """

    token: Tensor
    error: Tensor
    sequence: Tensor
    position: Tensor
    loss: Tensor

    def of(self, replicate: int) -> dict[str, Any]:
        """One replicate's numbers as plain values."""
        return {
            "accuracy": float(self.token[replicate]),
            "sequence_accuracy": float(self.sequence[replicate]),
            "position_accuracy": self.position[replicate].tolist(),
            "loss": _number(self.loss[replicate]),
        }


@torch.no_grad()
def right_answers(
    network: Network, weights: Weights, batch: Batch, *, per_pass: int = 64
) -> tuple[Tensor, Tensor]:
    """Which answers [R, sequences, T] on ``batch`` [1 or R, sequences, tokens] are right, and the loss [R].

    Only positions with a label count.
    """
    replicates, count = len(next(iter(weights.values()))), batch.tokens.shape[1]
    labelled = batch.shown[0, 0].bool()
    right, losses = [], []
    for first in range(0, count, per_pass):
        part = slice(first, first + per_pass)
        tokens = batch.tokens[:, part].expand(replicates, -1, -1).contiguous()
        wanted = batch.targets[:, part].expand(replicates, -1, -1)[..., labelled].long()
        logits = network.logits(weights, tokens)[..., labelled, :]
        right.append(logits.argmax(-1) == wanted)
        chance = torch.log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32)), -1)
        losses.append(-chance.gather(-1, wanted[..., None]).sum((1, 2, 3)))
    total = torch.stack(losses).sum(0) / (count * int(labelled.sum()))
    return torch.cat(right, 1), total


def scores_of(right: Tensor, loss: Tensor) -> Scores:
    """Scores from a table [R, sequences, T] of right answers; a non-finite loss counts all as wrong."""
    right = right.bool() & torch.isfinite(loss)[:, None, None]
    position = right.sum(1, dtype=torch.int64).cpu().double() / right.shape[1]
    sequence = right.all(-1).sum(1, dtype=torch.int64).cpu().double() / right.shape[1]
    words = right.sum(-1, dtype=torch.int64).cpu().double() / right.shape[2]
    error = words.std(1, correction=0) / len(words[0]) ** 0.5
    return Scores(position.mean(1), error, sequence, position, loss.detach().cpu().double())


CURVES = ("loss", "accuracy", "sequence_accuracy")


@dataclass
class History:
    """One row per evaluation, and the best evaluation of each replicate."""

    replicates: int
    rows: list[dict[str, Any]] = field(default_factory=list)
    best: list[dict[str, Any]] = field(default_factory=list)
    final: list[dict[str, Any]] = field(default_factory=list)

    @property
    def last_step(self) -> int:
        """The step of the last evaluation; 0 before the first."""
        return int(self.rows[-1]["step"]) if self.rows else 0

    def add(self, step: int, judged: Mapping[int, int], train_loss: Tensor, scores: Scores) -> list[bool]:
        """Appends a row; returns which replicates now have their best token accuracy so far.

        An evaluation with a non-finite loss is never a replicate's best.

        ``judged`` gives the row in ``train_loss`` and ``scores`` of each replicate in training; the others
        are frozen and keep their scores, without a training loss.
        """
        entries = {replicate: {"step": step, **scores.of(row)} for replicate, row in judged.items()}
        losses = {replicate: _number(train_loss[row]) for replicate, row in judged.items()}
        self.final = [entries.get(replicate) or self.final[replicate] for replicate in self._all]
        self.rows.append(
            {
                "step": step,
                "train_loss": [losses.get(replicate) for replicate in self._all],
                **{name: [entry[name] for entry in self.final] for name in CURVES},
            }
        )
        if not self.best:
            self.best = [dict(entry) for entry in self.final]
            return [entry["loss"] is not None for entry in self.best]
        better = [_is_better(new, old) for new, old in zip(self.final, self.best, strict=True)]
        self.best = [
            dict(new) if won else old for new, old, won in zip(self.final, self.best, better, strict=True)
        ]
        return better

    def add_hints(self, judged: Mapping[int, int], shares: Tensor) -> None:
        """Adds to the last row what each hint reads right, ``shares`` [rows, hints]; as in ``add``."""
        before = self.rows[-2]["hints"] if len(self.rows) > 1 else [[]] * self.replicates
        values = {replicate: shares[row].tolist() for replicate, row in judged.items()}
        self.rows[-1]["hints"] = [values.get(replicate, before[replicate]) for replicate in self._all]

    @property
    def _all(self) -> range:
        return range(self.replicates)

    def losses(self) -> Tensor:
        """The validation losses [R] of the last evaluation; NaN where there is none."""
        values = [entry["loss"] for entry in self.final]
        return torch.tensor([math.nan if value is None else value for value in values], dtype=torch.float64)

    def close(self, status: Sequence[str]) -> None:
        """Completes a row with the status of each replicate."""
        self.rows[-1]["status"] = list(status)

    def summary(self) -> tuple[float, float]:
        """Best and median over replicates of the best token accuracy so far."""
        accuracies = [entry["accuracy"] for entry in self.best] or [0.0]
        return max(accuracies), median(accuracies)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"rows": self.rows, "best": self.best, "final": self.final}


def _is_better(new: dict[str, Any], old: dict[str, Any]) -> bool:
    if new["loss"] is None or old["loss"] is None:
        return new["loss"] is not None
    return bool(new["accuracy"] > old["accuracy"])


def trained_steps(rows: Sequence[dict[str, Any]], replicate: int) -> int:
    """The last training step of a replicate: it is frozen once it is done."""
    ended = (row["step"] for row in rows if row["status"][replicate] != "training")
    return int(next(ended, rows[-1]["step"] if rows else 0))


def _number(value: Tensor) -> float | None:
    # JSON has no NaN: a diverged replicate's loss is null
    return float(value) if torch.isfinite(value) else None
