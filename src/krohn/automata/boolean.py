"""Boolean operations on automata that accept words: ``and(A; B)``, ``or(A; B)``, ``minus(A; B)``, ``not(A)``.

Parts are SPECs, expressions among them, with semicolons between; no pattern, file or name begins so and ends
with a bracket. A semicolon or a lone bracket of a pattern is written with a backslash, or as [;] or [(].
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce

import numpy as np

from krohn.automata.diagram import accepts_words
from krohn.automata.letters_of_both import alike
from krohn.automata.quotients import minimize
from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import InvalidInput, LimitExceeded

OPERATIONS: dict[str, Callable[[int, int], bool]] = {
    "and": lambda one, other: bool(one and other),
    "or": lambda one, other: bool(one or other),
    "minus": lambda one, other: bool(one and not other),
}
"""Of two parts or more, from left to right."""
NOT = "not"
MAX_ARROWS = 2_000_000
"""Arrows between pairs of states, before states that show the same are merged."""
MAX_NESTED = 50
"""Brackets in brackets."""
FORMS = "and(A; B), or(A; B), minus(A; B), not(A)"


def parts_of(text: str) -> tuple[str, list[str]] | None:
    """The operation and its parts, if the text is an expression."""
    name, bracket, rest = text.strip().partition("(")
    if not bracket or name not in (*OPERATIONS, NOT) or not rest.endswith(")"):
        return None
    parts = _split(rest[:-1])
    few, most = (1, 1) if name == NOT else (2, 16)
    if not few <= len(parts) <= most or not all(parts):
        wanted = "one part" if name == NOT else "2 to 16 parts, with ; between"
        raise InvalidInput(f"{name}(...) must have {wanted}; got {text[:60]!r}")
    return name, parts


def _split(text: str) -> list[str]:
    """The pieces between semicolons outside brackets; a backslash and [] take their meaning away."""
    parts, depth, escaped, inside = [""], 0, False, False
    for symbol in text:
        if not (escaped or inside or depth) and symbol == ";":
            parts.append("")
            continue
        parts[-1] += symbol
        if escaped:
            escaped = False
        elif symbol == "\\":
            escaped = True
        elif inside:
            inside = symbol != "]"
        elif symbol == "[":
            inside = True
        else:
            depth += (symbol == "(") - (symbol == ")")
            if depth < 0 or depth > MAX_NESTED:
                break
    if depth > MAX_NESTED:
        raise InvalidInput(f"brackets may be nested {MAX_NESTED} deep; got {text[:60]!r}")
    if depth or inside:
        raise InvalidInput(f"brackets must close, or stand behind a backslash; got {text[:60]!r}")
    return [part.strip() for part in parts]


def combined(operation: str, parts: Sequence[Semiautomaton], name: str) -> Semiautomaton:
    """The smallest automaton of the expression; words are over the letters of all parts."""
    for part in parts:
        if not accepts_words(part):
            shown = part.name or "an automaton"
            raise InvalidInput(
                f"the parts of {operation}(...) must accept words: patterns, files with accepting states, "
                f"names with an @; {shown[:40]} does not"
            )
    if operation == NOT:
        (part,) = parts
        made = minimize(replace(part, observe=tuple(1 - value for value in part.observe or ())))
    else:
        made = reduce(lambda one, other: _paired(one, other, OPERATIONS[operation]), parts)
    return replace(made, name=name)


def _paired(one: Semiautomaton, other: Semiautomaton, holds: Callable[[int, int], bool]) -> Semiautomaton:
    """Both side by side on the pairs of states that words reach, then minimised."""
    one, other = alike(one, other)
    columns = [other.letter_names.index(name) for name in one.letter_names]
    first, second = one.table.tolist(), other.table[:, columns].tolist()
    number = {(one.start, other.start): 0}
    rows: list[list[int]] = []
    for mine, theirs in (queue := [*number]):  # grows during iteration
        row = []
        for pair in zip(first[mine], second[theirs], strict=True):
            if pair not in number:
                number[pair] = len(number)
                queue.append(pair)
            row.append(number[pair])
        rows.append(row)
        if len(number) * len(columns) > MAX_ARROWS:
            raise LimitExceeded(
                f"an expression may have at most {MAX_ARROWS:,} arrows between pairs of states; "
                f"{one.name or 'this'} with {other.name or 'that'} has more: choose smaller parts"
            )
    shows, others = one.observe or (), other.observe or ()
    observe = tuple(int(holds(shows[p], others[q])) for p, q in number)
    return minimize(
        Semiautomaton(
            np.array(rows),
            letter_names=one.letter_names,
            characters=one.characters,
            observe=observe,
        )
    )
