"""Which coordinates of the Krohn–Rhodes cascade can be read off which layer of a trained network?"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from krohn.cascade.holonomy import Cascade, holonomy_cascade
from krohn.evaluate.evaluation import Trained
from krohn.evaluate.probe import linear_probe
from krohn.evaluate.trace import trace


def coordinates_along(cascade: Cascade, words: Tensor) -> Tensor:
    """The cascade's coordinates [level, word, t] after each letter of ``words`` [word, t]."""
    rows = []
    for word in words.tolist():
        current = cascade.initial
        row = []
        for letter in word:
            current = cascade.step(current, letter)
            row.append(current)
        rows.append(row)
    return torch.tensor(rows).permute(2, 0, 1)


@dataclass(frozen=True, kw_only=True)
class CascadeProbe:
    """Linear probes of every layer for the state and for every coordinate, evaluated on held-out words.

    A replicate's result holds, for each target, the accuracy after the embedding and after each block, and
    that of guessing the most common value.
    """

    words: int = 64
    seed: int = 2**43
    name: str = "cascade"

    def measure(self, trained: Trained) -> list[dict[str, Any]]:
        """See :class:`krohn.evaluate.evaluation.Evaluation`."""
        words, batch = trained.task_with().held_out(self.seed, self.words)
        coordinates = coordinates_along(holonomy_cascade(trained.automaton), words[0].cpu())
        targets = {"state": batch.targets[0].long()}
        targets |= {f"level {level}": values for level, values in enumerate(coordinates)}
        streams = trace(trained, words[0]).residual
        return [self._probe(streams[replicate], targets) for replicate in range(trained.replicates)]

    def _probe(self, streams: Tensor, targets: dict[str, Tensor]) -> dict[str, Any]:
        outcome: dict[str, Any] = {}
        for name, labels in targets.items():
            results = [linear_probe(stream, labels.to(stream.device)) for stream in streams]
            outcome[name] = {
                "accuracy": [round(result.accuracy, 4) for result in results],
                "baseline": round(results[0].baseline, 4),
            }
        return outcome
