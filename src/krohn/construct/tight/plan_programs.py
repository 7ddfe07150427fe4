"""Turns plans into programs, and programs into proposals: the cascade's side of the driver.

Each kind of node of a plan is a few operations around the programs of its parts.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, singledispatch

from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.budget import Budget
from krohn.cascade.holonomy import Cascade, holonomy_cascade
from krohn.cascade.plan import ClampedCounterPlan, HolonomyPlan, Plan, StackPlan
from krohn.cascade.plan_nodes import ErrorBitPlan, ParallelPlan, ReachablePlan, SerialPlan
from krohn.cascade.plan_search import cascade_plans
from krohn.construct.request import Proposal, Request
from krohn.construct.tight.draft import Finite, ProgramDraft, joined
from krohn.construct.tight.holonomy_part import Part, holonomy_track
from krohn.construct.tight.leaf_programs import clamped_track, has_unit_steps, padding_steps, stack_track
from krohn.errors import LimitExceeded, Unsupported
from krohn.network.position_maps import Row, Table
from krohn.network.program import Program
from krohn.network.register_meaning import Meaning

# A function of (state before the letter, letter): what drives the next part of a serial plan.


@dataclass(frozen=True)
class Drive:
    """``function(state before, letter)`` of an automaton's run; ``at_bos`` at every padding position."""

    automaton: Semiautomaton
    function: Callable[[int, int], int]
    at_bos: int

    def by_after(self, states: set[int]) -> dict[tuple[int, int], int] | None:
        """The same as a function of (state after, letter), if it is one (as it is for permutations)."""
        answers: dict[tuple[int, int], int] = {}
        for state in states:
            for letter in range(self.automaton.num_letters):
                answer = self.function(state, letter)
                if answers.setdefault((self.automaton.step(state, letter), letter), answer) != answer:
                    return None
        return answers

    def by_before(self, states: set[int]) -> dict[tuple[int, int], int]:
        """The function as a table."""
        letters = range(self.automaton.num_letters)
        return {(state, letter): self.function(state, letter) for state in states for letter in letters}


def driven(draft: ProgramDraft, now: Finite, letter: str, drive: Drive, target: Meaning) -> str:
    """A register with the drive's value.

    The state before is fetched by a look-back, unless the state after the letter and the letter already
    determine the answer.
    """
    answers = drive.by_after(now.values)
    if answers is not None:
        return _tabulate(draft, now, letter, answers, drive, target)
    held = now.register(draft, Meaning("state for", of=(target,)))
    reached: dict[Row, int] = {(q,): q for q in now.all_rows.values()}
    earlier = Finite((draft.look_back(held),), reached) if held else now
    return _tabulate(draft, earlier, letter, drive.by_before(now.values), drive, target)


def _tabulate(
    draft: ProgramDraft,
    state: Finite,
    letter: str,
    answers: Mapping[tuple[int, int], int],
    drive: Drive,
    target: Meaning,
) -> str:
    bos = drive.automaton.num_letters
    rows: dict[Row, int] = {(*row, bos): drive.at_bos for row in state.all_rows}
    for row, value in state.rows.items():
        rows |= {(*row, a): answers[value, a] for a in range(bos) if (value, a) in answers}
    return Finite((*state.inputs, letter), rows).register(draft, target)


# A plan inside a program: each kind of node is a few operations around the programs of its parts.


@singledispatch
def plan_track(plan: Plan, draft: ProgramDraft, letter: str, start: int, part: Part) -> Finite:
    """The states of the plan's automaton, driven by the register ``letter`` (BOS: number of letters)."""
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


# Plans of an automaton as programs, and the shallowest of them.


def plan_program(plan: Plan, *, lagged: bool = False, flat: bool = False) -> Program:
    """The program of a plan, from the start state of its automaton.

    ``lagged``: cascades keep stage sets of several positions back instead of looking back.
    ``flat``: MLPs of few hidden layers rather than few units.
    """
    automaton = plan.automaton
    letters = automaton.num_letters
    draft = ProgramDraft(letters, 1 + max(_padding(plan), default=0), lagged, flat)
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


def _padding(plan: Plan) -> Iterator[int]:
    for _, node in plan.walk():
        if isinstance(node, ClampedCounterPlan) and has_unit_steps(node):
            yield max(len(padding_steps(len(node.line), place)) for place in node.line)


# Proposals from Krohn–Rhodes plans: several searches, each plan as the program of fewest layers.


def cascade_proposals(request: Request, budget: Budget) -> Iterator[Proposal]:
    """Programs of different plans, only those of the best if only depth matters; raises if there is none."""
    built = list(built_plans(request, budget))
    for plan, program in [shallowest(built)] if request.objective == "depth" else built:
        lines = tuple("  " * indent + node.title for indent, node in plan.walk())
        yield Proposal("cascade", program.depth, partial(_same, program), lines)
        if request.objective == "blocks" or request.dtype == "float64":  # too fine for shorter formats
            flat = plan_program(plan, flat=True)
            if flat != program and flat.depth == program.depth:
                yield Proposal("cascade", flat.depth, partial(_same, flat), lines)


def _same(program: Program) -> Program:
    return program


def built_plans(
    request: Request, budget: Budget, plain: Cascade | None = None
) -> Iterator[tuple[Plan, Program]]:
    """Plans with their programs; a plan with more than twice the layers of a scan is skipped."""
    reasons: dict[str, None] = {}
    result = False
    in_scan = request.scan_depth if (request.method, request.objective) == ("auto", "depth") else None
    for plan in cascade_plans(request.automaton, budget, request.max_sets, plain):
        faults = [] if plan.is_solvable else [*_unsolvable(plan)]
        if not faults and in_scan is not None and plan.layers > 2 * in_scan:
            faults = [f"{plan.layers} layers are needed"]
        if not faults:
            try:
                programs = _programs(plan, None if in_scan is None else 2 * in_scan)
            except LimitExceeded as error:
                faults = [str(error)]
        if faults:
            reasons.update(dict.fromkeys(faults))
            continue
        result = True
        yield from ((plan, program) for program in programs)
    if not result:
        limits = f"{request.max_sets:,} image sets and {budget.units:,.0f} units of work (--effort)"
        listed = "; ".join(reasons) or f"no plan within {limits}"
        raise Unsupported(f"no cascade: {listed}; use method scan")


def shallowest(built: Sequence[tuple[Plan, Program]]) -> tuple[Plan, Program]:
    """The plan that compile builds and decompose shows: sort key: layers, then levels, then size."""
    return min(built, key=lambda pair: (pair[1].depth, pair[0].levels, program_size(pair[1])))


def program_size(program: Program) -> int:
    """Estimated units and channels of a program: rows of tables, registers and heads."""
    rows = sum(
        len(change.rows) for layer in program.layers for change in layer.maps if isinstance(change, Table)
    )
    return rows + len(program.registers) + sum(len(layer.attention) for layer in program.layers)


def _programs(plan: Plan, most: int | None) -> list[Program]:
    """The plan's program and, where it is shallower, the one that keeps stage sets of several positions.

    That one saves at most half of the layers, and takes minutes to write if there are hundreds.
    """
    plain = plan_program(plan)
    if most is not None and plain.depth > 2 * most:
        raise LimitExceeded(f"{plain.depth} layers are needed")
    if not any(_has_levels(node) for _, node in plan.walk()):
        return [plain]
    lagged = plan_program(plan, lagged=True)
    return [plain, lagged] if lagged.depth < plain.depth else [plain]


def _has_levels(node: Plan) -> bool:
    """Whether a node is written level by level, as a counter is whose steps are too large for its shape."""
    return isinstance(node, HolonomyPlan) or (
        isinstance(node, ClampedCounterPlan) and not has_unit_steps(node)
    )


def _unsolvable(plan: Plan) -> Iterator[str]:
    for _, node in plan.walk():
        if isinstance(node, HolonomyPlan):
            for part in node.components:
                if not part.is_solvable:
                    yield (
                        f"the group {part.group} of order {part.group_order} on {part.tiles} tiles "
                        f"(level {part.level}) is not solvable"
                    )
