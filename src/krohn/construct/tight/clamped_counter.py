"""A counter that stops at both ends, in two layers (Theorem 3 with heads modulo S + 1).

Let z be the sum of the steps, without stops, and S + 1 the number of places. With
b_j = [last visit to z − j is later than the last visit to z − j + S + 1] the place is Σ_{j=1..S} b_j: a step
to the right shifts a 1 in, a step to the left shifts a 0 in. So the ones come first: b_j = [place ≥ j], and
a reader that only needs whether the place has reached j needs head j alone. The two values lie in one class
mod S + 1 and by continuity the last visit to the class is to one of them: head j looks for the latest i with
z_i ≡ z − j mod (S + 1). With v = z mod (S + 1)², the sum of what the heads find is
Σ_j v_j ≡ S·v − S(S+1)/2 + (S + 1)·(S − place) mod (S + 1)², so the place can be read off one residue.
Fewer heads give the number of ones among theirs in the same way.
Padding steps make every class visited and the place right before the first letter.
"""

from collections.abc import Sequence

from krohn.cascade.plan_leaves import ClampedCounterPlan
from krohn.construct.tight.draft import Finite, ProgramDraft, Track
from krohn.network.position_maps import Row

MANY_PLACES = 4


def has_unit_steps(plan: ClampedCounterPlan) -> bool:
    """Whether all steps are at most 1: the construction needs a walk that visits every value in between."""
    return all(abs(step) <= 1 for step in plan.steps)


def padding_steps(places: int, start: int) -> tuple[int, ...]:
    """Steps that visit every class and end at the start: against the farther wall, then back."""
    last = places - 1
    left = (-1,) * last + (1,) * start
    right = (1,) * last + (-1,) * (last - start)
    return (0, *(left if start <= last - start else right))


def clamped_track(
    plan: ClampedCounterPlan, draft: ProgramDraft, letter: str, start: int, name: str, outputs: Sequence[int]
) -> Track:
    """The places of the counter as states of the plan's automaton, driven by the register ``letter``.

    States with the same output that are neighbours on the line need not be distinguished.
    """
    counter = _Counter(plan, draft, name, outputs)
    step = _steps(plan, draft, letter, padding_steps(len(plan.line), plan.line[start]), name)
    total = draft.prefix_sum(step)
    terms = [(total, 1), *([(step, 1)] if draft.strict else [])]
    now = counter.now = counter.value(terms, "unclamped place")
    key = counter.circle(now, terms, "class")
    after = counter.place(now, key, key, "place")
    if not draft.strict:
        return Track(after, after)
    then = counter.value([(total, 1)], "unclamped place before")
    asked = counter.circle(then, [(total, 1)], "class before")
    return Track(after, counter.place(then, asked, key, "place before"))


def _steps(
    plan: ClampedCounterPlan, draft: ProgramDraft, letter: str, pads: tuple[int, ...], name: str
) -> str:
    """The steps of the letters, and those of the padding positions, which no letter determines."""
    pads = (0,) * (draft.num_padding - len(pads)) + pads
    if letter in draft.sources:
        letters = [plan.steps[a] for a in draft.sources[letter].letters]
        return draft.source(draft.fresh(f"{name}step"), letters, pads)
    none = {len(plan.steps): 0}
    rows: dict[Row, Row] = {(a,): (step,) for a, step in ({**dict(enumerate(plan.steps)), **none}).items()}
    stepped, padded = draft.fresh(f"{name}step of letters"), draft.fresh(f"{name}step of padding")
    draft.table((letter,), (stepped,), rows)
    draft.source(padded, [0] * draft.num_letters, pads)
    return draft.linear([(stepped, 1), (padded, 1)], 0, (-1, 1), draft.fresh(f"{name}step"))


class _Counter:
    """Names and moduli of one counter."""

    def __init__(
        self, plan: ClampedCounterPlan, draft: ProgramDraft, name: str, outputs: Sequence[int]
    ) -> None:
        self.plan, self.draft, self.name = plan, draft, name
        self.places = len(plan.line)
        self.state = {place: q for q, place in enumerate(plan.line)}
        shown = [outputs[self.state[place]] for place in range(self.places)]
        self.steps = [j for j in range(1, self.places) if shown[j] != shown[j - 1]]
        self.modulus = self.places**2
        self.now = ""

    def value(self, terms: list[tuple[str, int]], name: str) -> str:
        """v = z mod (S + 1)²."""
        return self.draft.modulo(terms, self.modulus, self.draft.fresh(f"{self.name}{name}"))

    def circle(self, value: str, terms: list[tuple[str, int]], name: str) -> str:
        """z mod (S + 1) on a circle; on a long line by way of the residue, which takes fewer steps."""
        if self.draft.flat:
            target = self.draft.fresh(f"{self.name}{name}")
            return self.draft.modulo(terms, self.places, target, kind="circle")
        if self.places > MANY_PLACES:
            residue = self.draft.modulo([(value, 1)], self.places, self.draft.fresh(f"{self.name}{name} mod"))
            same: dict[Row, int] = {(r,): r for r in range(self.places)}
            return self.draft.circle_of((residue,), same, self.places, self.draft.fresh(f"{self.name}{name}"))
        classes: dict[Row, int] = {(v,): v % self.places for v in range(self.modulus)}
        return self.draft.circle_of((value,), classes, self.places, self.draft.fresh(f"{self.name}{name}"))

    def place(self, value: str, query: str, key: str, name: str) -> Finite:
        """The state, as a function of the residue of the sum of what the heads find."""
        draft, places, count = self.draft, self.places, len(self.steps)
        result = [
            draft.latest_match(query, key, -j, self.now, f"{self.name}{name} visit {j}") for j in self.steps
        ]
        total = draft.linear(
            [(visit, 1) for visit in result],
            0,
            (0, count * (self.modulus - 1)),
            draft.fresh(f"{self.name}{name} visits"),
        )
        residue = draft.modulo(
            [(total, 1), (value, -count)],
            self.modulus,
            draft.fresh(f"{self.name}{name} residue"),
            offset=sum(self.steps),
        )
        # So many zeros: as many of the steps are still to come.
        reached = [self.state[place] for place in (0, *self.steps)]
        rows: dict[Row, int] = {(r,): reached[max(count - r // places, 0)] for r in range(self.modulus)}
        exact: dict[Row, int] = {(r,): rows[r,] for r in range(0, places * (count + 1), places)}
        return Finite((residue,), exact, {row: q for row, q in rows.items() if row not in exact})
