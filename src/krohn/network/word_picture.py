"""The picture of a word in a network: registers as rows of coloured cells, and heads as maps."""

import colorsys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import numpy.typing as npt

from krohn.base.svg import Canvas, fit_text, text_width

Array = npt.NDArray[np.float64]

ROW, SIZE, MAX_NAME, DOT, GAP = 24.0, 13.0, 300.0, 14.0, 26.0
MAPS_WIDTH, MAX_POSITIONS, MAX_COLOURED = 900.0, 64, 12
INK, SOFT, RULE, BLUE = "#1f2328", "#5c636e", "#d8d4cb", "#2f5db0"
NOTHING = 1e-3
"""Fraction of the largest attention weight below which nothing is drawn."""

Group = tuple[str, list[tuple[str, list[str], list[str]]]]


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
    registers: Iterable[tuple[int, str, Sequence[float]]],
    heads: Sequence[HeadView],
) -> str:
    """A self-contained SVG: columns are positions, rows registers with their block and title; then heads.

    Blocks and heads are numbered from 1, as ``krohn explain`` does. In a square the row is the position
    that attends, the column the position attended to; the darker, the more weight.
    """
    shown = min(len(positions), MAX_POSITIONS)
    groups = list(_groups(positions, states, registers, shown))
    texts = [*positions[:shown], *(cell for _, rows in groups for _, cells, _ in rows for cell in cells)]
    cell = max(30.0, max((text_width(text, SIZE) for text in texts), default=0.0) + 8)
    wanted = max(text_width(name, SIZE) for _, rows in groups for name, _, _ in rows)
    canvas, names = Canvas(0, 0), min(MAX_NAME, max(90.0, wanted + 30))
    x = [names + column * cell for column in range(shown)]
    for column, letter in enumerate(positions[:shown]):
        canvas.text(x[column] + cell / 2, ROW / 2, letter, size=SIZE, font_weight="bold", fill=INK)
    top = ROW + 4
    for title, rows in groups:
        canvas.text(0, top + ROW / 2, title, size=SIZE, text_anchor="start", font_weight="bold", fill=INK)
        canvas.line(0, top, names + shown * cell, top, stroke=RULE)
        # The title goes into the first row if that has no name of its own.
        top += 0.0 if len(rows) == 1 and not rows[0][0] else ROW
        for name, cells, colours in rows:
            text, size = fit_text(name, names - 26, SIZE)
            canvas.text(14, top + ROW / 2, text, size=size, text_anchor="start", fill=SOFT)
            _cells(canvas, cells, colours, x, top, cell)
            top += ROW
        top += 6
    _maps(canvas, heads, positions[:shown], top + GAP)
    canvas.crop(14)
    return canvas.render(paper="white", title=f"The word {' '.join(positions)[:200]}")


def _cells(
    canvas: Canvas, cells: list[str], colours: list[str], x: list[float], top: float, cell: float
) -> None:
    for left, value, colour in zip(x, cells, colours, strict=True):
        if colour:
            canvas.rect(left + 1, top + 1, cell - 2, ROW - 2, fill=colour, stroke="none", rx=4)
        canvas.text(left + cell / 2, top + ROW / 2, value, size=SIZE, fill=INK)


def _groups(
    positions: Sequence[str],
    states: Sequence[str],
    registers: Iterable[tuple[int, str, Sequence[float]]],
    shown: int,
) -> Iterator[Group]:
    """Title and rows of the embedding, of every block and of the output."""
    for layer, rows in groupby(registers, key=lambda row: row[0]):
        named = [(name, np.array(held[:shown], dtype=np.float64)) for _, name, held in rows]
        cells = [(name, [_number(value) for value in held], _tints(held)) for name, held in named]
        yield f"Block {layer}" if layer else "Embedding", cells
    padding = len(positions) - len(states)
    order = {state: place for place, state in enumerate(sorted(set(states)))}
    last = ([""] * padding + list(states))[:shown]
    yield "State", [("", last, [_colour(order[state]) if state else "" for state in last])]


def _tints(held: Array) -> list[str]:
    """A colour for each value of a register with few values; 0 has none."""
    whole = np.abs(held - np.round(held)).max(initial=0.0) < 1e-3
    few = whole and np.abs(held).max(initial=0.0) <= MAX_COLOURED
    return [_colour(round(value)) if few and round(value) else "" for value in held]


def _colour(index: int) -> str:
    """A colour light enough to write on."""
    red, green, blue = colorsys.hls_to_rgb((0.58 + (index - 1) * 0.618034) % 1.0, 0.86, 0.78)
    return "#" + "".join(f"{round(255 * part):02x}" for part in (red, green, blue))


def _number(value: float) -> str:
    nearest = round(value)
    return str(nearest) if abs(value - nearest) < 1e-3 else f"{value:.2f}"


def _maps(canvas: Canvas, heads: Sequence[HeadView], letters: Sequence[str], top: float) -> None:
    """The attention maps of all heads, as many side by side as fit."""
    side = len(letters) * DOT
    longest = max((text_width(view.text, 11) for view in heads), default=0.0)
    pitch = max(side, min(longest, 400.0), 200.0) + GAP
    across = max(1, int(MAPS_WIDTH // pitch))
    for number, view in enumerate(heads):
        _map(
            canvas, view, letters, (number % across) * pitch, top + number // across * (side + 3 * GAP), pitch
        )


def _map(
    canvas: Canvas, view: HeadView, letters: Sequence[str], left: float, top: float, pitch: float
) -> None:
    title = f"Block {view.layer + 1}, head {view.number + 1} attends"
    canvas.text(left, top, title, size=SIZE, text_anchor="start", font_weight="bold", fill=INK)
    text, size = fit_text(view.text, pitch - GAP, 11)
    canvas.text(left, top + 17, text, size=size, text_anchor="start", fill=SOFT)
    top += 30
    shown = len(letters)
    weights = view.weights[:shown, :shown]
    most = weights.max(axis=1, keepdims=True, initial=1e-300)
    # Square root of the weight: keeps weight spread over many positions visible beside a single peak.
    shade = np.where(weights > NOTHING * most, 0.12 + 0.88 * np.sqrt(weights / most), 0.0)
    for row, column in np.argwhere(shade > 0):
        place = (left + float(column) * DOT, top + float(row) * DOT)
        canvas.rect(
            *place, DOT - 1, DOT - 1, fill=BLUE, stroke="none", rx=3, fill_opacity=float(shade[row, column])
        )
    canvas.rect(left - 3, top - 3, shown * DOT + 5, shown * DOT + 5, stroke=RULE, rx=5)
