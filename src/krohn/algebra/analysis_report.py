"""What ``krohn analyze`` says about an automaton: its algebra, its depth, which architectures can track it.

Depth, levels and architectures come from parts that depend on this one; they are imported on use.
"""

from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

from krohn.algebra.image_orbit import Subgroup
from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.notebook import table
from krohn.errors import LimitExceeded, counted

_MAX_SKELETON_STATES = 2_000
GROWTH = (
    "with T: precision, as log T, and MLPs that count, as √T with four hidden layers or as T with one; "
    "heads and head dimension do not"
)
"""What "at every length" and "optimal" leave out: a constant number of layers is not a constant size."""


@dataclass(frozen=True)
class AnalysisReport:
    """An analysis with everything that is printed beside it."""

    analysis: Any

    @cached_property
    def _levels(self) -> tuple[int | None, tuple[str, ...]]:
        return holonomy_levels(self.analysis)

    @cached_property
    def families(self) -> tuple[Any, ...]:
        """A verdict for each family of architectures."""
        verdicts = import_module("krohn.recurrent.verdicts").verdicts
        return tuple(
            verdicts(self.analysis.automaton, self.analysis, transformer_layers=self.analysis.depth.upper)
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left out, and which limit to raise."""
        most = import_module("krohn.construct.depth_bounds").MOST_STATES
        plans = f"plans of constant depth are searched up to {most} states; krohn compile may find one"
        wide = self.analysis.num_states > most
        return (*self.analysis.notes, *self._levels[1], *((plans,) if wide else ()))

    def to_json(self) -> dict[str, Any]:
        """One JSON object."""
        depth = self.analysis.depth
        return {
            **_payload(self.analysis, self._levels[0]),
            "depth": {**depth.to_json(self.analysis.automaton.letter_names), "blocks": depth.blocks},
            "architectures": [row.to_json() for row in self.families],
        }

    def text(self, name: str = "") -> str:
        """The report; ``name`` is what the automaton was called."""
        known = _text(name or self.analysis.automaton.name, self.analysis, self._levels[0])
        return f"{known}\n\n{_architectures(self.families)}"


def holonomy_levels(analysis: Any) -> tuple[int | None, tuple[str, ...]]:
    """Levels of the plain holonomy decomposition; a group automaton has one, from Q to single states."""
    if analysis.is_group:
        return int(analysis.num_states > 1), ()
    if analysis.num_states > _MAX_SKELETON_STATES:
        return None, (f"levels are not counted beyond {_MAX_SKELETON_STATES:,} states",)
    if analysis.is_partial:
        return None, ()
    try:
        return import_module("krohn.cascade.skeleton").skeleton(analysis.automaton).num_levels, ()
    except LimitExceeded as limit:
        return None, (f"the number of levels is not known (krohn decompose may tell): {limit}",)


def _payload(analysis: Any, levels: int | None) -> dict[str, Any]:
    automaton, green, witness = analysis.automaton, analysis.green, analysis.one_length
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


def _text(spec: str, analysis: Any, levels: int | None) -> str:
    green, depth = analysis.green, analysis.depth
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
        lines.append(f"witness      {depth.witness.describe(analysis.automaton.letter_names)}")
    lines.append(f"complexity   {analysis.complexity}")
    lines.append(f"reason       {analysis.reason}")
    if analysis.groups:
        rows = [
            (group.name, group.order, len(group.states), " ".join(group.factors)) for group in analysis.groups
        ]
        lines += ["", table(("group", "order", "states", "factors"), rows)]
    return "\n".join(lines)


def _architectures(families: tuple[Any, ...]) -> str:
    """Which families of models can track the automaton, and how many layers and steps suffice."""
    words = {True: "yes", False: "no", None: "open"}
    rows, named = [], dict[str, list[str]]()
    for row in families:
        sizes = ("" if value is None else str(value) for value in (row.layers, row.steps))
        rows.append((row.name, words[row.can], *sizes, row.reason))
        named.setdefault(row.assumptions, []).append(row.name)
    shown = table(("architecture", "can", "layers", "steps", "why"), rows)
    assumed = [f"- {', '.join(names)}: {assumption}" for assumption, names in named.items()]
    return "\n".join(
        [shown, "", "assumptions (layers suffice; --json says where fewer cannot do):", *assumed]
    )
