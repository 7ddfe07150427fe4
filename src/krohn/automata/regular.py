"""Regular expressions as automata: positions (Glushkov), subsets, minimisation.

The tests compare every automaton with the one that automata-lib builds from the same expression.
"""

from collections.abc import Iterable

import numpy as np

from krohn.automata.pattern_tokens import MAX_ALPHABET, letters_of, tokens
from krohn.automata.position_automaton import Part, Positions, bits, parse
from krohn.automata.quotients import minimize
from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import InvalidInput, LimitExceeded

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
        result = tokens(pattern)
        letters = sorted(letters_of(result) | set(alphabet or ()))
        positions = Positions(set(letters))
        whole = parse(result, positions)
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
    start = -1  # not a set of positions: nothing read yet
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
