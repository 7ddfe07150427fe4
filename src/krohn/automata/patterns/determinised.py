"""The deterministic automaton of a parsed pattern, over letters that are classes of characters."""

from collections.abc import Sequence
from dataclasses import dataclass

from krohn.automata.patterns.characters import Runs, characters_of
from krohn.automata.patterns.parsed import END, FIRST_BEHIND, KINDS, MET, Nodes, Parsed, Read
from krohn.automata.patterns.threads import Thread, Threads, accepts
from krohn.errors import LimitExceeded

MAX_STATES = 50_000
Places = frozenset[tuple[int, int]]
"""Nodes inside look-behinds, each with the number of its look-behind."""
State = tuple[int, int, Places]
"""Threads as bits, the kind of the last character with the look-behinds that match there, their places."""


def kind_sets(nodes: Nodes) -> dict[int, int]:
    """The set of each kind of neighbour that conditions ask for; new sets are added to the nodes'."""
    wanted = {bit: characters_of(source) for bit, source in KINDS.items() if nodes.kinds & bit}
    return {bit: nodes.sets.setdefault(runs, len(nodes.sets)) for bit, runs in wanted.items()}


@dataclass
class _Letters:
    """Which sets hold each letter, and of what kind it is."""

    members: list[list[bool]]
    kinds: list[int]


class Determinised:
    """States are numbered in the order in which the search reaches them, breadth first."""

    def __init__(self, parsed: Parsed, letters: Sequence[int], marks: dict[int, int]) -> None:
        """``letters`` are numbers whose bit i says whether set i holds the letter."""
        nodes = parsed.nodes
        members = [[bool(key >> index & 1) for index in range(len(nodes.sets))] for key in letters]
        kinds = [sum(bit for bit, index in marks.items() if member[index]) for member in members]
        self.nodes, self.letters = nodes, _Letters(members, kinds)
        self.threads = Threads(nodes.nodes)
        self.number: dict[Thread, int] = {}
        self.listed: list[Thread] = []
        self.rows: dict[tuple[int, int], list[tuple[int, int]]] = {}
        self.ends: dict[tuple[int, int], bool] = {}
        self.table: list[list[int]] = []
        self.accepting: list[int] = []
        places, matched = self._behind(frozenset(), None)
        self._search((1 << self._numbered(Thread(parsed.entry)), END | matched, places))

    def _numbered(self, thread: Thread) -> int:
        if thread not in self.number:
            self.number[thread] = len(self.listed)
            self.listed.append(thread)
        return self.number[thread]

    def _row(self, index: int, before: int) -> list[tuple[int, int]]:
        """Where a thread leads: letters, each with threads as bits."""
        result: dict[int, int] = {}
        for after in set(self.letters.kinds):
            for thread in self.threads.close(self.listed[index], before, after):
                for letter, member in enumerate(self.letters.members):
                    if self.letters.kinds[letter] == after:
                        moved = self.threads.read(thread, member)
                        if moved is not None:
                            result[letter] = result.get(letter, 0) | 1 << self._numbered(moved)
            self.threads.pay(len(self.letters.members))
        return list(result.items())

    def _behind(self, places: Places, letter: int | None) -> tuple[Places, int]:
        """The places inside look-behinds after a letter, and which of these have matched here."""
        moved = set(enumerate(self.nodes.behind))
        for index, place in places if letter is not None else ():
            node = self.nodes.nodes[place]
            assert isinstance(node, Read)
            assert letter is not None
            if self.letters.members[letter][node.characters]:
                moved.add((index, node.then))
        waiting, matched = set[tuple[int, int]](), 0
        for index, place in moved:
            for node_number, _, _ in self.threads.close(Thread(place), 0, 0):
                if node_number == MET:
                    matched |= FIRST_BEHIND << index
                else:
                    waiting.add((index, node_number))
        return frozenset(waiting), matched

    def _search(self, start: State) -> None:
        known, queue = {start: 0}, [start]
        for state in queue:  # grows during iteration
            targets, accept = self._targets(state)
            line = []
            for letter, target in enumerate(targets):
                after: State = (0, 0, frozenset())
                if target and self.nodes.behind:
                    further, matched = self._behind(state[2], letter)
                    after = (target, self.letters.kinds[letter] | matched, further)
                elif target:
                    after = (target, self.letters.kinds[letter], frozenset())
                if after not in known:
                    if len(known) >= MAX_STATES:
                        raise LimitExceeded(
                            f"the automaton of a pattern may have at most {MAX_STATES:,} states before "
                            "minimisation; this one has more: choose a simpler pattern"
                        )
                    known[after] = len(queue)
                    queue.append(after)
                line.append(known[after])
            self.table.append(line)
            self.accepting.append(int(accept))

    def _targets(self, state: State) -> tuple[list[int], bool]:
        """The threads after each letter, and whether the word may end here."""
        mask, before, _ = state
        targets, accept = [0] * len(self.letters.members), False
        while mask:
            low = mask & -mask
            mask ^= low
            key = low.bit_length() - 1, before
            if key not in self.rows:
                self.rows[key] = self._row(*key)
                closed = self.threads.close(self.listed[key[0]], before, END)
                self.ends[key] = any(accepts(thread) for thread in closed)
            accept |= self.ends[key]
            for letter, moved in self.rows[key]:
                targets[letter] |= moved
            self.threads.pay(1 + len(self.rows[key]))
        return targets, accept


def letters_of(runs: dict[int, Runs], keep: int) -> list[tuple[int, Runs]]:
    """The classes in the order of their characters, that of the last one last; only those in a kept set."""
    kept = [(key, each) for key, each in runs.items() if keep < 0 or key & keep]
    return sorted(kept, key=lambda pair: (pair[1][-1][1] == 0x10FFFF, pair[1][0][0]))
