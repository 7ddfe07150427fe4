"""Two heads that copy position codes, where it is known which of them looks at the later letter.

One alone may copy the code of any position. Together they say more: their sum is one of i > j, of j > i or of
one and the same position, and the machine knows which. So a difference of positions has a sign.
"""

from dataclasses import replace

import numpy as np

from krohn.check.format import Box
from krohn.check.heads import Memory, Part
from krohn.check.machine import Lifted, Setting
from krohn.check.real import Flags, Integers, Real, hull, joined, point
from krohn.check.verdict import Refused, require
from krohn.check.witness import Race

FIRST, SECOND, SAME = 1, 2, 3


def race(setting: Setting, new: Lifted, race: Race, parts: tuple[Part, Part]) -> tuple[Part, Part]:
    """Both parts again, what both add together in the first: its rows are (value, value, who is ahead)."""
    memories = [_memory(part) for part in parts]
    moved, there = zip(*(_letters(memory) for memory in memories), strict=True)
    ahead = np.broadcast_to(race.ahead[:, None], moved[0].shape)
    one, two = moved
    after = np.select([one & two, one, two], [SAME, FIRST, SECOND], ahead)
    follow = race.ahead[new.step.follow]
    require(race.ahead[0] == 0, "witness: who is ahead at first")
    require(((follow == after) | (follow == 0))[new.moves], "witness: who is ahead does not move along")
    known = np.where(there[0] & there[1], ahead if setting.strict else after, 0)
    rows = np.stack([parts[0].number, parts[1].number, known], axis=2)
    table, number = np.unique(rows[new.rows], axis=0, return_inverse=True)
    numbers = np.full(known.shape, -1)
    numbers[new.rows] = number.reshape(-1)
    box = _together(setting, memories, parts, table)
    sizes = [np.broadcast_to(part.values.size.max(axis=0), box.lo.shape) for part in parts]
    nothing = point(np.zeros_like(box.lo))
    return (
        replace(parts[0], values=Box(box, sizes[0]), number=numbers),
        replace(parts[1], values=Box(nothing, sizes[1]), number=numbers),
    )


def _memory(part: Part) -> Memory:
    if part.memory is None:
        raise Refused("witness: a race of heads that do not remember")
    require(not part.memory.look.carries.any(), "witness: a race of heads that carry counters")
    return part.memory


def _letters(memory: Memory) -> tuple[Flags, Flags]:
    """(state, letter): whether the letter is copied from now on; whether a letter is copied, not padding."""
    rule, groups = memory.rule, len(memory.look.keys)
    cells = np.flatnonzero(rule.member[:, :groups].any(axis=1) & ~rule.member[:, groups:].any(axis=1))
    read = {order[0] for order in rule.order if order}
    rest = {cell for order in rule.order for cell in order[1:]}
    right = len(read) == 1 and read <= set(cells.tolist()) and all(rule.order)
    right = right and not rule.member[sorted(rest), :groups].any()
    require(right, "witness: a race is between heads with one kind of letters each")
    (cell,) = read
    return memory.filled[..., cell], memory.content[..., cell] >= 0


def _together(setting: Setting, memories: list[Memory], parts: tuple[Part, Part], table: Integers) -> Real:
    """What both heads add, for every row of the table."""
    along = [_along(setting, memory) for memory in memories]
    made = []
    for one, two, known in table.tolist():
        if known and memories[0].look.length > 1:
            left, right = along[0][one], along[1][two]
            made.append(_ordered(left, right, known).shaped(1, -1))
        else:
            both = parts[0].values.part[one] + parts[1].values.part[two]
            made.append(both.shaped(1, -1))
    return joined(made)


def _ordered(left: Real, right: Real, known: int) -> Real:
    """The hull of left[i] + right[j] over i > j, over i < j, or over i = j."""
    if known == SAME:
        return (left + right).over(0)
    if known == SECOND:
        left, right = right, left
    best = Real(np.minimum.accumulate(right.lo), np.maximum.accumulate(right.hi))
    return (left[1:] + best[:-1]).over(0)


def _along(setting: Setting, memory: Memory) -> dict[int, Real]:
    """By value: [letter t, channel], what the head adds if it copies from there."""
    look, claim = memory.look, memory.look.claim
    value_of = memory.rule.value_of[: claim.classes]
    d, length = claim.box.lo.shape[1], look.length
    setting.budget.spend(
        claim.classes * length * d * (1 + look.head.value.shape[1]), "values along positions"
    )
    rows = claim.box.shaped(claim.classes, 1, d) + point(claim.places).shaped(1, length, d)
    beyond = np.broadcast_to(claim.counted, (claim.classes * length, d))
    values = look.norm.linear(Box(rows.shaped(-1, d), beyond), look.head.value).part
    exact = (point(claim.wide.T) * point(look.norm.scale)) @ look.head.value
    values = values + claim.remainder(Real(exact.lo.T, exact.hi.T), look.value_wide)
    found = {}
    for value in np.unique(value_of).tolist():
        which = np.flatnonzero(value_of == value)
        places = np.arange(length)
        labels = np.tile(places, len(which))
        mine = (which[:, None] * length + places).reshape(-1)
        found[value] = look.passed(hull(values[mine], labels), memory.lead).part
    return found
