"""State diagrams as in textbooks: an arrow into the start, two circles where a state accepts.

A state accepts if it is observed as 1 and all observations are 0 or 1; other observations are colours.
Where arrows into a sink would cover the picture, one line of text replaces them. A group with many letters
is drawn as its Cayley diagram: only letters that generate it, in colours, with a list of those left out.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from krohn.automata.diagram_layout import Drawn, Point, circle, circles, cycles_of, lattice, line, tree
from krohn.automata.graph import sink_states, strong_components
from krohn.base.svg import Canvas, fit_text, text_width
from krohn.errors import LimitExceeded

MAX_DRAWN = 60
_FILLS = ("#ffffff", "#d6e6f5", "#fbe3cc", "#d8ead2", "#f3d3d3", "#ddd6ec", "#fdf0c8", "#d2e4e6")
_INKS = ("#2166ac", "#c0392b", "#2e8b57", "#8e5ea2", "#d97b0c", "#7a5230", "#c2569c", "#138d90", "#8a8d1e")
_LINE, _TEXT, _NOTE = "#555555", "#1c1c1c", "#444444"
_FEW = 5  # up to this many states a group is drawn with all letters, like any automaton
_CROWDED = 12  # above this many states, arrows into a sink are left out


def diagram(automaton: Drawn) -> str:
    """The state diagram as an SVG document."""
    count = len(automaton.state_names)
    if count > MAX_DRAWN:
        raise LimitExceeded(
            f"a state diagram may have at most {MAX_DRAWN} states; got {count}: "
            "draw a quotient or a restriction"
        )
    return _Diagram(automaton).render()


def places_of(automaton: Drawn) -> list[Point]:
    """Positions of the states in the diagram, x to the right and y down; the least x and y are 60."""
    places = _Diagram(automaton).places
    left, top = min(x for x, _ in places), min(y for _, y in places)
    return [(x - left + 60.0, y - top + 60.0) for x, y in places]


def accepting(automaton: Drawn) -> frozenset[int]:
    """The states that accept: observed as 1, where every observation is 0 or 1."""
    if not accepts_words(automaton):
        return frozenset()
    return frozenset(state for state, value in enumerate(automaton.observe or ()) if value)


def accepts_words(automaton: Drawn) -> bool:
    """Whether every observation is the number 0 or 1, so that some states accept and the others do not."""
    seen = automaton.observe
    return seen is not None and not automaton.observation_names and set(seen) <= {0, 1}


_BENDS = (
    0.0,
    *(sign * step for step in (7.0, 14.0, 20.0, 26.0, 32.0, 38.0, 46.0, 56.0, 68.0) for sign in (1, -1)),
)
"""Offsets tried from the wanted bend if that one crosses a state."""


@dataclass(frozen=True)
class _Arrow:
    source: int
    target: int
    letters: tuple[str, ...]
    ink: str = _LINE
    both_ways: bool = False
    inside: Point | None = None
    """The arrow bends away from this point; to the left of its own direction if there is none."""


class _Diagram:
    def __init__(self, automaton: Drawn) -> None:
        self.automaton = automaton
        self.canvas = Canvas(0, 0)
        self.accepting = accepting(automaton)
        names = automaton.state_names
        self.radius = 12.0 + 3.2 * min(8, max(map(len, names)))
        self.sink = _left_out(automaton)
        self.letters = _generating(automaton)
        self.places, self.centre = self._layout()
        self.labels: list[tuple[float, float, float]] = []
        self.loops: set[int] = set()

    def render(self) -> str:
        arrows = self._arrows()
        pairs = {(arrow.source, arrow.target) for arrow in arrows}
        for arrow in arrows:
            if arrow.source == arrow.target:
                self._loop(arrow)
            else:
                self._arrow(arrow, paired=(arrow.target, arrow.source) in pairs)
        self._start()
        for state in range(len(self.places)):
            self._state(state)
        self._notes()
        self.canvas.crop(14)
        name = self.automaton.name or "automaton"
        return self.canvas.render(paper="#ffffff", title=f"State diagram of {name}")

    def _layout(self) -> tuple[list[Point], Point]:
        automaton, radius = self.automaton, self.radius
        if self.sink is not None:
            places = tree(automaton, self.sink, radius)
            places[self.sink] = (min(x for x, _ in places), min(y for _, y in places) - 3 * radius)
            return places, (0.0, 0.0)
        if self.letters:
            return circles(automaton, self.letters, radius), (0.0, 0.0)
        straight = line(automaton, radius) or lattice(automaton, radius)
        if straight is not None:
            return straight, _centre(straight)
        return circle(list(range(len(automaton.table))), radius), (0.0, 0.0)

    def _arrows(self) -> list[_Arrow]:
        """One arrow for each pair of states joined, or one for each letter of a Cayley diagram."""
        names, table = self.automaton.letter_names, self.automaton.table
        if self.letters:
            return list(self._colour_arrows())
        pairs: dict[tuple[int, int], list[str]] = {}
        for state, row in enumerate(table.tolist()):
            for letter, target in zip(names, row, strict=True):
                if target != self.sink:
                    pairs.setdefault((state, target), []).append(letter)
        return [_Arrow(*pair, tuple(letters)) for pair, letters in pairs.items()]

    def _colour_arrows(self) -> list[_Arrow]:
        result = []
        for number, letter in enumerate(self.letters):
            images = self.automaton.table[:, letter].tolist()
            name, ink = (self.automaton.letter_names[letter],), _INKS[number % len(_INKS)]
            for cycle in cycles_of(self.automaton.table[:, letter]):
                inside = _centre([self.places[state] for state in cycle])
                result += [
                    _Arrow(source, images[source], name, ink, len(cycle) == 2, inside)
                    for source in (cycle[:1] if len(cycle) == 2 else cycle)
                ]
        return result

    def _notes(self) -> None:
        """The legend under the picture, with what is not drawn."""
        left, _, _, bottom = self.canvas.reach
        for number, letter in enumerate(self.letters):
            bottom += 24 if number == 0 else 18
            ink = _INKS[number % len(_INKS)]
            self.canvas.line(left, bottom, left + 26, bottom, stroke=ink, stroke_width=2)
            images = self.automaton.table[:, letter]
            twice = (images[images] == np.arange(len(images))).all()
            text = self.automaton.letter_names[letter] + (" (both ways)" if twice else "")
            self._note(left + 34, bottom, text)
        others = [
            name for number, name in enumerate(self.automaton.letter_names) if number not in self.letters
        ]
        if self.letters and others:
            self._note(left, bottom + 22, f"letters not drawn: {', '.join(others)}")
        if self.sink is not None:
            x, y = self.places[self.sink]
            name = self.automaton.state_names[self.sink]
            self._note(x + self.radius + 12, y, f"moves that are not drawn lead to {name}")

    def _note(self, x: float, y: float, text: str) -> None:
        text, size = fit_text(text, max(300.0, self.canvas.reach[2] - x), 12)
        self.canvas.text(x, y, text, size=size, fill=_NOTE, text_anchor="start", class_="note")

    def _start(self) -> None:
        """A short arrow into the start state, from outside and clear of its loop."""
        state = self.automaton.start
        angle = self._away(state) + (math.pi / 3.2 if state in self.loops else 0.0)
        x, y = self.places[state]
        reach = self.radius + 3 if state in self.accepting else self.radius
        far = (x + (reach + 30) * math.cos(angle), y + (reach + 30) * math.sin(angle))
        near = (x + (reach + 1) * math.cos(angle), y + (reach + 1) * math.sin(angle))
        self.canvas.curve([far, near], stroke=_TEXT, stroke_width=1.6, class_="start")

    def _away(self, state: int) -> float:
        """The direction away from the picture; on a line upwards, but outwards at its ends."""
        x, y = self.places[state]
        if all(other == 0.0 for _, other in self.places):
            ends = {min(self.places): math.pi, max(self.places): 0.0}
            return ends.get((x, y), -math.pi / 2)
        off = (x - self.centre[0], y - self.centre[1])
        return math.atan2(off[1], off[0]) if math.hypot(*off) > 1 else -math.pi / 2

    def _state(self, state: int) -> None:
        automaton, (x, y) = self.automaton, self.places[state]
        accepts = state in self.accepting
        seen = None if automaton.observe is None else automaton.observe[state]
        fill = _FILLS[0] if accepts or seen is None else _FILLS[seen % len(_FILLS)]
        known = (
            "" if seen is None else ", accepts" if accepts else f", observed as {automaton.observed[state]}"
        )
        ring = {"stroke": _TEXT, "stroke_width": 1.3}
        if accepts:
            self.canvas.circle(x, y, self.radius + 4, fill=fill, class_="accept", **ring)
        self.canvas.circle(x, y, self.radius, fill=fill, class_="state", data_state=state, **ring)
        self.canvas.title(f"state {automaton.state_names[state]}{known}")
        text, size = fit_text(automaton.state_names[state], 2 * self.radius - 5, 13)
        self.canvas.text(x, y, text, size=size, fill=_TEXT, class_="name", data_state=state)

    def _arrow(self, arrow: _Arrow, paired: bool) -> None:
        """An arrow that bends to its left if another one comes back, with its letters on it."""
        (x1, y1), (x2, y2) = start, end = self.places[arrow.source], self.places[arrow.target]
        length = math.dist(start, end)
        along = ((x2 - x1) / length, (y2 - y1) / length)
        bend = min(20.0, 0.13 * length) if paired or (self.letters and not arrow.both_ways) else 0.0
        if not arrow.both_ways and arrow.inside is not None:
            across = (arrow.inside[0] - x1) * along[1] - (arrow.inside[1] - y1) * along[0]
            bend = -bend if across > 0 else bend
        bend = self._clear_bend(arrow, bend, paired=paired)
        near, far = self._ends(arrow, bend)
        self.canvas.arrow(
            *near,
            *far,
            bend=bend,
            head=not arrow.both_ways,
            stroke=arrow.ink,
            stroke_width=1.4 if self.letters else 1.1,
            class_="edge",
            data_from=arrow.source,
            data_to=arrow.target,
            title=", ".join(arrow.letters),
        )
        if not self.letters:
            self._label(arrow, start, end, (2 * bend * along[1], -2 * bend * along[0]))

    def _ends(self, arrow: _Arrow, bend: float) -> tuple[Point, Point]:
        """Where a curve of that bend leaves the circle of its source and meets that of its target."""
        (x1, y1), (x2, y2) = start, end = self.places[arrow.source], self.places[arrow.target]
        length = math.dist(start, end)
        along, lean = ((x2 - x1) / length, (y2 - y1) / length), 4 * bend / length
        out = (along[0] + lean * along[1], along[1] - lean * along[0])
        into = (along[0] - lean * along[1], along[1] + lean * along[0])
        norm = math.hypot(*out)
        gaps = [self.radius + 4 * (state in self.accepting) for state in (arrow.source, arrow.target)]
        near = (x1 + gaps[0] * out[0] / norm, y1 + gaps[0] * out[1] / norm)
        return near, (x2 - (gaps[1] + 1) * into[0] / norm, y2 - (gaps[1] + 1) * into[1] / norm)

    def _clear_bend(self, arrow: _Arrow, wanted: float, *, paired: bool) -> float:
        """The bend nearest to ``wanted`` whose curve crosses no third state; ``wanted`` itself if none.

        The return arrow, if any, bends as much to its own left: that curve is reserved for it.
        """
        others = np.array([p for q, p in enumerate(self.places) if q not in (arrow.source, arrow.target)])
        if not len(others):
            return wanted
        shares = np.linspace(0.05, 0.95, 37)[:, None]
        for bend in sorted((wanted + step for step in _BENDS), key=lambda bend: abs(bend - wanted)):
            if paired and bend != wanted and abs(bend + wanted) < 14:
                continue
            near, far = np.array(self._ends(arrow, bend))
            across = np.array([far[1] - near[1], near[0] - far[0]]) / (math.dist(near, far) or 1.0)
            line = (1 - shares) * near + shares * far + 4 * bend * shares * (1 - shares) * across
            gaps = np.hypot(*(line[:, None] - others[None]).transpose(2, 0, 1))
            if gaps.min() > self.radius + 3:
                return bend
        return wanted

    def _label(self, arrow: _Arrow, start: Point, end: Point, control: Point) -> None:
        """Places the label on or beside the curve, where it covers no state and, if possible, no label."""
        text = _join_letters(arrow.letters)
        middle = ((start[0] + end[0]) / 2 + control[0], (start[1] + end[1]) / 2 + control[1])
        width = text_width(text, 11) + 4

        def at(t: float) -> Point:
            a, b, c = (1 - t) ** 2, 2 * t * (1 - t), t * t
            return a * start[0] + b * middle[0] + c * end[0], a * start[1] + b * middle[1] + c * end[1]

        length = math.dist(start, end)
        across = ((end[1] - start[1]) / length, (start[0] - end[0]) / length)
        choices = [
            (x + aside * across[0], y + aside * across[1])
            for aside in (0.0, 12.0, -12.0, 24.0, -24.0, 36.0, -36.0)
            for x, y in map(at, (0.5, 0.42, 0.58, 0.36, 0.64, 0.3, 0.7))
        ]
        off_states = [point for point in choices if self._is_off_states(point, width)] or choices[:1]
        x, y = next((point for point in off_states if self._is_free(point, width)), off_states[0])
        self.labels.append((x, y, width))
        self.canvas.label(x, y, text, size=11, fill=_TEXT, class_="letter")

    def _is_free(self, point: Point, width: float) -> bool:
        return all(
            abs(point[0] - x) > (width + other) / 2 or abs(point[1] - y) > 15 for x, y, other in self.labels
        )

    def _is_off_states(self, point: Point, width: float) -> bool:
        return all(
            math.hypot(max(0.0, abs(point[0] - x) - width / 2), max(0.0, abs(point[1] - y) - 7))
            > self.radius + 2
            for x, y in self.places
        )

    def _loop(self, arrow: _Arrow) -> None:
        """A loop pointing away from the picture, with its letters beyond it."""
        state = arrow.source
        self.loops.add(state)
        x, y = self.places[state]
        away = self._away(state)
        near, reach = self.radius + 4 * (state in self.accepting), self.radius + 36

        def beside(distance: float, side: float) -> Point:
            return x + distance * math.cos(away + side), y + distance * math.sin(away + side)

        points = [beside(near, -0.5), beside(reach, -0.55), beside(reach, 0.55), beside(near + 1, 0.5)]
        title, ends = ", ".join(arrow.letters), {"data_from": state, "data_to": state}
        style = {"stroke": arrow.ink, "stroke_width": 1.1, "class_": "edge", **ends}
        self.canvas.curve(points, head=True, title=title, **style)
        if self.letters:
            return
        text = _join_letters(arrow.letters)
        width = text_width(text, 11) + 4
        # The loop reaches three quarters of the way to its control points; at the sides, half the label's
        # width is added.
        distance = 0.25 * near + 0.66 * reach + 9 + 0.5 * width * abs(math.cos(away))
        place = beside(distance, 0.0)
        self.labels.append((*place, width))
        self.canvas.label(*place, text, size=11, fill=_TEXT, class_="letter")


def _centre(points: Sequence[Point]) -> Point:
    across, down = zip(*points, strict=True)
    return sum(across) / len(points), sum(down) / len(points)


def _join_letters(letters: tuple[str, ...]) -> str:
    """The letters of an arrow, in full if they are few and short."""
    shown = ", ".join(letters)
    if len(letters) <= 6 and len(shown) <= 28:
        return shown
    return ", ".join(letters[:3])[:26] + f", … ({len(letters)})"


def _left_out(automaton: Drawn) -> int | None:
    """The sink, if it is the only one, is not the start, and the picture is crowded."""
    sinks = sink_states(automaton.table)
    crowded = len(automaton.table) > _CROWDED and len(sinks) == 1 and sinks[0] != automaton.start
    return sinks[0] if crowded else None


def _generating(automaton: Drawn) -> list[int]:
    """For a group with many arrows, the first letters that connect states as all letters do; else none."""
    table = automaton.table
    count = len(table)
    arrows = {(state, target) for state, row in enumerate(table.tolist()) for target in row}
    permutes = all(len(set(column)) == count for column in table.T.tolist())
    if not permutes or (len(arrows) <= 3 * count and count <= _FEW):
        return []
    chosen: list[int] = []
    for letter in range(table.shape[1]):
        if _count_orbits(table[:, [*chosen, letter]]) < _count_orbits(table[:, chosen]):
            chosen.append(letter)
        if _count_orbits(table[:, chosen]) == _count_orbits(table):
            break
    return chosen


def _count_orbits(table: np.ndarray) -> int:
    """Of permutations: whatever they connect, they connect both ways."""
    return len(strong_components(table.tolist()))
