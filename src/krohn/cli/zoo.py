"""``krohn zoo``: the named automata."""

from pathlib import Path

import click

import krohn
from krohn.base.files import write_text
from krohn.cli.options import SPEC, OutputFile, reading
from krohn.cli.output import emit, json_option, note


@click.command()
@click.argument("spec", type=SPEC, required=False)
@reading
@click.option("--svg", type=OutputFile(".svg"), help="Draw the automaton into this file.")
@click.option(
    "--out",
    type=OutputFile(".json", ".jff", ".att", ".dot"),
    help="Write the automaton: F.json, F.jff, F.att or F.dot.",
)
@json_option
def command(spec: str | None, svg: Path | None, out: Path | None, as_json: bool) -> None:
    """List the named automata, or show one automaton's states, letters and table.

    \b
    Example:  krohn zoo
              krohn zoo Dyck4,2@top --svg dyck.svg
              krohn zoo abab@accept --out abab.jff
    """
    if spec is None and svg is not None:
        raise click.UsageError("--svg draws one automaton; say which: krohn zoo S4 --svg s4.svg")
    if spec is None and out is not None:
        raise click.UsageError("--out writes one automaton; say which: krohn zoo S4 --out s4.json")
    if spec is None:
        names = krohn.zoo()
        emit(names.to_json(), as_json=as_json, text=names.text)
        return
    automaton = krohn.parse_spec(spec)
    if svg is not None:
        write_text(svg, automaton.svg())
        note(f"drawn in {svg}")
    if out is not None:
        krohn.dump_automaton(automaton, out)
        note(f"written: {out}")
    emit(automaton.to_json() if as_json else {}, as_json=as_json, text=automaton.text)
