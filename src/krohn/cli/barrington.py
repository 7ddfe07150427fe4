"""``krohn barrington``: a Boolean formula as a word problem over A5."""

import click

from krohn.cli.output import emit, json_option, table
from krohn.construct.barrington import ACCEPT, ONE, BarringtonProgram, Permutation, barrington
from krohn.errors import InvalidInput

SHOWN = 40
"""Instructions listed for people; ``--json`` gives them all."""


@click.command()
@click.argument("formula")
@click.option(
    "--assign", help="Values of the variables, such as x=1,y=0: prints the word of letters of A5:all."
)
@json_option
def command(formula: str, assign: str | None, as_json: bool) -> None:
    """Turns a Boolean formula (variables, ! & | ^, parentheses) into a word over A5.

    Each letter depends on one variable; the word multiplies to one 5-cycle if the formula is true and to the
    identity if it is false, so whoever tracks A5 evaluates formulas (Barrington's theorem).

    \b
    Example:  krohn barrington "x & (y | !z)"
    """
    program = barrington(formula)
    payload: dict[str, object] = {
        "formula": formula,
        "automaton": "A5:all",
        "variables": list(program.formula.variables()),
        "length": len(program.instructions),
        "accept": name(ACCEPT),
        "reject": name(ONE),
        "word": [
            {"variable": i.variable, "true": name(i.if_true), "false": name(i.if_false)}
            for i in program.instructions
        ],
    }
    if assign is not None:
        values = parse_assignment(assign)
        unknown = sorted(values.keys() - set(program.formula.variables()))
        if unknown:
            raise InvalidInput(f"values must be of the formula's variables; not in it: {', '.join(unknown)}")
        payload["letters"] = [name(letter) for letter in program.word(values)]
        payload["value"] = program.accepts(values)
    emit(payload, as_json=as_json, text=lambda: _text(program, payload))


def name(element: Permutation) -> str:
    """An element as A5:all names its letters and states."""
    return "".join(map(str, element))


def parse_assignment(text: str) -> dict[str, bool]:
    """``x=1,y=0`` as a mapping."""
    values = {}
    for part in filter(None, (piece.strip() for piece in text.replace(",", " ").split())):
        variable, _, value = part.partition("=")
        if not variable or value not in ("0", "1"):
            raise InvalidInput(f"an assignment must read x=1,y=0; got {part!r}")
        values[variable] = value == "1"
    return values


def _text(program: BarringtonProgram, payload: dict[str, object]) -> str:
    if "letters" in payload:
        assert isinstance(payload["letters"], list)
        return " ".join(payload["letters"])
    rows = [
        (number, i.variable or "—", name(i.if_true), name(i.if_false))
        for number, i in enumerate(program.instructions[:SHOWN], 1)
    ]
    more = len(program.instructions) - len(rows)
    lines = [
        f"{len(program.instructions)} letters over A5; "
        f"true = {payload['accept']}, false = {payload['reject']}",
        table(("letter", "variable", "if true", "if false"), rows),
    ]
    return "\n".join(lines + ([f"… and {more} more (--json lists all)"] if more > 0 else []))
