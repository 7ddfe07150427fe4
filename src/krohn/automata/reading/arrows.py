"""What a file of a machine says, as arrows; and the complete, deterministic automaton that they describe.

Readers of formats know nothing of automata: they list arrows, starts, final states and outputs. ``finish``
makes sets of states where several arrows leave with one letter (Rabin and Scott 1959), leads missing arrows
to a sink, and gives outputs of arrows to states, as a machine of Mealy becomes one of Moore.
"""

import logging
import re
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from math import inf

import numpy as np

from krohn.automata.graph import explore
from krohn.automata.semiautomaton import BLANKS, Semiautomaton
from krohn.automata.sizes import check_size
from krohn.base.files import shown
from krohn.errors import InvalidAutomaton, LimitExceeded

MAX_ARROWS = 1_000_000
MAX_STATE_SETS, MAX_MEMBERS = 50_000, 4_000_000
"""Sets of states that a nondeterministic machine may become, and states that are looked up for them."""
MAX_NAMES = 1_000_000
"""Characters of the names of all sets together; sets with longer names are numbered."""
SINK = "sink"
NOTHING = "ε"
"""What a machine of Mealy shows before its first letter."""
_LOG = logging.getLogger(__name__)

Arrow = tuple[str, str | None, str, str | None]
"""State, letter (``None`` reads nothing), next state, output (``None`` for none)."""
_Node = tuple[frozenset[int], str | None]


@dataclass
class Arrows:
    """A machine as a file lists it.

    Attributes:
        arrows: in the order of the file.
        starts: where it may start.
        final: the accepting states; ``None`` if the format marks none.
        shown: outputs of states; ``None`` if states have none.
        states: states in their order, as far as the file lists them before its arrows.
        letters: letters in their order, if the file gives one; else they are sorted.
        notes: what the reader decided, a line each.
    """

    arrows: list[Arrow] = field(default_factory=list)
    starts: list[str] = field(default_factory=list)
    final: set[str] | None = None
    shown: dict[str, str] | None = None
    states: list[str] = field(default_factory=list)
    letters: list[str] | None = None
    notes: list[str] = field(default_factory=list)

    def add(self, source: str, letter: str | None, target: str, output: str | None = None) -> None:
        """One more arrow."""
        if len(self.arrows) >= MAX_ARROWS:
            raise LimitExceeded(f"a machine may have at most {MAX_ARROWS:,} arrows; this one has more")
        self.arrows.append((source, letter, target, output))


def lines_of(text: str) -> Iterator[tuple[int, str]]:
    """The numbered lines that hold something."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield number, line.rstrip("\r")


def finish(read: Arrows, name: str = "", *, outputs: bool = True) -> Semiautomaton:
    """The automaton of these arrows: complete, deterministic, without states that no word reaches.

    Without ``outputs`` those of arrows and states are dropped. What was changed is said, a line each.
    """
    result, notes = build(read, name, outputs=outputs)
    for line in notes:
        _LOG.warning("%s%s", f"{name}: " if name else "", line)
    return result


def build(read: Arrows, name: str = "", *, outputs: bool = True) -> tuple[Semiautomaton, list[str]]:
    """The automaton, and what was changed."""
    if not outputs:
        read = replace(read, arrows=[(*arrow[:3], None) for arrow in read.arrows], shown=None)
    if not any(letter is not None for _, letter, _, _ in read.arrows):
        raise InvalidAutomaton("arrows must read letters; here none does")
    if not read.starts:
        raise InvalidAutomaton("a machine must have a start; none is marked")
    machine = _Machine(read)
    return machine.automaton(name), list(dict.fromkeys((*read.notes, *machine.notes)))


class _Machine:
    """Arrows by the numbers of their states."""

    def __init__(self, read: Arrows) -> None:
        self.notes: list[str] = []
        self.read = read
        ends = (end for source, _, target, _ in read.arrows for end in (source, target))
        self.names = list(dict.fromkeys((*read.states, *read.starts, *ends)))
        number = {state: index for index, state in enumerate(self.names)}
        self.final = {number[state] for state in read.final or () if state in number}
        self.starts = {number[state] for state in read.starts}
        given = {letter for _, letter, _, _ in read.arrows if letter is not None}
        self.letters = [letter for letter in read.letters or sorted(given) if letter in given]
        self.silent: dict[int, set[int]] = {}
        self.moves: dict[tuple[int, str], set[tuple[int, str | None]]] = {}
        for source, letter, target, output in read.arrows:
            start, end = number[source], number[target]
            if letter is None:
                self.silent.setdefault(start, set()).add(end)
            else:
                self.moves.setdefault((start, letter), set()).add((end, output))
        self.mealy = any(output is not None for *_, output in read.arrows)
        several = next((key for key, ends in self.moves.items() if len(ends) > 1), None)
        self.nondeterministic = several is not None or bool(self.silent) or len(self.starts) > 1
        if self.nondeterministic and (self.mealy or read.shown is not None):
            where = "it has several starts, or arrows that read nothing"
            if several is not None:
                state, letter = (shown(part) for part in (self.names[several[0]], several[1]))
                where = f"state {state} has several arrows for letter {letter}"
            raise InvalidAutomaton(
                f"a machine with outputs must be deterministic; {where}: --outputs drop reads it without them"
            )
        self.members = 0

    def _close(self, states: Iterable[int]) -> frozenset[int]:
        """The states and those that arrows lead to which read nothing."""
        result = set(states)
        waiting = list(result) if self.silent else []
        while waiting:
            for target in self.silent.get(waiting.pop(), ()):
                if target not in result:
                    result.add(target)
                    waiting.append(target)
        self.members += 1 + len(result)
        if self.members > MAX_MEMBERS and self.nondeterministic:
            raise LimitExceeded(
                f"the arrows of a nondeterministic machine may be looked up {MAX_MEMBERS:,} times; these "
                "need more: make it deterministic first"
            )
        return frozenset(result)

    def _after(self, node: _Node, letter: str) -> _Node:
        group = node[0]
        self.members += len(group)
        ends = [end for state in group for end in self.moves.get((state, letter), ())]
        return self._close(target for target, _ in ends), ends[0][1] if self.mealy and ends else None

    def automaton(self, name: str) -> Semiautomaton:
        """Sets of states, or pairs of a state and the last output, that words reach."""
        start: _Node = (self._close(self.starts), None)
        grows = self.nondeterministic or self.mealy
        if not grows:
            check_size("the file's automaton", len(self.names), len(self.letters))
        nodes, rows = explore(
            start,
            lambda node: [self._after(node, letter) for letter in self.letters],
            MAX_STATE_SETS if grows else inf,
            f"a machine may become at most {MAX_STATE_SETS:,} states when it is made deterministic and its "
            "outputs belong to states; this one becomes more: make it smaller, or --outputs drop",
        )
        order = sorted(range(len(nodes)), key=lambda index: self._place(index, nodes[index]))
        nodes, place = [nodes[index] for index in order], np.argsort(order)
        table = place[np.array(rows, dtype=np.int64)[order]]
        self._remark(nodes)
        check_size("the file's automaton", len(nodes), len(self.letters))
        outcomes = self._observations(nodes)
        return Semiautomaton(
            table.astype(np.int32),
            start=int(place[0]),
            state_names=self._state_names(nodes),
            letter_names=tuple(self._tidy("letters", self.letters)),
            observe=outcomes,  # type: ignore[arg-type]
            name=name,
        )

    def _place(self, index: int, node: _Node) -> tuple[int, int]:
        """The order of the file for a deterministic machine, else that of the search; the sink is last."""
        if self.nondeterministic or self.mealy or not node[0]:
            return (0 if node[0] else 1, index)
        return (0, min(node[0]))

    def _remark(self, nodes: list[_Node]) -> None:
        count, own = len(nodes), len(self.names)
        if self.nondeterministic:
            self.notes.append(f"made deterministic: {own:,} states become {count:,} sets of states")
        reached = set[int]().union(*(group for group, _ in nodes))
        if len(reached) < own:
            first = shown(next(name for index, name in enumerate(self.names) if index not in reached))
            self.notes.append(f"{own - len(reached):,} states are left out, which no word reaches: {first}")
        if self.mealy:
            self.notes.append(
                f"outputs belong to arrows: {len(reached):,} states become {count:,} of a state and the last "
                f"output (--outputs drop keeps the {len(reached):,})"
            )
        if any(not group for group, _ in nodes):
            self.notes.append("missing arrows lead to a sink")

    def _observations(self, nodes: list[_Node]) -> tuple[int | str, ...] | None:
        if self.mealy:
            return tuple(self._tidy("outputs", [NOTHING if out is None else out for _, out in nodes]))
        if self.read.shown is not None:
            given = [
                self.read.shown.get(self.names[min(group)], NOTHING) if group else NOTHING
                for group, _ in nodes
            ]
            numbers = all(re.fullmatch(r"0|[1-9][0-9]{0,8}", value) or value == NOTHING for value in given)
            if numbers and NOTHING not in given:
                return tuple(map(int, given))
            return tuple(self._tidy("outputs", given))
        if not self.final:
            return None
        return tuple(int(bool(group & self.final)) for group, _ in nodes)

    def _state_names(self, nodes: list[_Node]) -> tuple[str, ...]:
        own = self._tidy("states", self.names)
        if sum(len(own[state]) + 1 for group, _ in nodes for state in group) > MAX_NAMES:
            return ()
        names = [",".join(own[state] for state in sorted(group)) or SINK for group, _ in nodes]
        if self.mealy:
            outs = self._tidy("outputs", [NOTHING if out is None else out for _, out in nodes])
            names = [
                name if out is None else f"{name}/{text}"
                for name, (_, out), text in zip(names, nodes, outs, strict=True)
            ]
        return tuple(distinct(names))

    def _tidy(self, kind: str, names: list[str]) -> list[str]:
        """Names without blanks and signs that do not print; different ones stay different."""
        tidied = {name: tidy(name) for name in dict.fromkeys(names)}
        changed = next((pair for pair in tidied.items() if pair[0] != pair[1]), None)
        if changed is not None:
            old, new = map(shown, changed)
            self.notes.append(f"names of {kind} have no spaces here: {old} is called {new}")
        apart = dict(zip(tidied, distinct(list(tidied.values())), strict=True))
        return [apart[name] for name in names]


def tidy(name: str) -> str:
    """The name with ``_`` for blanks, and with codes for signs that do not print."""
    joined = "_".join(name.split())
    if not joined.isprintable():
        joined = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in joined)
    return joined if joined.strip(BLANKS) else "''"


def distinct(names: list[str]) -> list[str]:
    """The names, with ``#2``, ``#3`` … behind those that came before."""
    taken, result = set(names), list[str]()
    used: dict[Hashable, int] = {}
    for name in names:
        used[name] = used.get(name, 0) + 1
        new = name
        while used[name] > 1 and new in taken:
            new = f"{name}#{used[name]}"
            used[name] += new in taken
        taken.add(new)
        result.append(new)
    return result
