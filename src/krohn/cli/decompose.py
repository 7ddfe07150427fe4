"""``krohn decompose``: the Krohn–Rhodes cascade of an automaton."""

from pathlib import Path
from typing import Any

import click

import krohn
from krohn.base.files import write_text
from krohn.cli.options import EFFORT, SPEC, OutputFile, reading
from krohn.cli.output import emit, json_option, note


@click.command()
@click.argument("spec", type=SPEC)
@reading
@click.option("--plain", is_flag=True, help="The holonomy cascade, not shortened.")
@click.option("--explain", is_flag=True, help="Report what each shortening pass saves.")
@click.option("--svg", type=OutputFile(".svg"), help="Draw the cascade into this file.")
@EFFORT
@json_option
def command(spec: str, svg: Path | None, as_json: bool, **options: Any) -> None:
    """Write an automaton as a cascade of permutation-reset components, and prove that both do the same.

    \b
    Example:  krohn decompose Dyck4,2 --explain
              krohn decompose T3 --plain --svg t3.svg
    """
    options["explain"] &= not options["plain"]
    result = krohn.decompose(krohn.parse_spec(spec), **options)
    if svg is not None:
        write_text(svg, result.svg)
        note(f"cascade drawn in {svg}")
    emit(result.to_json() if as_json else {}, as_json=as_json, text=result.text)
