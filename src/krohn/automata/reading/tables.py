"""Tables of transitions: a row for each state, a column for each letter, as a spreadsheet writes them."""

import csv
import re

from krohn.automata.reading.arrows import Arrows
from krohn.errors import InvalidAutomaton

_OUTPUT = frozenset({"output", "out", "observe", "accept", "accepting", "final"})
_YES, _NO = frozenset({"1", "yes", "true", "*"}), frozenset({"0", "no", "false", ""})
_START = re.compile(r"->|→|>")


def read_table(text: str) -> Arrows:
    """The arrows of rows ``state, next state for each letter[, output]``.

    ``->`` before a state marks the start, the first state if none; ``*`` marks those that accept. A next
    state ``q/out`` has the output of that arrow, ``p q`` are several, an empty one is none.
    """
    sample = text[:65_536]
    sign = next((sign for sign in "\t;" if sign in sample), ",")
    try:
        rows = [
            [cell.strip() for cell in row]
            for row in csv.reader(text.splitlines(), delimiter=sign)
            if any(row)
        ]
    except csv.Error as error:
        raise InvalidAutomaton(f"a table must be text with {sign!r} between its cells; {error}") from error
    return read_rows(rows)


def read_rows(rows: list[list[str]]) -> Arrows:
    """The arrows of a table; its first row names the letters."""
    if len(rows) < 2 or len(rows[0]) < 2:
        raise InvalidAutomaton("a table must have a row of letters, and a row for each state")
    head, body = rows[0], rows[1:]
    last = len(head) > 2 and head[-1].lower() in _OUTPUT
    read = Arrows(final=set(), letters=list(dict.fromkeys(head[1 : len(head) - last])))
    assert read.final is not None
    outputs: dict[str, str] = {}
    for number, row in enumerate(body, 2):
        if len(row) > len(head):
            raise InvalidAutomaton(f"row {number} must have at most {len(head)} cells; it has {len(row)}")
        marked = _START.sub("", row[0]).strip()
        state = marked.strip("*").strip()
        read.states.append(state)
        if _START.search(row[0]):
            read.starts.append(state)
        if "*" in marked:
            read.final.add(state)
        cells = [*row[1:], *[""] * (len(head) - len(row))]
        if last:
            outputs[state] = cells.pop()
        for letter, cell in zip(head[1:], cells, strict=False):
            target, bar, out = cell.partition("/")
            for each in re.split(r"[{},\s|]+", target):
                if each and each not in {"-", "∅"}:
                    read.add(state, letter or None, each, out.strip() if bar else None)
    if len(set(read.states)) < len(read.states):
        raise InvalidAutomaton("a table must have one row for each state; two rows have the same")
    if last and {value.lower() for value in outputs.values()} <= _YES | _NO:
        read.final |= {state for state, value in outputs.items() if value.lower() in _YES}
    elif last:
        read.final, read.shown = None, outputs
    read.starts = read.starts or read.states[:1]
    return read
