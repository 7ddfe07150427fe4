"""Where replicates lie in the buffers, so that those that are done cost nothing."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Slots:
    """The replicate in each row of the buffers; only the first ``width`` rows are trained and judged.

    Attributes:
        order: ``order[row]`` is the replicate in a row.
        width: the number of rows in work. Some of their replicates may be done already: making the work
            narrower prepares new steps, which must be worth it.
    """

    order: tuple[int, ...]
    width: int

    @classmethod
    def start(cls, replicates: int) -> "Slots":
        """Every replicate in its own row."""
        return cls(tuple(range(replicates)), replicates)

    @property
    def working(self) -> tuple[int, ...]:
        """The replicates in the rows in work."""
        return self.order[: self.width]

    @property
    def rows(self) -> list[int]:
        """The row of each replicate."""
        return sorted(range(len(self.order)), key=self.order.__getitem__)

    def narrowed(self, training: Sequence[bool]) -> "Slots":
        """Those in training first, once they fill at most half the rows in work; otherwise the same.

        Args:
            training: for each replicate, whether it is still in training.
        """
        kept = [replicate for replicate in self.working if training[replicate]]
        if not 0 < 2 * len(kept) <= self.width:
            return self
        rest = [replicate for replicate in self.order if replicate not in kept]
        return Slots((*kept, *rest), len(kept))
