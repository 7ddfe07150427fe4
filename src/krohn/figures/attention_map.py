"""Attention maps as the paper draws them: weights below the diagonal, boundary visits above it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from krohn.errors import InvalidInput
from krohn.figures.style import house_style

# White and grey strips as in the paper; the frame's colour and dash show how the head was classified.
LEFT_STRIP, RIGHT_STRIP, ABOVE = (1.0, 1.0, 1.0), (0.55, 0.55, 0.55), (0.13, 0.0, 0.30)
FRAMES: dict[str, tuple[str, Any]] = {
    "left": ("#0072B2", "-"),
    "right": ("#D55E00", "--"),
    "both": ("#CC79A7", "-."),
    "uniform": ("#009E73", ":"),
}


@dataclass(frozen=True, kw_only=True)
class AttentionMap:
    """One head on one word: ``weights[t, i]`` for i ≤ t, and the states after each letter.

    ``kind`` is the head's class: a detector of the left or right wall or both, uniform, nothing.
    """

    title: str
    weights: NDArray[np.floating]
    states: Sequence[int]
    last_state: int
    kind: str = ""

    def __post_init__(self) -> None:
        length = len(self.states)
        if self.weights.shape != (length, length):
            given = f"{self.weights.shape} and {length}"
            raise InvalidInput(f"attention must be one row and column for each state; got {given}")
        if self.kind not in ("", *FRAMES):
            raise InvalidInput(f"a head must be of kind {', '.join(FRAMES)} or none; got {self.kind!r}")


def attention_maps(maps: Sequence[AttentionMap], *, columns: int = 4, note: str = "") -> Figure:
    """The heads in a grid; strips mark state 0 (white) and the last state (grey)."""
    rows = -(-len(maps) // columns)
    columns = min(columns, len(maps))
    with house_style():
        figure = Figure(figsize=(0.2 + 2.1 * columns, 0.4 + 2.3 * rows), layout="constrained")
        places = figure.subplots(rows, columns, squeeze=False).ravel()
        for axes, shown in zip(places, maps, strict=False):
            _draw(axes, shown)
        for axes in places[len(maps) :]:
            axes.set_axis_off()
        if note:
            figure.suptitle(note, fontsize=7)
    return figure


def picture(shown: AttentionMap) -> NDArray[np.float64]:
    """The pixels: each row's weights scaled by the map's largest, strips above the diagonal."""
    length = len(shown.states)
    largest = max(float(np.tril(shown.weights).max()), 1e-9)
    # The square root keeps a head that spreads over a hundred positions visible beside one that does not.
    level = np.sqrt(np.tril(shown.weights) / largest)
    pixels = _inferno(level)
    above = np.triu(np.ones((length, length), dtype=bool), 1)
    strips = np.array([_strip(state, shown.last_state) for state in shown.states])
    pixels[above] = np.broadcast_to(strips, (length, length, 3))[above]
    return pixels


def _strip(state: int, last_state: int) -> tuple[float, float, float]:
    return LEFT_STRIP if state == 0 else RIGHT_STRIP if state == last_state else ABOVE


def _inferno(level: NDArray[np.floating]) -> NDArray[np.float64]:
    return np.asarray(colormaps["inferno"](level)[..., :3], dtype=np.float64)


def _draw(axes: Axes, shown: AttentionMap) -> None:
    axes.imshow(picture(shown), interpolation="nearest")
    axes.set_title(shown.title, fontsize=7)
    axes.set_xticks([0, len(shown.states) - 1], ["1", str(len(shown.states))], fontsize=6)
    axes.set_yticks([0, len(shown.states) - 1], ["1", str(len(shown.states))], fontsize=6)
    for spine in axes.spines.values():
        spine.set_visible(True)
        if shown.kind:
            colour, dash = FRAMES[shown.kind]
            spine.set(color=colour, linewidth=2.5, linestyle=dash)
