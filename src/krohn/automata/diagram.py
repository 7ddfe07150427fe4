"""State diagrams: the states on a circle, an arrow for each pair of states that some letter joins."""

import math
from typing import Protocol

import numpy as np
import numpy.typing as npt

from krohn.errors import LimitExceeded
from krohn.svg import Canvas

MAX_DRAWN = 60
_COLOURS = ("#ffffff", "#cfe2f3", "#fce5cd", "#d9ead3", "#f4cccc", "#d9d2e9", "#fff2cc", "#d0e0e3")
_MARGIN = 70.0
_Point = tuple[float, float]


class Drawable(Protocol):
    """What a picture needs of an automaton; the automaton itself can then show its picture."""

    @property
    def table(self) -> npt.NDArray[np.int32]:
        """Next states, states × letters."""

    @property
    def start(self) -> int:
        """The start state."""

    @property
    def state_names(self) -> tuple[str, ...]:
        """Names of the states."""

    @property
    def letter_names(self) -> tuple[str, ...]:
        """Names of the letters."""

    @property
    def observe(self) -> tuple[int, ...] | None:
        """Observations of the states."""


def diagram(automaton: Drawable) -> str:
    """The state diagram as an SVG document; states of one observation share a colour."""
    count = len(automaton.state_names)
    if count > MAX_DRAWN:
        raise LimitExceeded(
            f"a state diagram may have at most {MAX_DRAWN} states; got {count}: "
            "draw a quotient or a restriction"
        )
    radius = 12.0 + 3.2 * min(8, max(map(len, automaton.state_names)))
    ring = max(90.0, count * (radius + 26) / math.pi) if count > 1 else 0.0
    centre = ring + radius + _MARGIN
    canvas = Canvas(2 * centre, 2 * centre)
    places = _places(count, ring, centre)
    for (source, target), letters in _joined(automaton).items():
        label = ", ".join(letters)
        if source == target:
            _loop(canvas, places[source], (centre, centre), radius, label)
        else:
            _arrow(canvas, places[source], places[target], radius, label)
    for state, (x, y) in enumerate(places):
        _state(canvas, automaton, state, x, y, radius)
    return canvas.render()


def _places(count: int, ring: float, centre: float) -> list[_Point]:
    angles = [2 * math.pi * index / count - math.pi / 2 for index in range(count)]
    return [(centre + ring * math.cos(angle), centre + ring * math.sin(angle)) for angle in angles]


def _joined(automaton: Drawable) -> dict[tuple[int, int], list[str]]:
    """For each pair of states the letters that lead from the first to the second."""
    pairs: dict[tuple[int, int], list[str]] = {}
    for state, row in enumerate(automaton.table.tolist()):
        for letter, target in zip(automaton.letter_names, row, strict=True):
            pairs.setdefault((state, target), []).append(letter)
    return {pair: letters if len(letters) <= 6 else [*letters[:5], "…"] for pair, letters in pairs.items()}


def _state(canvas: Canvas, automaton: Drawable, state: int, x: float, y: float, radius: float) -> None:
    seen = 0 if automaton.observe is None else automaton.observe[state]
    canvas.circle(x, y, radius, fill=_COLOURS[seen % len(_COLOURS)], stroke="#444")
    observed = "" if automaton.observe is None else f", observed as {seen}"
    canvas.title(f"state {automaton.state_names[state]}{observed}")
    if state == automaton.start:
        canvas.circle(x, y, radius - 4, stroke="#444")
    name = automaton.state_names[state]
    canvas.text(x, y, name if len(name) <= 8 else f"{name[:7]}…", size=12)


def _arrow(canvas: Canvas, start: _Point, end: _Point, radius: float, label: str) -> None:
    (x1, y1), (x2, y2) = start, end
    length = math.dist(start, end)
    along_x, along_y = (x2 - x1) / length, (y2 - y1) / length
    # Every arrow bends to its left, so the arrows of a pair of states keep apart.
    bend = min(22.0, 0.14 * length)
    lean = 4 * bend / length
    out_x, out_y = along_x + lean * along_y, along_y - lean * along_x
    in_x, in_y = along_x - lean * along_y, along_y + lean * along_x
    norm = math.hypot(out_x, out_y)
    canvas.arrow(
        x1 + radius * out_x / norm,
        y1 + radius * out_y / norm,
        x2 - (radius + 1) * in_x / norm,
        y2 - (radius + 1) * in_y / norm,
        bend=bend,
        stroke="#666",
    )
    middle_x, middle_y = (x1 + x2) / 2 + (bend + 9) * along_y, (y1 + y2) / 2 - (bend + 9) * along_x
    canvas.text(middle_x, middle_y, label, size=11, fill="#333")


def _loop(canvas: Canvas, place: _Point, centre: _Point, radius: float, label: str) -> None:
    """A loop that points away from the middle of the picture."""
    x, y = place
    distance = math.dist(place, centre)
    away = math.atan2(y - centre[1], x - centre[0]) if distance > 1 else -math.pi / 2
    ends = [(x + radius * math.cos(away + side), y + radius * math.sin(away + side)) for side in (-0.5, 0.5)]
    reach = radius + 38
    hooks = [(x + reach * math.cos(away + side), y + reach * math.sin(away + side)) for side in (-0.55, 0.55)]
    points = (ends[0], hooks[0], hooks[1], ends[1])
    data = "M{} C{} {} {}".format(*(f"{px:.1f},{py:.1f}" for px, py in points))
    canvas.path(data, stroke="#666", marker_end="url(#arrow)")
    canvas.text(
        x + (radius + 42) * math.cos(away), y + (radius + 42) * math.sin(away), label, size=11, fill="#333"
    )
