"""`krohn analyze SPEC`: the algebra report."""

from pathlib import Path
from typing import Any

import click

from krohn.algebra.analysis import Analysis, analyze
from krohn.algebra.green import eggbox_svg, eggbox_text
from krohn.algebra.subgroups import Subgroup
from krohn.algebra.transition_semigroup import MAX_CLASSES, MAX_IMAGES, TransitionSemigroup
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import parse_spec
from krohn.base.atomic import check_output, write_text
from krohn.base.notebook import table
from krohn.cascade.skeleton import skeleton
from krohn.cli.output import emit, json_option, note
from krohn.construct.depth_bounds import MOST_STATES, DepthBounds
from krohn.errors import LimitExceeded, counted
from krohn.recurrent.verdicts import FamilyVerdict, verdicts

_MAX_SKELETON_STATES = 2_000
GROWTH = (
    "with T: precision, as log T, and MLPs that count, as √T with four hidden layers or as T with one; "
    "heads and head dimension do not"
)
"""What "at every length" and "optimal" leave out: a constant number of layers is not a constant size."""


@click.command()
@click.argument("spec")
@click.option("--eggbox", is_flag=True, help="Print the eggbox picture of Green's classes.")
@click.option(
    "--svg", type=click.Path(dir_okay=False, path_type=Path), help="Write the eggbox picture to this file."
)
@click.option(
    "--max-images",
    type=click.IntRange(1),
    default=MAX_IMAGES,
    show_default=True,
    help="Most image sets to search; the verdict needs them all.",
)
@click.option(
    "--max-classes",
    type=click.IntRange(1),
    default=MAX_CLASSES,
    show_default=True,
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
    if svg is not None:
        check_output(svg, ".svg")  # fail early
    automaton = parse_spec(spec)
    analysis = analyze(automaton, max_images=max_images, max_classes=max_classes)
    # Before anything is printed: exceeding the limits is bad input, not a partial answer.
    semigroup = TransitionSemigroup(automaton.letters, max_images=max_images, max_classes=max_classes)
    parts = semigroup.d_classes if eggbox or svg is not None else ()
    levels, notes = holonomy_levels(automaton, analysis)
    for text in (*analysis.notes, *notes):
        note(text)
    if svg is not None:
        write_text(svg, eggbox_svg(parts))
        note(f"wrote {svg}")
    if automaton.num_states > MOST_STATES:
        note(f"plans of constant depth are searched up to {MOST_STATES} states; krohn compile may find one")
    depth = analysis.depth
    families = verdicts(automaton, analysis, transformer_layers=depth.upper)
    payload = {
        **_payload(automaton, analysis, levels),
        "depth": {**depth.to_json(automaton.letter_names), "blocks": depth.blocks},
        "architectures": [row.to_json() for row in families],
    }
    text = f"{_text(spec, automaton, analysis, levels, depth)}\n\n{_architectures(families)}"
    emit(payload, as_json=as_json, text=lambda: text)
    if eggbox and not as_json:
        click.echo("\n" + eggbox_text(parts))


def holonomy_levels(automaton: Semiautomaton, analysis: Analysis) -> tuple[int | None, tuple[str, ...]]:
    """Levels of the plain holonomy decomposition; a group automaton has one, from Q to single states."""
    if analysis.is_group:
        return int(automaton.num_states > 1), ()
    if automaton.num_states > _MAX_SKELETON_STATES:
        return None, (f"levels are not counted beyond {_MAX_SKELETON_STATES:,} states",)
    if analysis.is_partial:
        return None, ()
    try:
        return skeleton(automaton).num_levels, ()
    except LimitExceeded as limit:
        return None, (f"the number of levels is not known (krohn decompose may tell): {limit}",)


def _payload(automaton: Semiautomaton, analysis: Analysis, levels: int | None) -> dict[str, Any]:
    green, witness = analysis.green, analysis.one_length
    return {
        "name": automaton.name,
        "num_states": analysis.num_states,
        "num_letters": analysis.num_letters,
        "semigroup_size": analysis.semigroup_size,
        "monoid_size": analysis.monoid_size,
        "is_group": analysis.is_group,
        "is_aperiodic": analysis.is_aperiodic,
        "is_solvable": analysis.is_solvable,
        "quasi_aperiodic": analysis.is_quasi_aperiodic,
        "witness": None
        if witness is None
        else witness.to_json(automaton.letter_names, automaton.state_names),
        "complexity": analysis.complexity,
        "reason": analysis.reason,
        "groups": [_group(automaton, group) for group in analysis.groups],
        "levels": levels,
        "green": None
        if green is None
        else {
            "D": green.num_d,
            "R": green.num_r,
            "L": green.num_l,
            "H": green.num_h,
            "regular_D": green.num_regular_d,
            "idempotents": green.num_idempotents,
        },
    }


def _group(automaton: Semiautomaton, subgroup: Subgroup) -> dict[str, Any]:
    idempotent = subgroup.idempotent
    return {
        "order": subgroup.order,
        "name": subgroup.name,
        "factors": list(subgroup.factors),
        "is_solvable": subgroup.is_solvable,
        "states": [automaton.state_names[state] for state in subgroup.states],
        "idempotent": None
        if idempotent is None
        else {
            "word": [automaton.letter_names[letter] for letter in idempotent.word],
            "exponent": idempotent.exponent,
            "images": [automaton.state_names[state] for state in idempotent.images],
        },
    }


def _text(
    spec: str, automaton: Semiautomaton, analysis: Analysis, levels: int | None, depth: DepthBounds
) -> str:
    green = analysis.green
    number = analysis.semigroup_size
    size = "unknown elements" if number is None else counted(number, "element")
    lines = [
        f"{spec}: {counted(analysis.num_states, 'state')}, {counted(analysis.num_letters, 'letter')}",
        f"semigroup    {size}{' (a group)' if analysis.is_group else ''}",
    ]
    if green is not None:
        classes = counted(green.num_d, "D-class", "D-classes")
        lines.append(
            f"Green        {classes} ({green.num_regular_d} regular), {green.num_r} R, "
            f"{green.num_l} L, {green.num_h} H; {counted(green.num_idempotents, 'idempotent')}"
        )
    lines.append(f"levels       {'unknown' if levels is None else levels}")
    none = " (none unless TC⁰ = NC¹, MLPs of constant depth)" if analysis.complexity == "NC1-complete" else ""
    lines.append(f"depth        {str(depth).replace(' known', f' known{none}')}")
    if depth.blocks:
        blocks = f"{depth.blocks} of GPT-2 (attention and an MLP of one hidden layer) in real numbers"
        lines.append(f"blocks       {blocks}; krohn compile says how many are proved in float32")
    if depth.upper:
        lines.append(f"grows        {GROWTH}")
    if depth.lower > 1:
        lines.append(
            f"one layer    of that size, if its embedding may be any function of letter and position and its "
            f"MLP any function, can do all words of up to "
            f"{depth.one_layer_up_to:,} letters (results/tables/width.md)"
        )
    if depth.witness is not None:
        lines.append(f"witness      {depth.witness.describe(automaton.letter_names)}")
    lines.append(f"complexity   {analysis.complexity}")
    lines.append(f"reason       {analysis.reason}")
    if analysis.groups:
        rows = [
            (group.name, group.order, len(group.states), " ".join(group.factors)) for group in analysis.groups
        ]
        lines += ["", table(("group", "order", "states", "factors"), rows)]
    return "\n".join(lines)


def _architectures(families: tuple[FamilyVerdict, ...]) -> str:
    """Which families of models can track the automaton, and how many layers and steps suffice."""
    words = {True: "yes", False: "no", None: "open"}
    rows = [
        (
            row.name,
            words[row.can],
            *("" if value is None else str(value) for value in (row.layers, row.steps)),
        )
        for row in families
    ]
    shown = table(
        ("architecture", "can", "layers", "steps", "why"),
        [(*row, family.reason) for row, family in zip(rows, families, strict=True)],
    )
    named: dict[str, list[str]] = {}
    for family in families:
        named.setdefault(family.assumptions, []).append(family.name)
    assumed = [f"- {', '.join(names)}: {assumption}" for assumption, names in named.items()]
    return "\n".join(
        [shown, "", "assumptions (layers suffice; --json says where fewer cannot do):", *assumed]
    )
