"""Human-readable cascades: plain data and a picture, with words, counters and the original states."""

from collections.abc import Callable
from math import inf
from typing import Any, TypeVar

from krohn.algebra.permgroup import PermutationGroup, counter_tower
from krohn.algebra.transformation import cycle_notation, order, product_of_word
from krohn.automata.quotients import word_along
from krohn.base.svg import Canvas, text_width
from krohn.cascade.holonomy import Cascade
from krohn.cascade.plan import Component, HolonomyPlan, Plan
from krohn.cascade.skeleton import Permutation, SetClass, Skeleton
from krohn.errors import counted

# Words for the maps of a skeleton: transports and generators.
#
# The inverse of a transport needs no partial maps: if v leads from P back to the representative R, then
# w_P·v permutes the states of R; with m the order of that permutation, v·(w_P·v)^(m−1) undoes w_P on R.


Word = tuple[int, ...]
Node = TypeVar("Node", int, tuple[int, ...])
_SEARCHED = 2000  # tuples of tiles searched for a shortest word


def transport_word(frame: Skeleton, target: int) -> Word:
    """The word that carries the representative of a class onto a member, tile i onto tile i."""
    return word_along(frame.parent.__getitem__, target)


def return_word(frame: Skeleton, source: int) -> Word:
    """A word that carries a member back onto its representative and undoes the transport there."""
    part = frame.classes[frame.class_of[source]]

    def inside(row: list[int], member: int) -> int | None:
        return row[member] if frame.class_of[row[member]] == part.number else None

    out, back = transport_word(frame, source), _shortest(frame, source, part.representative, inside, inf)
    assert back is not None, "the members of a class lead to each other, unless classes were merged"
    loop = out + back
    place = {state: number for number, state in enumerate(frame.states(part.representative))}
    images = product_of_word(frame.automaton.letters, loop)
    return back + loop * (order([place[images[state]] for state in place]) - 1)


def generator_word(frame: Skeleton, part: SetClass, generator: Permutation) -> Word:
    """A word that fixes the representative as a set and permutes its tiles by the generator.

    A shortest one if a short search finds it, else the word of the Schreier element.
    """
    goal = [0] * len(part.tiles)
    for place, image in enumerate(generator):
        goal[place] = part.tiles[image]
    # Tiles cover their set, so a word that permutes the tiles of R carries R onto itself.
    result = _shortest(frame, part.tiles, tuple(goal), _carried, _SEARCHED)
    if result is not None:
        return result
    source, letter = part.generators[generator]
    word = (*transport_word(frame, source), letter)
    return word + return_word(frame, frame.images[letter][source])


def _carried(row: list[int], tiles: tuple[int, ...]) -> tuple[int, ...] | None:
    """The images of tiles under a letter, if they stay apart."""
    images = tuple([row[tile] for tile in tiles])
    return images if len(set(images)) == len(images) else None


def _shortest(
    frame: Skeleton, start: Node, goal: Node, step: Callable[[list[int], Node], Node | None], most: float
) -> Word | None:
    """A shortest word from start to goal by steps that exist; None if there is none, or too many nodes."""
    origin: dict[Node, tuple[Node, int] | None] = {start: None}
    queue = [start]
    for current in queue:
        if goal in origin or len(queue) > most:
            break
        for letter, row in enumerate(frame.images):
            following = step(row, current)
            if following is not None and following not in origin:
                origin[following] = (current, letter)
                queue.append(following)
    return word_along(origin.get, goal) if goal in origin else None


def spell(frame: Skeleton, word: Word) -> str:
    """The word in letter names; the empty word is ε."""
    names = [frame.automaton.letter_names[letter] for letter in word]
    return ("" if all(len(name) == 1 for name in names) else " ").join(names) or "ε"


MAX_GROUP = 2000  # groups up to this order are refined into counters
_OF_COMPONENTS = ("level", "tiles", "group_order", "group", "is_solvable", "has_resets", "kind")
_MAX_LISTED = 64  # class members or group generators listed; beyond, only their number


def plan_as_dict(plan: Plan) -> dict[str, Any]:
    """Components of a plan and its tree; a plan that is one cascade also shows sets and words."""
    payload: dict[str, Any] = {
        "components": [{key: getattr(part, key) for key in _OF_COMPONENTS} for part in plan.components],
        "tree": _tree(plan),
    }
    if isinstance(plan, HolonomyPlan):
        details = [component_as_dict(plan.cascade, part) for part in plan.cascade.components]
        for entry, detail in zip(payload["components"], details, strict=True):
            entry.update(detail)
        payload["num_sets"] = plan.cascade.skeleton.num_sets
        payload["initial"] = list(plan.cascade.initial)
    return payload


def _tree(plan: Plan) -> dict[str, Any]:
    node: dict[str, Any] = {"node": plan.title, "levels": plan.levels}
    if plan.children:
        node["children"] = [_tree(child) for child in plan.children]
    return node


def component_as_dict(cascade: Cascade, part: SetClass) -> dict[str, Any]:
    """One component on the original states: its sets, its tiles, its generators with words."""
    frame = cascade.skeleton
    payload: dict[str, Any] = {
        "representative": state_names(frame, part.representative),
        "tile_states": [state_names(frame, tile) for tile in part.tiles],
        "num_members": len(part.members),
        "counters": _counters(part.group),
        "memory": len(part.tiles) if cascade.is_reset[part.number] else None,
        "generators": [
            {"permutation": list(generator), "cycles": cycle_notation(generator)}
            for generator in list(part.generators)[:_MAX_LISTED]
        ],
    }
    if not part.is_merged:
        for entry, generator in zip(payload["generators"], part.generators, strict=False):
            entry["word"] = spell(frame, generator_word(frame, part, generator))
        payload["transports"] = [
            {"states": state_names(frame, member), "word": spell(frame, transport_word(frame, member))}
            for member in part.members[1:_MAX_LISTED]
        ]
    return payload


def _counters(group: PermutationGroup) -> list[list[int]] | None:
    """Moduli of the counters, section by section; None if not solvable or too large to list."""
    if group.order > MAX_GROUP or not group.is_solvable:
        return None
    return [list(moduli) for moduli in counter_tower(group.generators, group.degree).moduli_by_section]


def state_names(frame: Skeleton, number: int) -> list[str]:
    """The states of a set by their names."""
    return [frame.automaton.state_names[state] for state in frame.states(number)]


# The picture of a cascade.


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
