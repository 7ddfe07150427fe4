"""A plan inside a program: each kind of node is a few operations around the programs of its parts."""

from functools import singledispatch

from krohn.cascade.holonomy import decompose
from krohn.cascade.plan import Plan
from krohn.cascade.plan_nodes import (
    ClampedCounterPlan,
    ErrorBitPlan,
    HolonomyPlan,
    ParallelPlan,
    ReachablePlan,
    SerialPlan,
)
from krohn.cascade.stack_plan import StackPlan
from krohn.construct.tight.clamped_counter import clamped_track, has_unit_steps
from krohn.construct.tight.draft import ProgramDraft
from krohn.construct.tight.drive import Drive, driven
from krohn.construct.tight.finite import Finite, Track, joined
from krohn.construct.tight.holonomy_part import holonomy_track
from krohn.construct.tight.stack import stack_track
from krohn.network.operations import Row


@singledispatch
def plan_track(plan: Plan, draft: ProgramDraft, letter: str, start: int, name: str) -> Track:
    """The states of the plan's automaton, driven by the register ``letter`` (BOS: number of letters)."""
    raise TypeError(f"no program for a {type(plan).__name__}")


@plan_track.register
def _(plan: HolonomyPlan, draft: ProgramDraft, letter: str, start: int, name: str) -> Track:
    return holonomy_track(draft, plan.cascade, letter, start, f"{name}level ")


@plan_track.register
def _(plan: ReachablePlan, draft: ProgramDraft, letter: str, start: int, name: str) -> Track:
    inner = plan_track(plan.inner, draft, letter, plan.states.index(start), name)
    return inner.renamed(plan.states.__getitem__)


@plan_track.register
def _(plan: ParallelPlan, draft: ProgramDraft, letter: str, start: int, name: str) -> Track:
    names = [f"{name}part {index} " for index in range(len(plan.parts))]
    tracks = [
        plan_track(part, draft, letter, labels[start], prefix)
        for part, labels, prefix in zip(plan.parts, plan.maps, names, strict=True)
    ]
    state = {labels: q for q, labels in enumerate(zip(*plan.maps, strict=True))}
    return Track(
        joined(draft, [track.after for track in tracks], [f"{n}state" for n in names], state.get),
        joined(draft, [track.before for track in tracks], [f"{n}state before" for n in names], state.get),
    )


@plan_track.register
def _(plan: SerialPlan, draft: ProgramDraft, letter: str, start: int, name: str) -> Track:
    blocks = plan_track(plan.quotient, draft, letter, plan.blocks[start], f"{name}block ")
    rest = plan.fiber.automaton.num_letters
    drive = Drive(plan.quotient.automaton, lambda block, a: plan.drive[block][a], rest)
    inner = driven(draft, blocks, letter, drive, f"{name}drive")
    places = plan_track(plan.fiber, draft, inner, plan.labels[start], f"{name}fibre ")
    state: dict[Row, int] = {pair: q for q, pair in enumerate(zip(plan.blocks, plan.labels, strict=True))}
    names = [f"{name}block", f"{name}place"]
    return Track(
        joined(draft, [blocks.after, places.after], names, state.get),
        joined(draft, [blocks.before, places.before], [f"{n} before" for n in names], state.get),
    )


@plan_track.register
def _(plan: ErrorBitPlan, draft: ProgramDraft, letter: str, start: int, name: str) -> Track:
    if start == plan.sink:
        return Track(Finite((), {(): start}), Finite((), {(): start}))
    first = plan.states.index(start)
    inner = plan_track(plan.inner, draft, letter, first, f"{name}legal ")
    drive = Drive(plan.inner.automaton, lambda q, a: int(plan.errors[q, a]), 0)
    error = driven(draft, inner, letter, drive, f"{name}error")
    total = draft.prefix_sum(error)
    now = draft.clamp([(total, 1), *([(error, 1)] if draft.strict else [])], 0, 0, 1, f"{name}failed")
    return Track(
        _with_bit(plan, inner.after, now),
        _with_bit(plan, inner.before, draft.clamp([(total, 1)], 0, 0, 1, f"{name}failed before"))
        if draft.strict
        else _with_bit(plan, inner.after, now),
    )


def _with_bit(plan: ErrorBitPlan, inner: Finite, bit: str) -> Finite:
    legal = {(0, *row): plan.states[value] for row, value in inner.rows.items()}
    other = {(0, *row): plan.states[value] for row, value in inner.elsewhere.items()}
    return Finite((bit, *inner.inputs), legal | {(1, *row): plan.sink for row in inner.rows}, other)


@plan_track.register
def _(plan: ClampedCounterPlan, draft: ProgramDraft, letter: str, start: int, name: str) -> Track:
    if has_unit_steps(plan):
        return clamped_track(plan, draft, letter, start, name)
    return holonomy_track(draft, decompose(plan.automaton), letter, start, f"{name}level ")


@plan_track.register
def _(plan: StackPlan, draft: ProgramDraft, letter: str, start: int, name: str) -> Track:
    return stack_track(plan, draft, letter, start, name)
