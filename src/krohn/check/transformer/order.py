"""Two heads that copy position codes into one channel, where it is known which position stands later.

One head alone may copy the code of any position. Together they are bounded more tightly: the machine knows
whether the first position is before, at or after the second. Padding stands before every letter.
"""

from dataclasses import replace

import numpy as np

from krohn.check.arithmetic.format import Box
from krohn.check.files.witness import Pair
from krohn.check.ground import Flags, Integers, Real, Refused, hull, join, point, require
from krohn.check.transformer.head_rules import HELD, Memory, Part
from krohn.check.transformer.stream import Lifted, Setting

BEFORE, AT, AFTER = 0, 1, 2


def order_after(order: Integers, one: Flags, two: Flags) -> Integers:
    """The order of two positions after a letter; ``one``, ``two``: whether each head copies this letter."""
    return np.where(one & two, AT, np.where(one, AFTER, np.where(two, BEFORE, order)))


# Rule: the order of two positions.
# Hypotheses: both heads remember, by a lead, and carry no counters; which of them copies the current letter
# follows from state and letter; until a head copies a letter it copies padding. Conclusion: their sum is in a
# box by both values and the possible orders.
# Why: a letter that one head copies stands after all that was copied before; two heads that copy the same
# letter stand at one position; what no head copies changes nothing. At first both stand at padding, which
# counts as position 0. All orders that some run has at a state are followed.
def bound_pair(setting: Setting, new: Lifted, parts: tuple[Part, Part]) -> tuple[Part, Part]:
    """Both parts, with their sum in the first one: its rows are (value, value, possible orders)."""
    memories = [_memory(part) for part in parts]
    orders = _orders(setting, new, *map(_copied, memories))
    rows = np.stack([parts[0].number, parts[1].number, orders @ (1 << np.arange(3))], axis=2)
    table, number = np.unique(rows[new.rows], axis=0, return_inverse=True)
    numbers = np.full(rows.shape[:2], -1)
    numbers[new.rows] = number.reshape(-1)
    one, two = (_along(setting, memory) for memory in memories)
    box = join([_together(one[a], two[b], orders).reshape(1, -1) for a, b, orders in table.tolist()])
    sizes = [np.broadcast_to(part.values.size.max(axis=0), box.lo.shape) for part in parts]
    return (
        replace(parts[0], values=Box(box, sizes[0]), number=numbers),
        replace(parts[1], values=Box(point(np.zeros_like(box.lo)), sizes[1]), number=numbers),
    )


def bound_pairs(
    setting: Setting, new: Lifted, copies: dict[int, Part], pairs: tuple[Pair, ...]
) -> dict[int, Part]:
    """What all heads add; two that are compared are bounded together, and each is compared once."""
    made = dict(copies)
    for each in pairs:
        require({each.first, each.second} <= made.keys(), "witness: a pair of heads that do not remember")
        both = bound_pair(setting, new, (made[each.first], made[each.second]))
        made[each.first], made[each.second] = (replace(part, memory=None) for part in both)
    return made


def _memory(part: Part) -> Memory:
    if part.memory is None:
        raise Refused("witness: a pair of heads that do not remember")
    require(not part.memory.look.carries.any(), "witness: a pair of heads that carry counters")
    return part.memory


def _copied(memory: Memory) -> Flags:
    """(state, letter): whether the head copies this letter from now on; at first it copies padding."""
    rule, groups = memory.rule, len(memory.look.keys)
    letters: Flags = np.any(rule.member[:, :groups], axis=1)
    pads: Flags = np.any(rule.member[:, groups:], axis=1)
    read = {order[0] for order in rule.order if order}
    rest = {cell for order in rule.order for cell in order[1:]}
    right = len(read) == 1 and all(rule.order) and not letters[sorted(rest)].any()
    require(right, "witness: a pair is of heads with one kind of letters each")
    (cell,) = read
    require(letters[cell] and not pads[cell], "witness: a pair is of heads with one kind of letters each")
    return memory.filled[..., cell]


def _orders(setting: Setting, new: Lifted, one: Flags, two: Flags) -> Flags:
    """(state, letter, order): which orders some run can have there."""
    grown = np.zeros((len(one), 3), dtype=bool)
    grown[0, AT], may = True, np.zeros((len(one), 3), dtype=bool)
    reached = np.zeros((*one.shape, 3), dtype=bool)
    while (grown != may).any():
        setting.budget.spend(one.size * 9, "orders of positions")
        may = grown.copy()
        for order in range(3):
            after = order_after(np.full(one.shape, order), one, two)
            reached |= (after[..., None] == np.arange(3)) & may[:, None, order, None]
        np.logical_or.at(grown, new.step.follow[new.moves], reached[new.moves])
    return reached


Along = tuple[int, Real]
"""The first position, and what the head adds if it copies from there, from the next one, …"""


def _together(one: Along, two: Along, orders: int) -> Real:
    """What both heads add, whichever of the orders it is; positions that no order allows are not joined."""
    hulls = [
        hull_of(one, two, 0) if orders >> AT & 1 else None,
        hull_of(one, two, 1) if orders >> AFTER & 1 else None,
        hull_of(two, one, 1) if orders >> BEFORE & 1 else None,
    ]
    some = [box.reshape(1, -1) for box in hulls if box is not None]
    # No run has a pair of values that stands nowhere; whatever is said of it holds.
    return join(some).over(0) if some else one[1].over(0) + two[1].over(0)


def hull_of(later: Along, other: Along, by: int) -> Real | None:
    """The hull of later[i] + other[j] over i = j, or over i > j where ``by`` is 1; ``None`` without any."""
    (start, values), (begin, others) = later, other
    if by:
        others = Real(np.minimum.accumulate(others.lo), np.maximum.accumulate(others.hi))
    i = np.arange(start, start + len(values))
    j = np.minimum(i - by, begin + len(others) - 1) if by else i
    there = (j >= begin) & (j < begin + len(others))
    return (values[there] + others[(j - begin)[there]]).over(0) if there.any() else None


def _along(setting: Setting, memory: Memory) -> dict[int, Along]:
    """By value: what the head adds if it copies padding, which stands at 0, or letter 1, 2, …"""
    look, moment = memory.look, memory.look.moment
    d, length = moment.box.lo.shape[1], look.length
    value_of = memory.rule.value_of
    # Classes with one value are joined first: the hull of what they hold is copied from each position.
    numbers, which = np.unique(value_of[: moment.classes], return_inverse=True)
    work = float(len(numbers) * length * d) * (HELD + look.value[1].shape[1])
    setting.budget.spend(work, "values along positions")
    rows = hull(moment.box, which).reshape(len(numbers), 1, d) + point(moment.places).reshape(1, length, d)
    values = join([look.pad_values, look.read_values(rows.reshape(-1, d)).part])
    place = np.r_[np.zeros(look.tau, dtype=np.int64), np.tile(1 + np.arange(length), len(numbers))]
    value = np.r_[value_of[moment.classes :], numbers.repeat(length)]
    found = {}
    for number in np.unique(value_of).tolist():
        mine = value == number
        first = int(place[mine].min())
        along = hull(values[mine], place[mine] - first)
        found[number] = first, look.passed(along, memory.lead, memory.output).part
    return found
