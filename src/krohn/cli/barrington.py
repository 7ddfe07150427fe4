"""``krohn barrington``: a Boolean formula as a word problem over an automaton that is not solvable."""

import itertools
from typing import Any

import click
import numpy as np

from krohn.automata.zoo import parse_spec
from krohn.base.notebook import table
from krohn.cli.output import emit, json_option
from krohn.construct.compiling import compile
from krohn.errors import InvalidInput, LimitExceeded, counted
from krohn.network.compiled import CompiledNetwork
from krohn.network.forward import run as run_network
from krohn.paper.barrington import DEFAULT, BarringtonProgram, barrington

SHOWN = 40
"""Letters listed for people; ``--json`` gives them all."""
MAX_RUN = 4_096
"""Letters of a word that ``--run`` compiles a network for."""
MAX_VARIABLES = 10
"""Variables whose assignments ``--run`` goes through."""

Assignment = dict[str, bool]


@click.command()
@click.argument("formula")
@click.option(
    "--automaton", "spec", default=DEFAULT, show_default=True, help="An automaton that is not solvable."
)
@click.option("--assign", help="Values of the variables, such as x=1,y=0: prints the word of letters.")
@click.option(
    "--run", "with_network", is_flag=True, help="Compile a network and evaluate the formula by it too."
)
@json_option
def command(formula: str, spec: str, assign: str | None, with_network: bool, as_json: bool) -> None:
    """Turn a Boolean formula (variables, ! & | ^, parentheses) into a word over an automaton's letters.

    Each letter depends on at most one variable. The word leads the automaton from its start to one state if
    the formula is true and to another if it is false, so a network that tracks it evaluates formulas
    (Barrington's theorem). --run also compiles a network for words of this length. It evaluates the formula
    in three ways, directly, by the automaton and by the network, for --assign or for every assignment; exit
    status 1 if they differ.

    \b
    Example:  krohn barrington "x & (y | !z)"
              krohn barrington "x & y" --automaton S5 --run
    """
    program = barrington(formula, parse_spec(spec))
    chosen = None if assign is None else _checked(parse_assignment(assign), program)
    payload = _payload(formula, program)
    if chosen is not None:
        payload["letters"] = _letters(program.word(chosen), program)
        payload["value"] = program.accepts(chosen)
    if with_network:
        payload["run"] = _evaluate(program, [chosen] if chosen is not None else _assignments(program))
    emit(payload, as_json=as_json, text=lambda: _text(program, payload))
    if with_network and not payload["run"]["agree"]:
        click.get_current_context().exit(1)


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


def _letters(word: tuple[int, ...], program: BarringtonProgram) -> list[str]:
    return [program.alphabet.automaton.letter_names[letter] for letter in word]


def _assignments(program: BarringtonProgram) -> list[Assignment]:
    names = program.formula.variables()
    if len(names) > MAX_VARIABLES:
        raise LimitExceeded(
            f"--run goes through all assignments of at most {MAX_VARIABLES} variables; "
            f"got {len(names)}; choose one with --assign"
        )
    return [
        dict(zip(names, values, strict=True))
        for values in itertools.product((False, True), repeat=len(names))
    ]


def _evaluate(program: BarringtonProgram, assignments: list[Assignment]) -> dict[str, Any]:
    """The formula's value directly, by the automaton and by the network, for each assignment."""
    length = len(program.instructions)
    if not 1 <= length <= MAX_RUN:
        raise LimitExceeded(f"--run needs a word of 1 to {MAX_RUN} letters; this formula gives {length}")
    network = compile(program.alphabet.automaton, length)
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
    return {"agree": agree, **_size(network), "rows": rows}


def _size(network: CompiledNetwork) -> dict[str, Any]:
    return {"method": network.method, "layers": network.transformer.depth, "dim": network.transformer.dim}


def parse_assignment(text: str) -> Assignment:
    """``x=1,y=0`` as a mapping."""
    values: Assignment = {}
    for part in filter(None, (piece.strip() for piece in text.replace(",", " ").split())):
        variable, _, value = part.partition("=")
        if not variable or value not in ("0", "1"):
            raise InvalidInput(f"an assignment must read x=1,y=0; got {part!r}")
        if values.setdefault(variable, value == "1") != (value == "1"):
            raise InvalidInput(f"a variable must have one value; {variable} is given two")
    return values


def _checked(values: Assignment, program: BarringtonProgram) -> Assignment:
    unknown = sorted(values.keys() - set(program.formula.variables()))
    if unknown:
        raise InvalidInput(f"values must be of the formula's variables; not in it: {', '.join(unknown)}")
    return values


def _text(program: BarringtonProgram, payload: dict[str, Any]) -> str:
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
