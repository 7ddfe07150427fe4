"""Progress display: a bar on a terminal, lines elsewhere."""

import sys
import time
from collections.abc import Callable

from tqdm import tqdm

LINE_SECONDS = 30.0  # between two lines when stderr is not a terminal


class Progress:
    """Receives the events of a run; this one shows nothing."""

    def advance(self, steps: int) -> None:
        """``steps`` more steps are done, or queued on a GPU."""

    def report(self, step: int, values: dict[str, float]) -> None:
        """An evaluation at ``step`` gave these numbers."""

    def close(self) -> None:
        """The run is over."""


class TimeLeft:
    """Estimate of the time left, from the pace of the current session.

    The pace is measured between evaluations, their own time included: GPU steps are queued long before they
    are done, so counting steps ``ahead`` would be too optimistic.
    """

    def __init__(
        self, steps: int, done: int, *, ahead: bool, now: Callable[[], float] = time.monotonic
    ) -> None:
        self.steps, self.done = steps, done
        self._ahead, self._now = ahead, now
        self._evaluated, self._since = done, now()
        self._pace: float | None = None

    def advance(self, steps: int) -> None:
        """``steps`` more steps are done or queued."""
        self.done += steps

    def evaluate(self, step: int) -> None:
        """All steps before ``step`` are done. The last pace has weight ½: it changes as replicates end."""
        pace = self._measured(step)
        if pace is not None:
            self._pace = pace if self._pace is None else 0.5 * (self._pace + pace)
        self._evaluated, self._since = step, self._now()

    def seconds(self) -> float | None:
        """Seconds to the last step; ``None`` before the first measurement."""
        pace = self._pace
        if pace is None and not self._ahead:
            pace = self._measured(self.done)
        if pace is None:
            return None
        return max(0.0, (self.steps - self._evaluated) * pace - (self._now() - self._since))

    def text(self) -> str:
        """In words, after a comma; empty if unknown."""
        seconds = self.seconds()
        return "" if seconds is None else f", {tqdm.format_interval(round(seconds))} left"

    def _measured(self, step: int) -> float | None:
        return (self._now() - self._since) / (step - self._evaluated) if step > self._evaluated else None


class ProgressBar(Progress):
    """A bar on stderr with the time left, loss, best and median accuracy and sequences per second."""

    def __init__(self, left: TimeLeft) -> None:
        self._left, self._numbers = left, ""
        self._bar = tqdm(
            total=left.steps,
            initial=left.done,
            file=sys.stderr,
            dynamic_ncols=True,
            bar_format="{percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt}{postfix}",
        )

    def advance(self, steps: int) -> None:
        """Moves the bar."""
        self._left.advance(steps)
        self._show()
        self._bar.update(steps)

    def report(self, step: int, values: dict[str, float]) -> None:
        """Shows the numbers behind the bar."""
        self._left.evaluate(step)
        self._numbers = f", {in_words(values)}"
        self._show()
        self._bar.refresh()

    def _show(self) -> None:
        # tqdm puts the comma before the first of them itself.
        text = f"{self._left.text()}{self._numbers}".removeprefix(", ")
        self._bar.set_postfix_str(text, refresh=False)

    def close(self) -> None:
        """Leaves the bar as it is."""
        self._bar.close()


class Lines(Progress):
    """Occasional lines on stderr, always at the first and the last evaluation."""

    def __init__(self, left: TimeLeft, *, now: Callable[[], float] = time.monotonic) -> None:
        self._left, self._now = left, now
        self._due, self._held_back = now(), ""

    def advance(self, steps: int) -> None:
        """Counts them."""
        self._left.advance(steps)

    def report(self, step: int, values: dict[str, float]) -> None:
        """Writes a line, or keeps it in case it is the last."""
        self._left.evaluate(step)
        self._held_back = f"step {step:,} of {self._left.steps:,}: {in_words(values)}{self._left.text()}"
        if self._now() >= self._due:
            self._due = self._now() + LINE_SECONDS
            self._write()

    def close(self) -> None:
        """Writes the last line, if it was held back."""
        if self._held_back:
            self._write()

    def _write(self) -> None:
        sys.stderr.write(f"{self._held_back}\n")
        sys.stderr.flush()
        self._held_back = ""


def in_words(values: dict[str, float]) -> str:
    """The numbers of an evaluation for a person; with a bar they fit into 80 columns."""
    return (
        f"loss {values['loss']:.3g}, best {values['best']:.2%}, median {values['median']:.2%}, "
        f"{values['sequences_per_second']:,.0f} seq/s"
    )
