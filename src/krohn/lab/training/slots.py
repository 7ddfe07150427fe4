"""The place of each replicate in the buffers: those that are done cost nothing."""

from collections.abc import Sequence
from dataclasses import dataclass

MANY_ROWS = 128


@dataclass(frozen=True)
class Slots:
    """The replicate in each row of the buffers; only the first ``width`` rows are active.

    Attributes:
        order: ``order[row]`` is the replicate in a row.
        width: the number of active rows. Some of their replicates may be done already: a new width needs new
            step graphs, which must be worth it.
    """

    order: tuple[int, ...]
    width: int

    @classmethod
    def start(cls, replicates: int) -> "Slots":
        """Every replicate in its own row."""
        return cls(tuple(range(replicates)), replicates)

    @property
    def working(self) -> tuple[int, ...]:
        """The replicates in the active rows."""
        return self.order[: self.width]

    @property
    def rows(self) -> list[int]:
        """The row of each replicate."""
        return sorted(range(len(self.order)), key=self.order.__getitem__)

    def narrow(self, training: Sequence[bool]) -> "Slots":
        """Compacted, those in training first, once few enough of the active rows train; else unchanged.

        That is at most half of them, or three quarters of many: new graphs take a second or two.

        Args:
            training: for each replicate, whether it is still in training.
        """
        active = [replicate for replicate in self.working if training[replicate]]
        most = self.width * 3 // 4 if self.width >= MANY_ROWS else self.width // 2
        if not 0 < len(active) <= most:
            return self
        rest = [replicate for replicate in self.order if replicate not in active]
        return Slots((*active, *rest), len(active))
