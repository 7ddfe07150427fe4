"""A stack of bounded height with a sink for errors (Dyck languages), in three layers.

Layer 1 sums the steps: the height, right until the first error. Layer 2 has one head per place of the stack
(the latest push that reached this height) and one that fetches what a pop removes (the latest push that
reached the height just left); all compare heights on one circle. Layer 3 looks for an error: any so far
leads to the sink. No head needs the state, so the depth does not grow with the height, as that of the
cascade does.
"""

from collections.abc import Callable

from krohn.cascade.plan_leaves import POP, PUSH, REST, Stack, StackPlan
from krohn.construct.tight.draft import Finite, ProgramDraft, Track
from krohn.network.position_maps import Row

ACTS = (POP, PUSH, REST)
"""The act of a letter as a small number: its index here; BOS leaves the stack unchanged."""


def stack_track(plan: StackPlan, draft: ProgramDraft, letter: str, start: int, name: str) -> Track:
    """The states of the stack, driven by the register ``letter``; it must start empty or failed."""
    stack = plan.stack
    if start == stack.sink:
        return Track(Finite((), {(): start}), Finite((), {(): start}))
    tokens = _Tokens(draft, stack, letter, name)
    top = stack.height
    # A key is the height that a push reached, 0 for everything else.
    keys = tokens.of_height(lambda h, act: h if act == PUSH and 0 < h <= top else 0)
    key = draft.circle_of((tokens.height, tokens.act), keys, top + 1, draft.fresh(f"{name}key"))
    after, before = _places(tokens, key, _error(tokens, key))
    codes: dict[Row, int] = {
        (*(symbol + 1 for symbol in content), *(0,) * (top - len(content))): state
        for state, content in stack.content.items()
    }
    codes[(-1, *(0,) * (top - 1))] = stack.sink
    return Track(Finite(after, codes), Finite(before, codes))


class _Tokens:
    """What the letters mean to the stack, and its height, right until the first error."""

    def __init__(self, draft: ProgramDraft, stack: Stack, letter: str, name: str) -> None:
        self.draft, self.stack, self.name = draft, stack, name
        meanings: dict[Row, Row] = {
            (a,): (symbol, ACTS.index(act), act) for a, (act, symbol) in enumerate(stack.acts)
        }
        meanings[(len(stack.acts),)] = (0, ACTS.index(REST), 0)
        self.symbol, self.act, step = (self.named(what) for what in ("symbol", "act", "step"))
        draft.table((letter,), (self.symbol, self.act, step), meanings)
        total = draft.prefix_sum(step)
        terms = [(total, 1), *([(step, 1)] if draft.strict else [])]
        self.height = draft.clamp(terms, 0, -1, stack.height + 1, self.named("height"))
        self.heights = range(-1, stack.height + 2)
        self.symbols = range(stack.num_symbols)
        self.earlier = (
            draft.clamp([(total, 1)], 0, -1, stack.height + 1, self.named("height before"))
            if draft.strict
            else self.height
        )

    def named(self, what: str) -> str:
        """A register of this stack."""
        return self.draft.fresh(f"{self.name}{what}")

    def of_height(self, function: Callable[[int, int], int]) -> dict[Row, int]:
        """A function of height and act as rows."""
        return {(h, n): function(h, act) for h in self.heights for n, act in enumerate(ACTS)}


def _error(tokens: _Tokens, key: str) -> str:
    """1 where a letter is illegal: a push that is too high, a pop of nothing or of another symbol.

    A pop looks for the latest push that reached its own height plus one: what it removes. One that leaves the
    stack full follows an error; what it finds does not matter, so it looks for a push like the others.
    """
    draft, top = tokens.draft, tokens.stack.height
    wanted: dict[Row, int] = {(h,): h if 0 <= h < top else 0 for h in tokens.heights}
    query = draft.circle_of((tokens.height,), wanted, top + 1, tokens.named("query"))
    removed = draft.latest_match(query, key, 1, tokens.symbol, f"{tokens.name}removed")
    rows: dict[Row, int] = {
        (h, n, s, r): int((act == PUSH and h > top) or (act == POP and (h < 0 or s != r)))
        for h in tokens.heights
        for n, act in enumerate(ACTS)
        for s in tokens.symbols
        for r in tokens.symbols
    }
    inputs = (tokens.height, tokens.act, tokens.symbol, removed)
    return Finite(inputs, rows).register(draft, f"{tokens.name}error")


def _places(tokens: _Tokens, key: str, error: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The registers of all places after the letter and, under a strict mask, before it."""
    draft, strict = tokens.draft, tokens.draft.strict
    now, then = draft.ever(error, tokens.named("failed"))
    after, before = [], []
    for level in range(1, tokens.stack.height + 1):
        result = draft.latest_match("", key, level, tokens.symbol, f"{tokens.name}held at height {level}")
        latest = _with_own_push(tokens, level, result) if strict else result
        after.append(_place(tokens, level, (tokens.height, now, latest), "place"))
        if strict:
            before.append(_place(tokens, level, (tokens.earlier, then, result), "place before"))
    return tuple(after), tuple(before if strict else after)


def _with_own_push(tokens: _Tokens, level: int, found: str) -> str:
    """A strict head misses the push of this very position."""
    rows: dict[Row, int] = {
        (h, n, s, x): s if act == PUSH and h == level else x
        for h in tokens.heights
        for n, act in enumerate(ACTS)
        for s in tokens.symbols
        for x in tokens.symbols
    }
    inputs = (tokens.height, tokens.act, tokens.symbol, found)
    return Finite(inputs, rows).register(tokens.draft, f"{tokens.name}held at height {level} now") or found


def _place(tokens: _Tokens, level: int, inputs: tuple[str, str, str], what: str) -> str:
    """0 where the stack is lower, else 1 + symbol; the lowest place says −1 after an error."""
    sink = -1 if level == 1 else 0
    rows: dict[Row, int] = {
        (h, e, x): sink if e else (1 + x if level <= h <= tokens.stack.height else 0)
        for h in tokens.heights
        for e in (0, 1)
        for x in tokens.symbols
    }
    return Finite(inputs, rows).register(tokens.draft, f"{tokens.name}{what} {level}")
