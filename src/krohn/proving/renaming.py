"""Two automata that differ in the names or the order of states and letters."""

from collections.abc import Callable

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import LimitExceeded

Letters = tuple[int, ...]
MAX_STEPS = 5_000_000
"""Transitions that the search for a renaming may compare."""


MAX_LETTERS = 500


def reorder_as(automaton: Semiautomaton, other: Semiautomaton) -> Semiautomaton | None:
    """The automaton with its states and letters in the order of ``other``; ``None`` if it has other names."""
    states = {name: index for index, name in enumerate(automaton.state_names)}
    letters = {name: index for index, name in enumerate(automaton.letter_names)}
    if states.keys() != set(other.state_names) or letters.keys() != set(other.letter_names):
        return None
    rows = np.array([states[name] for name in other.state_names])
    columns = np.array([letters[name] for name in other.letter_names])
    place = np.argsort(rows)
    observed = (
        automaton.observe if other.observation_names == automaton.observation_names else automaton.observed
    )
    return Semiautomaton(
        place[automaton.table[np.ix_(rows, columns)]],
        start=int(place[automaton.start]),
        state_names=other.state_names,
        letter_names=other.letter_names,
        observe=tuple(observed[row] for row in rows) if observed else None,
        name=automaton.name,
        observation_names=other.observation_names,
        characters=tuple(automaton.characters[column] for column in columns) if automaton.characters else (),
    )


def renaming(left: Semiautomaton, right: Semiautomaton) -> tuple[Letters, dict[int, int]] | None:
    """Letters and reachable states of ``right`` for those of ``left``: a bijection that keeps all moves, and
    what is shown if that is the target.

    Unreachable states may differ. ``None`` if there is no renaming.
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

    return _extend(left, right, (), spent)


def _extend(
    left: Semiautomaton, right: Semiautomaton, letters: Letters, spent: Callable[[int], None]
) -> tuple[Letters, dict[int, int]] | None:
    """The first renaming whose letters begin with the given ones."""
    states = _match(left, right, letters, spent)
    if states is None:
        return None
    if len(letters) == left.num_letters:
        return letters, states
    for letter in range(right.num_letters):
        if letter not in letters:
            result = _extend(left, right, (*letters, letter), spent)
            if result is not None:
                return result
    return None


def _match(
    left: Semiautomaton, right: Semiautomaton, letters: Letters, spent: Callable[[int], None]
) -> dict[int, int] | None:
    """Pairs the states that the letters chosen so far reach in step; ``None`` if this is no bijection."""
    # Start goes to start; from there the letters chosen so far decide everything, so no pair is a choice.
    match = {left.start: right.start}
    taken = {right.start}
    queue = [left.start]
    observed = left.target == "observation"  # states are renamed, observations are not
    for state in queue:
        spent(len(letters) + 1)
        if observed and left.observed[state] != right.observed[match[state]]:
            return None
        for letter, other in enumerate(letters):
            target, wanted = int(left.table[state, letter]), int(right.table[match[state], other])
            if target not in match and wanted not in taken:
                match[target] = wanted
                taken.add(wanted)
                queue.append(target)
            elif match.get(target) != wanted:
                return None
    return match
