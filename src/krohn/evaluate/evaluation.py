"""What can be measured of trained replicates at the end of a run."""

from typing import Any, Protocol

from krohn.evaluate.trained import Trained


class Evaluation(Protocol):
    """A measurement with a name; ``measure`` gives one JSON value for each replicate."""

    @property
    def name(self) -> str:
        """The key under which the result is stored."""

    def measure(self, trained: Trained) -> list[Any]:
        """The results, replicate by replicate."""
