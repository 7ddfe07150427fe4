"""Two heads that copy position codes, where the distance of the two positions is known.

One head alone may copy the code of any position. Together they are bounded more tightly: the machine knows
whether the first position is before, directly before, at, directly after or after the second, which bounds
their sum. Padding is at position 0, directly before the first letter.
"""

from dataclasses import replace
from itertools import product

import numpy as np

from krohn.check.arithmetic.format import Box
from krohn.check.files.reader import Race
from krohn.check.ground import Flags, Integers, Real, Refused, hull, join, point, require
from krohn.check.transformer.head_rules import HELD, Memory, Part
from krohn.check.transformer.stream import Lifted, Setting

STATUS = tuple(product(range(-2, 3), (0, 1), (0, 1)))
"""First position minus second, clamped to −2 … 2; whether each of them is the current position."""
AT_FIRST = STATUS.index((0, 1, 1))


def _after(apart: int, first: int, second: int, one: int, two: int) -> tuple[int, int, int]:
    """The status after a letter; ``one``, ``two``: whether each head copies this letter from now on."""
    if one:
        apart = 0 if two else 2 - second
    elif two:
        apart = first - 2
    return apart, one, two


AFTER = np.array([[STATUS.index(_after(*status, *divmod(n, 2))) for status in STATUS] for n in range(4)])
"""The next status, by 2 · one + two and the status."""


# Rule: a race.
# Hypotheses: both heads remember, by a lead, and carry no counters; which of them copies the current letter
# follows from state and letter. Conclusion: their sum is in a box by both values and the possible distances.
# Why: the distance is 0 or 1 when a letter is copied and grows by one with each letter that is not, clamped
# to ±2; all distances that some run has at a state are followed.
def race(setting: Setting, new: Lifted, parts: tuple[Part, Part]) -> tuple[Part, Part]:
    """Both parts, with their sum in the first one: its rows are (value, value, distances)."""
    memories = [_memory(part) for part in parts]
    apart = _distances(setting, new, _letters(memories[0]), _letters(memories[1]))
    rows = np.stack([parts[0].number, parts[1].number, apart], axis=2)
    table, number = np.unique(rows[new.rows], axis=0, return_inverse=True)
    numbers = np.full(apart.shape, -1)
    numbers[new.rows] = number.reshape(-1)
    box = _together(setting, memories, parts, table)
    sizes = [np.broadcast_to(part.values.size.max(axis=0), box.lo.shape) for part in parts]
    nothing = point(np.zeros_like(box.lo))
    return (
        replace(parts[0], values=Box(box, sizes[0]), number=numbers),
        replace(parts[1], values=Box(nothing, sizes[1]), number=numbers),
    )


def race_all(
    setting: Setting, new: Lifted, copies: dict[int, Part], races: tuple[Race, ...]
) -> dict[int, Part]:
    """What all heads add; two that are compared are bounded together, and each is compared once."""
    made = dict(copies)
    for each in races:
        known = {each.first, each.second} <= made.keys()
        require(known, "witness: a race of heads that do not remember")
        both = race(setting, new, (made[each.first], made[each.second]))
        made[each.first], made[each.second] = (replace(part, memory=None) for part in both)
    return made


def _memory(part: Part) -> Memory:
    if part.memory is None:
        raise Refused("witness: a race of heads that do not remember")
    require(not part.memory.look.carries.any(), "witness: a race of heads that carry counters")
    return part.memory


def _letters(memory: Memory) -> Flags:
    """(state, letter): whether the head copies this letter from now on; at first it copies padding."""
    # Distances are followed of one cell of letters per head. Until it is filled the head copies padding,
    # whose position counts as 0 whatever padding it is.
    rule, groups = memory.rule, len(memory.look.keys)
    cells = np.flatnonzero(rule.member[:, :groups].any(axis=1) & ~rule.member[:, groups:].any(axis=1))
    read = {order[0] for order in rule.order if order}
    rest = {cell for order in rule.order for cell in order[1:]}
    right = len(read) == 1 and read <= set(cells.tolist()) and all(rule.order)
    right = right and not rule.member[sorted(rest), :groups].any()
    require(right, "witness: a race is between heads with one kind of letters each")
    (cell,) = read
    return memory.filled[..., cell]


def _distances(setting: Setting, new: Lifted, one: Flags, two: Flags) -> Integers:
    """(state, letter): a bit for each distance −2 … 2 that some run can have there."""
    move, steps = 2 * one + two, np.eye(len(STATUS), dtype=bool)[AFTER]
    grown = np.zeros((len(move), len(STATUS)), dtype=bool)
    grown[0, AT_FIRST], may = True, grown.copy()
    while (grown != may).any():
        setting.budget.spend(move.size * len(STATUS), "distances of positions")
        may = grown.copy()
        reached = (may @ steps)[move, np.arange(len(move))[:, None]]
        np.logical_or.at(grown, new.step.follow[new.moves], reached[new.moves])
    bits: Integers = reached.reshape(*move.shape, 5, 4).any(axis=3) @ (1 << np.arange(5))
    return bits


def _together(setting: Setting, memories: list[Memory], parts: tuple[Part, Part], table: Integers) -> Real:
    """What both heads add, for every row of the table."""
    one, two = (_along(setting, memory) for memory in memories)
    made = []
    for left, right, bits in table.tolist():
        apart = [by for by in range(-2, 3) if bits >> (by + 2) & 1]
        hulls = [
            hull_apart(one[left], two[right], by) if by >= 0 else hull_apart(two[right], one[left], -by)
            for by in apart
        ]
        some = [found.reshape(1, -1) for found in hulls if found is not None]
        any_two = parts[0].values.part[left] + parts[1].values.part[right]
        made.append((join(some).over(0) if some else any_two).reshape(1, -1))
    return join(made)


Along = tuple[int, Real]
"""The first position, and what the head adds if it copies from there, from the next one, …"""


def hull_apart(later: Along, other: Along, by: int) -> Real | None:
    """The hull of later[i] + other[j] over i = j + by, for 2 over i ≥ j + 2; ``None`` if there are none."""
    (start, values), (begin, others) = later, other
    i = np.arange(start, start + len(values))
    j = i - by
    if by == 2:
        others = Real(np.minimum.accumulate(others.lo), np.maximum.accumulate(others.hi))
        j = np.minimum(j, begin + len(others) - 1)
    there = (j >= begin) & (j < begin + len(others))
    return (values[there] + others[(j - begin)[there]]).over(0) if there.any() else None


def _along(setting: Setting, memory: Memory) -> dict[int, Along]:
    """By value: what the head adds if it copies padding, which stands at 0, or letter 1, 2, …"""
    look, moment = memory.look, memory.look.moment
    d, length = moment.box.lo.shape[1], look.length
    work = float(moment.classes * length * d) * (HELD + look.value[1].shape[1])
    setting.budget.spend(work, "values along positions")
    rows = moment.box.reshape(moment.classes, 1, d) + point(moment.places).reshape(1, length, d)
    values = join([look.pad_values, look.read_values(rows.reshape(-1, d)).part])
    place = np.r_[np.zeros(look.tau, dtype=np.int64), np.tile(1 + np.arange(length), moment.classes)]
    value_of = memory.rule.value_of
    value = np.r_[value_of[moment.classes :], value_of[: moment.classes].repeat(length)]
    found = {}
    for number in np.unique(value_of).tolist():
        mine = value == number
        first = int(place[mine].min())
        found[number] = (
            first,
            look.passed(hull(values[mine], place[mine] - first), memory.lead, memory.output).part,
        )
    return found
