"""Text of AT&T's and OpenFst's machines: ``source target input [output] [weight]``, and final states."""

import re

from krohn.automata.reading.arrows import Arrows, lines_of
from krohn.base.files import shown
from krohn.errors import InvalidAutomaton

EPSILON = frozenset({"<eps>", "<EPS>", "<epsilon>", "@0@", "@_EPSILON_SYMBOL_@", "ε", "<>"})
TABLES = (".isyms", ".osyms", ".syms")
"""Endings of symbol tables that lie beside a file: of inputs, of outputs, of both."""
_WEIGHT = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?|inf(inity)?", re.IGNORECASE)


def read_symbols(text: str) -> dict[str, str]:
    """The names by their numbers, from lines ``name number``."""
    rows = (line.split() for _, line in lines_of(text))
    return {row[1]: row[0] for row in rows if len(row) == 2}


def read_att_lines(text: str) -> tuple[list[tuple[str, str]], list[str]]:
    """The ends of the arrows, and the final states, whatever else the lines say."""
    rows = [line.split() for _, line in lines_of(text)]
    return [(row[0], row[1]) for row in rows if len(row) > 2], [row[0] for row in rows if len(row) <= 2]


def read_att(
    text: str, inputs: dict[str, str] | None = None, outputs: dict[str, str] | None = None
) -> Arrows:
    """The arrows of the file; the first source is the start."""
    read, rows = Arrows(final=set()), list[list[str]]()
    weights = False
    assert read.final is not None
    for number, line in lines_of(text):
        row = line.split("\t") if "\t" in line else line.split()
        row = [part.strip() for part in row]
        if row[0] == "--":
            raise InvalidAutomaton(f"line {number}: a file must hold one machine; -- separates several")
        if len(row) > 5 or (len(row) == 2 and not _WEIGHT.fullmatch(row[1])):
            raise InvalidAutomaton(
                f"line {number}: a line must be 'source target input [output] [weight]' or 'state [weight]'; "
                f"got {shown(line)}"
            )
        if not read.starts:
            read.starts = [row[0]]
        if len(row) <= 2:
            read.final.add(row[0])
            weights |= len(row) == 2 and float(row[1]) != 0
            continue
        rows.append(row)
    weighted = _fourth_is_weight(rows)
    numeric = all(row[2].isdigit() for row in rows) and (inputs is None)
    silent = EPSILON | ({"0"} if numeric and len({row[2] for row in rows}) > 1 and inputs is None else set())
    same = weighted or all(len(row) < 4 or row[2] == row[3] for row in rows)
    for row in rows:
        letter = (inputs or {}).get(row[2], row[2])
        out = None if same else (outputs or {}).get(row[3], row[3])
        if out is not None and (out in EPSILON or (out == "0" and numeric)):
            out = ""
        read.add(row[0], None if letter in silent else letter, row[1], out)
        weights |= (weighted and float(row[3]) != 0) or (len(row) > 4 and row[4] not in {"0", ""})
    if "0" in silent and any(letter is None for _, letter, _, _ in read.arrows):
        read.notes.append(
            "0 reads nothing, as in OpenFst; with a symbol table beside it (.isyms) it is a name"
        )
    if weights:
        read.notes.append("weights are not read")
    return read


def _fourth_is_weight(rows: list[list[str]]) -> bool:
    """Whether fourth columns are weights: numbers with a point, none of which is the letter read."""
    fourth = [row for row in rows if len(row) == 4]
    if not fourth or any(len(row) != 4 for row in rows) or all(row[2] == row[3] for row in fourth):
        return False
    return all(_WEIGHT.fullmatch(row[3]) for row in fourth) and any("." in row[3] for row in fourth)
