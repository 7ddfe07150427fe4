"""`krohn analyze SPEC`: the algebra report."""

import click

import krohn
from krohn.cli.options import default_of
from krohn.cli.output import emit, json_option, note


@click.command()
@click.argument("spec")
@click.option(
    "--max-images",
    type=click.IntRange(1),
    default=default_of(krohn.analyze, "max_images"),
    show_default=True,
    help="Most image sets to search; the verdict needs them all.",
)
@click.option(
    "--max-classes",
    type=click.IntRange(1),
    default=default_of(krohn.analyze, "max_classes"),
    show_default=True,
    help="Most R-classes to search; only the size of the semigroup needs them.",
)
@json_option
def command(spec: str, max_images: int, max_classes: int, as_json: bool) -> None:
    """Report the algebra of SPEC: semigroup, groups, and the circuit class of its states.

    \b
    Example:  krohn analyze S4
              krohn analyze 'regex:(ab)*' --json
    """
    report = krohn.analyze(krohn.parse_spec(spec), max_images=max_images, max_classes=max_classes).report()
    for text in report.notes:
        note(text)
    emit(report.to_json(), as_json=as_json, text=lambda: report.text(spec))
