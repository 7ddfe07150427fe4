"""A small canvas that writes SVG text: shapes in, one string out, every name escaped."""

import re
from collections.abc import Sequence
from html import escape

_ARROW = (
    '<marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
    'orient="auto-start-reverse"><path d="M0,0 L10,5 L0,10 z" fill="context-stroke"/></marker>'
)
FONT = "ui-sans-serif, system-ui, sans-serif"

_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Canvas:
    """Collects shapes in drawing order; coordinates are pixels from the top left corner.

    Keyword arguments of every method become SVG attributes, with ``_`` read as ``-``
    (``stroke_width=2`` is ``stroke-width="2"``).
    """

    def __init__(self, width: float, height: float) -> None:
        self.width = width
        self.height = height
        self._shapes: list[str] = []

    def line(self, x1: float, y1: float, x2: float, y2: float, **style: object) -> None:
        """A straight line."""
        self._add("line", {"x1": x1, "y1": y1, "x2": x2, "y2": y2, "stroke": "black", **style})

    def rect(self, x: float, y: float, width: float, height: float, **style: object) -> None:
        """A rectangle with its top left corner at (x, y)."""
        size = {"x": x, "y": y, "width": width, "height": height}
        self._add("rect", {**size, "fill": "none", "stroke": "black", **style})

    def circle(self, x: float, y: float, radius: float, **style: object) -> None:
        """A circle around (x, y)."""
        self._add("circle", {"cx": x, "cy": y, "r": radius, "fill": "none", "stroke": "black", **style})

    def polygon(self, points: Sequence[tuple[float, float]], **style: object) -> None:
        """A closed outline through the points."""
        text = " ".join(f"{_number(x)},{_number(y)}" for x, y in points)
        self._add("polygon", {"points": text, "fill": "none", "stroke": "black", **style})

    def path(self, data: str, **style: object) -> None:
        """A path in SVG's own path language."""
        self._add("path", {"d": data, "fill": "none", "stroke": "black", **style})

    def arrow(
        self, x1: float, y1: float, x2: float, y2: float, *, bend: float = 0.0, **style: object
    ) -> None:
        """An arrow; ``bend`` moves its middle that many pixels to the left of its direction."""
        length = ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5 or 1.0
        # A quadratic curve passes half-way between its chord and its control point.
        mid_x = (x1 + x2) / 2 + 2 * bend * (y2 - y1) / length
        mid_y = (y1 + y2) / 2 - 2 * bend * (x2 - x1) / length
        start, middle, end = ((x1, y1), (mid_x, mid_y), (x2, y2))
        data = "M{} Q{} {}".format(*(f"{_number(x)},{_number(y)}" for x, y in (start, middle, end)))
        self.path(data, marker_end="url(#arrow)", **style)

    def text(self, x: float, y: float, content: str, *, size: float = 12, **style: object) -> None:
        """Text centred on (x, y) unless ``text_anchor`` or ``dy`` say otherwise."""
        # Not every program that shows SVG knows dominant-baseline; a third of the size does the same.
        place = {"x": x, "y": y, "dy": "0.35em", "font_size": size, "text_anchor": "middle"}
        self._shapes.append(f"<text{_attributes({**place, **style})}>{_printable(content)}</text>")

    def title(self, content: str) -> None:
        """A tooltip for the shape drawn last."""
        shape = self._shapes.pop()
        assert shape.endswith("/>"), "only a shape drawn by this canvas can carry a title"
        tag = shape[1:].split(" ", 1)[0]
        self._shapes.append(f"{shape[:-2]}><title>{_printable(content)}</title></{tag}>")

    def render(self) -> str:
        """The whole picture as an SVG document."""
        width, height = _number(self.width), _number(self.height)
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" font-family="{FONT}">'
        )
        return "\n".join([head, f"<defs>{_ARROW}</defs>", *self._shapes, "</svg>\n"])

    def _add(self, tag: str, attributes: dict[str, object]) -> None:
        self._shapes.append(f"<{tag}{_attributes(attributes)}/>")


def _attributes(attributes: dict[str, object]) -> str:
    parts = []
    for key, value in attributes.items():
        text = _number(value) if isinstance(value, int | float) else str(value)
        parts.append(f' {key.replace("_", "-")}="{_printable(text)}"')
    return "".join(parts)


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _printable(text: str) -> str:
    """Escapes markup and replaces the characters that XML 1.0 forbids."""
    return escape(_FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text))
