"""The named automata: one family per row, each with the pattern of its names and how to build it."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from krohn.automata.grids import grid
from krohn.automata.groups import cyclic, dihedral, quaternion
from krohn.automata.permutations import alternating, permutation_reset, symmetric
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.small import abab, adder, counter, full_monoid, memory, parity
from krohn.automata.stack import dyck
from krohn.errors import UnknownName

_N = r"(\d{1,9})"


@dataclass(frozen=True)
class Family:
    """Automata whose names follow one pattern."""

    form: str
    pattern: str
    build: Callable[..., Semiautomaton]
    summary: str
    examples: tuple[str, ...]


def _sides(text: str, option: str | None) -> Semiautomaton:
    return grid(*map(int, text.split("x")), noop=option is not None)


FAMILIES = (
    Family("Cn", rf"C{_N}", lambda n: cyclic(int(n)), "cyclic group, all n letters", ("C2", "C3")),
    Family("Cn:01", rf"C{_N}:01", lambda n: cyclic(int(n), (0, 1)), "cyclic group, letters 0, 1", ("C5:01",)),
    Family("D2n", rf"D{_N}", lambda n: dihedral(int(n)), "dihedral group of order 2n", ("D6", "D8")),
    Family("An", rf"A{_N}(?::(.+))?", lambda n, s: alternating(int(n), s or "paper"), "", ("A4", "A5")),
    Family("Sn", rf"S{_N}(?::(.+))?", lambda n, s: symmetric(int(n), s or "paper"), "", ("S4", "S5")),
    Family("Q8", "Q8", quaternion, "quaternion group", ("Q8",)),
    Family("Dyckn,k", rf"Dyck{_N},{_N}", lambda n, k: dyck(int(n), int(k)), "stack", ("Dyck4,2",)),
    Family("Gridn", r"Grid(\d{1,9}(?:x\d{1,9}){0,7})(:noop)?", _sides, "gridworld", ("Grid4", "Grid3x4")),
    Family("FlipFlop", "FlipFlop", lambda: memory(2), "memory unit of two values", ("FlipFlop",)),
    Family("Memoryn", rf"Memory{_N}", lambda n: memory(int(n)), "memory unit", ("Memory3",)),
    Family("abab", "abab", abab, "the language (abab)*", ("abab",)),
    Family("Parity", "Parity", parity, "parity", ("Parity",)),
    Family("Countern", rf"Counter{_N}", lambda n: counter(int(n)), "modular counter", ("Counter5",)),
    Family("Add", rf"Add{_N}?", lambda n: adder(int(n or 2)), "binary adder", ("Add",)),
    Family(
        "PermResetn",
        rf"PermReset{_N}(?::(.+))?",
        lambda n, s: permutation_reset(int(n), s or "minimal"),
        "",
        ("PermReset3",),
    ),
    Family("Tn", rf"T{_N}", lambda n: full_monoid(int(n)), "full transformation monoid", ("T3",)),
)


def zoo(name: str) -> Semiautomaton:
    """The automaton of that name, e.g. ``zoo("S4")``, ``zoo("Dyck4,2")``."""
    for family in FAMILIES:
        match = re.fullmatch(family.pattern, name)
        if match:
            return family.build(*match.groups())
    forms = ", ".join(family.form for family in FAMILIES)
    raise UnknownName(f"a named automaton must be one of {forms}, or a product AxB; got {name!r}")
