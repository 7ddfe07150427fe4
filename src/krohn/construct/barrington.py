"""Barrington's theorem: a Boolean formula as a word problem over A₅ (why Theorem 4's lower bound holds).

A program is a list of instructions (variable, element if true, element if false). Its value is the product
of the chosen elements, read left to right: a fixed 5-cycle if the formula is true, the identity if it is
false. A variable is one instruction; negation multiplies the last instruction; a conjunction is the
commutator of two programs, so the length grows by a factor of at most 4 per level. Elements are written as
the letters of the automaton ``A5:all``, whose state after the word is the product.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from krohn.construct.formula import FALSE, TRUE, Formula, parse_formula
from krohn.errors import InvalidInput, LimitExceeded

Permutation = tuple[int, ...]
ONE: Permutation = (0, 1, 2, 3, 4)
ACCEPT: Permutation = (1, 2, 3, 4, 0)
MAX_LENGTH = 1_000_000


@dataclass(frozen=True)
class Instruction:
    """One letter that depends on one variable; ``variable`` is empty for a letter that depends on none."""

    variable: str
    if_true: Permutation
    if_false: Permutation


@dataclass(frozen=True)
class BarringtonProgram:
    """The word problem of a formula."""

    formula: Formula
    instructions: tuple[Instruction, ...]

    def word(self, assignment: Mapping[str, bool]) -> tuple[Permutation, ...]:
        """The letters that an assignment selects."""
        missing = [name for name in self.formula.variables() if name not in assignment]
        if missing:
            raise InvalidInput(f"every variable needs a value; without one: {', '.join(missing)}")
        return tuple(
            i.if_true if not i.variable or assignment[i.variable] else i.if_false for i in self.instructions
        )

    def accepts(self, assignment: Mapping[str, bool]) -> bool:
        """Whether the word multiplies to the accepting 5-cycle."""
        total = ONE
        for letter in self.word(assignment):
            total = product(total, letter)
        assert total in (ONE, ACCEPT), "a program must compute the identity or its cycle"
        return total == ACCEPT


def product(left: Permutation, right: Permutation) -> Permutation:
    """The state of ``A5:all`` after letter ``right`` in state ``left``."""
    return tuple(left[i] for i in right)


def inverse(element: Permutation) -> Permutation:
    """The inverse."""
    return tuple(element.index(i) for i in range(5))


def barrington(text: str, max_length: int = MAX_LENGTH) -> BarringtonProgram:
    """The program of a formula such as ``x & (y | !z)``."""
    formula = parse_formula(text)
    length = program_length(formula)
    if length > max_length:
        raise LimitExceeded(f"a word may have at most {max_length} letters; this formula needs {length}")
    return BarringtonProgram(formula, tuple(_program(formula, ACCEPT)))


def program_length(formula: Formula) -> int:
    """Number of instructions, without building them."""
    if formula.kind == "constant":
        return int(formula == TRUE)
    if formula.kind == "and":
        return 2 * sum(program_length(part) for part in formula.parts)
    return program_length(formula.parts[0]) if formula.kind == "not" else 1


def _program(formula: Formula, cycle: Permutation) -> list[Instruction]:
    """Instructions whose product is ``cycle`` if the formula is true, else the identity."""
    if formula == FALSE:
        return []
    if formula == TRUE:
        return [Instruction("", cycle, cycle)]
    if formula.kind == "variable":
        return [Instruction(formula.name, cycle, ONE)]
    if formula.kind == "not":
        program = _program(formula.parts[0], inverse(cycle))
        last = program[-1]
        program[-1] = Instruction(last.variable, product(last.if_true, cycle), product(last.if_false, cycle))
        return program
    left, right = formula.parts
    first, second = commutator_factors(cycle)
    return [
        *_program(left, first),
        *_program(right, second),
        *_program(left, inverse(first)),
        *_program(right, inverse(second)),
    ]


@lru_cache(maxsize=64)
def commutator_factors(cycle: Permutation) -> tuple[Permutation, Permutation]:
    """Two 5-cycles a, b with a·b·a⁻¹·b⁻¹ = cycle; they exist because A₅ is perfect."""
    for a, b in itertools.product(five_cycles(), repeat=2):
        if product(product(a, b), product(inverse(a), inverse(b))) == cycle:
            return a, b
    raise AssertionError("every 5-cycle is a commutator of 5-cycles")


@lru_cache(maxsize=1)
def five_cycles() -> tuple[Permutation, ...]:
    """The 24 cycles through all five points."""
    found = []
    for rest in itertools.permutations(range(1, 5)):
        images = dict(itertools.pairwise((0, *rest, 0)))
        found.append(tuple(images[point] for point in range(5)))
    return tuple(found)
