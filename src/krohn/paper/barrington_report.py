"""What ``krohn barrington`` says: the word of a formula, and its value by automaton and network."""

import itertools
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np

from krohn.base.notebook import table
from krohn.errors import InvalidInput, LimitExceeded, counted
from krohn.network.transformer import run as run_network
from krohn.paper.barrington import BarringtonProgram

SHOWN = 40
"""Letters listed for people; ``--json`` gives them all."""
MAX_RUN = 4_096
"""Letters of a word that ``--run`` compiles a network for."""
MAX_VARIABLES = 10
"""Variables whose assignments ``--run`` goes through."""

Assignment = dict[str, bool]


@dataclass(frozen=True)
class BarringtonReport:
    """A formula as a word problem, for an assignment if one is chosen, and run by a network if asked."""

    program: BarringtonProgram
    formula: str
    chosen: Assignment | None
    with_network: bool

    @property
    def agrees(self) -> bool:
        """Whether formula, automaton and network have the same values, as far as they were run."""
        return not self.with_network or bool(self._payload["run"]["agree"])

    @cached_property
    def _payload(self) -> dict[str, Any]:
        program, chosen = self.program, self.chosen
        payload = _payload(self.formula, program)
        if chosen is not None:
            names = program.alphabet.automaton.letter_names
            payload["letters"] = [names[letter] for letter in program.word(chosen)]
            payload["value"] = program.accepts(chosen)
        if self.with_network:
            payload["run"] = _evaluate(program, [chosen] if chosen is not None else _assignments(program))
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


def report(program: BarringtonProgram, formula: str, assign: str | None, run: bool) -> BarringtonReport:
    """The report for an assignment such as ``x=1,y=0``, or for all of them."""
    chosen = None if assign is None else parse_assignment(assign)
    unknown = sorted((chosen or {}).keys() - set(program.formula.variables()))
    if unknown:
        raise InvalidInput(f"values must be of the formula's variables; not in it: {', '.join(unknown)}")
    return BarringtonReport(program, formula, chosen, run)


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


def _evaluate(program: BarringtonProgram, assignments: list[Assignment]) -> dict[str, Any]:
    """The formula's value directly, by the automaton and by the network, for each assignment."""
    length = len(program.instructions)
    if not 1 <= length <= MAX_RUN:
        raise LimitExceeded(f"--run needs a word of 1 to {MAX_RUN} letters; this formula gives {length}")
    compiling = import_module("krohn.construct.compiling")  # on use: that part depends on this one
    network = compiling.build(compiling.make_request(program.alphabet.automaton, length))
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
