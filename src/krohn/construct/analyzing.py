"""``krohn.analyze``: the algebra of an automaton, its depth, and which architectures can track it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from krohn.algebra.analysis import Algebra, algebra_of
from krohn.algebra.subgroups import Subgroup
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import AutomatonLike
from krohn.base.notebook import table
from krohn.base.typed import plainly
from krohn.cascade.skeleton import skeleton
from krohn.construct.depth_bounds import MOST_STATES, DepthBounds, depth_bounds
from krohn.construct.learnability import Alike, alike
from krohn.errors import LimitExceeded, counted
from krohn.recurrent.family_verdict import FamilyVerdict
from krohn.recurrent.verdicts import verdicts

_MAX_SKELETON_STATES = 2_000
GROWTH = {
    (): "nothing: position codes that repeat aside, the network is the same for all lengths",
    ("precision",): "with T: precision, as log T; heads, head dimension and MLPs do not",
    ("precision", "width"): (
        "with T: precision, as log T, and MLPs that count, as √T with four hidden layers or as T with one; "
        "heads and head dimension do not"
    ),
}
"""What "at every length" and "optimal" leave out: a constant number of layers is not a constant size."""


_LISTED = 12
"""Letters and states that a report names."""


@dataclass(frozen=True, repr=False)
class Analysis(Algebra):
    """What algebra says of an automaton, the layers that it needs, and which architectures can track it.

    Depth, levels and architectures are computed on first use: a search for plans takes from milliseconds to
    minutes. ``to_json()`` and ``text()`` are what ``krohn analyze`` prints.
    """

    @cached_property
    def depth(self) -> DepthBounds:
        """Bounds on the layers of a Transformer: ``upper``, ``lower``, ``optimal``, ``witness``."""
        return depth_bounds(self.automaton, solvable=self.complexity != "NC1-complete")

    @cached_property
    def families(self) -> tuple[FamilyVerdict, ...]:
        """A verdict for each family of architectures."""
        return tuple(verdicts(self.automaton, self, transformer_layers=self.depth.upper))

    @cached_property
    def alike(self) -> Alike | None:
        """What became of networks trained on automata like this one; ``None`` for larger ones."""
        return alike(self)

    @cached_property
    def _levels(self) -> tuple[int | None, tuple[str, ...]]:
        return holonomy_levels(self)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What was left out, of depth and levels too, and which limit to raise."""
        plans = f"plans of constant depth are searched up to {MOST_STATES} states; krohn compile may find one"
        return (*self.notes, *self._levels[1], *((plans,) if self.num_states > MOST_STATES else ()))

    def to_json(self) -> dict[str, Any]:
        """One JSON object."""
        return {
            **_payload(self, self._levels[0]),
            "letters": list(self.automaton.letter_names),
            "states": list(self.automaton.state_names[:_LISTED]),
            "classes": [row.to_json() for row in self.classes.rows],
            "depth": {**self.depth.to_json(self.automaton.letter_names), "blocks": self.depth.blocks},
            "architectures": [row.to_json() for row in self.families],
            "learned": None if self.alike is None else self.alike.to_json(),
        }

    def text(self, name: str = "", *, verbose: bool = False) -> str:
        """The report; ``name`` is what the automaton was called.

        With ``verbose`` also Green's relations, the scope and witness of the lower bound, and for each
        architecture the reason, what it assumes and where it is proved.
        """
        name = name or self.automaton.name
        known = _text(name, self, self._levels[0] if verbose else None, verbose=verbose)
        trained = "" if self.alike is None else f"\n\ntrained: {self.alike}"
        return f"{known}{trained}\n\n{_architectures(self.families, verbose=verbose)}"


@plainly
def analyze(automaton: AutomatonLike, *, effort: float = 1.0) -> Analysis:
    """The algebra of an automaton, given as an object, a name or a file, and what follows for networks.

    For a minimal DFA the algebra is that of the syntactic monoid.

    ``effort`` bounds the table, the image sets that are searched (needed for the verdict, unless the letters
    that permute all states generate a group that is not solvable), and the R-classes (needed only for the
    size of the semigroup); 10 allows ten times as many.

    Example:
        >>> report = krohn.analyze("S5")
        >>> report.complexity, report.groups[0].factors
        ('NC1-complete', ('A5', 'C2'))
    """
    algebra = algebra_of(automaton, effort=effort)
    return Analysis(**{item.name: getattr(algebra, item.name) for item in fields(Algebra)})


def holonomy_levels(analysis: Analysis) -> tuple[int | None, tuple[str, ...]]:
    """Levels of the plain holonomy decomposition; a group automaton has one, from Q to single states."""
    if analysis.is_group:
        return int(analysis.num_states > 1), ()
    if analysis.num_states > _MAX_SKELETON_STATES:
        return None, (f"levels are not counted beyond {_MAX_SKELETON_STATES:,} states",)
    if analysis.is_partial:
        return None, ()
    try:
        return skeleton(analysis.automaton).num_levels, ()
    except LimitExceeded as limit:
        return None, (f"the number of levels is not known (krohn decompose may tell): {limit}",)


def _payload(analysis: Analysis, levels: int | None) -> dict[str, Any]:
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


def _first(names: Sequence[str]) -> str:
    """The first of the names."""
    return " ".join(names[:_LISTED]) + (" …" if len(names) > _LISTED else "")


def _text(spec: str, analysis: Analysis, levels: int | None, *, verbose: bool) -> str:
    depth, number = analysis.depth, analysis.semigroup_size
    named, meaning = analysis.classes.text()
    elements = "unknown elements" if number is None else counted(number, "element")
    facts = [
        ("class", meaning),
        ("complexity", analysis.complexity),
        ("states", f"{analysis.num_states:,}: {_first(analysis.automaton.state_names)}"),
        ("letters", f"{analysis.num_letters:,}: {_first(analysis.automaton.letter_names)}"),
        ("semigroup", elements + (", a group" if analysis.is_group else "")),
    ]
    if analysis.groups:
        groups = [f"{group.name} (factors {' '.join(group.factors)})" for group in analysis.groups]
        facts.append(("groups", "; ".join(groups[:_LISTED]) + (" …" if len(groups) > _LISTED else "")))
    none = " (none unless TC⁰ = NC¹, MLPs of constant depth)" if analysis.complexity == "NC1-complete" else ""
    facts.append(("depth", (str(depth) if verbose else depth.brief).replace(" known", f" known{none}")))
    if depth.blocks:
        facts.append(
            ("blocks", f"{depth.blocks} of GPT-2, in real numbers; krohn compile proves them in floats")
        )
    if depth.grows is not None:
        facts.append(("grows", GROWTH[depth.grows]))
    if verbose:
        facts += _details(analysis, levels)
    return "\n".join([f"{spec}: {named}", "", *(f"{label:<12} {fact}" for label, fact in facts)])


def _details(analysis: Analysis, levels: int | None) -> Iterator[tuple[str, str]]:
    """What a theorist asks next."""
    green, depth = analysis.green, analysis.depth
    yield "reason", analysis.reason
    if depth.lower > 1:
        yield (
            "one layer",
            f"of that size, if its embedding may be any function of letter and position and its MLP any "
            f"function, can do all words of up to {depth.one_layer_up_to:,} letters",
        )
    if depth.witness is not None:
        yield "witness", depth.witness.describe(analysis.automaton.letter_names)
    yield "levels", "unknown" if levels is None else str(levels)
    if green is not None:
        classes = counted(green.num_d, "D-class", "D-classes")
        yield (
            "Green",
            f"{classes} ({green.num_regular_d} regular), {green.num_r} R, {green.num_l} L, {green.num_h} H; "
            f"{counted(green.num_idempotents, 'idempotent')}",
        )
    for group in analysis.groups:
        yield "group", f"{group.name} of order {group.order:,} permutes {counted(len(group.states), 'state')}"


def _architectures(families: tuple[FamilyVerdict, ...], *, verbose: bool) -> str:
    """Which families of models can track the automaton, and how many layers and steps suffice."""
    words = {True: "yes", False: "no", None: "open"}
    rows = []
    for row in families:
        sizes = ("" if value is None else str(value) for value in (row.layers, row.steps))
        can = f"not unless {row.unless}" if row.unless else words[row.can]
        rows.append((row.name, can, *sizes, *([row.reason] if verbose else [])))
    header = ("architecture", "can", "layers", "steps", *(["why"] if verbose else []))
    if not verbose:
        return (
            f"{table(header, rows)}\n\n--verbose gives the reason, the assumptions and the source of each row"
        )
    return "\n".join(
        [
            table(header, rows),
            "",
            "assumptions (layers suffice; --json says where fewer cannot do):",
            *_grouped(families, "assumptions"),
            "",
            "sources:",
            *_grouped(families, "source"),
        ]
    )


def _grouped(families: tuple[FamilyVerdict, ...], field: str) -> list[str]:
    """A line for each value of the field, with the families that have it."""
    named = dict[str, list[str]]()
    for row in families:
        named.setdefault(getattr(row, field), []).append(row.name)
    return [f"- {', '.join(names)}: {value}" for value, names in named.items()]
