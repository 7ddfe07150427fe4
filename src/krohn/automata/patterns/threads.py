"""What a pattern may still match, as threads that are decided when the next character is known."""

import re
from typing import NamedTuple

from krohn.automata.patterns.parsed import DONE, END, MET, Look, Node, Read, Split, Test
from krohn.errors import LimitExceeded

_ALONE = bool(re.search(r"\B", ""))
"""Whether the empty word is no boundary; Python 3.14 changed it."""
MAX_WORK = 10_000_000
TOO_MUCH = (
    f"the automaton of a pattern may take {MAX_WORK:,} steps; this one takes more: choose a simpler one"
)


class Thread(NamedTuple):
    """One way in which the rest of a word may match.

    Attributes:
        node: where the pattern goes on.
        must: nodes of look-aheads, all of which must reach their end.
        never: threads of look-aheads that are denied; none of them may reach its end.
    """

    node: int
    must: frozenset[int] = frozenset()
    never: "frozenset[Thread]" = frozenset()

    @property
    def is_plain(self) -> bool:
        """Whether no look-ahead is under way."""
        return not self.must and not self.never

    def asks_less(self, other: "Thread") -> bool:
        """Whether this one matches whatever the other one matches: at the same node, for fewer reasons."""
        return self.node == other.node and self.must <= other.must and self.never <= other.never


class Threads:
    """Threads of these nodes; what was closed once is known."""

    def __init__(self, nodes: list[Node]) -> None:
        self.nodes = nodes
        self.closed: dict[tuple[Thread, int, int], frozenset[Thread]] = {}
        self.work = 0

    def pay(self, steps: int = 1) -> None:
        """Counts work, and refuses too much of it."""
        self.work += steps
        if self.work > MAX_WORK:
            raise LimitExceeded(TOO_MUCH)

    def close(self, thread: Thread, before: int, after: int) -> frozenset[Thread]:
        """The threads that wait for a character, given the kinds of the last and of the next one."""
        key = thread, before, after
        if key not in self.closed:
            self.closed[key] = frozenset(self._close(thread, before, after))
        return self.closed[key]

    def _close(self, thread: Thread, before: int, after: int) -> set[Thread]:
        node, must, never = thread
        kept: set[Thread] = set()
        for other in never:
            below = self.close(other, before, after)
            if any(met(one, MET, after) for one in below):
                return set()
            kept |= below
        seen, result = set[object](), set[Thread]()
        nothing: frozenset[int] = frozenset()
        # What a thread waits for: node, obligations not yet followed, those denied, obligations followed.
        stack = [(node, frozenset(must), frozenset(kept), nothing)]
        while stack:
            item = stack.pop()
            if item in seen:
                continue
            seen.add(item)
            self.pay()
            node, must, never, ready = item
            match self.nodes[node]:
                case Split(ways):
                    stack += [(then, must, never, ready) for then in ways]
                case Test() as test:
                    if _holds(test, before, after):
                        stack.append((test.then, must, never, ready))
                case Look(False, entry, then):
                    stack.append((then, must | {entry}, never, ready))
                case Look(True, entry, then):
                    below = self.close(Thread(entry), before, after)
                    if not any(met(one, MET, after) for one in below):
                        stack.append((then, must, never | below, ready))
                case _ if must:  # the thread waits; each obligation goes one of its ways
                    first = min(must)
                    for place, own, bad in self.close(Thread(first), before, after):
                        waits = ready | own | (frozenset() if place == MET else {place})
                        stack.append((node, must - {first}, never | bad, waits))
                case _:
                    result.add(Thread(node, ready, never))
        return _least(result)

    def read(self, thread: Thread, member: list[bool]) -> Thread | None:
        """The thread after a character; ``member[s]`` says whether it is in set s."""
        node, must, never = thread
        moved = []
        for place in (node, *must):
            if place == MET:  # but for what must never happen
                moved.append(MET)
                continue
            waiting = self.nodes[place]
            if not isinstance(waiting, Read) or not member[waiting.characters]:
                return None
            moved.append(waiting.then)
        after = (self.read(other, member) for other in never)
        return Thread(moved[0], frozenset(moved[1:]), frozenset(one for one in after if one is not None))


def met(thread: Thread, end: int, after: int) -> bool:
    """Whether nothing is left to ask; what must never happen cannot happen at the end of the word."""
    node, must, never = thread
    return node == end and not must and (not never or bool(after & END))


def accepts(thread: Thread) -> bool:
    """Whether a closed thread at the end of the word has matched."""
    return met(thread, DONE, END)


def _holds(test: Test, before: int, after: int) -> bool:
    if test.kind == "any":
        return bool(before & test.before or after & test.after)
    if test.kind == "none":
        return not before & test.before
    if before & END and after & END:
        return test.kind == "agree" and _ALONE
    agree = bool(before & test.before) == bool(after & test.after)
    return agree == (test.kind == "agree")


def _least(threads: set[Thread]) -> set[Thread]:
    """Without threads that ask more than another one at the same node."""
    plain = {one.node for one in threads if one.is_plain}
    few = {one for one in threads if one.is_plain or one.node not in plain}
    hard = [one for one in few if not one.is_plain]
    return few - {one for one in hard for other in hard if one != other and other.asks_less(one)}
