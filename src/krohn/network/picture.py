"""An explanation as a picture: registers as a table of values, heads as maps of attention."""

from html import escape

import numpy as np

from krohn.network.explanation import Explanation, HeadView

CELL, GAP, MARGIN, TEXT = 22, 26, 12, 12
MAX_POSITIONS = 64


def explanation_svg(explanation: Explanation) -> str:
    """A self-contained SVG: one block per moment, one square per head (positions down, sources across)."""
    shown = min(len(explanation.positions), MAX_POSITIONS)
    label = 9 * max((len(name) for moment in explanation.moments for name in moment), default=4)
    parts, top = [], MARGIN
    for index, moment in enumerate(explanation.moments):
        if moment:
            lines = [(name, [_number(v) for v in held[:shown]]) for name, held in moment.items()]
            parts.append(_grid(_moment_title(index), explanation.positions[:shown], lines, label, top))
            top += (len(lines) + 1) * CELL + 2 * GAP
    for view in explanation.heads:
        parts.append(_heat(view, shown, label, top))
        top += shown * CELL + 2 * GAP
    width = label + 2 * MARGIN + shown * CELL
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {max(width, 480)} {top + MARGIN}" '
        f'font-family="monospace" font-size="{TEXT}">\n<rect width="100%" height="100%" fill="white"/>\n'
        f"{body}\n</svg>\n"
    )


def _moment_title(index: int) -> str:
    if index == 0:
        return "embedding"
    return f"layer {(index - 1) // 2}, after {'attention' if index % 2 else 'MLP'}"


def _number(value: float) -> str:
    nearest = round(value)
    return str(nearest) if abs(value - nearest) < 1e-3 else f"{value:.1f}"


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(text)}</text>'


def _grid(
    title: str, columns: tuple[str, ...], lines: list[tuple[str, list[str]]], label: int, top: int
) -> str:
    left = MARGIN + label
    out = [_text(MARGIN, top + TEXT, title)]
    for row, (name, cells) in enumerate([("", list(columns)), *lines]):
        y = top + GAP + row * CELL
        out.append(_text(left - 6, y + 15, name, "end"))
        for column, cell in enumerate(cells):
            x = left + column * CELL
            fill = "#eee" if row == 0 else "none"
            out.append(f'<rect x="{x}" y="{y}" width="{CELL}" height="{CELL}" fill="{fill}" stroke="#bbb"/>')
            out.append(_text(x + CELL / 2, y + 15, cell[:3], "middle"))
    return "\n".join(out)


def _heat(view: HeadView, shown: int, label: int, top: int) -> str:
    left = MARGIN + label
    out = [_text(MARGIN, top + TEXT, f"layer {view.layer} head {view.number}: {view.text}")]
    weights = view.weights[:shown, :shown]
    for row, column in np.argwhere(weights > 5e-3):
        opacity = float(weights[row, column])
        x, y = left + int(column) * CELL, top + GAP + int(row) * CELL
        out.append(
            f'<rect x="{x}" y="{y}" width="{CELL}" height="{CELL}" fill="#1f5fa8" '
            f'fill-opacity="{opacity:.2f}"/>'
        )
    side = shown * CELL
    out.append(f'<rect x="{left}" y="{top + GAP}" width="{side}" height="{side}" fill="none" stroke="#bbb"/>')
    return "\n".join(out)
