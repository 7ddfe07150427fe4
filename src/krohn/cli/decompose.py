"""``krohn decompose``: the Krohn–Rhodes cascade of an automaton."""

from pathlib import Path
from typing import Any

import click

import krohn
from krohn.base.atomic import check_output, write_text
from krohn.cli.options import EFFORT, TIME_LIMIT, choice, default_of, max_sets
from krohn.cli.output import emit, json_option, note

_file = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.argument("spec")
@click.option("--plain", is_flag=True, help="The holonomy cascade, not shortened.")
@click.option("--explain", is_flag=True, help="Report what each shortening pass saves.")
@click.option("--svg", type=_file, help="Draw the cascade into this file.")
@click.option("--skeleton-svg", type=_file, help="Draw the skeleton (image sets by level) into this file.")
@click.option("--dot", type=_file, help="Write the skeleton or the plan for Graphviz into this file.")
@max_sets(default_of(krohn.decompose, "max_sets"))
@choice(
    "mask",
    "Count layers for heads that see their own position (causal) or only earlier ones (strict).",
    default="causal",
)
@EFFORT
@TIME_LIMIT
@json_option
def command(
    spec: str,
    svg: Path | None,
    skeleton_svg: Path | None,
    dot: Path | None,
    max_sets: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Write an automaton as a cascade of permutation-reset components, and prove that both do the same.

    \b
    Example:  krohn decompose Dyck4,2 --explain
              krohn decompose T3 --plain --svg t3.svg
    """
    for path, endings in ((svg, (".svg",)), (skeleton_svg, (".svg",)), (dot, (".dot", ".gv"))):
        if path is not None:
            check_output(path, *endings)  # fail early
    options["explain"] &= not options["plain"]
    result = krohn.decompose(krohn.parse_spec(spec), max_sets=max_sets, **options)
    if svg is not None:
        write_text(svg, result.svg)
        note(f"cascade drawn in {svg}")
    if skeleton_svg is not None:
        write_text(skeleton_svg, result.skeleton_svg(max_sets))
        note(f"skeleton drawn in {skeleton_svg}")
    if dot is not None:
        write_text(dot, result.dot())
        note(f"graph written to {dot}")
    emit(result.to_json() if as_json else {}, as_json=as_json, text=result.text)
