"""When two automata are the same: by the names of their states and letters, or up to other names."""

from collections.abc import Callable

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import LimitExceeded

MAX_STEPS = 5_000_000
"""Transitions that the search for a renaming may compare."""
MAX_LETTERS = 500

Letters = tuple[int, ...]


def listed_as(automaton: Semiautomaton, other: Semiautomaton) -> Semiautomaton | None:
    """The automaton with its states and letters in the order of ``other``; ``None`` if it has other names."""
    states = {name: index for index, name in enumerate(automaton.state_names)}
    letters = {name: index for index, name in enumerate(automaton.letter_names)}
    if states.keys() != set(other.state_names) or letters.keys() != set(other.letter_names):
        return None
    rows = np.array([states[name] for name in other.state_names])
    columns = np.array([letters[name] for name in other.letter_names])
    place = np.argsort(rows)
    observe = automaton.observe
    return Semiautomaton(
        place[automaton.table[np.ix_(rows, columns)]],
        start=int(place[automaton.start]),
        state_names=other.state_names,
        letter_names=other.letter_names,
        observe=None if observe is None else tuple(observe[row] for row in rows),
        name=automaton.name,
    )


def renaming(left: Semiautomaton, right: Semiautomaton) -> tuple[Letters, dict[int, int]] | None:
    """Letters and reachable states of ``right`` for those of ``left``: a bijection that keeps all moves.

    States that no word leads to may differ: no word tells. ``None`` if there is no renaming.
    """
    if left.table.shape != right.table.shape:
        return None
    if left.num_letters > MAX_LETTERS:
        raise LimitExceeded(
            f"a renaming can be looked for with at most {MAX_LETTERS} letters; got {left.num_letters}"
        )
    steps = 0

    def spent(count: int) -> None:
        nonlocal steps
        steps += count
        if steps > MAX_STEPS:
            raise LimitExceeded(
                f"a renaming must be found within {MAX_STEPS:,} steps; these automata look too much alike: "
                "give one with the same names"
            )

    return _extended(left, right, (), spent)


def _extended(
    left: Semiautomaton, right: Semiautomaton, letters: Letters, spent: Callable[[int], None]
) -> tuple[Letters, dict[int, int]] | None:
    """The first renaming whose letters begin with the given ones."""
    states = _matched(left, right, letters, spent)
    if states is None:
        return None
    if len(letters) == left.num_letters:
        return letters, states
    for letter in range(right.num_letters):
        if letter not in letters:
            found = _extended(left, right, (*letters, letter), spent)
            if found is not None:
                return found
    return None


def _matched(
    left: Semiautomaton, right: Semiautomaton, letters: Letters, spent: Callable[[int], None]
) -> dict[int, int] | None:
    """The states that the letters chosen so far lead to from the start, in step; ``None`` if they part."""
    match = {left.start: right.start}
    taken = {right.start}
    queue = [left.start]
    for state in queue:
        spent(len(letters) + 1)
        for letter, other in enumerate(letters):
            target, wanted = int(left.table[state, letter]), int(right.table[match[state], other])
            if target not in match and wanted not in taken:
                match[target] = wanted
                taken.add(wanted)
                queue.append(target)
            elif match.get(target) != wanted:
                return None
    return match
