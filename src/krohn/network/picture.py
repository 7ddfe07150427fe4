"""One word through one network as a picture: registers as tables of values, heads as maps of attention."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

LINE, GAP, MARGIN, TEXT, CHARACTER = 20, 22, 12, 12, 7.3
DOT, SMALL, MAPS_WIDTH, MAX_POSITIONS = 12, 9, 1000, 64

Block = tuple[str, list[tuple[str, list[str]]]]


@dataclass(frozen=True, eq=False)
class HeadView:
    """One head on one word: what it does and ``weights[t, i]``, position t attending to i."""

    layer: int
    number: int
    text: str
    weights: Array


def word_picture(
    positions: Sequence[str],
    states: Sequence[str],
    moments: Sequence[Mapping[str, Array]],
    heads: Sequence[HeadView],
) -> str:
    """A self-contained SVG: one table per moment, then one square per head.

    Layers and heads are numbered from 1, as ``krohn compile`` does. In a square the row is the position
    that attends, the column the position attended to; the darker, the more weight.
    """
    shown = min(len(positions), MAX_POSITIONS)
    blocks = list(_blocks(positions, states, moments, shown))
    label = int(CHARACTER * max(len(name) for _, lines in blocks for name, _ in lines)) + 2 * MARGIN
    cell = int(CHARACTER * max(len(v) for _, lines in blocks for _, row in lines for v in row)) + 8
    parts, top = [], float(MARGIN)
    for title, lines in blocks:
        parts.append(_table(title, lines, label, cell, top))
        top += len(lines) * LINE + 2 * GAP
    maps, height, right = _maps(heads, shown, top)
    width = max(label + MARGIN + shown * cell, right)
    body = "\n".join([*parts, *maps])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {top + height + MARGIN:g}" '
        f'font-family="monospace" font-size="{TEXT}">\n<rect width="100%" height="100%" fill="white"/>\n'
        f"{body}\n</svg>\n"
    )


def _blocks(
    positions: Sequence[str], states: Sequence[str], moments: Sequence[Mapping[str, Array]], shown: int
) -> Iterator[Block]:
    """Title and lines of every table: the word, the registers at every moment, the states."""
    letters = list(positions[:shown])
    for index, moment in enumerate(moments):
        if moment:
            rows = [(name, [_number(v) for v in held[:shown]]) for name, held in moment.items()]
            yield _moment_title(index), [("", letters), *rows]
    padding = len(positions) - len(states)
    yield "output", [("", letters), ("state", ([""] * padding + list(states))[:shown])]


def _moment_title(index: int) -> str:
    if index == 0:
        return "embedding"
    return f"layer {(index + 1) // 2}, after {'attention' if index % 2 else 'MLP'}"


def _number(value: float) -> str:
    nearest = round(value)
    return str(nearest) if abs(value - nearest) < 1e-3 else f"{value:.2f}"


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(text)}</text>'


def _table(title: str, lines: list[tuple[str, list[str]]], label: int, cell: int, top: float) -> str:
    out = [_text(MARGIN, top + TEXT, title)]
    for row, (name, cells) in enumerate(lines):
        y = top + GAP + row * LINE
        out.append(_text(label - 6, y + 14, name, "end"))
        for column, text in enumerate(cells):
            x = label + column * cell
            fill = "#eee" if row == 0 else "none"
            out.append(
                f'<rect x="{x}" y="{y:g}" width="{cell}" height="{LINE}" fill="{fill}" stroke="#bbb"/>'
            )
            out.append(_text(x + cell / 2, y + 14, text, "middle"))
    return "\n".join(out)


def _maps(heads: Sequence[HeadView], shown: int, top: float) -> tuple[list[str], float, int]:
    """The squares of all heads, as many side by side as fit, and the height and width they take."""
    longest = max((len(view.text) for view in heads), default=0)
    pitch = max(shown * DOT, int(longest * CHARACTER * SMALL / TEXT)) + 2 * MARGIN
    across = max(1, (MAPS_WIDTH - MARGIN) // pitch)
    below = shown * DOT + 2 * GAP + MARGIN
    drawn = [
        _map(view, shown, MARGIN + (number % across) * pitch, top + (number // across) * below)
        for number, view in enumerate(heads)
    ]
    return drawn, -(-len(drawn) // across) * below, MARGIN + min(len(drawn), across) * pitch


def _map(view: HeadView, shown: int, left: int, top: float) -> str:
    out = [
        _text(left, top + TEXT, f"layer {view.layer + 1} head {view.number + 1}"),
        f'<text x="{left}" y="{top + TEXT + LINE - 6:g}" font-size="{SMALL}">{escape(view.text)}</text>',
    ]
    top += LINE - 4
    weights = view.weights[:shown, :shown]
    for row, column in np.argwhere(weights > 5e-3):
        x, y = left + int(column) * DOT, top + GAP + int(row) * DOT
        out.append(
            f'<rect x="{x}" y="{y:g}" width="{DOT}" height="{DOT}" fill="#1f5fa8" '
            f'fill-opacity="{float(weights[row, column]):.2f}"/>'
        )
    side = shown * DOT
    out.append(
        f'<rect x="{left}" y="{top + GAP:g}" width="{side}" height="{side}" fill="none" stroke="#bbb"/>'
    )
    return "\n".join(out)
