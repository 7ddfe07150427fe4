"""Barrington's theorem: a Boolean formula as a word problem (why Theorem 4's lower bound holds).

A program is a list of instructions (variable, element if true, element if false). Its value is the product
of the chosen elements, read left to right: one fixed element if the formula is true, the identity if it is
false. A variable is one instruction; negation multiplies the last instruction; a conjunction is the
commutator of two programs, so the length grows by a factor of at most 4 per level. The elements are words
of one length over the letters of an automaton, so each letter of the whole word depends on at most one
variable: the reduction needs no gates at all, only wires and negations.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from krohn.algebra.permutation import Permutation, compose, inverse
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import parse_spec
from krohn.construct.formula import FALSE, TRUE, Formula, parse_formula
from krohn.construct.word_problem import Alphabet, alphabet
from krohn.errors import InvalidInput, LimitExceeded

DEFAULT = "A5:all"
MAX_LENGTH = 1_000_000


@dataclass(frozen=True)
class Instruction:
    """One letter that depends on one variable; ``variable`` is empty where it depends on none."""

    variable: str
    if_true: int
    if_false: int


@dataclass(frozen=True)
class BarringtonProgram:
    """The word problem of a formula."""

    formula: Formula
    alphabet: Alphabet
    instructions: tuple[Instruction, ...]

    def word(self, assignment: Mapping[str, bool]) -> tuple[int, ...]:
        """The letters that an assignment selects."""
        missing = [name for name in self.formula.variables() if name not in assignment]
        if missing:
            raise InvalidInput(f"every variable needs a value; without one: {', '.join(missing)}")
        return tuple(
            i.if_true if not i.variable or assignment[i.variable] else i.if_false for i in self.instructions
        )

    def accepts(self, assignment: Mapping[str, bool]) -> bool:
        """Whether the word leads the automaton to the state that means "true"."""
        automaton, word = self.alphabet.automaton, self.word(assignment)
        value = self.means(automaton.run(word)[-1] if word else automaton.start)
        assert value is not None, "a program must lead to one of its two states"
        return value

    def means(self, state: int) -> bool | None:
        """The truth value a final state stands for; ``None`` if it stands for none."""
        return {self.alphabet.true_state: True, self.alphabet.false_state: False}.get(state)


def barrington(
    text: str, automaton: Semiautomaton | None = None, max_length: int = MAX_LENGTH
) -> BarringtonProgram:
    """The program of a formula such as ``x & (y | !z)`` over an automaton that is not solvable."""
    formula = parse_formula(text)
    blocks = program_length(formula)
    if blocks > max_length:
        raise LimitExceeded(f"a word may have at most {max_length} letters; this formula needs {blocks}")
    letters = alphabet(parse_spec(DEFAULT) if automaton is None else automaton)
    steps = _program(formula, letters.accept, letters)
    words = letters.spelled(element for _, *pair in steps for element in pair)
    length = len(letters.prefix) + sum(len(words[if_true]) for _, if_true, _ in steps)
    if length > max_length:
        raise LimitExceeded(f"a word may have at most {max_length} letters; this formula needs {length}")
    prefix = [Instruction("", letter, letter) for letter in letters.prefix]
    body = [
        Instruction(variable if a != b else "", a, b)
        for variable, if_true, if_false in steps
        for a, b in zip(words[if_true], words[if_false], strict=True)
    ]
    return BarringtonProgram(formula, letters, (*prefix, *body))


def program_length(formula: Formula) -> int:
    """Number of group elements that are multiplied, without building them."""
    if formula.kind == "constant":
        return int(formula == TRUE)
    if formula.kind == "and":
        return 2 * sum(program_length(part) for part in formula.parts)
    return program_length(formula.parts[0]) if formula.kind == "not" else 1


def _program(
    formula: Formula, value: Permutation, letters: Alphabet
) -> list[tuple[str, Permutation, Permutation]]:
    """Instructions whose product is ``value`` if the formula is true, else the identity."""
    if formula == FALSE:
        return []
    if formula == TRUE:
        return [("", value, value)]
    if formula.kind == "variable":
        return [(formula.name, value, letters.one)]
    if formula.kind == "not":
        program = _program(formula.parts[0], inverse(value), letters)
        variable, if_true, if_false = program[-1]
        return [*program[:-1], (variable, compose(if_true, value), compose(if_false, value))]
    left, right = formula.parts
    first, second = letters.factors[value]
    return [
        *_program(left, first, letters),
        *_program(right, second, letters),
        *_program(left, inverse(first), letters),
        *_program(right, inverse(second), letters),
    ]
