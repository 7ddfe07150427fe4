"""Regular expressions and DFA objects of automata-lib, in and out."""

import re
from collections.abc import Collection, Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from krohn.automata.limits import capped_power
from krohn.automata.quotients import minimize
from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import InvalidInput, LimitExceeded

if TYPE_CHECKING:
    from automata.fa.dfa import DFA

MAX_PATTERN = 2_000
MAX_POSITIONS = 20_000
MAX_SUBSETS = 50_000
MAX_ALPHABET = 1_000

_OPERATORS = frozenset("*|()?&+.^{}[]")
# An escape, a character class, a quantifier, or one character: what a pattern is made of.
_TOKEN = re.compile(r"(\\.)|(\[[^\]]*\])|\{(-?\d*)(?:,(-?\d*))?\}|(.)", re.DOTALL)


def from_regex(pattern: str, alphabet: Iterable[str] | None = None) -> Semiautomaton:
    """The minimal complete DFA of ``pattern``; observation 1 means that the word read so far matches.

    The syntax is automata-lib's: ``| * + ? . & ^ {m,n} [a-c]`` and parentheses over one-character letters.
    The letters are those of the pattern and of ``alphabet``, sorted; state 0 is the start, the others
    follow in breadth-first order.

    Example:
        >>> even = krohn.from_regex("(ab)*")
        >>> even.num_states, even.letter_names, [even.observe[state] for state in even.run([0, 1, 1])]
        (3, ('a', 'b'), [0, 1, 0])
    """
    _check_expansion(pattern)
    nfa = _nondeterministic(pattern, set(alphabet or ()))
    letters = sorted(nfa.input_symbols)
    _check_letters(pattern, letters)
    table, accept = _determinize(nfa, letters)
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


def _check_expansion(pattern: str) -> None:
    """Refuses a pattern whose repetitions or intersections would unfold beyond the limit."""
    if len(pattern) > MAX_PATTERN:
        raise LimitExceeded(
            f"a pattern may have at most {MAX_PATTERN:,} characters; got {len(pattern):,}: shorten it"
        )
    positions = _positions(pattern)
    products = sum(match.group() in {"&", "^"} for match in _TOKEN.finditer(pattern))
    unfolded = capped_power(positions // (products + 1) + 1, products + 1)
    if unfolded > MAX_POSITIONS * (20 if products else 1):
        raise LimitExceeded(
            f"a pattern may unfold to at most {MAX_POSITIONS:,} positions; {pattern[:60]!r} could need "
            f"{unfolded:,}: use smaller repetition counts or fewer & and ^"
        )


def _positions(pattern: str) -> int:
    """Letters of the pattern once every ``{m,n}`` is written out, capped far beyond the limit."""
    totals, last = [0], 0  # letters so far at each open parenthesis; letters of the latest atom
    for match in _TOKEN.finditer(pattern):
        token = match.group()
        if match.group(3) is not None:
            bounds = [int(bound[:9]) for bound in match.group(3, 4) if bound and bound.isdecimal()]
            copies = max([1, *bounds])
            totals[-1] = min(totals[-1] + last * (copies - 1), 10**12)
            last = min(last * copies, 10**12)
        elif token == "(":
            totals.append(0)
        elif token == ")" and len(totals) > 1:
            last = totals.pop()
            totals[-1] += last
        elif token == "." or token not in _OPERATORS:
            totals[-1], last = totals[-1] + 1, 1
    return sum(totals)


def _nondeterministic(pattern: str, alphabet: set[str]) -> Any:
    from automata.base.exceptions import AutomatonException, RegexException
    from automata.fa.nfa import NFA

    # The library's own guess of the alphabet takes the digits of {2,3} and the dash of [a-c] for letters.
    literals = {match.group(5) for match in _TOKEN.finditer(pattern)} - {None} - _OPERATORS
    try:
        if "\\" in literals:
            raise ValueError("nothing follows the last backslash")
        return NFA.from_regex(pattern, input_symbols=alphabet | literals)
    except (AutomatonException, RegexException, ValueError, IndexError, KeyError, RecursionError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InvalidInput(
            f"a pattern must be a regular expression such as (ab)*|b+; got {pattern!r}: {reason}"
        ) from error


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


def _determinize(nfa: Any, letters: list[str]) -> tuple[list[list[int]], list[int]]:
    """The subset construction; subsets are numbered in the order in which they are reached."""
    closure = {state: _closure(nfa.transitions, state) for state in nfa.states}
    moves = {
        (state, letter): frozenset().union(*(closure[target] for target in targets))
        for state, row in nfa.transitions.items()
        for letter, targets in row.items()
        if letter
    }
    empty: frozenset[Any] = frozenset()
    order = {closure[nfa.initial_state]: 0}
    subsets = list(order)
    table: list[list[int]] = []
    for subset in subsets:  # grows while it is read
        row = []
        for letter in letters:
            target = empty.union(*(moves.get((state, letter), empty) for state in subset))
            if target not in order:
                order[target] = len(subsets)
                subsets.append(target)
            row.append(order[target])
        table.append(row)
        if len(subsets) > MAX_SUBSETS:
            raise LimitExceeded(
                f"the automaton of a pattern may have at most {MAX_SUBSETS:,} states before minimisation; "
                "this one has more: choose a simpler pattern"
            )
    return table, [int(not nfa.final_states.isdisjoint(subset)) for subset in subsets]


def _closure(transitions: Mapping[Any, Mapping[str, Collection[Any]]], state: Any) -> frozenset[Any]:
    seen, waiting = {state}, [state]
    while waiting:
        for target in transitions.get(waiting.pop(), {}).get("", ()):
            if target not in seen:
                seen.add(target)
                waiting.append(target)
    return frozenset(seen)


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
