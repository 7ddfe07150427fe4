"""`krohn analyze SPEC`: the algebra report."""

from pathlib import Path

import click

import krohn
from krohn.base.files import write_text
from krohn.cli.options import SPEC, OutputFile, effort, reading
from krohn.cli.output import emit, json_option, note


@click.command()
@click.argument("spec", type=SPEC)
@reading
@click.option("--eggbox", is_flag=True, help="Print the eggbox picture of Green's classes.")
@click.option("--svg", type=OutputFile(".svg"), help="Write the eggbox picture to this file.")
@click.option("--verbose", is_flag=True, help="Reasons, assumptions, sources, and what the bounds are about.")
@effort("How hard to search; 10 allows ten times the states, image sets and R-classes.")
@json_option
def command(spec: str, eggbox: bool, svg: Path | None, verbose: bool, effort: float, as_json: bool) -> None:
    """Report the algebra of SPEC: semigroup, groups, and the circuit class of its states.

    \b
    Example:  krohn analyze S4
              krohn analyze 'regex:(ab)*' --eggbox
    """
    analysis = krohn.analyze(krohn.parse_spec(spec), effort=effort)
    # Before anything is printed: exceeding the limits is bad input, not a partial answer.
    wanted = eggbox or svg is not None
    picture = analysis.eggbox(effort=effort) if wanted else None
    for text in analysis.remarks:
        note(text)
    if svg is not None and picture is not None:
        write_text(svg, picture.svg())
        note(f"wrote {svg}")
    emit(analysis.to_json(), as_json=as_json, text=lambda: analysis.text(spec, verbose=verbose))
    if eggbox and picture is not None and not as_json:
        click.echo("\n" + picture.text())
