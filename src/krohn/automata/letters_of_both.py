"""Two automata over the same letters: each pattern has classes of characters of its own."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from krohn.automata.diagram import accepts_words
from krohn.automata.patterns.characters import Runs, classes, name_of
from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import InvalidInput


def alike(one: Semiautomaton, other: Semiautomaton) -> tuple[Semiautomaton, Semiautomaton]:
    """Both over the same letters: their own, or classes of characters that neither of them tells apart."""
    if set(one.letter_names) == set(other.letter_names) and not (one.characters or other.characters):
        return one, other
    mine, theirs = (_characters_of(each, one, other) for each in (one, other))
    shared = [(holders, runs) for holders, runs in classes([*mine, *theirs]).items() if holders]
    # Bit i of the holders is the i-th of mine, then of theirs: of each automaton at most one bit is set.
    first = [(holders & ((1 << len(mine)) - 1)).bit_length() - 1 for holders, _ in shared]
    second = [(holders >> len(mine)).bit_length() - 1 for holders, _ in shared]
    names = [runs for _, runs in shared]
    return _reading(one, first, names), _reading(other, second, names)


def _characters_of(each: Semiautomaton, *both: Semiautomaton) -> list[Runs]:
    """The characters of each letter of a pattern."""
    alone = all(len(name) == 1 for name in each.letter_names)
    if not accepts_words(each) or not (each.characters or alone):
        first, second = (" ".join(automaton.letter_names[:8]) for automaton in both)
        raise InvalidInput(
            f"automata must have the same letters, or both be patterns; one has {first}, the other {second}"
        )
    codes = each.characters or tuple((ord(name), ord(name)) for name in each.letter_names)
    return [tuple(zip(runs[::2], runs[1::2], strict=True)) for runs in codes]


def _reading(automaton: Semiautomaton, letters: Sequence[int], runs: Sequence[Runs]) -> Semiautomaton:
    """The pattern over other letters, by the number of its own; −1 for what it fails on, for good."""
    fails = automaton.num_states
    columns = [automaton.table[:, letter] if letter >= 0 else np.full(fails, fails) for letter in letters]
    return replace(
        automaton,
        table=np.vstack([np.array(columns).T, np.full(len(letters), fails)]),
        state_names=(),
        letter_names=tuple(map(name_of, runs)),
        observe=(*(automaton.observe or ()), 0),
        characters=tuple(tuple(code for run in each for code in run) for each in runs),
    )
