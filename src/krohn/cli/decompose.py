"""``krohn decompose``: the Krohn–Rhodes cascade of an automaton."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from krohn.automata.zoo import parse_spec
from krohn.base.atomic import check_output, write_text
from krohn.base.notebook import table
from krohn.cascade.cascade_data import plan_dot
from krohn.cascade.decomposition import Decomposition, cascade_picture, skeleton_picture
from krohn.cascade.image_sets import DEFAULT_MAX_SETS
from krohn.cascade.skeleton import skeleton
from krohn.cli.options import EFFORT, TIME_LIMIT, choice, max_sets
from krohn.cli.output import emit, json_option, note
from krohn.construct.compiling import shallower
from krohn.construct.decomposing import decompose
from krohn.construct.request import Proposal, Request
from krohn.errors import counted
from krohn.network.transformer import Mask

_file = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.argument("spec")
@click.option("--plain", is_flag=True, help="The holonomy cascade, not shortened.")
@click.option("--explain", is_flag=True, help="Report what each shortening pass saves.")
@click.option("--svg", type=_file, help="Draw the cascade into this file.")
@click.option("--skeleton-svg", type=_file, help="Draw the skeleton (image sets by level) into this file.")
@click.option("--dot", type=_file, help="Write the skeleton or the plan for Graphviz into this file.")
@max_sets(DEFAULT_MAX_SETS)
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
    plain: bool,
    explain: bool,
    svg: Path | None,
    skeleton_svg: Path | None,
    dot: Path | None,
    max_sets: int,
    mask: Mask,
    effort: float,
    time_limit: float | None,
    as_json: bool,
) -> None:
    """Write an automaton as a cascade of permutation-reset components, and prove that both do the same.

    \b
    Example:  krohn decompose Dyck4,2 --explain
              krohn decompose T3 --plain --svg t3.svg
    """
    for path, endings in ((svg, (".svg",)), (skeleton_svg, (".svg",)), (dot, (".dot", ".gv"))):
        if path is not None:
            check_output(path, *endings)  # fail early
    automaton = parse_spec(spec)
    result = decompose(
        automaton,
        plain=plain,
        explain=explain and not plain,
        mask=mask,
        effort=effort,
        time_limit=time_limit,
        max_sets=max_sets,
    )
    if svg is not None:
        write_text(svg, cascade_picture(result.plan))
        note(f"cascade drawn in {svg}")
    if skeleton_svg is not None:
        frame = skeleton(automaton, max_sets=max_sets) if result.cascade is None else result.cascade.skeleton
        write_text(skeleton_svg, skeleton_picture(frame))
        note(f"skeleton drawn in {skeleton_svg}")
    if dot is not None:
        write_text(dot, plan_dot(result.plan))
        note(f"graph written to {dot}")
    rival = None if plain else shallower(Request(automaton, 1, mask=mask, effort=effort), result.layers)
    payload = {**result.as_dict(), "compiled": _compiled(result, rival)} if as_json else {}
    emit(payload, as_json=as_json, text=lambda: _text(result, rival))


def _compiled(result: Decomposition, rival: Proposal | None) -> dict[str, Any]:
    """The plan that ``krohn compile`` takes: this cascade, or one of fewer layers."""
    if rival is not None:
        return {"method": rival.method, "layers": rival.layers, "plan": list(rival.lines)}
    method = "scan" if result.layers is None else "cascade"
    return {"method": method, "layers": result.layers, "plan": [node.title for _, node in result.plan.walk()]}


def _layers(result: Decomposition, rival: Proposal | None) -> Iterator[str]:
    """The layers of what krohn compile builds; then those of the cascade, if it builds another network."""
    if rival is not None:
        layers, seen = counted(rival.layers, "layer"), "; then ".join(rival.lines)
        yield f"network      {layers}, not by this cascade: {seen}"
    if result.layers is None:
        yield "network      a scan, whose layers grow with the word: a group of the cascade is not solvable"
    elif rival is None:
        yield f"network      {counted(result.layers, 'layer')} with a {result.mask} mask, by this cascade"
    else:
        yield f"cascade      would take {counted(result.layers, 'layer')} with a {result.mask} mask"


def _text(result: Decomposition, rival: Proposal | None) -> str:
    plain = "" if result.cascade is None else f" (plain holonomy: {result.cascade.num_levels})"
    name = result.automaton.name or "the automaton"
    levels = counted(result.levels, "level")
    head = f"{name}: a cascade of {levels}{plain}, proved to cover the automaton"
    parts = ["\n".join([head, *_layers(result, rival)])]
    parts.append("\n".join("  " * indent + node.title for indent, node in result.plan.walk()))
    rows = [
        (part.level, part.tiles, part.group, part.group_order, "yes" if part.has_resets else "no", part.kind)
        for part in result.components
    ]
    parts.append(table(("level", "tiles", "group", "order", "resets", "kind"), rows))
    if result.passes:
        parts.append(_explained(result))
    if not result.is_complete:
        parts.append("The search for fewer layers was given up; --effort 10 would continue it.")
    return "\n\n".join(parts)


def _explained(result: Decomposition) -> str:
    rows = [
        (
            report.name,
            report.levels,
            "-" if report.layers is None else report.layers,
            report.levels_saved,
            report.layers_saved,
        )
        for report in result.passes
    ]
    return "The cascade after each pass:\n" + table(
        ("pass", "levels", "layers", "levels saved", "layers saved"), rows
    )
