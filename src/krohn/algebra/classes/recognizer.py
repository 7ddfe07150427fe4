"""The minimal automaton whose class is asked for, witnesses that it lies outside of one, and verdicts.

A witness is a list of patterns, words with parts that are repeated n times, and what they show for every
n ≥ 1. So whoever doubts a no reads two words.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from krohn.automata.quotients import minimize
from krohn.automata.semiautomaton import Semiautomaton

Word = tuple[int, ...]
Node = tuple[int, ...]
Shows = Literal["differ", "accepted", "refused", "last refused", "second refused"]
CLAIMS: dict[Shows, str] = {
    "differ": "told apart, for every n",
    "accepted": "accepted, for every n",
    "refused": "refused, for every n",
    "last refused": "the last is refused and the others are accepted, for every n",
    "second refused": "the first is accepted and the second is not",
}


@dataclass(frozen=True)
class Pattern:
    """A word with repeated parts: pairs of a word and whether it stands n times."""

    parts: tuple[tuple[Word, bool], ...]

    def word(self, times: int) -> Word:
        """The word for one n."""
        return tuple(letter for part, repeated in self.parts for letter in part * (times if repeated else 1))

    def text(self, names: Sequence[str]) -> str:
        """The pattern with the names of letters; ε is the empty word."""
        blank = "" if all(len(name) == 1 for name in names) else " "
        written = []
        for part, repeated in self.parts:
            letters = blank.join(names[letter] for letter in part)
            if part:
                written.append(f"({letters})ⁿ" if repeated else letters)
        return blank.join(written) or "ε"


def pattern(*parts: Word | list[Word]) -> Pattern:
    """Words, and in lists of one the words that are repeated."""
    return Pattern(tuple((part[0], True) if isinstance(part, list) else (part, False) for part in parts))


@dataclass(frozen=True)
class Witness:
    """Patterns and what they show for every n ≥ 1; ``note`` says why this rules the class out."""

    patterns: tuple[Pattern, ...]
    shows: Shows = "differ"
    note: str = ""

    def text(self, names: Sequence[str]) -> str:
        """A sentence with the names of letters."""
        if not self.patterns:
            return self.note
        listed = " and ".join(f"'{each.text(names)}'" for each in self.patterns)
        return f"{listed}: {CLAIMS[self.shows]}" + (f" ({self.note})" if self.note else "")

    def to_json(self, names: Sequence[str]) -> dict[str, Any]:
        """Plain data with the names of letters."""
        listed = [
            [{"word": [names[x] for x in part], "repeated": repeated} for part, repeated in each.parts]
            for each in self.patterns
        ]
        return {"patterns": listed, "shows": self.shows, "text": self.text(names)}


@dataclass(frozen=True)
class Membership:
    """Whether the language lies in a class; ``holds`` is ``None`` where a limit was met."""

    holds: bool | None
    parameter: int | None = None
    witness: Witness | None = None


YES = Membership(True)
OPEN = Membership(None)


@dataclass(frozen=True, eq=False)
class Recognizer:
    """A minimal automaton; letters that act alike count as one.

    Attributes:
        letters: the distinct actions of letters on the states.
        numbers: for each of them the first letter of the automaton that acts so.
        start: the start state.
        shown: what each state shows; the states themselves if nothing else is asked for.
        is_language: whether what is shown is 1 for accepted and 0 for refused words.
        alike: for each letter of the automaton its place in ``letters``.
    """

    letters: tuple[tuple[int, ...], ...]
    numbers: tuple[int, ...]
    start: int
    shown: tuple[int, ...]
    is_language: bool
    alike: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """The number of states."""
        return len(self.shown)

    @cached_property
    def accepting(self) -> frozenset[int]:
        """The states that show 1."""
        return frozenset(q for q in range(self.size) if self.shown[q] == 1)

    @cached_property
    def live(self) -> frozenset[int]:
        """States from which some word is accepted."""
        before: list[set[int]] = [set() for _ in range(self.size)]
        for letter in self.letters:
            for state, target in enumerate(letter):
                before[target].add(state)
        seen, stack = set(self.accepting), list(self.accepting)
        while stack:
            fresh = before[stack.pop()] - seen
            seen |= fresh
            stack += sorted(fresh)
        return frozenset(seen)

    @cached_property
    def tier(self) -> tuple[int, ...]:
        """The letters that are not the identity, by their place in ``letters``."""
        identity = tuple(range(self.size))
        return tuple(a for a, letter in enumerate(self.letters) if letter != identity)

    def on_tier(self) -> "Recognizer":
        """The same with the letters of the tier alone."""
        letters, numbers = (
            tuple(self.letters[a] for a in self.tier),
            tuple(self.numbers[a] for a in self.tier),
        )
        return replace(self, letters=letters, numbers=numbers)

    def complement(self) -> "Recognizer":
        """Accepts what this refuses."""
        return replace(self, shown=tuple(1 - value for value in self.shown))

    def run(self, state: int, word: Iterable[int]) -> int:
        """The state after a word, by places in ``letters``."""
        for letter in word:
            state = self.letters[letter][state]
        return state

    @cached_property
    def words_to(self) -> list[Word]:
        """A shortest word from the start to each state."""
        words: dict[int, Word] = {self.start: ()}
        for state in (queue := [self.start]):
            for a, letter in enumerate(self.letters):
                if letter[state] not in words:
                    words[letter[state]] = (*words[state], a)
                    queue.append(letter[state])
        return [words[q] for q in range(self.size)]

    def path(self, source: Node, goal: Callable[[Node], bool]) -> Word | None:
        """The shortest word that leads a tuple of states to one for which ``goal`` holds."""
        parents: dict[Node, tuple[Node, int] | None] = {source: None}
        queue = deque([source])
        while queue:
            node = queue.popleft()
            if goal(node):
                return self._traced(parents, node)
            for a, letter in enumerate(self.letters):
                following = tuple(letter[state] for state in node)
                if following not in parents:
                    parents[following] = (node, a)
                    queue.append(following)
        return None

    @staticmethod
    def _traced(parents: dict[Node, tuple[Node, int] | None], node: Node) -> Word:
        word = []
        step = parents[node]
        while step is not None:
            node, a = step
            word.append(a)
            step = parents[node]
        return tuple(reversed(word))

    def to(self, source: Node, target: Node) -> Word:
        """The shortest word that leads a tuple of states to another, which it reaches."""
        word = self.path(source, lambda node: node == target)
        assert word is not None
        return word

    def loop(self, node: Node) -> Word | None:
        """The shortest non-empty word that fixes every state of the tuple, if there is one."""
        best: Word | None = None
        for a, letter in enumerate(self.letters):
            rest = self.path(tuple(letter[state] for state in node), lambda other: other == node)
            if rest is not None and (best is None or len(rest) + 1 < len(best)):
                best = (a, *rest)
        return best

    def separating_word(self, p: int, q: int) -> Word:
        """The shortest word after which p and q show different things."""
        word = self.path((p, q), lambda node: self.shown[node[0]] != self.shown[node[1]])
        assert word is not None, "the states of a minimal automaton are told apart"
        return word

    def accepted_from(self, state: int) -> Word:
        """The shortest word accepted from a live state."""
        word = self.path((state,), lambda node: node[0] in self.accepting)
        assert word is not None
        return word

    def spelled(self, verdict: Membership) -> Membership:
        """The verdict with its witness in the letters of the automaton."""
        if verdict.witness is None:
            return verdict
        patterns = tuple(
            Pattern(tuple((tuple(self.numbers[a] for a in part), again) for part, again in each.parts))
            for each in verdict.witness.patterns
        )
        return replace(verdict, witness=replace(verdict.witness, patterns=patterns))


def recognizer(automaton: Semiautomaton) -> Recognizer:
    """What an automaton shows, minimised: its language if that is 0 and 1, else all of it, or its states."""
    smallest = minimize(automaton)
    actions = [tuple(letter) for letter in smallest.letters]
    first = {letter: number for number, letter in reversed(list(enumerate(actions)))}
    first = dict(sorted(first.items(), key=lambda item: item[1]))
    shown = tuple(range(smallest.num_states)) if smallest.observe is None else tuple(smallest.observe)
    is_language = automaton.observe is not None and set(automaton.observe) <= {0, 1}
    place = {letter: index for index, letter in enumerate(first)}
    alike = tuple(place[letter] for letter in actions)
    return Recognizer(tuple(first), tuple(first.values()), smallest.start, shown, is_language, alike)
