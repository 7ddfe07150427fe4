"""Programs of plans: what the layers of a network do, node by node.

Each kind of node of a plan is a few operations around the programs of its parts. A holonomy cascade has per
level counters for its groups, as layers, and one memory for its resets: the coordinate of the level, which
the counters move. A memory head gives the coordinate after the letter; the stage set before the letter is
fetched by a look-back where a level needs it (it cannot be recovered past a reset: erratum 28).
"""

from functools import singledispatch

from krohn.cascade.holonomy import holonomy_cascade
from krohn.cascade.plan import ClampedCounterPlan, HolonomyPlan, Plan
from krohn.cascade.plan_nodes import ErrorBitPlan, ParallelPlan, ReachablePlan, SerialPlan
from krohn.cascade.stack import StackPlan
from krohn.construct.tight.draft import Part, ProgramDraft
from krohn.construct.tight.drive import Drive, driven
from krohn.construct.tight.finite import Finite, joined
from krohn.construct.tight.holonomy_program import holonomy_track
from krohn.construct.tight.leaf_programs import clamped_track, has_unit_steps, padding_steps, stack_track
from krohn.network.operations import Row
from krohn.network.program import Meaning, Program


@singledispatch
def plan_track(plan: Plan, draft: ProgramDraft, letter: str, start: int, part: Part) -> Finite:
    """The states of the plan's automaton, driven by the register ``letter`` (BOS: number of letters).

    A plan inside a program: each kind of node is a few operations around the programs of its parts.
    """
    raise TypeError(f"no program for a {type(plan).__name__}")


@plan_track.register
def _(plan: HolonomyPlan, draft: ProgramDraft, letter: str, start: int, part: Part) -> Finite:
    return holonomy_track(draft, plan.cascade, letter, start, part)


@plan_track.register
def _(plan: ReachablePlan, draft: ProgramDraft, letter: str, start: int, part: Part) -> Finite:
    inner = plan_track(plan.inner, draft, letter, plan.states.index(start), part)
    return inner.renamed(plan.states.__getitem__)


@plan_track.register
def _(plan: ParallelPlan, draft: ProgramDraft, letter: str, start: int, part: Part) -> Finite:
    ways = [(*part, str(index)) for index in range(len(plan.parts))]
    tracks = [
        plan_track(side, draft, letter, labels[start], way)
        for side, labels, way in zip(plan.parts, plan.maps, ways, strict=True)
    ]
    state: dict[Row, int] = {labels: q for q, labels in enumerate(zip(*plan.maps, strict=True))}
    return joined(draft, tracks, [Meaning("state", part=way) for way in ways], state)


@plan_track.register
def _(plan: SerialPlan, draft: ProgramDraft, letter: str, start: int, part: Part) -> Finite:
    blocks = plan_track(plan.quotient, draft, letter, plan.blocks[start], (*part, "block"))
    rest = plan.fiber.automaton.num_letters
    drive = Drive(plan.quotient.automaton, lambda block, a: plan.drive[block][a], rest)
    inner = driven(draft, blocks, letter, drive, Meaning("drive", part=part))
    places = plan_track(plan.fiber, draft, inner, plan.labels[start], (*part, "fibre"))
    state: dict[Row, int] = {pair: q for q, pair in enumerate(zip(plan.blocks, plan.labels, strict=True))}
    meanings = [Meaning(kind, part=part) for kind in ("block", "place in block")]
    return joined(draft, [blocks, places], meanings, state)


@plan_track.register
def _(plan: ErrorBitPlan, draft: ProgramDraft, letter: str, start: int, part: Part) -> Finite:
    if start == plan.sink:
        return Finite((), {(): start})
    first = plan.states.index(start)
    inner = plan_track(plan.inner, draft, letter, first, (*part, "legal"))
    drive = Drive(plan.inner.automaton, lambda q, a: int(plan.errors[q, a]), 0)
    error = driven(draft, inner, letter, drive, Meaning("error", part=part))
    bit = draft.ever(error, Meaning("failed", part=part))
    legal = {(0, *row): plan.states[value] for row, value in inner.rows.items()}
    other = {(0, *row): plan.states[value] for row, value in inner.elsewhere.items()}
    return Finite((bit, *inner.inputs), legal | {(1, *row): plan.sink for row in inner.rows}, other)


@plan_track.register
def _(plan: ClampedCounterPlan, draft: ProgramDraft, letter: str, start: int, part: Part) -> Finite:
    if has_unit_steps(plan):
        return clamped_track(plan, draft, letter, start, part, range(len(plan.line)))
    return holonomy_track(draft, holonomy_cascade(plan.automaton), letter, start, part)


@plan_track.register
def _(plan: StackPlan, draft: ProgramDraft, letter: str, start: int, part: Part) -> Finite:
    return stack_track(plan, draft, letter, start, part)


def plan_program(plan: Plan, *, lagged: bool = False, flat: bool = False) -> Program:
    """The program of a plan, from the start state of its automaton.

    ``lagged``: cascades keep stage sets of several positions back instead of looking back.
    ``flat``: MLPs of few hidden layers rather than few units.
    """
    automaton = plan.automaton
    letters = automaton.num_letters
    nodes = (node for _, node in plan.walk() if isinstance(node, ClampedCounterPlan) and has_unit_steps(node))
    pads = (len(padding_steps(len(node.line), place)) for node in nodes for place in node.line)
    draft = ProgramDraft(letters, 1 + max(pads, default=0), lagged, flat)
    letter = draft.source(Meaning("letter"), range(letters), letters)
    if isinstance(plan, ClampedCounterPlan) and has_unit_steps(plan):
        after = clamped_track(plan, draft, letter, automaton.start, (), automaton.outputs)
    else:
        after = plan_track(plan, draft, letter, automaton.start, ())
    if not after.inputs:
        state = after.rows[()]
        name = draft.source(Meaning("state"), [state] * letters, state)
        return draft.finish((name,), {(state,): state}, automaton)
    return draft.finish(after.inputs, after.rows, automaton, after.elsewhere)
