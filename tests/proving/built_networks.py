"""One small network per gadget and construction, with the automaton it simulates."""

from functools import cache

import krohn
from krohn.automata.semiautomaton import Semiautomaton
from krohn.network.compiled import CompiledNetwork
from krohn.network.lowering.assembly import lower
from krohn.network.operations import Clamp, Linear, LookBack, PrefixSum, Select
from krohn.network.program import Program, ProgramLayer, Readout, Register, Source
from network.hand_written_programs import (
    FLIP_FLOP,
    LAST_BUT_ONE,
    PARITY,
    look_back_program,
    memory_program,
    parity_program,
)
from unproved import compile

CEILING = Semiautomaton.from_letters([(0, 1, 2, 3), (1, 2, 3, 3)])
"""Counts the second letter up to 3."""


def ceiling_program() -> Program:
    return Program(
        registers=(Register("step", 0, 1), Register("sum", 0, 1, "wide"), Register("state", 0, 3)),
        sources=(Source("step", (0, 1), (0,)),),
        layers=(ProgramLayer((PrefixSum(("step",), ("sum",)),), (Clamp((("sum", 1),), 0, 0, 3, "state"),)),),
        readout=Readout(("state",), ((0,), (1,), (2,), (3,))),
    )


def select_program() -> Program:
    """Chooses between two registers by the letter before."""
    return Program(
        registers=(
            Register("letter", 0, 1),
            Register("other", 0, 1),
            Register("before", 0, 1),
            Register("chosen", 0, 1),
            Register("state", 0, 3),
        ),
        sources=(Source("letter", (0, 1), (0,)), Source("other", (1, 0), (1,))),
        layers=(
            ProgramLayer(
                (LookBack(1, ("letter",), ("before",)),),
                (
                    Select(("letter", "other"), ("before",), ("chosen",)),
                    Linear((("letter", 2), ("chosen", 1)), 0, "state"),
                ),
            ),
        ),
        readout=Readout(("state",), ((0,), (1,), (2,), (3,))),
    )


XOR = Semiautomaton.from_letters([(0, 0, 1, 1), (3, 3, 2, 2)])
"""State 2·letter + (letter xor letter before)."""


PROGRAMS = {
    "parity": (parity_program, PARITY),
    "memory": (memory_program, FLIP_FLOP),
    "look back": (look_back_program, LAST_BUT_ONE),
    "clamp": (ceiling_program, CEILING),
    "select": (select_program, XOR),
}


def lowered(name: str, length: int) -> CompiledNetwork:
    program, automaton = PROGRAMS[name]
    return lowered_program(program(), automaton, length)


def lowered_program(program: Program, automaton: Semiautomaton, length: int) -> CompiledNetwork:
    network, layout = lower(program, length)
    return CompiledNetwork(network, automaton, "cascade", program, layout)


@cache
def compiled(spec: str, length: int, method: str = "auto", dtype: str = "float64") -> CompiledNetwork:
    return compile(krohn.zoo(spec), length, method=method, dtype=dtype)  # type: ignore[arg-type]
