"""Programs of two plans without a cascade: a counter that stops at both ends, and a stack of bounded height.

The counter takes two layers (Theorem 3 with heads modulo S + 1). Let z be the sum of the steps, without
stops, and S + 1 the number of places. With b_j = [last visit to z − j is later than the last visit to z − j
+ S + 1] the place is Σ_{j=1..S} b_j: a step to the right shifts a 1 in, a step to the left shifts a 0 in. So
the ones come first: b_j = [place ≥ j], and a reader that only needs whether the place has reached j needs
head j alone. The two values lie in one class mod S + 1 and by continuity the last visit to the class is to
one of them: head j looks for the latest i with z_i ≡ z − j mod (S + 1). With v = z mod (S + 1)², the sum of
what the heads find is Σ_j v_j ≡ S·v − S(S+1)/2 + (S + 1)·(S − place) mod (S + 1)², so the place can be read
off one residue. Fewer heads give the number of ones among theirs in the same way. Padding steps make every
class visited and the place right before the first letter.

The stack has a sink for errors (Dyck languages) and takes three layers. Layer 1 sums the steps: the height,
right until the first error. Layer 2 has one head per place of the stack (the latest push that reached this
height) and one that fetches what a pop removes (the latest push that reached the height just left); all
compare heights on one circle. Layer 3 looks for an error: any so far leads to the sink. No head needs the
state, so the depth does not grow with the height, as that of the cascade does.
"""

from collections.abc import Sequence
from itertools import product

from krohn.cascade.plan import ClampedCounterPlan
from krohn.cascade.stack import POP, PUSH, REST, BracketStack, StackPlan
from krohn.construct.tight.draft import Part, ProgramDraft
from krohn.construct.tight.finite import Finite
from krohn.network.operations import Row
from krohn.network.program import Meaning
from krohn.paper.grid_runs import padding_moves

MANY_PLACES = 4


def has_unit_steps(plan: ClampedCounterPlan) -> bool:
    """Whether all steps are at most 1: the construction needs a walk that visits every value in between."""
    return all(abs(step) <= 1 for step in plan.steps)


def padding_steps(places: int, start: int) -> tuple[int, ...]:
    """Steps that visit every class and end at the start: against the farther wall, then back."""
    return (0, *padding_moves(places - 1, start))


def clamped_track(
    plan: ClampedCounterPlan, draft: ProgramDraft, letter: str, start: int, part: Part, outputs: Sequence[int]
) -> Finite:
    """The places of the counter as states of the plan's automaton, driven by the register ``letter``.

    States with the same output that are neighbours on the line need not be distinguished.
    """
    counter = _Counter(plan, draft, part, outputs)
    step = _steps(plan, draft, letter, padding_steps(len(plan.line), plan.line[start]), part)
    total = draft.prefix_sum(step)
    now = counter.value(total)
    return counter.place(now, counter.circle(now, total))


def _steps(
    plan: ClampedCounterPlan, draft: ProgramDraft, letter: str, pads: tuple[int, ...], part: Part
) -> str:
    """The steps of the letters, and those of the padding positions, which no letter determines."""
    pads, move = (0,) * (draft.num_padding - len(pads)) + pads, Meaning("move", part=part)
    if letter in draft.sources:
        letters = [plan.steps[a] for a in draft.sources[letter].letters]
        return draft.source(draft.fresh(move), letters, pads)
    rows: dict[Row, Row] = {(a,): (step,) for a, step in enumerate((*plan.steps, 0))}  # BOS is the last
    stepped = draft.fresh(Meaning("move by letter", part=part))
    draft.table((letter,), (stepped,), rows)
    padded = draft.source(draft.fresh(Meaning("move by padding", part=part)), [0] * draft.num_letters, pads)
    return draft.linear([(stepped.name, 1), (padded, 1)], 0, (-1, 1), move)


class _Counter:
    """Registers and moduli of one counter."""

    def __init__(
        self, plan: ClampedCounterPlan, draft: ProgramDraft, part: Part, outputs: Sequence[int]
    ) -> None:
        self.plan, self.draft, self.part = plan, draft, part
        self.places = len(plan.line)
        self.state = {place: q for q, place in enumerate(plan.line)}
        shown = [outputs[self.state[place]] for place in range(self.places)]
        self.steps = [j for j in range(1, self.places) if shown[j] != shown[j - 1]]
        self.modulus = self.places**2

    def _meaning(self, kind: str, number: int | None = None) -> Meaning:
        return Meaning(kind, part=self.part, number=number)

    def value(self, total: str) -> str:
        """v = z mod (S + 1)², with z = 0 in the middle: short walks do not wrap; only differences count."""
        target = Meaning("unclamped", part=self.part, modulus=self.modulus)
        return self.draft.modulo([(total, 1)], self.modulus, target, offset=self.modulus // 2)

    def circle(self, value: str, total: str) -> str:
        """z mod (S + 1) on a circle; on a long line by way of the residue, which takes fewer steps."""
        target = self._meaning("on circle")
        if self.draft.flat:
            return self.draft.modulo([(total, 1)], self.places, target, kind="circle")
        if self.places > MANY_PLACES:
            residue = self.draft.modulo([(value, 1)], self.places, self._meaning("circle residue"))
            same: dict[Row, int] = {(r,): r for r in range(self.places)}
            return self.draft.circle_of((residue,), same, self.places, target)
        classes: dict[Row, int] = {(v,): v % self.places for v in range(self.modulus)}
        return self.draft.circle_of((value,), classes, self.places, target)

    def place(self, value: str, key: str) -> Finite:
        """The state, as a function of the residue of the sum of what the heads find."""
        draft, places, count = self.draft, self.places, len(self.steps)
        visits = [draft.latest_match(key, key, -j, value, self._meaning("visit", j)) for j in self.steps]
        bounds = (0, count * (self.modulus - 1))
        total = draft.linear([(visit, 1) for visit in visits], 0, bounds, self._meaning("visits"))
        terms, code = [(total, 1), (value, -count)], self._meaning("visit code")
        residue = draft.modulo(terms, self.modulus, code, offset=sum(self.steps))
        # r // places is the number of zeros: heads whose step has not been reached.
        reached = [self.state[place] for place in (0, *self.steps)]
        rows: dict[Row, int] = {(r,): reached[max(count - r // places, 0)] for r in range(self.modulus)}
        exact: dict[Row, int] = {(r,): rows[r,] for r in range(0, places * (count + 1), places)}
        return Finite((residue,), exact, {row: q for row, q in rows.items() if row not in exact})


ACTS = (POP, PUSH, REST)
"""The act of a letter as a small number: its index here; BOS leaves the stack unchanged."""


def stack_track(plan: StackPlan, draft: ProgramDraft, letter: str, start: int, part: Part) -> Finite:
    """The states of the stack, driven by the register ``letter``; it must start empty or failed."""
    stack = plan.stack
    if start == stack.sink:
        return Finite((), {(): start})
    tokens = _Tokens(draft, stack, letter, part)
    top = stack.height
    # A key is the height that a push reached, 0 for everything else.
    keys: dict[Row, int] = {
        (h, n): h if act == PUSH and 0 < h <= top else 0 for h in tokens.heights for n, act in enumerate(ACTS)
    }
    key = draft.circle_of((tokens.height, tokens.act), keys, top + 1, tokens.meaning("key"))
    places = _places(tokens, key, _error(tokens, key))
    codes: dict[Row, int] = {
        (*(symbol + 1 for symbol in content), *(0,) * (top - len(content))): state
        for state, content in stack.content.items()
    }
    codes[(-1, *(0,) * (top - 1))] = stack.sink
    return Finite(places, codes)


class _Tokens:
    """What the letters mean to the stack, and its height, right until the first error."""

    def __init__(self, draft: ProgramDraft, stack: BracketStack, letter: str, part: Part) -> None:
        self.draft, self.stack, self.part = draft, stack, part
        meanings: dict[Row, Row] = {
            (a,): (symbol, ACTS.index(act), act) for a, (act, symbol) in enumerate(stack.acts)
        }
        meanings[(len(stack.acts),)] = (0, ACTS.index(REST), 0)
        outputs = [draft.fresh(self.meaning(kind)) for kind in ("bracket", "act", "rise")]
        draft.table((letter,), outputs, meanings)
        self.symbol, self.act, step = (output.name for output in outputs)
        total = draft.prefix_sum(step)
        self.height = draft.clamp([(total, 1)], 0, -1, stack.height + 1, self.meaning("height"))
        self.heights = range(-1, stack.height + 2)
        self.symbols = range(stack.num_symbols)

    def meaning(self, kind: str, number: int | None = None) -> Meaning:
        """What a register of this stack holds."""
        return Meaning(kind, part=self.part, number=number)


def _error(tokens: _Tokens, key: str) -> str:
    """1 where a letter is illegal: a push that is too high, a pop of nothing or of another symbol.

    A pop looks for the latest push that reached its own height plus one: what it removes. One that leaves the
    stack full follows an error; what it finds does not matter, so it looks for a push like the others.
    """
    draft, top = tokens.draft, tokens.stack.height
    wanted: dict[Row, int] = {(h,): h if 0 <= h < top else 0 for h in tokens.heights}
    query = draft.circle_of((tokens.height,), wanted, top + 1, tokens.meaning("query"))
    removed = draft.latest_match(query, key, 1, tokens.symbol, tokens.meaning("removed"))
    rows: dict[Row, int] = {
        (h, n, s, r): int((act == PUSH and h > top) or (act == POP and (h < 0 or s != r)))
        for h, (n, act), s, r in product(tokens.heights, enumerate(ACTS), tokens.symbols, tokens.symbols)
    }
    inputs = (tokens.height, tokens.act, tokens.symbol, removed)
    return Finite(inputs, rows).register(draft, tokens.meaning("error"))


def _places(tokens: _Tokens, key: str, error: str) -> tuple[str, ...]:
    """All places: 0 where the stack is lower, else 1 + symbol; the lowest one says −1 after an error."""
    draft, failed = tokens.draft, tokens.draft.ever(error, tokens.meaning("failed"))
    places = []
    for level in range(1, tokens.stack.height + 1):
        held = draft.latest_match("", key, level, tokens.symbol, tokens.meaning("held", level))
        sink = -1 if level == 1 else 0
        rows: dict[Row, int] = {
            (h, e, x): sink if e else (1 + x if level <= h <= tokens.stack.height else 0)
            for h, e, x in product(tokens.heights, (0, 1), tokens.symbols)
        }
        place = Finite((tokens.height, failed, held), rows)
        places.append(place.register(draft, tokens.meaning("on stack", level)))
    return tuple(places)
