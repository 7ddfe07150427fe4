"""Barrington's theorem: a Boolean formula as a word problem (why Theorem 4's lower bound holds).

A program is a list of instructions (variable, element if true, element if false). Its value is the product
of the chosen elements, read left to right: one fixed element if the formula is true, the identity if it is
false. A variable is one instruction; negation multiplies the last instruction; a conjunction is the
commutator of two programs, so the length grows by a factor of at most 4 per level. The elements are words
of one length over the letters of an automaton, so each letter of the whole word depends on at most one
variable: the reduction needs no gates at all, only wires and negations.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from krohn.algebra.transformation import Permutation, compose, inverse
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import parse_spec
from krohn.errors import InvalidInput, LimitExceeded
from krohn.paper.word_problem import Alphabet, alphabet

# Boolean formulas: a parser for ``x & (y | !z)``; only variables, constants, ``not`` and ``and`` remain.


TOKEN = re.compile(r"\s*(?:(?P<name>[A-Za-z_]\w*)|(?P<sign>[()&|^!~*+01∧∨¬⊕])|(?P<other>\S))")
MAX_NESTING = 100
WORDS = {"and": "&", "or": "|", "not": "!", "xor": "^", "true": "1", "false": "0"}
SIGNS = {"*": "&", "∧": "&", "+": "|", "∨": "|", "~": "!", "¬": "!", "⊕": "^"}


@dataclass(frozen=True)
class Formula:
    """``kind`` is ``variable`` (with a name), ``constant`` (name 0 or 1), ``not`` or ``and``."""

    kind: str
    name: str = ""
    parts: tuple["Formula", ...] = ()

    def value(self, assignment: Mapping[str, bool]) -> bool:
        """Truth under an assignment: the reference for all tests."""
        if self.kind == "variable":
            return assignment[self.name]
        if self.kind == "constant":
            return self.name == "1"
        values = [part.value(assignment) for part in self.parts]
        return all(values) if self.kind == "and" else not values[0]

    def variables(self) -> tuple[str, ...]:
        """Names in order of first occurrence."""
        if self.kind == "variable":
            return (self.name,)
        return tuple(dict.fromkeys(name for part in self.parts for name in part.variables()))


TRUE, FALSE = Formula("constant", "1"), Formula("constant", "0")


def negation(part: Formula) -> Formula:
    """¬f, with ¬¬f = f and constants folded."""
    if part.kind == "constant":
        return FALSE if part == TRUE else TRUE
    return part.parts[0] if part.kind == "not" else Formula("not", parts=(part,))


def conjunction(left: Formula, right: Formula) -> Formula:
    """f ∧ g, constants folded."""
    if FALSE in (left, right):
        return FALSE
    if left == TRUE or right == TRUE:
        return right if left == TRUE else left
    return Formula("and", parts=(left, right))


def disjunction(left: Formula, right: Formula) -> Formula:
    """f ∨ g by De Morgan: negation is free in Barrington's construction."""
    return negation(conjunction(negation(left), negation(right)))


def exclusive(left: Formula, right: Formula) -> Formula:
    """f ⊕ g: both operands are written twice."""
    return disjunction(conjunction(left, negation(right)), conjunction(negation(left), right))


def parse_formula(text: str) -> Formula:
    """Variables, ``! & ^ |`` (binding in this order), ``and or not xor``, ``0 1``, parentheses."""
    reader = _FormulaReader(text)
    formula = reader.chain(0)
    if reader.peek() is not None:
        raise reader.wrong("the end or an operator")
    return formula


class _FormulaReader:
    """Recursive descent over the tokens."""

    LEVELS = (("|", disjunction), ("^", exclusive), ("&", conjunction))

    def __init__(self, text: str) -> None:
        self.text, self.at, self.depth = text, 0, 0
        self.tokens: list[tuple[str, int]] = []
        for match in TOKEN.finditer(text):
            token = match.group(match.lastgroup or "other")
            sign = SIGNS.get(token, WORDS.get(token.lower(), token))
            self.tokens.append((sign, match.start(match.lastgroup or 0)))

    def peek(self) -> str | None:
        """The next token."""
        return self.tokens[self.at][0] if self.at < len(self.tokens) else None

    def wrong(self, wanted: str) -> InvalidInput:
        """An error that names the position."""
        where = self.tokens[self.at][1] if self.at < len(self.tokens) else len(self.text)
        result = repr(self.peek()) if self.peek() is not None else "the end"
        return InvalidInput(
            f"a formula must have {wanted} at character {where + 1} of {self.text!r}; got {result}"
        )

    def chain(self, level: int) -> Formula:
        """Operands of one precedence level, as a balanced tree, which keeps the word short."""
        if level == len(self.LEVELS):
            return self.operand()
        sign, join = self.LEVELS[level]
        operands = [self.chain(level + 1)]
        while self.peek() == sign:
            self.at += 1
            operands.append(self.chain(level + 1))
        while len(operands) > 1:
            pairs = [join(a, b) for a, b in zip(operands[::2], operands[1::2], strict=False)]
            operands = pairs + operands[len(operands) - len(operands) % 2 :]
        return operands[0]

    def operand(self) -> Formula:
        """A literal, a constant or a group."""
        token = self.peek()
        if token is None or not re.fullmatch(r"[A-Za-z_]\w*|[01!(]", token):
            raise self.wrong("a variable, 0, 1, ! or (")
        if self.depth == MAX_NESTING:
            raise self.wrong(f"at most {MAX_NESTING} nested operators")
        self.at += 1
        if token in "01":
            return TRUE if token == "1" else FALSE
        if token not in "!(":
            return Formula("variable", token)
        self.depth += 1
        inner = negation(self.operand()) if token == "!" else self.chain(0)
        self.depth -= 1
        if token == "(":
            if self.peek() != ")":
                raise self.wrong("a closing )")
            self.at += 1
        return inner


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

    def report(self, formula: str, assign: str | None = None, *, run: bool = False) -> Any:
        """What ``krohn barrington`` prints; ``assign`` is ``x=1,y=0``, and ``run`` compiles a network too."""
        return import_module("krohn.paper.barrington_report").report(self, formula, assign, run)

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
    words = letters.spell(element for _, *pair in steps for element in pair)
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
