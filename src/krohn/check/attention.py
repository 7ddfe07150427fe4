"""An attention block on a claim: the stream that is kept, and every head by its rule."""

from dataclasses import replace

import numpy as np

from krohn.check.format import Box, whole
from krohn.check.heads import Look, Part, add_up, look_back, remember
from krohn.check.machine import Claim, Lifted, Setting, counted_anew, lifted
from krohn.check.norm import Norm, normed
from krohn.check.reader import Head, Layer
from krohn.check.real import Array, Integers, Real, hull, point
from krohn.check.verdict import inside, require
from krohn.check.witness import Attention, Back, Rule, Silent, Sum


def attend(setting: Setting, claim: Claim, layer: Layer, step: Attention) -> Claim:
    """The claim after ``x ← keep x + Σ heads``."""
    require(len(step.heads) == len(layer.heads), "witness: one rule per head")
    new, keep = lifted(claim, step.lift), layer.keep_attention
    sums, copies, pads = [], dict[int, Part](), [whole(claim.pads).kept(keep)]
    norm = normed(setting.fmt, claim.anywhere, layer.gain_attention, setting.epsilon)
    for number, (head, rule) in enumerate(zip(layer.heads, step.heads, strict=True), 1):
        with inside(f"head {number}"):
            made, padding = one_head(setting, claim, head, rule, new, norm)
            pads.append(padding)
            if isinstance(made, Part):
                copies[number - 1] = made
            elif made is not None:
                sums.append((made, rule))
    for each in step.races:
        from krohn.check.race import race  # who compares no positions need not read it

        require({each.first, each.second} <= copies.keys(), "witness: a race of heads that do not remember")
        both = race(setting, new, (copies[each.first], copies[each.second]))
        copies[each.first], copies[each.second] = (replace(part, memory=None) for part in both)
    parts = list(copies.values())
    rows, labels = _distinct(new, parts)
    total, wide = _assembled(setting, claim, keep, rows, parts, [box for box, _ in sums])
    added = [rule for _, rule in sums if isinstance(rule, Sum)]
    steps = np.concatenate([new.steps, *(rule.steps[new.own] for rule in added)], axis=2)
    wide = np.concatenate([wide, *(rule.wide for rule in added)], axis=1)
    machine = replace(
        claim.machine, follow=step.lift.follow, shown=step.lift.shown, steps=steps, letter=new.letter
    )
    made_claim = replace(
        claim,
        machine=machine,
        box=hull(total, labels),
        wide=wide,
        places=claim.places * keep,
        pads=setting.fmt.gathered(pads).part,
    )
    return counted_anew(made_claim, setting.budget)


def one_head(
    setting: Setting, claim: Claim, head: Head, rule: Rule, new: Lifted, norm: Norm
) -> tuple[Part | Box | None, Box]:
    """What the head adds to letters (nothing, per class, or per state and letter), and to padding."""
    if isinstance(rule, Silent):
        require(not head.output.any(), "witness: a head that adds something is called silent")
        one = np.zeros(claim.classes, dtype=np.int64)
        return None, Look(setting, claim, head, one, one, norm).at_padding()
    look = Look(setting, claim, head, rule.query_of, rule.key_of, norm)
    if isinstance(rule, Sum):
        return add_up(look, rule)[0], look.at_padding()
    part = look_back(look, rule, new) if isinstance(rule, Back) else remember(look, rule, new)
    return part, look.at_padding()


def _distinct(new: Lifted, parts: list[Part]) -> tuple[Integers, Integers]:
    """The different combinations of class and copied values that occur, and the label of each."""
    rows = new.rows
    columns = [new.own[rows][:, None]]
    for part in parts:
        columns += [part.number[rows][:, None], part.offset[rows]]
    table = np.concatenate([*columns, new.step.shown[rows][:, None]], axis=1)
    found = np.unique(table, axis=0)
    return found[:, :-1], found[:, -1]


def _assembled(
    setting: Setting, claim: Claim, keep: Array, rows: Integers, parts: list[Part], sums: list[Box]
) -> tuple[Real, Array]:
    """keep x + Σ heads less their counters, for every row; and what the old counters are worth then."""
    own, wide = rows[:, 0], claim.wide * keep[:, None]
    boxes = [claim.computed(claim.box)[own].kept(keep), *(box[own] for box in sums)]
    at, exact = 1, point(wide)
    counters = len(claim.low)
    setting.budget.spend(len(rows) * len(keep) * (1 + len(parts)), "sums of heads")
    for part in parts:
        number, offset = rows[:, at], rows[:, at + 1 : at + 1 + counters]
        at += 1 + counters
        shift = point(offset) @ -part.carried.T
        size = np.broadcast_to(part.values.beyond, part.values.part.lo.shape)[number]
        boxes.append(Box(part.values.part[number] + part.remainder + shift, size))
        exact = exact + point(part.carried)
    total = setting.fmt.gathered(boxes)
    return total.part + claim.remainder(exact, exact.lo), exact.lo
