"""The picture of a cascade: levels from the top, each component with its tiles and its group."""

from krohn.base.svg import Canvas, text_width
from krohn.cascade.plan import Component, Plan
from krohn.errors import counted

_GAP, _TOP, _CHIP = 22.0, 46.0, 24.0
_MAX_TILES, _MAX_DOTS = 12, 12
_GROUP, _RESET, _COUNTER, _INK, _FAINT = "#d6e6f5", "#fbe3cc", "#d8ead2", "#222222", "#777777"


def cascade_picture(plan: Plan) -> str:
    """One row per level: each component with its tiles as dots, its group and the group's simple factors."""
    rows = [[part for part in plan.components if part.level == level] for level in range(plan.levels)]
    box = max([150.0, *(text_width(line, 12) + 24 for part in plan.components for line in _lines(part))])
    canvas = Canvas(0, 0)
    name = plan.automaton.name or f"{plan.automaton.num_states} states"
    canvas.text(0, 20, f"{name}: {plan.levels} level{'s' * (plan.levels != 1)}", size=15, fill=_INK)
    widest = max((len(row) for row in rows), default=1) * (box + _GAP) - _GAP
    top = _TOP
    for level, row in enumerate(rows):
        tallest = max(_height(part) for part in row)
        canvas.text(-widest / 2 - 22, top + 30, str(level), size=13, fill=_FAINT)
        left = -(len(row) * (box + _GAP) - _GAP) / 2
        for index, part in enumerate(row):
            _component(canvas, left + index * (box + _GAP), top, box, part)
        if level + 1 < len(rows):
            canvas.arrow(0, top + tallest + 3, 0, top + tallest + 22, stroke=_FAINT)
        top += tallest + 24
    _legend(canvas, top)
    canvas.crop(14)
    return canvas.render(paper="#ffffff", title=f"Cascade of {name}")


def _lines(part: Component) -> tuple[str, str]:
    group = (
        part.group if part.group_order > 1 else part.kind if part.kind != "permutation-reset" else "memory"
    )
    return f"{counted(part.tiles, 'tile')} · {group}", "resets" if part.has_resets else "no resets"


def _chips(part: Component) -> tuple[str, ...]:
    """The group's simple factors, if it is not simple itself."""
    return part.factors if len(part.factors) > 1 else ()


def _height(part: Component) -> float:
    return 60 + _CHIP * len(_chips(part)) + (8 if _chips(part) else 0)


def _component(canvas: Canvas, left: float, top: float, box: float, part: Component) -> None:
    fill = _COUNTER if part.kind == "clamped counter" else _GROUP if part.group_order > 1 else _RESET
    canvas.rect(left, top, box, _height(part), rx=7, fill=fill, stroke=_INK)
    canvas.title(f"level {part.level}: {part.tiles} tiles, group {part.group} of order {part.group_order}")
    _dots(canvas, left + 12, top + 15, box - 24, part.tiles)
    upper, lower = _lines(part)
    canvas.text(left + box / 2, top + 33, upper, size=12, fill=_INK)
    canvas.text(left + box / 2, top + 50, lower, size=10, fill=_FAINT)
    for index, factor in enumerate(_chips(part)):
        y = top + 62 + _CHIP * index
        canvas.rect(left + 10, y, box - 20, _CHIP - 4, rx=5, fill="white", stroke=_FAINT)
        canvas.text(left + 20, y + _CHIP / 2 - 2, factor, size=11, fill=_INK, text_anchor="start")
        if factor[:1] == "C" and factor[1:].isdigit():
            _dots(canvas, left + 62, y + _CHIP / 2 - 2, box - 84, int(factor[1:]))


def _dots(canvas: Canvas, left: float, y: float, width: float, count: int) -> None:
    """One dot per state, with an ellipsis if there are too many."""
    shown = count if count <= _MAX_DOTS else _MAX_TILES - 1
    step = width / max(min(count, _MAX_DOTS), 1)
    for index in range(shown):
        canvas.circle(left + step * (index + 0.5), y, 4, fill="white", stroke=_INK)
    if count > shown:
        canvas.text(left + step * (shown + 0.5), y, "…", size=11, fill=_INK)


def _legend(canvas: Canvas, top: float) -> None:
    entries = ((_GROUP, "group"), (_RESET, "memory"), (_COUNTER, "clamped counter"))
    left = -140.0
    for fill, text in entries:
        canvas.rect(left, top, 12, 12, fill=fill, stroke=_INK)
        canvas.text(left + 17, top + 6, text, size=11, text_anchor="start", fill=_INK)
        left += 40 + text_width(text, 11)
