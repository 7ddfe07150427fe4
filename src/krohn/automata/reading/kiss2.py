"""KISS2, the format of finite state machines in logic synthesis (SIS): cubes of inputs, outputs on arrows."""

from krohn.automata.reading.arrows import Arrows, lines_of
from krohn.automata.reading.valuations import MAX_LABELS, classes, every, variable
from krohn.base.files import shown
from krohn.errors import InvalidAutomaton, LimitExceeded

_ANY = frozenset("*-")
"""A present state that stands for all, a next state that does not matter."""


def read_kiss2(text: str) -> Arrows:
    """The arrows of the table; ``-`` in a cube is both values, and letters are classes of valuations."""
    read, rows = Arrows(), list[list[str]]()
    reset, bits = "", -1
    for number, line in lines_of(text):
        row = line.split("#")[0].split()
        if not row:
            continue
        if row[0] in {".e", ".end", ".end_kiss"}:
            break
        if row[0] == ".r" and len(row) > 1:
            reset = row[1]
        elif row[0] == ".i" and len(row) > 1 and row[1].isdecimal():
            bits = int(row[1][:9])
        elif not row[0].startswith("."):
            row = ["", *row] if len(row) == 3 and bits == 0 else row
            if (
                len(row) not in (3, 4)
                or not set(row[0]) <= set("01-2~")
                or (bits >= 0 and len(row[0]) != bits)
            ):
                raise InvalidAutomaton(
                    f"line {number}: a row of KISS2 must be 'inputs state next outputs', the inputs of signs "
                    f"0 1 -, as many as .i says; got {shown(line.strip())}"
                )
            bits = len(row[0])
            rows.append(row)
    if not rows:
        raise InvalidAutomaton("a KISS2 file must have rows 'inputs state next outputs'; this one has none")
    everything = every(bits)
    ones = [variable(index, bits) for index in range(bits)]
    cubes = dict.fromkeys(row[0] for row in rows)
    if len(cubes) > MAX_LABELS:
        raise LimitExceeded(f"a KISS2 file may have {MAX_LABELS:,} different inputs; here are {len(cubes):,}")
    known = {cube: _valuations(cube, ones, everything) for cube in cubes}
    letters = classes(known.values(), bits)
    reads = {cube: [name for block, name in letters if block & known[cube]] for cube in known}
    read.states = list(dict.fromkeys(row[1] for row in rows if row[1] not in _ANY))
    for cube, source, target, *out in rows:
        if target in _ANY:
            read.notes.append("a next state that does not matter (* or -) leads to the sink")
            continue
        for state in read.states if source in _ANY else [source]:
            for name in reads[cube]:
                read.add(state, name, target, out[0] if out else "")
    if not reset:
        reset = next(iter(read.states), rows[0][2])
        read.notes.append(f"no .r: {shown(reset)}, the first state, is the start")
    read.starts = [reset]
    return read


def _valuations(cube: str, ones: list[int], everything: int) -> int:
    result = everything
    for sign, one in zip(cube, ones, strict=True):
        result &= {"1": one, "0": everything & ~one}.get(sign, everything)
    return result
