"""When and on what replicates are judged."""

from dataclasses import dataclass

# Of the test words. They choose nothing: a run draws them once, when it is over, to report on.
TEST_SEED = 2**44


@dataclass(frozen=True, kw_only=True)
class EvaluationConfig:
    """When and on what replicates are judged.

    Attributes:
        every: steps between evaluations.
        sequences: held-out sequences, the same for all replicates; they choose checkpoints, stops, halving
            and windows. What is reported is measured on as many test sequences of another seed.
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
        if self.seed == TEST_SEED:
            found.append(f"the seed of an evaluation must not be that of the test words; got {self.seed}")
        return found
