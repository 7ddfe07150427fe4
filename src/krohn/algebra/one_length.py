"""Whether the maps of all words of one length contain a group, and words that show it.

Groups in words of one length separate AC⁰ from the rest of ACC⁰.
A regular language is in AC⁰ if and only if for no t the maps of all words of exactly t letters contain a
non-trivial group (its morphism is then called quasi-aperiodic; Barrington, Compton, Straubing and Thérien,
Regular languages in NC¹, 1992). For the states of an automaton the maps of its states decide: two words have
one map if and only if they are syntactically equal for every language {w : w leads to q}, and quasi-aperiodic
morphisms are closed under products and quotients.

Decided without listing elements. Words that take an image set P to itself permute it, each with its length;
these pairs (permutation, length) generate a subgroup of G × ℤ. Two words of one length that permute P
differently exist if and only if some (g, 0) with g ≠ 1 lies in it: an inverse is a power, and powers can be
made arbitrarily long in steps of one length. So no length has a group at P exactly if the permutation is
a function of the length there, that is if all pairs are powers of one of the least positive length.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from krohn.algebra.idempotents import idempotent_onto
from krohn.algebra.image_orbit import ImageComponent, ImageOrbit
from krohn.algebra.packed import Row, product_of_word
from krohn.algebra.transformation import Permutation, compose, order, power, prime_factors
from krohn.errors import LimitExceeded

Reached = dict[int, dict[Row, tuple[int, Row, int]]]
"""For each set the maps P → set of words of one length, each with the set, map and letter that led to it."""


MOST_LETTERS = 100_000
"""Of words that are given as a witness."""


MOST_STEPS = 1_000_000
"""Image sets visited, length by length, in the search for two words of one length."""


@dataclass(frozen=True)
class OneLength:
    """Words of one length whose maps form a group of prime order: each a power of the second one's.

    Attributes:
        states: the states that the group permutes.
        words: one word for each element, the identity first; empty if the search for them was too long.
    """

    states: tuple[int, ...]
    words: tuple[tuple[int, ...], ...]

    @property
    def length(self) -> int | None:
        """The common length of the words."""
        return len(self.words[0]) if self.words else None

    def to_json(self, letter_names: Sequence[str], state_names: Sequence[str]) -> dict[str, Any]:
        """With the names of letters and states."""
        number = len(self.words)
        return {
            "length": self.length,
            "group": {"name": f"C{number}", "order": number} if self.words else None,
            "states": [state_names[state] for state in self.states],
            "words": [[letter_names[letter] for letter in word] for word in self.words],
        }


def group_of_one_length(orbit: ImageOrbit) -> OneLength | None:
    """Words of one length that form a group; ``None`` if no length has any: quasi-aperiodic."""
    unknown = None
    for component in sorted(orbit.components, key=lambda component: -component.rank):
        if component.rank == 1 or component.group.is_trivial or _follows_length(component):
            continue
        result = _witness(component)
        if result is not None and result.words:
            return result
        unknown = unknown or result
    return unknown


def _follows_length(component: ImageComponent) -> bool:
    """Whether the permutations of P are a function of the length of the words that induce them."""
    loops = {(component.permutation(loop), length) for loop, length in set(component.loops())}
    least, shortest = 0, tuple(range(component.rank))
    for action, length in loops:  # Euclid's algorithm, on lengths and permutations at once
        while length:
            times = least // length
            least, length = length, least - times * length
            shortest, action = action, compose(shortest, power(action, -times))
    return all(action == power(shortest, length // least if least else 0) for action, length in loops)


def _witness(component: ImageComponent) -> OneLength | None:
    """``None`` if P is not the image of an idempotent: then another component has the group, too.

    Orders multiply: words of more than ``MOST_LETTERS`` letters are not written out.
    """
    states = tuple(component.base)
    try:
        identity: tuple[int, ...] = ()
        if component.rank < len(component.orbit.letters[0]):
            idempotent = idempotent_onto(component)
            if idempotent is None:
                return None
            if len(idempotent.word) * idempotent.exponent > MOST_LETTERS:
                return OneLength(states, ())
            identity = idempotent.word * idempotent.exponent
        words = sorted(_two_words(component), key=lambda word: order(_action(component, word)))
    except LimitExceeded:
        return OneLength(states, ())
    steady, other = words
    turns = order(_action(component, steady))
    if len(steady) * turns > MOST_LETTERS:
        return OneLength(states, ())
    rest, moving = steady * turns, other + steady * (turns - 1)
    full = order(_action(component, moving))
    if len(identity) + len(moving) * full > MOST_LETTERS:
        return OneLength(states, ())
    prime = min(prime_factors(full))
    part = full // prime
    result = tuple(
        identity + moving * (part * power) + rest * (part * (prime - 1 - power)) for power in range(prime)
    )
    return OneLength(states, result)


def _action(component: ImageComponent, word: Sequence[int]) -> Permutation:
    images = product_of_word(component.orbit.letters, word)
    return component.permutation(images[point] for point in component.base)


def _two_words(component: ImageComponent) -> tuple[tuple[int, ...], ...]:
    """Shortest two words of equal length that permute P differently.

    Length by length every set keeps two different maps P → set, if it has them: maps that differ stay
    different along every path, since all of these are bijections.
    """
    orbit, root = component.orbit, component.members[0]
    inside, send, tables = set(component.members), orbit.rows.send, orbit.tables
    levels: list[Reached] = [{root: {component.base: (-1, component.base, -1)}}]
    steps = 0
    while len(levels[-1].get(root, ())) < 2:
        reached: Reached = {}
        for index, maps in levels[-1].items():
            steps += len(orbit.letters)
            for letter, target in enumerate(orbit.successors[index]):
                if target in inside:
                    known = reached.setdefault(target, {})
                    for row in maps:
                        image = send(row, tables[letter])
                        if len(known) < 2:
                            known.setdefault(image, (index, row, letter))
        levels.append(reached)
        if steps > MOST_STEPS:
            raise LimitExceeded(f"at most {MOST_STEPS:,} image sets are visited for two words of one length")
    return tuple(_trace_back(levels, root, row) for row in levels[-1][root])


def _trace_back(levels: list[Reached], index: int, row: Row) -> tuple[int, ...]:
    word = []
    for level in reversed(levels[1:]):
        index, row, letter = level[index][row]
        word.append(letter)
    return tuple(reversed(word))
