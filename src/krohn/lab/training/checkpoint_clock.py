"""When the next checkpoint is due."""

import time
from collections.abc import Callable


class CheckpointClock:
    """Writes a checkpoint every few seconds, and less often if writing takes long.

    Attributes:
        seconds: minimum interval; 0 for a checkpoint at every evaluation and none in between.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._due = time.monotonic() + seconds

    def due(self, *, evaluated: bool) -> bool:
        """Whether to write one now, at an evaluation or between two."""
        return (evaluated or self.seconds > 0.0) and time.monotonic() >= self._due

    def write(self, save: Callable[[], None]) -> None:
        """Calls ``save`` and schedules the next: at most a tenth of the time is spent writing."""
        began = time.monotonic()
        save()
        ended = time.monotonic()
        self._due = ended + (max(self.seconds, 9.0 * (ended - began)) if self.seconds else 0.0)
