"""``krohn barrington``: a Boolean formula as a word problem over an automaton that is not solvable."""

from functools import partial

import click

import krohn
from krohn.cli.output import emit, json_option


@click.command()
@click.argument("formula")
@click.option("--automaton", "spec", default="A5:all", help="An automaton that is not solvable.")
@click.option("--assign", help="Values of the variables, such as x=1,y=0: prints the word of letters.")
@click.option(
    "--run", "with_network", is_flag=True, help="Compile a network and evaluate the formula by it too."
)
@json_option
def command(formula: str, spec: str, assign: str | None, with_network: bool, as_json: bool) -> int:
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
    program = krohn.barrington(formula, krohn.parse_spec(spec))
    compiler = partial(krohn.compile, unproved=True) if with_network else None
    report = program.report(formula, assign, compiler=compiler)
    emit(report.to_json(), as_json=as_json, text=report.text)
    return int(not report.agrees)
