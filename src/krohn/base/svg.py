"""A small canvas that writes SVG text: shapes in, one string out, every name escaped.

Only features that every SVG viewer supports: arrowheads are triangles, not markers; a label stands on a box
of its own colour, not on an outline painted first; text is centred by its own offset.
"""

import math
import re
import unicodedata
from collections.abc import Sequence
from html import escape
from operator import mul

WRITER = "<!-- by krohn -->"
"""The line that marks a file as safe to overwrite."""

FONT = "system-ui, 'Helvetica Neue', Arial, sans-serif"
HEAD, HALF_HEAD = 8.0, 3.6
"""Length and half the width of an arrowhead."""

_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NARROW = frozenset("ijlI.,:;|!'()[]{}/ ")
_WIDE = frozenset("mwMWQOGCD@%—…")


def text_width(content: str, size: float) -> float:
    """Upper estimate of the text's width in any common sans-serif font."""
    return size * sum(_character_width(character) for character in content)


def _character_width(character: str) -> float:
    if unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.05
    return 0.38 if character in _NARROW else 1.0 if character in _WIDE else 0.66


def fit_text(content: str, width: float, size: float, least: float = 8.0) -> tuple[str, float]:
    """The text and its font size such that it fits: shrunk first, then truncated with an ellipsis."""
    needed = text_width(content, size)
    if needed <= width:
        return content, size
    size = max(least, size * width / needed)
    if text_width(content, size) <= width:
        return content, size
    kept = content
    while kept and text_width(f"{kept}…", size) > width:
        kept = kept[:-1]
    return f"{kept}…", size


class Canvas:
    """Collects shapes in drawing order; coordinates are pixels from the top left corner.

    Keyword arguments of every method become SVG attributes, with ``_`` read as ``-`` and a last ``_`` dropped
    (``stroke_width=2`` is ``stroke-width="2"``, ``class_="state"`` is ``class="state"``).
    """

    def __init__(self, width: float, height: float) -> None:
        self.width = width
        self.height = height
        self.left = self.top = 0.0
        self._shapes: list[str] = []
        self._reached: list[tuple[float, float]] = []

    def crop(self, margin: float) -> None:
        """Resizes the picture to its contents plus a margin."""
        left, top, right, bottom = self.reach
        self.left, self.top = left - margin, top - margin
        self.width, self.height = right - self.left + margin, bottom - self.top + margin

    @property
    def reach(self) -> tuple[float, float, float, float]:
        """Bounding box of everything drawn so far: left, top, right, bottom."""
        across, down = zip(*self._reached, strict=True)
        return min(across), min(down), max(across), max(down)

    def line(self, x1: float, y1: float, x2: float, y2: float, **style: object) -> None:
        """A straight line."""
        self._reached += [(x1, y1), (x2, y2)]
        self._add("line", {"x1": x1, "y1": y1, "x2": x2, "y2": y2, "stroke": "black", **style})

    def rect(self, x: float, y: float, width: float, height: float, **style: object) -> None:
        """A rectangle with its top left corner at (x, y)."""
        self._reached += [(x, y), (x + width, y + height)]
        size = {"x": x, "y": y, "width": width, "height": height}
        self._add("rect", {**size, "fill": "none", "stroke": "black", **style})

    def circle(self, x: float, y: float, radius: float, **style: object) -> None:
        """A circle around (x, y)."""
        self._reached += [(x - radius, y - radius), (x + radius, y + radius)]
        self._add("circle", {"cx": x, "cy": y, "r": radius, "fill": "none", "stroke": "black", **style})

    def polygon(self, points: Sequence[tuple[float, float]], **style: object) -> None:
        """A closed outline through the points."""
        self._reached += points
        text = " ".join(f"{_number(x)},{_number(y)}" for x, y in points)
        self._add("polygon", {"points": text, "fill": "none", "stroke": "black", **style})

    def path(self, data: str, **style: object) -> None:
        """A path in SVG's own path language; ignored when cropping."""
        self._add("path", {"d": data, "fill": "none", "stroke": "black", **style})

    def curve(
        self, points: Sequence[tuple[float, float]], *, head: bool = True, title: str = "", **style: object
    ) -> None:
        """A Bézier curve through two, three or four points, with a triangle at its end."""
        # Weights of the points at the curve's midpoint, and the letter of such a curve in SVG.
        shares, letter = {2: ((1, 1), "L"), 3: ((1, 2, 1), "Q"), 4: ((1, 3, 3, 1), "C")}[len(points)]
        x, y = (sum(map(mul, shares, axis)) / sum(shares) for axis in zip(*points, strict=True))
        self._reached += [points[0], (x, y), points[-1]]
        end, before = points[-1], points[-2]
        angle = math.atan2(end[1] - before[1], end[0] - before[0])
        ahead = (math.cos(angle), math.sin(angle))
        stop = (end[0] - 0.8 * HEAD * ahead[0], end[1] - 0.8 * HEAD * ahead[1]) if head else end
        first, *rest = (f"{_number(x)},{_number(y)}" for x, y in (*points[:-1], stop))
        self.path(f"M{first} {letter}{' '.join(rest)}", **style)
        if title:
            self.title(title)
        if head:
            back = (end[0] - HEAD * ahead[0], end[1] - HEAD * ahead[1])
            sides = [
                (back[0] - side * ahead[1], back[1] + side * ahead[0]) for side in (HALF_HEAD, -HALF_HEAD)
            ]
            ink = {"fill": style.get("stroke", "black"), "stroke": "none"}
            self.polygon([end, *sides], **{**style, **ink})

    def arrow(
        self,
        x1: float,
        y1: float,
        x2: float,
        y2: float,
        *,
        bend: float = 0.0,
        head: bool = True,
        title: str = "",
        **style: object,
    ) -> None:
        """An arrow; ``bend`` moves its middle that many pixels to the left of its direction."""
        length = math.hypot(x2 - x1, y2 - y1) or 1.0
        # A quadratic curve passes half-way between its chord and its control point.
        middle = (
            (x1 + x2) / 2 + 2 * bend * (y2 - y1) / length,
            (y1 + y2) / 2 - 2 * bend * (x2 - x1) / length,
        )
        self.curve([(x1, y1), middle, (x2, y2)], head=head, title=title, **style)

    def text(self, x: float, y: float, content: str, *, size: float = 12, **style: object) -> None:
        """Text centred on (x, y) unless ``text_anchor`` or ``dy`` say otherwise."""
        width = text_width(content, size)
        left = {"start": x, "end": x - width}.get(str(style.get("text_anchor", "")), x - width / 2)
        self._reached += [(left, y - 0.7 * size), (left + width, y + 0.7 * size)]
        # Not every SVG viewer supports dominant-baseline; a shift by a third of the font size does the same.
        place = {"x": x, "y": y, "dy": "0.35em", "font_size": size, "text_anchor": "middle"}
        self._shapes.append(f"<text{_attributes({**place, **style})}>{_printable(content)}</text>")

    def label(
        self, x: float, y: float, content: str, *, size: float = 12, paper: str = "white", **style: object
    ) -> None:
        """Text centred on a box of its own, so that it can be read over lines."""
        width, height = text_width(content, size) + 3, 1.3 * size
        box = {"fill": paper, "stroke": "none", "rx": 3, "class_": "paper", "fill_opacity": 0.85}
        self.rect(x - width / 2, y - height / 2, width, height, **box)
        self.text(x, y, content, size=size, **style)

    def title(self, content: str) -> None:
        """A tooltip for the shape drawn last."""
        shape = self._shapes.pop()
        assert shape.endswith("/>"), "only a shape drawn by this canvas can carry a title"
        tag = shape[1:].split(" ", 1)[0]
        self._shapes.append(f"{shape[:-2]}><title>{_printable(content)}</title></{tag}>")

    def render(self, *, paper: str = "", title: str = "") -> str:
        """The whole picture as an SVG document, on a background of that colour."""
        width, height, left, top = (_number(v) for v in (self.width, self.height, self.left, self.top))
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="{left} {top} {width} {height}" font-family="{escape(FONT)}" role="img">'
        )
        place = {"x": self.left, "y": self.top, "width": self.width, "height": self.height}
        back = [f"<rect{_attributes({**place, 'fill': paper, 'class_': 'paper'})}/>"] if paper else []
        named = [f"<title>{_printable(title)}</title>"] if title else []
        return "\n".join([head, WRITER, *named, *back, *self._shapes, "</svg>\n"])

    def _add(self, tag: str, attributes: dict[str, object]) -> None:
        self._shapes.append(f"<{tag}{_attributes(attributes)}/>")


def _attributes(attributes: dict[str, object]) -> str:
    parts = []
    for key, value in attributes.items():
        text = _number(value) if isinstance(value, int | float) else str(value)
        parts.append(f' {key.rstrip("_").replace("_", "-")}="{_printable(text)}"')
    return "".join(parts)


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _printable(text: str) -> str:
    """Escapes markup and replaces the characters that XML 1.0 forbids."""
    return escape(_FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text))
