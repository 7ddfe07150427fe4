"""Boolean formulas: a parser for ``x & (y | !z)``; only variables, constants, ``not`` and ``and`` remain."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import InvalidInput
from krohn.network.compiled import CompiledNetwork

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


Assignment = dict[str, bool]
Compiler = Callable[[Semiautomaton, int], CompiledNetwork]
