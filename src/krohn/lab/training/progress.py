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
    """Estimate of the time left, by the pace of this session up to its last evaluation.

    Steps are queued on a GPU long before they are done, so evaluations alone measure the pace.
    """

    def __init__(self, steps: int, done: int, *, now: Callable[[], float] = time.monotonic) -> None:
        self.steps, self.done = steps, done
        self._now, self._since = now, now()
        self._end: float | None = None

    def evaluate(self, step: int) -> None:
        """All steps before ``step`` are done."""
        now = self._now()
        if step > self.done:
            self._end = now + (self.steps - step) * (now - self._since) / (step - self.done)

    def text(self) -> str:
        """In words, after a comma; empty before the first evaluation."""
        if self._end is None:
            return ""
        return f", {tqdm.format_interval(round(max(0.0, self._end - self._now())))} left"


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
