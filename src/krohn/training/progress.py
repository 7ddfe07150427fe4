"""How a run shows itself: a bar on a terminal, TensorBoard files on request."""

import sys
from pathlib import Path
from typing import Any, Protocol

from tqdm import tqdm


class Progress(Protocol):
    """Receives what happens during a run."""

    def advance(self, steps: int) -> None:
        """``steps`` more steps are done."""

    def report(self, step: int, values: dict[str, float]) -> None:
        """Numbers of an evaluation."""

    def close(self) -> None:
        """The run is over."""


class Silence:
    """Shows nothing."""

    def advance(self, steps: int) -> None:
        """Nothing."""

    def report(self, step: int, values: dict[str, float]) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


class Bar:
    """A bar on stderr with loss, best and median accuracy, sequences per second and the time left."""

    def __init__(self, steps: int, done: int) -> None:
        self._bar = tqdm(
            total=steps, initial=done, unit="step", file=sys.stderr, dynamic_ncols=True, smoothing=0.1
        )

    def advance(self, steps: int) -> None:
        """Moves the bar."""
        self._bar.update(steps)

    def report(self, step: int, values: dict[str, float]) -> None:
        """Shows the numbers behind the bar."""
        self._bar.set_postfix_str(
            f"loss {values['loss']:.4f}, best {values['best']:.2%}, median {values['median']:.2%}, "
            f"{values['sequences_per_second']:,.0f} seq/s"
        )

    def close(self) -> None:
        """Leaves the bar as it is."""
        self._bar.close()


class TensorBoard:
    """Writes the numbers of each evaluation as TensorBoard scalars, beside another display."""

    def __init__(self, directory: Path, beside: Progress) -> None:
        from torch.utils.tensorboard import SummaryWriter  # optional package, only on request

        self._writer: Any = SummaryWriter(log_dir=str(directory))
        self._beside = beside

    def advance(self, steps: int) -> None:
        """Passed on."""
        self._beside.advance(steps)

    def report(self, step: int, values: dict[str, float]) -> None:
        """Writes and passes on."""
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)
        self._beside.report(step, values)

    def close(self) -> None:
        """Closes the files."""
        self._writer.close()
        self._beside.close()
