"""Programs written by hand, one per kind of operation, each with the automaton it simulates."""

from krohn.automata.semiautomaton import Semiautomaton
from krohn.network.operations import (
    Clamp,
    LatestMatch,
    LatestWrite,
    Linear,
    LookBack,
    Modulo,
    PrefixSum,
    Select,
    Table,
)
from krohn.network.program import Program, ProgramLayer, Readout, Register, Source

PARITY = Semiautomaton.from_letters([(0, 1), (1, 0)])
FLIP_FLOP = Semiautomaton.from_letters([(0, 1), (0, 0), (1, 1)])
LAST_BUT_ONE = Semiautomaton.from_letters([(0, 2, 0, 2), (1, 3, 1, 3)])


def parity_program() -> Program:
    return Program(
        registers=(Register("bit", 0, 1), Register("sum", 0, 1, "wide"), Register("state", 0, 1)),
        sources=(Source("bit", (0, 1), (0,)),),
        layers=(ProgramLayer((PrefixSum(("bit",), ("sum",)),), (Modulo((("sum", 1),), 0, 2, "state"),)),),
        readout=Readout(("state",), ((0,), (1,))),
    )


def memory_program() -> Program:
    return Program(
        registers=(Register("write", 0, 1), Register("value", 0, 1), Register("state", 0, 1)),
        sources=(Source("write", (0, 1, 1), (1,)), Source("value", (0, 0, 1), (0,))),
        layers=(ProgramLayer((LatestWrite("write", ("value",), ("state",)),), ()),),
        readout=Readout(("state",), ((0,), (1,))),
    )


def look_back_program() -> Program:
    """The last two letters: state 2·(letter before) + letter."""
    return Program(
        registers=(Register("letter", 0, 1), Register("before", 0, 1), Register("state", 0, 3)),
        sources=(Source("letter", (0, 1), (0,)),),
        layers=(
            ProgramLayer(
                (LookBack(1, ("letter",), ("before",)),),
                (Linear((("letter", 1), ("before", 2)), 0, "state"),),
            ),
        ),
        readout=Readout(("state",), ((0,), (1,), (2,), (3,))),
    )


def match_program() -> Program:
    """Reads the latest value written under the same one of three keys; exercises every other map."""
    keys, values = (0, 0, 1, 1, 2, 2), (0, 1, 0, 1, 0, 1)
    return Program(
        registers=(
            Register("key", 0, 2),
            Register("value", 0, 1),
            Register("step", -1, 1),
            Register("place", 0, 2, "circle"),
            Register("height", -1, 1, "wide"),
            Register("found", 0, 1),
            Register("low", -1, 1),
            Register("chosen", -1, 1),
            Register("out", 0, 5),
        ),
        sources=(
            Source("key", keys, (0,)),
            Source("value", values, (0,)),
            Source("step", (-1, 1, -1, 1, 0, 0), (0,)),
        ),
        layers=(
            ProgramLayer(
                (PrefixSum(("step",), ("height",)),),
                (Table(("key",), ("place",), tuple(((k,), (k,)) for k in range(3))),),
            ),
            ProgramLayer(
                (LatestMatch("place", "place", 3, -1, ("value",), ("found",)),),
                (
                    Clamp((("height", 1),), 0, -1, 1, "low"),
                    Select(("low", "value"), ("found",), ("chosen",)),
                    Table(
                        ("found", "chosen"),
                        ("out",),
                        tuple(((f, c), (3 * f + c + 1,)) for f in range(2) for c in (-1, 0, 1)),
                    ),
                ),
            ),
        ),
        readout=Readout(("out",), tuple((n,) for n in range(6))),
    )
