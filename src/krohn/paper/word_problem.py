"""A group that is not solvable, spelled in an automaton's own letters by words of one length.

Barrington's construction needs a set of group elements in which each one is a commutator of two others.
``alphabet`` finds such a set in any automaton that is not solvable:

1. Among the states X that words permute by a group that is not solvable, take the perfect group P at the
   end of its derived series (``_core``).
2. Keep the elements c ≠ 1 of P that are commutators of two kept ones, until nothing changes. The set does
   not become empty: if it did, every nested commutator would be 1, and P solvable (``_commutators``).
3. Spell the elements. Let a word of N letters fix X point by point. Modulo N the lengths of words are a
   homomorphic image, and a commutator has length 0 there; since P is perfect, each of its elements has a
   word whose length is a multiple of N. Copies of the word that fixes X make all of them equally long, so
   that each letter of the whole word depends on one variable alone (``_spell``).
"""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from krohn.algebra.analysis import algebra_of
from krohn.algebra.transformation import Permutation, identity, inverse, order
from krohn.automata.quotients import reachable, word_along, words_to_states
from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import InvalidInput, LimitExceeded

Word = tuple[int, ...]

MAX_ORDER = 4_000
"""Most elements of the perfect group: all pairs of them are multiplied."""
MAX_WORK = 200_000_000
"""State images computed in the search for words."""


@dataclass(frozen=True)
class Alphabet:
    """Group elements as words of an automaton.

    Attributes:
        automaton: the reachable part of what was given.
        states: the states that the group permutes; an element is a permutation of their places.
        words: a word for each element of the perfect group; ``pad`` fixes ``states`` and divides all lengths.
        factors: for each usable element c two usable ones a, b with c = a b a⁻¹ b⁻¹.
        prefix: a word from the start to the state at place ``origin``, which ``accept`` moves.
        accept: the element that stands for "true"; "false" is the identity.
    """

    automaton: Semiautomaton
    states: tuple[int, ...]
    words: dict[Permutation, Word]
    pad: Word
    factors: dict[Permutation, tuple[Permutation, Permutation]]
    prefix: Word
    origin: int
    accept: Permutation

    @property
    def one(self) -> Permutation:
        """The identity of the group."""
        return identity(len(self.states))

    @property
    def true_state(self) -> int:
        """Where the automaton ends if the formula is true."""
        return self.states[self.accept[self.origin]]

    @property
    def false_state(self) -> int:
        """Where it ends if the formula is false."""
        return self.states[self.origin]

    def spell(self, elements: Iterable[Permutation]) -> dict[Permutation, Word]:
        """A word for each element, all of the length of the longest one needed."""
        wanted = set(elements)
        length = max((len(self.words[element]) for element in wanted), default=0)
        return {
            g: self.words[g] + self.pad * ((length - len(self.words[g])) // len(self.pad)) for g in wanted
        }


@lru_cache(maxsize=8)
def alphabet(given: Semiautomaton) -> Alphabet:
    """The elements and their words; refuses an automaton all of whose groups are solvable."""
    automaton = reachable(given)
    states, core = _core(automaton)
    pad, words = _spell(automaton, states, set(core))
    by_length = sorted(core, key=lambda g: (len(words[g]), -order(g), g))
    factors = _commutators(by_length)
    accept = next(g for g in by_length if g in factors)
    moved = {state for place, state in enumerate(states) if accept[place] != place}
    prefix = next(word for state, word in words_to_states(automaton).items() if state in moved)
    end = automaton.run(prefix)[-1] if prefix else automaton.start
    return Alphabet(automaton, states, words, pad, factors, prefix, states.index(end), accept)


def _core(automaton: Semiautomaton) -> tuple[tuple[int, ...], list[Permutation]]:
    """The states of the smallest group that is not solvable, and the elements of its perfect core."""
    name = automaton.name or "the automaton"
    groups = [subgroup for subgroup in algebra_of(automaton).groups if not subgroup.is_solvable]
    if not groups:
        raise InvalidInput(
            f"the automaton must contain a group that is not solvable; all groups of {name} are solvable; "
            "try A5, S5 or T5"
        )
    smallest = min(groups, key=lambda subgroup: (subgroup.order, len(subgroup.states)))
    core = smallest.group.derived_series[-1]
    if core.order > MAX_ORDER:
        raise LimitExceeded(
            f"the perfect group inside must have at most {MAX_ORDER} elements; "
            f"that of {name} has {core.order}; try A5, S5, A6 or A7"
        )
    return smallest.states, core.elements()


def _spell(
    automaton: Semiautomaton, states: tuple[int, ...], wanted: set[Permutation]
) -> tuple[Word, dict[Permutation, Word]]:
    """A shortest word that fixes the states, and for each element one whose length it divides."""
    here = {state: place for place, state in enumerate(states)}
    budget = MAX_WORK
    pad = next(word for image, word in _images(automaton, states, 0, budget) if word and image == states)
    words: dict[Permutation, Word] = {}
    for image, word in _images(automaton, states, len(pad), budget):
        if len(word) % len(pad) == 0 and set(image) == set(states):
            element = tuple(here[state] for state in image)
            if element in wanted and element not in words:
                words[element] = word
                if len(words) == len(wanted):
                    return pad, words
    raise AssertionError("every element of a perfect group has such a word")


def _images(
    automaton: Semiautomaton, states: tuple[int, ...], modulus: int, budget: int
) -> Iterator[tuple[tuple[int, ...], Word]]:
    """Breadth first: the images of the states under words that keep them distinct, with a shortest word each.

    With a modulus, once for each length modulo it; without one, returns to the start are yielded, too.
    """
    letters = [np.asarray(letter) for letter in automaton.letters]
    first = (np.asarray(states).tobytes(), 0)
    origin: dict[tuple[bytes, int], tuple[tuple[bytes, int], int] | None] = {first: None}
    queue = deque([first])
    while queue:
        node = queue.popleft()
        image = np.frombuffer(node[0], dtype=np.int64)
        yield tuple(image.tolist()), word_along(origin.get, node)
        for letter, table in enumerate(letters):
            budget -= len(states)
            if budget < 0:
                raise LimitExceeded(
                    f"words for the group were searched for {MAX_WORK} images; it is too large"
                )
            target = table[image]
            fresh = (target.tobytes(), (node[1] + 1) % modulus if modulus else 0)
            if not modulus and fresh == first:
                yield states, (*word_along(origin.get, node), letter)
            if fresh not in origin and len(np.unique(target)) == len(target):
                origin[fresh] = (node, letter)
                queue.append(fresh)


def _commutators(elements: list[Permutation]) -> dict[Permutation, tuple[Permutation, Permutation]]:
    """The largest set of elements other than 1 each of which is a commutator of two of the set.

    The pair is the first in the order of ``elements``: the one whose later member is earliest.
    """
    table, backwards = _multiplication(elements)
    pairs = table[table, table[np.ix_(backwards, backwards)]]  # [a, b] = (a b)(a⁻¹ b⁻¹)
    one = elements.index(identity(len(elements[0])))
    inside = np.arange(len(elements)) != one
    while True:
        reached = np.zeros(len(elements), dtype=bool)
        reached[pairs[np.ix_(inside, inside)]] = True
        if (inside & ~reached).any():
            inside &= reached
        else:
            break
    numbers = np.flatnonzero(inside)
    factors: dict[Permutation, tuple[Permutation, Permutation]] = {}
    for count in range(1, len(numbers) + 1):
        last = numbers[count - 1]
        for other in numbers[:count]:
            for a, b in ((other, last), (last, other)):
                if inside[pairs[a, b]]:
                    factors.setdefault(elements[pairs[a, b]], (elements[a], elements[b]))
        if len(factors) == len(numbers):
            break
    return factors


def _multiplication(
    elements: list[Permutation],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """``table[a, b]``: the number of "first a, then b"; and the number of each inverse."""
    rows = np.array(elements, dtype=np.int64)
    base: list[int] = []
    while len(np.unique(rows[:, base], axis=0)) < len(rows):
        sizes = [len(np.unique(rows[:, [*base, point]], axis=0)) for point in range(rows.shape[1])]
        base.append(int(np.argmax(sizes)))
    number = {tuple(row): index for index, row in enumerate(rows[:, base].tolist())}
    table = np.array([[number[tuple(b)] for b in rows[:, row[base]].tolist()] for row in rows])
    backwards = np.array([number[tuple(inverse(element)[point] for point in base)] for element in elements])
    return table, backwards
