"""State diagrams: an arrow for each pair of states that some letter joins.

States stand on a circle. A larger automaton with a sink grows as a tree around its start instead, and the
arrows into the sink, which would cover all others, are left to one line of text. Where there are too many
arrows for labels, as in the Cayley graph of a group, the letters are colours.
"""

import math
from typing import Protocol

import numpy as np
import numpy.typing as npt

from krohn.errors import LimitExceeded
from krohn.svg import Canvas

MAX_DRAWN = 60
_COLOURS = ("#ffffff", "#cfe2f3", "#fce5cd", "#d9ead3", "#f4cccc", "#d9d2e9", "#fff2cc", "#d0e0e3")
_MARGIN = 70.0
_CROWDED = 12  # states from which labels leave the middle of the picture and arrows into a sink are left out
_MANY = 60  # arrows from which letters are told by colours
_INKS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b", "#e377c2", "#17becf", "#bcbd22")
_HALO = {"stroke": "white", "stroke_width": 3, "paint_order": "stroke"}
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
    sink = _left_out(automaton)
    offsets = _circle(count, radius) if sink is None else _tree(automaton, sink, radius)
    centre = max(math.hypot(x, y) for x, y in offsets) + radius + _MARGIN
    canvas = Canvas(2 * centre, 2 * centre)
    places = [(centre + x, centre + y) for x, y in offsets]
    if sink is not None:
        places[sink] = (radius + 12, radius + 12)
        text = f"moves that are not drawn lead to {automaton.state_names[sink]}"
        canvas.text(2 * radius + 24, radius + 12, text, size=12, fill="#333", text_anchor="start")
    pairs = {pair: letters for pair, letters in _joined(automaton).items() if pair[1] != sink}
    inks = _inks(canvas, automaton) if len(pairs) > _MANY and sink is None else {}
    for (source, target), letters in pairs.items():
        ink, label = inks.get(letters[0], "#666"), "" if inks else ", ".join(letters)
        if source == target:
            _loop(canvas, places[source], (centre, centre), radius, label, ink)
        else:
            _arrow(canvas, (places[source], places[target]), radius, label, ink)
        if inks:
            canvas.title(", ".join(letters))
    for state, (x, y) in enumerate(places):
        _state(canvas, automaton, state, x, y, radius)
    return canvas.render()


def _inks(canvas: Canvas, automaton: Drawable) -> dict[str, str]:
    """A colour for each letter, and the list of them in the corner."""
    letters = automaton.letter_names
    inks = {letter: _INKS[number % len(_INKS)] for number, letter in enumerate(letters)}
    for number, letter in enumerate(letters[: len(_INKS)]):
        y = 18 + 17 * number
        canvas.line(10, y, 34, y, stroke=inks[letter], stroke_width=2)
        canvas.text(40, y, letter, size=11, fill="#333", text_anchor="start")
    return inks


def _left_out(automaton: Drawable) -> int | None:
    """The only state that no letter leaves, if the picture is crowded and the start is another."""
    states = np.arange(len(automaton.table))
    fixed = np.flatnonzero((automaton.table == states[:, None]).all(axis=1)).tolist()
    crowded = len(states) > _CROWDED and len(fixed) == 1 and fixed[0] != automaton.start
    return fixed[0] if crowded else None


def _circle(count: int, radius: float) -> list[_Point]:
    ring = max(90.0, count * (radius + 26) / math.pi) if count > 1 else 0.0
    angles = [2 * math.pi * index / count - math.pi / 2 for index in range(count)]
    return [(ring * math.cos(angle), ring * math.sin(angle)) for angle in angles]


def _tree(automaton: Drawable, sink: int, radius: float) -> list[_Point]:
    """A shortest-path tree from the start: rings by distance, every subtree in a sector of its own."""
    parent, distance = _shortest_paths(automaton, sink)
    order = list(parent)
    children: dict[int, list[int]] = {}
    for state in order[1:]:
        children.setdefault(parent[state], []).append(state)
    leaves: dict[int, int] = {}
    for state in reversed(order):
        leaves[state] = sum(leaves[child] for child in children.get(state, ())) or 1
    deepest = max(distance.values())
    step = max(2 * radius + 44, leaves[automaton.start] * (2 * radius + 8) / (2 * math.pi * deepest))
    sector = {automaton.start: -math.pi / 2}
    for state in order:
        angle = sector[state]
        for child in children.get(state, ()):
            sector[child] = angle
            angle += 2 * math.pi * leaves[child] / leaves[automaton.start]
    places = [(0.0, 0.0)] * len(automaton.table)
    for state in order[1:]:
        middle = sector[state] + math.pi * leaves[state] / leaves[automaton.start]
        reach = step * distance[state]
        places[state] = (reach * math.cos(middle), reach * math.sin(middle))
    return places


def _shortest_paths(automaton: Drawable, sink: int) -> tuple[dict[int, int], dict[int, int]]:
    """Parents and distances in breadth-first order; states that no word reaches hang on the start."""
    parent, distance = {automaton.start: automaton.start}, {automaton.start: 0}
    order = [automaton.start]
    for root in (automaton.start, *range(len(automaton.table))):
        if root not in parent and root != sink:
            parent[root], distance[root] = automaton.start, 1
            order.append(root)
        for state in order:
            for target in automaton.table[state].tolist():
                if target not in parent and target != sink:
                    parent[target], distance[target] = state, distance[state] + 1
                    order.append(target)
        order.clear()
    return parent, distance


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


def _arrow(canvas: Canvas, ends: tuple[_Point, _Point], radius: float, label: str, ink: str) -> None:
    """A bent arrow with its label beside the curve's middle."""
    start, end = ends
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
        stroke=ink,
    )
    if label:
        label_x, label_y = (x1 + x2) / 2 + bend * along_y, (y1 + y2) / 2 - bend * along_x
        canvas.text(label_x, label_y, label, size=11, fill="#333", **_HALO)


def _loop(canvas: Canvas, place: _Point, centre: _Point, radius: float, label: str, ink: str) -> None:
    """A loop that points away from the middle of the picture."""
    x, y = place
    distance = math.dist(place, centre)
    away = math.atan2(y - centre[1], x - centre[0]) if distance > 1 else -math.pi / 2
    ends = [(x + radius * math.cos(away + side), y + radius * math.sin(away + side)) for side in (-0.5, 0.5)]
    reach = radius + 38
    hooks = [(x + reach * math.cos(away + side), y + reach * math.sin(away + side)) for side in (-0.55, 0.55)]
    points = (ends[0], hooks[0], hooks[1], ends[1])
    data = "M{} C{} {} {}".format(*(f"{px:.1f},{py:.1f}" for px, py in points))
    canvas.path(data, stroke=ink, marker_end="url(#arrow)")
    if not label:
        return
    # The loop bulges to three quarters of its hooks; half the width of a wide label goes on top at the sides.
    beyond = 0.25 * radius + 0.66 * reach + 9 + 3 * len(label) * abs(math.cos(away))
    canvas.text(
        x + beyond * math.cos(away), y + beyond * math.sin(away), label, size=11, fill="#333", **_HALO
    )
