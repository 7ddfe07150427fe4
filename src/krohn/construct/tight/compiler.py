"""Plans of an automaton as programs, and the shallowest of them."""

from collections.abc import Iterator

from krohn.cascade.plan import Plan
from krohn.cascade.plan_nodes import ClampedCounterPlan
from krohn.construct.tight.clamped_counter import has_unit_steps, padding_steps
from krohn.construct.tight.draft import ProgramDraft
from krohn.construct.tight.plan_part import plan_track
from krohn.network.program import Program
from krohn.network.transformer import Mask


def plan_program(plan: Plan, mask: Mask, *, lagged: bool = False) -> Program:
    """The program of a plan, from the start state of its automaton.

    ``lagged`` (causal mask): cascades keep stage sets of several positions back instead of looking back.
    """
    automaton = plan.automaton
    letters = automaton.num_letters
    draft = ProgramDraft(letters, mask, 1 + max(_padding(plan), default=0), lagged)
    draft.source("letter", range(letters), letters)
    after = plan_track(plan, draft, "letter", automaton.start, "").after
    if not after.inputs:
        state = after.rows[()]
        draft.source("state", [state] * letters, state)
        return draft.finish(("state",), {(state,): state}, automaton.num_states)
    return draft.finish(after.inputs, after.rows, automaton.num_states, after.elsewhere)


def _padding(plan: Plan) -> Iterator[int]:
    for _, node in plan.walk():
        if isinstance(node, ClampedCounterPlan) and has_unit_steps(node):
            yield max(len(padding_steps(len(node.line), place)) for place in node.line)
