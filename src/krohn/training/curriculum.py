"""A growing window: the loss counts on the positions that are solved and on some more, not on the whole word.

Networks solve long words from the left. The positions far beyond the solved ones teach nothing yet: they add
noise to the gradient and cost as much as the others.
"""

from collections.abc import Sequence
from dataclasses import dataclass

_SHORTEST = 16  # tokens; lengths that are read double from here, so that few kinds of step are ever prepared


@dataclass(frozen=True, kw_only=True)
class CurriculumConfig:
    """How the window follows what is solved.

    Attributes:
        start: positions in the window before the first evaluation, and the least at any time.
        growth: positions in the window for each position of the solved beginning.
        solved: held-out accuracy from which a position counts as solved.
    """

    start: int = 8
    growth: float = 1.5
    solved: float = 0.95

    def reasons(self) -> list[str]:
        """Every reason why this is no curriculum."""
        found = []
        if self.start < 1:
            found.append(f"start of the window must be at least 1 position; got {self.start}")
        if self.growth <= 1.0:
            found.append(f"growth of the window must be above 1; got {self.growth}")
        if not 0.0 < self.solved <= 1.0:
            found.append(f"solved must lie in (0, 1]; got {self.solved}")
        return found

    def window(self, position_accuracy: Sequence[float]) -> int:
        """Positions that count after an evaluation with these accuracies."""
        unsolved = (place for place, share in enumerate(position_accuracy) if share < self.solved)
        length = len(position_accuracy)
        beginning = next(unsolved, length)
        return min(length, max(self.start, round(min(self.growth * beginning, length))))


def tokens_read(window: int, num_tokens: int) -> int:
    """Tokens of a batch that must be read for a window of so many: the next power of two, or all."""
    length = _SHORTEST
    while length < window:
        length *= 2
    return min(length, num_tokens)
