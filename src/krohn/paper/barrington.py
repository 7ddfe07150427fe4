"""Barrington's theorem: a Boolean formula as a word problem (why Theorem 4's lower bound holds).

A program is a list of instructions (variable, element if true, element if false). Its value is the product
of the chosen elements, read left to right: one fixed element if the formula is true, the identity if it is
false. A variable is one instruction; negation multiplies the last instruction; a conjunction is the
commutator of two programs, so the length grows by a factor of at most 4 per level. The elements are words
of one length over the letters of an automaton, so each letter of the whole word depends on at most one
variable: the reduction needs no gates at all, only wires and negations.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from krohn.algebra.transformation import Permutation, compose, inverse
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import parse_spec
from krohn.base.notebook import table
from krohn.errors import InvalidInput, LimitExceeded, counted
from krohn.network.forward import run as run_network
from krohn.paper.formulas import FALSE, TRUE, Assignment, Compiler, Formula, parse_formula
from krohn.paper.word_problem import Alphabet, alphabet

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

    def report(
        self, formula: str, assign: str | None = None, *, compiler: Compiler | None = None
    ) -> "BarringtonReport":
        """What ``krohn barrington`` prints; ``assign`` is ``x=1,y=0``.

        With a ``compiler``, such as ``krohn.compile``, a network evaluates the formula too.
        """
        chosen = None if assign is None else parse_assignment(assign)
        unknown = sorted((chosen or {}).keys() - set(self.formula.variables()))
        if unknown:
            raise InvalidInput(f"values must be of the formula's variables; not in it: {', '.join(unknown)}")
        return BarringtonReport(self, formula, chosen, compiler)

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


SHOWN = 40
"""Letters listed for people; ``--json`` gives them all."""
MAX_RUN = 4_096
"""Letters of a word that ``--run`` compiles a network for."""
MAX_VARIABLES = 10
"""Variables whose assignments ``--run`` goes through."""


@dataclass(frozen=True)
class BarringtonReport:
    """A formula as a word problem, for an assignment if one is chosen, and run by a network if asked."""

    program: BarringtonProgram
    formula: str
    chosen: Assignment | None
    compiler: Compiler | None

    @property
    def agrees(self) -> bool:
        """Whether formula, automaton and network have the same values, as far as they were run."""
        return self.compiler is None or bool(self._payload["run"]["agree"])

    @cached_property
    def _payload(self) -> dict[str, Any]:
        program, chosen = self.program, self.chosen
        payload = _payload(self.formula, program)
        if chosen is not None:
            names = program.alphabet.automaton.letter_names
            payload["letters"] = [names[letter] for letter in program.word(chosen)]
            payload["value"] = program.accepts(chosen)
        if self.compiler is not None:
            assignments = [chosen] if chosen is not None else _assignments(program)
            payload["run"] = _evaluate(program, assignments, self.compiler)
        return payload

    def to_json(self) -> dict[str, Any]:
        """One JSON object."""
        return self._payload

    def text(self) -> str:
        """The letters by variable; with an assignment the word; with a network the values."""
        program, payload = self.program, self._payload
        if "run" in payload:
            return _run_text(program, payload)
        if "letters" in payload:
            return " ".join(payload["letters"])
        rows = [
            (number, i["variable"] or "—", i["true"], i["false"])
            for number, i in enumerate(payload["word"][:SHOWN], 1)
        ]
        more = len(program.instructions) - len(rows)
        lines = [
            f"{counted(payload['length'], 'letter')} over {payload['automaton']}; "
            f"true = {payload['accept']}, false = {payload['reject']}",
            table(("letter", "variable", "if true", "if false"), rows),
        ]
        return "\n".join(lines + ([f"… and {more} more (--json lists all)"] if more > 0 else []))


def _payload(formula: str, program: BarringtonProgram) -> dict[str, Any]:
    automaton = program.alphabet.automaton
    return {
        "formula": formula,
        "automaton": automaton.name,
        "variables": list(program.formula.variables()),
        "length": len(program.instructions),
        "accept": automaton.state_names[program.alphabet.true_state],
        "reject": automaton.state_names[program.alphabet.false_state],
        "word": [
            {
                "variable": i.variable,
                "true": automaton.letter_names[i.if_true],
                "false": automaton.letter_names[i.if_false],
            }
            for i in program.instructions
        ],
    }


def _assignments(program: BarringtonProgram) -> list[Assignment]:
    names = program.formula.variables()
    if len(names) > MAX_VARIABLES:
        raise LimitExceeded(
            f"--run goes through all assignments of at most {MAX_VARIABLES} variables; "
            f"got {len(names)}; choose one with --assign"
        )
    every = itertools.product((False, True), repeat=len(names))
    return [dict(zip(names, values, strict=True)) for values in every]


def _evaluate(
    program: BarringtonProgram, assignments: list[Assignment], compiler: Compiler
) -> dict[str, Any]:
    """The formula's value directly, by the automaton and by the network, for each assignment."""
    length = len(program.instructions)
    if not 1 <= length <= MAX_RUN:
        raise LimitExceeded(f"--run needs a word of 1 to {MAX_RUN} letters; this formula gives {length}")
    network = compiler(program.alphabet.automaton, length)
    words = np.array([program.word(assignment) for assignment in assignments])
    states = run_network(network.transformer, words)[:, -1].tolist()
    rows = [
        {
            "assignment": {name: int(value) for name, value in assignment.items()},
            "formula": program.formula.value(assignment),
            "automaton": program.accepts(assignment),
            "network": program.means(state),
        }
        for assignment, state in zip(assignments, states, strict=True)
    ]
    agree = all(row["formula"] is row["automaton"] is row["network"] for row in rows)
    layers, dim = network.transformer.depth, network.transformer.dim
    return {"agree": agree, "method": network.method, "layers": layers, "dim": dim, "rows": rows}


def parse_assignment(text: str) -> Assignment:
    """``x=1,y=0`` as a mapping."""
    values: Assignment = {}
    for part in text.replace(",", " ").split():
        variable, _, value = part.partition("=")
        if not variable or value not in ("0", "1"):
            raise InvalidInput(f"an assignment must read x=1,y=0; got {part!r}")
        if values.setdefault(variable, value == "1") != (value == "1"):
            raise InvalidInput(f"a variable must have one value; {variable} is given two")
    return values


def _run_text(program: BarringtonProgram, payload: dict[str, Any]) -> str:
    run = payload["run"]
    names = program.formula.variables()
    rows = [
        (*row["assignment"].values(), *(_bit(row[by]) for by in ("formula", "automaton", "network")))
        for row in run["rows"]
    ]
    verdict = "all three agree" if run["agree"] else "they differ"
    return "\n".join(
        [
            f"{counted(payload['length'], 'letter')} over {payload['automaton']}; "
            f"network: method {run['method']}, {counted(run['layers'], 'layer')}, "
            f"{counted(run['dim'], 'dimension')}",
            table((*names, "formula", "automaton", "network"), rows),
            f"{verdict} on {counted(len(rows), 'assignment')}",
        ]
    )


def _bit(value: bool | None) -> str:
    return "neither" if value is None else str(int(value))
