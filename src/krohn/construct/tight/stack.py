"""A stack of bounded height with a sink for errors (Dyck languages), in three layers.

Layer 1 sums the steps: the height, right until the first error. Layer 2 has one head per place of the stack
(the latest push that reached this height) and one that fetches what a pop removes (the latest push that
reached the height just left); all compare heights on one circle. Layer 3 adds up errors: any error so far
leads to the sink. No head needs the state, so the depth does not grow with the height, as that of the
cascade does.
"""

from collections.abc import Callable
from dataclasses import dataclass

from krohn.automata.semiautomaton import Semiautomaton
from krohn.construct.tight.draft import ProgramDraft
from krohn.construct.tight.finite import Finite
from krohn.network.operations import Row
from krohn.network.program import Program
from krohn.network.transformer import Mask

Content = tuple[int, ...]


@dataclass(frozen=True)
class Stack:
    """Letters 0..k−1 of ``push`` put symbol 0..k−1 on the stack, those of ``pop`` take it away.

    ``content`` maps every state but the sink to what is on the stack, lowest first.
    """

    height: int
    push: tuple[int, ...]
    pop: tuple[int, ...]
    sink: int
    content: dict[int, Content]


def recognise_stack(automaton: Semiautomaton) -> Stack | None:
    """The stack that the automaton is, started empty, under any names; ``None`` if it is none."""
    letters, start = range(automaton.num_letters), automaton.start
    sinks = [q for q in range(automaton.num_states) if all(automaton.step(q, a) == q for a in letters)]
    if len(sinks) != 1 or sinks[0] == start:
        return None
    push = tuple(a for a in letters if automaton.step(start, a) not in (sinks[0], start))
    pop = tuple(
        next((b for b in letters if automaton.step(automaton.step(start, a), b) == start), -1) for a in push
    )
    if not push or sorted(push + pop) != list(letters):
        return None
    content: dict[int, Content] = {start: ()}
    queue = [start]
    for state in queue:
        for symbol, letter in enumerate(push):
            target = automaton.step(state, letter)
            if target != sinks[0] and target not in content:
                content[target] = (*content[state], symbol)
                queue.append(target)
    stack = Stack(max(map(len, content.values())), push, pop, sinks[0], content)
    return stack if _agrees(automaton, stack) else None


def _agrees(automaton: Semiautomaton, stack: Stack) -> bool:
    """Checks every transition of every state against the stack."""
    state = {content: q for q, content in stack.content.items()}
    if len(state) + 1 != automaton.num_states:
        return False
    for q, content in stack.content.items():
        for symbol, (push, pop) in enumerate(zip(stack.push, stack.pop, strict=True)):
            higher = state.get((*content, symbol), -1) if len(content) < stack.height else stack.sink
            lower = state[content[:-1]] if content[-1:] == (symbol,) else stack.sink
            if (automaton.step(q, push), automaton.step(q, pop)) != (higher, lower):
                return False
    return True


def stack_program(automaton: Semiautomaton, stack: Stack, mask: Mask) -> Program:
    """The three layers."""
    tokens = _Tokens(ProgramDraft(automaton.num_letters, mask), stack)
    draft, top = tokens.draft, stack.height
    # A key is the height that a push reached, 0 for everything else.
    keys = tokens.of_height(lambda h, act: h if act == 1 and 0 < h <= top else 0)
    key = draft.circle_of((tokens.height, tokens.act), keys, top + 1, "key")
    error = _error(tokens, key)
    wrong = draft.prefix_sum(error)
    failed = draft.clamp([(wrong, 1), *([(error, 1)] if draft.strict else [])], 0, 0, 1, "failed")
    places = tuple(_place(tokens, key, level, failed) for level in range(1, top + 1))
    codes = {
        (*(symbol + 1 for symbol in content), *(0,) * (top - len(content))): state
        for state, content in stack.content.items()
    }
    codes[(-1, *(0,) * (top - 1))] = stack.sink
    return draft.finish(places, codes, automaton.num_states)


class _Tokens:
    """What the letters bring along, and the height, right until the first error."""

    def __init__(self, draft: ProgramDraft, stack: Stack) -> None:
        self.draft, self.stack = draft, stack
        letters = range(draft.num_letters)
        kinds = [stack.push if a in stack.push else stack.pop for a in letters]
        self.symbol = draft.source("symbol", [kind.index(a) for a, kind in enumerate(kinds)], 0)
        # 0: pop, 1: push, 2: the beginning of the sequence.
        self.act = draft.source("act", [int(a in stack.push) for a in letters], 2)
        step = draft.source("step", [1 if a in stack.push else -1 for a in letters], 0)
        total = draft.prefix_sum(step)
        terms = [(total, 1), *([(step, 1)] if draft.strict else [])]
        self.height = draft.clamp(terms, 0, -1, stack.height + 1, "height")
        self.heights = range(-1, stack.height + 2)
        self.symbols = range(len(stack.push))

    def of_height(self, function: Callable[[int, int], int]) -> dict[Row, int]:
        """A function of height and act as rows."""
        return {(h, act): function(h, act) for h in self.heights for act in (0, 1, 2)}


def _error(tokens: _Tokens, key: str) -> str:
    """1 where a letter cannot be read: a push that is too high, a pop of nothing or of another symbol.

    A pop asks for the latest push that reached its own height plus one: what it removes. One that leaves the
    stack full comes after an error; what it finds does not matter, so it asks for a push like the others.
    """
    draft, top = tokens.draft, tokens.stack.height
    wanted: dict[Row, int] = {(h,): h if 0 <= h < top else 0 for h in tokens.heights}
    query = draft.circle_of((tokens.height,), wanted, top + 1, "query")
    removed = draft.latest_match(query, key, 1, tokens.symbol, "removed")
    rows: dict[Row, int] = {
        (h, act, s, r): int((act == 1 and h > top) or (act == 0 and (h < 0 or s != r)))
        for h, act in tokens.of_height(lambda h, act: 0)
        for s in tokens.symbols
        for r in tokens.symbols
    }
    return Finite((tokens.height, tokens.act, tokens.symbol, removed), rows).register(draft, "error")


def _place(tokens: _Tokens, key: str, level: int, failed: str) -> str:
    """0 where the stack is lower, else 1 + symbol; the lowest place says −1 after an error."""
    draft, top = tokens.draft, tokens.stack.height
    found = draft.latest_match("", key, level, tokens.symbol, f"held at height {level}")
    if draft.strict:
        # A strict head misses the push of this very position.
        mine: dict[Row, int] = {
            (h, act, s, x): s if act == 1 and h == level else x
            for h, act in tokens.of_height(lambda h, act: 0)
            for s in tokens.symbols
            for x in tokens.symbols
        }
        inputs = (tokens.height, tokens.act, tokens.symbol, found)
        found = Finite(inputs, mine).register(draft, f"held at height {level} now") or found
    sink = -1 if level == 1 else 0
    values: dict[Row, int] = {
        (h, e, x): sink if e else (1 + x if level <= h <= top else 0)
        for h in tokens.heights
        for e in (0, 1)
        for x in tokens.symbols
    }
    return Finite((tokens.height, failed, found), values).register(draft, f"place {level}")
