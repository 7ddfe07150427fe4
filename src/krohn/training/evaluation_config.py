"""When and on what replicates are judged."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class EvaluationConfig:
    """When and on what replicates are judged.

    Attributes:
        every: steps between evaluations.
        sequences: held-out sequences, the same for all replicates.
        stop_at: token accuracy at which a replicate counts as solved and is frozen; ``None`` for never.
        seed: of the held-out sequences.
    """

    every: int = 500
    sequences: int = 2048
    stop_at: float | None = None
    seed: int = 2**40

    def reasons(self) -> list[str]:
        """Every reason why this is no evaluation."""
        found = []
        if self.every < 1 or self.sequences < 1:
            found.append(f"every and sequences must be at least 1; got {self.every} and {self.sequences}")
        if self.stop_at is not None and not 0.0 < self.stop_at <= 1.0:
            found.append(f"stop_at must lie in (0, 1]; got {self.stop_at}")
        if self.seed < 0:
            found.append(f"the seed of an evaluation must be at least 0; got {self.seed}")
        return found
