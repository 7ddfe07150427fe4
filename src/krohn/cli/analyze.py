"""`krohn analyze SPEC`: the algebra report."""

import click

import krohn
from krohn.cli.options import effort
from krohn.cli.output import emit, json_option, note


@click.command()
@click.argument("spec")
@click.option("--eggbox", is_flag=True, help="Print the eggbox picture of Green's classes.")
@effort("How hard to search; 10 allows ten times the image sets and R-classes.")
@json_option
def command(spec: str, eggbox: bool, effort: float, as_json: bool) -> None:
    """Report the algebra of SPEC: semigroup, groups, and the circuit class of its states.

    \b
    Example:  krohn analyze S4
              krohn analyze 'regex:(ab)*' --eggbox
    """
    analysis = krohn.analyze(krohn.parse_spec(spec), effort=effort)
    # Before anything is printed: exceeding the limits is bad input, not a partial answer.
    picture = analysis.eggbox(effort=effort) if eggbox else ""
    report = analysis.report()
    for text in report.notes:
        note(text)
    emit(report.to_json(), as_json=as_json, text=lambda: report.text(spec))
    if picture and not as_json:
        click.echo(f"\n{picture}")
