"""Regular expressions, and DFA objects of automata-lib in and out.

Expressions are turned into automata here, not by the library: training on ``regex:…`` must not import more
than a machine with an accelerator has. The tests hold both to the same automata.
"""

from collections.abc import Collection, Hashable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from krohn.automata.pattern_tokens import MAX_ALPHABET, letters_of, tokens
from krohn.automata.positions import Part, Positions, bits, parse
from krohn.automata.quotients import minimize
from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import InvalidInput, LimitExceeded

if TYPE_CHECKING:
    from automata.fa.dfa import DFA

MAX_PATTERN = 2_000
MAX_SUBSETS = 50_000
MAX_MEMBERS = 2_000_000


def from_regex(pattern: str, alphabet: Iterable[str] | None = None) -> Semiautomaton:
    """The minimal complete DFA of ``pattern``; observation 1 means that the word read so far matches.

    The syntax is ``| * + ? . & ^ {m,n} [a-c] [^a] \\d`` and parentheses over one-character letters; ``&`` is
    intersection, ``^`` shuffle, ``()`` the empty word. The letters are those of the pattern and of
    ``alphabet``, sorted; state 0 is the start, the others follow in breadth-first order.

    Example:
        >>> even = krohn.from_regex("(ab)*")
        >>> even.num_states, even.letter_names, [even.observe[state] for state in even.run([0, 1, 1])]
        (3, ('a', 'b'), [0, 1, 0])
    """
    if len(pattern) > MAX_PATTERN:
        raise LimitExceeded(
            f"a pattern may have at most {MAX_PATTERN:,} characters; got {len(pattern):,}: shorten it"
        )
    try:
        found = tokens(pattern)
        letters = sorted(letters_of(found) | set(alphabet or ()))
        positions = Positions(set(letters))
        whole = parse(found, positions)
    except InvalidInput as error:
        raise InvalidInput(
            f"a pattern must be a regular expression such as (ab)*|b+; got {pattern!r}: {error}"
        ) from error
    _check_letters(pattern, letters)
    table, accept = _determinize(positions, whole, letters)
    small = minimize(
        Semiautomaton(np.array(table, dtype=np.int32), letter_names=tuple(letters), observe=tuple(accept))
    )
    return Semiautomaton(
        small.table,
        start=small.start,
        letter_names=small.letter_names,
        observe=small.observe,
        name=f"regex:{pattern}",
    )


def _check_letters(pattern: str, letters: list[str]) -> None:
    if not 1 <= len(letters) <= MAX_ALPHABET:
        raise InvalidInput(
            f"a pattern must have 1 to {MAX_ALPHABET:,} letters; {pattern[:60]!r} has {len(letters):,}"
        )
    for letter in letters:
        if len(letter) != 1 or letter.isspace() or not letter.isprintable():
            raise InvalidInput(
                f"a letter of a pattern must be one printable character, no white space; got {letter!r}"
            )


def _determinize(positions: Positions, whole: Part, letters: list[str]) -> tuple[list[list[int]], list[int]]:
    """The subset construction; subsets are numbered in the order in which they are reached."""
    reading = dict.fromkeys(letters, 0)
    for place, read in enumerate(positions.letters):
        for letter in read:
            reading[letter] |= 1 << place
    start = -1  # no set of positions: nothing was read yet
    order, subsets, members = {start: 0}, [start], 0
    table: list[list[int]] = []
    for subset in subsets:  # grows while it is read
        following = whole.first if subset == start else _union(positions.follow, subset)
        row = []
        for letter in letters:
            target = following & reading[letter]
            if target not in order:
                order[target] = len(subsets)
                subsets.append(target)
                members += target.bit_count()
            row.append(order[target])
        table.append(row)
        if len(subsets) > MAX_SUBSETS or members > MAX_MEMBERS:
            raise LimitExceeded(
                f"the automaton of a pattern may have at most {MAX_SUBSETS:,} states before minimisation, "
                f"sets of {MAX_MEMBERS:,} positions together; this one has more: choose a simpler pattern"
            )
    return table, [int(bool(whole.empty if subset == start else subset & whole.last)) for subset in subsets]


def _union(follow: list[int], subset: int) -> int:
    union = 0
    for place in bits(subset):
        union |= follow[place]
    return union


def from_dfa(dfa: "DFA") -> Semiautomaton:
    """A DFA of automata-lib as it stands; missing transitions lead to a new sink, φ is acceptance."""
    letters = sorted(dfa.input_symbols)
    states = _breadth_first(dfa, letters)
    rows = [[dfa.transitions.get(state, {}).get(letter) for letter in letters] for state in states]
    partial = any(target is None for row in rows for target in row)
    place: dict[Hashable, int] = {state: index for index, state in enumerate(states)}
    sink = len(states)
    table = [[sink if target is None else place[target] for target in row] for row in rows]
    names = [str(state) for state in states]
    accept = [int(state in dfa.final_states) for state in states]
    if partial:
        table.append([sink] * len(letters))
        names.append("sink")
        accept.append(0)
    return Semiautomaton(
        np.array(table, dtype=np.int32).reshape(len(table), len(letters)),
        start=place[dfa.initial_state],
        state_names=tuple(names) if len(set(names)) == len(names) else (),
        letter_names=tuple(letters),
        observe=tuple(accept),
    )


def _breadth_first(dfa: "DFA", letters: list[str]) -> list[Any]:
    """All states: those reached from the start first, the others by their names."""
    order = {dfa.initial_state: None}
    waiting = [dfa.initial_state]
    for state in waiting:  # grows while it is read
        for letter in letters:
            target = dfa.transitions.get(state, {}).get(letter)
            if target is not None and target not in order:
                order[target] = None
                waiting.append(target)
    return [*order, *sorted((state for state in dfa.states if state not in order), key=repr)]


def to_dfa(automaton: Semiautomaton, accept: Collection[int] | None = None) -> "DFA":
    """A DFA of automata-lib over the names, accepting in ``accept``, or else where the observation is 1."""
    from automata.fa.dfa import DFA

    if accept is None:
        if automaton.observe is None or not set(automaton.observe) <= {0, 1}:
            raise InvalidInput(
                "a DFA must know its accepting states; give accept= or an observation map to {0, 1}"
            )
        accept = [state for state, seen in enumerate(automaton.observe) if seen]
    outside = [state for state in accept if not 0 <= state < automaton.num_states]
    if outside:
        raise InvalidInput(f"accepting states must lie in [0, {automaton.num_states}); got {outside[0]}")
    states, letters = automaton.state_names, automaton.letter_names
    return DFA(
        states=set(states),
        input_symbols=set(letters),
        transitions={
            states[state]: {letter: states[target] for letter, target in zip(letters, row, strict=True)}
            for state, row in enumerate(automaton.table.tolist())
        },
        initial_state=states[automaton.start],
        final_states={states[state] for state in accept},
    )
