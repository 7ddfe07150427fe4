"""Successive halving: replicates differ by luck, and the unlucky half is given up again and again.

Whether a replicate will solve a task shows long before it does. A run that looks for one solution can start
many replicates and finish few, for the price of a few (Jamieson and Talwalkar, 2016).
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class HalvingConfig:
    """When replicates are given up.

    Attributes:
        every: steps after which the worse half of those in training is given up, again and again; each time
            at the first evaluation from there on.
        least: replicates that are never given up before one is solved; then all others are.
    """

    every: int = 8000
    least: int = 1

    def reasons(self) -> list[str]:
        """Every reason why this is no halving."""
        if self.every < 1 or self.least < 1:
            return [f"halving needs every and least of at least 1; got {self.every} and {self.least}"]
        return []

    def given_up(self, before: int, step: int, status: Sequence[str], accuracy: Sequence[float]) -> list[int]:
        """The replicates to give up after the evaluation at ``step``; the one before it was at ``before``."""
        training = [replicate for replicate, word in enumerate(status) if word == "training"]
        if "solved" in status:
            return training
        if before // self.every == step // self.every:
            return []
        # Stable: of equals the first stays.
        ranked = sorted(training, key=lambda replicate: -accuracy[replicate])
        return sorted(ranked[max(self.least, (len(ranked) + 1) // 2) :])
