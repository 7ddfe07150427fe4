"""The eggbox picture: each D-class a box of H-classes, rows R, columns L, stars where a group sits."""

from collections.abc import Sequence

from krohn.algebra.green import DClass
from krohn.errors import LimitExceeded
from krohn.svg import Canvas

MAX_CELLS = 20_000
_CELL, _GAP, _MARGIN, _LABEL = 18, 28, 16, 210


def eggbox_text(parts: Sequence[DClass], max_cells: int = MAX_CELLS) -> str:
    """The picture in characters, largest rank first: ``*`` a group H-class, ``·`` another."""
    _check_size(parts, max_cells)
    blocks = []
    for part in parts:
        lines = ["  " + " ".join("*" if cell else "·" for cell in row) for row in _cells(part)]
        blocks.append("\n".join([_caption(part), *lines]))
    return "\n\n".join(blocks)


def eggbox_svg(parts: Sequence[DClass], max_cells: int = MAX_CELLS) -> str:
    """The picture as an SVG document; D-classes of equal rank stand side by side."""
    _check_size(parts, max_cells)
    by_rank: dict[int, list[DClass]] = {}
    for part in parts:
        by_rank.setdefault(part.rank, []).append(part)
    heights = [max(part.num_r for part in row) * _CELL for row in by_rank.values()]
    widths = [sum(max(part.num_l * _CELL, _LABEL) + _GAP for part in row) for row in by_rank.values()]
    canvas = Canvas(2 * _MARGIN + max(widths), 2 * _MARGIN + sum(heights) + 2 * _GAP * len(heights))
    top = float(_MARGIN)
    for row, height in zip(by_rank.values(), heights, strict=True):
        left = float(_MARGIN)
        for part in row:
            canvas.text(left, top + 8, _caption(part), size=11, text_anchor="start")
            _draw(canvas, part, left, top + _GAP - 6)
            left += max(part.num_l * _CELL, _LABEL) + _GAP
        top += height + 2 * _GAP
    return canvas.render()


def _draw(canvas: Canvas, part: DClass, left: float, top: float) -> None:
    for row, cells in enumerate(_cells(part)):
        for column, is_group in enumerate(cells):
            fill = "#f2c14e" if is_group else "white"
            x, y = left + column * _CELL, top + row * _CELL
            canvas.rect(x, y, _CELL, _CELL, fill=fill, stroke="#888", stroke_width=0.6)
            if is_group:
                canvas.text(x + _CELL / 2, y + _CELL / 2 + 2, "*", size=13)
    canvas.rect(left, top, part.num_l * _CELL, part.num_r * _CELL, stroke_width=1.4)


def _cells(part: DClass) -> list[list[bool]]:
    """For each R-class, which of its H-classes hold an idempotent."""
    if not part.is_regular:
        return [[False] * part.num_l for _ in range(part.num_r)]
    orbit, representatives = part.component.orbit, part.classes.representatives
    rows, members = orbit.rows, part.component.members
    tables = [rows.table(representatives[index]) for index in part.members]
    return [
        [len(set(rows.send(orbit.sets[member], table))) == part.rank for member in members]
        for table in tables
    ]


def _caption(part: DClass) -> str:
    group = part.group
    if group is None:
        kind = f"not regular, H-classes of {part.h_size}"
    else:
        kind = "trivial groups" if group.is_trivial else f"group {group.name()}"
    return f"rank {part.rank}: {part.num_r} × {part.num_l}, {kind}"


def _check_size(parts: Sequence[DClass], max_cells: int) -> None:
    cells = sum(part.num_r * part.num_l for part in parts)
    if cells > max_cells:
        raise LimitExceeded(
            f"an eggbox picture may have at most {max_cells:,} H-classes and this one has {cells:,}: "
            "raise the limit (`max_cells`) or choose a smaller automaton"
        )
