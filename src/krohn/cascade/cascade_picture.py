"""Pictures for papers: a cascade as rows of components, a skeleton as its classes and tiles."""

from collections.abc import Sequence

from krohn.cascade.group_order import group_order
from krohn.cascade.plan import Component, Plan
from krohn.cascade.skeleton import SetClass, Skeleton
from krohn.svg import Canvas

_ROW, _BOX, _GAP, _LEFT, _TOP = 84.0, 150.0, 22.0, 70.0, 46.0
_MAX_TILES, _MAX_NAMES = 12, 10
_GROUP, _RESET, _COUNTER, _INK, _FAINT = "#cfe2f3", "#fce5cd", "#d9ead3", "#222222", "#888888"


def cascade_picture(plan: Plan) -> str:
    """One row per level: each component with its tiles as dots, its group, and whether it is reset."""
    rows = [[part for part in plan.components if part.level == level] for level in range(plan.levels)]
    widest = max((len(row) for row in rows), default=1)
    width = 2 * _LEFT + widest * (_BOX + _GAP)
    canvas = Canvas(width, _TOP + max(1, len(rows)) * _ROW + 44)
    name = plan.automaton.name or f"{plan.automaton.num_states} states"
    canvas.text(width / 2, 20, f"{name}: {plan.levels} level{'s' * (plan.levels != 1)}", size=15, fill=_INK)
    for level, row in enumerate(rows):
        top = _TOP + level * _ROW
        canvas.text(_LEFT / 2, top + 30, str(level), size=13, fill=_FAINT)
        left = (width - len(row) * (_BOX + _GAP) + _GAP) / 2
        for index, part in enumerate(row):
            _component(canvas, left + index * (_BOX + _GAP), top, part)
        if level + 1 < len(rows):
            canvas.arrow(width / 2, top + 62, width / 2, top + _ROW - 2, stroke=_FAINT)
    _legend(canvas, width)
    return canvas.render()


def _component(canvas: Canvas, left: float, top: float, part: Component) -> None:
    fill = _COUNTER if part.kind == "clamped counter" else _GROUP if part.group_order > 1 else _RESET
    canvas.rect(left, top, _BOX, 60, rx=7, fill=fill, stroke=_INK)
    canvas.title(f"level {part.level}: {part.tiles} tiles, group {part.group} of order {part.group_order}")
    shown = min(part.tiles, _MAX_TILES)
    step = (_BOX - 24) / max(shown, 1)
    for index in range(shown):
        canvas.circle(left + 12 + step * (index + 0.5), top + 15, 4, fill="white", stroke=_INK)
    if part.tiles > shown:
        canvas.text(left + _BOX - 9, top + 15, "…", size=11, fill=_INK)
    group = (
        part.group if part.group_order > 1 else part.kind if part.kind != "permutation-reset" else "memory"
    )
    canvas.text(left + _BOX / 2, top + 33, f"{part.tiles} tiles · {group}", size=12, fill=_INK)
    note = "resets" if part.has_resets else "no resets"
    canvas.text(left + _BOX / 2, top + 50, note, size=10, fill=_FAINT)


def _legend(canvas: Canvas, width: float) -> None:
    entries = ((_GROUP, "group"), (_RESET, "memory"), (_COUNTER, "clamped counter"))
    left = width / 2 - 130
    for index, (fill, text) in enumerate(entries):
        x = left + index * 85
        canvas.rect(x, canvas.height - 26, 12, 12, fill=fill, stroke=_INK)
        canvas.text(x + 17, canvas.height - 20, text, size=11, text_anchor="start", fill=_INK)


def skeleton_picture(frame: Skeleton) -> str:
    """The classes by level, each by its representative; lines to the classes of tiles, dashed to images."""
    rows = [[part for part in frame.classes if part.level == level] for level in range(frame.num_levels)]
    box = 60.0 + 7.0 * min(_MAX_NAMES, frame.automaton.num_states) * _name_width(frame)
    widest = max((len(row) for row in rows), default=1)
    width = max(260.0, 2 * _LEFT + widest * (box + _GAP))
    canvas = Canvas(width, _TOP + max(1, len(rows)) * _ROW + 10)
    title = frame.automaton.name or f"{frame.automaton.num_states} states"
    canvas.text(width / 2, 20, f"Skeleton of {title}: {frame.num_sets} sets", size=15, fill=_INK)
    places = _places(rows, width, box)
    for part in frame.classes:
        _edges(canvas, frame, part, places)
    for part in frame.classes:
        _set_class(canvas, frame, part, places[part.number], box)
    for level in range(len(rows)):
        canvas.text(_LEFT / 3, _TOP + level * _ROW + 25, str(level), size=13, fill=_FAINT)
    return canvas.render()


def _name_width(frame: Skeleton) -> float:
    return min(6, max(len(name) for name in frame.automaton.state_names)) + 1.2


def _places(rows: Sequence[Sequence[SetClass]], width: float, box: float) -> dict[int, tuple[float, float]]:
    """The middle of the upper edge of every class."""
    places = {}
    for level, row in enumerate(rows):
        left = (width - len(row) * (box + _GAP) + _GAP) / 2 + box / 2
        for index, part in enumerate(row):
            places[part.number] = (left + index * (box + _GAP), _TOP + level * _ROW)
    return places


def _edges(canvas: Canvas, frame: Skeleton, part: SetClass, places: dict[int, tuple[float, float]]) -> None:
    x, y = places[part.number]
    tiles = {frame.class_of[tile] for tile in part.tiles} - {-1}
    images = {frame.class_of[row[member]] for row in frame.images for member in part.members}
    for below in sorted(tiles):
        canvas.line(x, y + 50, *places[below], stroke=_INK, stroke_width=1.2)
    for below in sorted(images - tiles - {-1, part.number}):
        canvas.line(x, y + 50, *places[below], stroke=_FAINT, stroke_dasharray="4 3")


def _set_class(
    canvas: Canvas, frame: Skeleton, part: SetClass, place: tuple[float, float], box: float
) -> None:
    x, y = place
    canvas.rect(x - box / 2, y, box, 50, rx=7, fill=_GROUP if part.generators else "white", stroke=_INK)
    names = [frame.automaton.state_names[state] for state in frame.states(part.representative)]
    shown = ", ".join(names[:_MAX_NAMES]) + (", …" if len(names) > _MAX_NAMES else "")
    canvas.title(", ".join(names))
    canvas.text(x, y + 17, f"{{{shown}}}", size=12, fill=_INK)
    sets = f"{len(part.members)} set{'s' * (len(part.members) != 1)}"
    order = group_order(part.generators, len(part.tiles))
    group = f" · |G| = {order}" if order > 1 else ""
    canvas.text(x, y + 36, f"{sets} · {len(part.tiles)} tiles{group}", size=10, fill=_FAINT)
