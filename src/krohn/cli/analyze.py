"""`krohn analyze SPEC`: the algebra report."""

from pathlib import Path

import click

import krohn
from krohn.base.atomic import write_text
from krohn.cli.options import OutputFile, default_of
from krohn.cli.output import emit, json_option, note


@click.command()
@click.argument("spec")
@click.option("--eggbox", is_flag=True, help="Print the eggbox picture of Green's classes.")
@click.option("--svg", type=OutputFile(".svg"), help="Write the eggbox picture to this file.")
@click.option(
    "--max-images",
    type=click.IntRange(1),
    default=default_of(krohn.analyze, "max_images"),
    help="Most image sets to search; the verdict needs them all.",
)
@click.option(
    "--max-classes",
    type=click.IntRange(1),
    default=default_of(krohn.analyze, "max_classes"),
    help="Most R-classes to search; only the size of the semigroup needs them.",
)
@json_option
def command(
    spec: str, eggbox: bool, svg: Path | None, max_images: int, max_classes: int, as_json: bool
) -> None:
    """Report the algebra of SPEC: semigroup, groups, and the circuit class of its states.

    \b
    Example:  krohn analyze S4
              krohn analyze 'regex:(ab)*' --eggbox
    """
    analysis = krohn.analyze(krohn.parse_spec(spec), max_images=max_images, max_classes=max_classes)
    # Before anything is printed: exceeding the limits is bad input, not a partial answer.
    wanted = eggbox or svg is not None
    picture = analysis.eggbox(max_images=max_images, max_classes=max_classes) if wanted else None
    report = analysis.report()
    for text in report.notes:
        note(text)
    if svg is not None and picture is not None:
        write_text(svg, picture.svg())
        note(f"wrote {svg}")
    emit(report.to_json(), as_json=as_json, text=lambda: report.text(spec))
    if eggbox and picture is not None and not as_json:
        click.echo("\n" + picture.text())
