"""The algebra report of an automaton."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from math import ceil, inf
from typing import Any

from krohn.algebra.green import Eggbox, GreenCounts
from krohn.algebra.image_orbit import ImageOrbit
from krohn.algebra.permgroup import PermutationGroup
from krohn.algebra.subgroups import Subgroup
from krohn.algebra.transformation import is_permutation
from krohn.algebra.transition_semigroup import TransitionSemigroup
from krohn.algebra.varieties import OneLength, group_of_one_length
from krohn.automata.quotients import reachable, reachable_states
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import AutomatonLike, as_automaton
from krohn.base.notebook import html_table, table
from krohn.errors import InvalidInput, LimitExceeded, counted, plainly

# The verdict in words: which class the word problem is in, and the group that decides it.


_SHOWN = 12  # states or letters listed before an ellipsis


def complexity(subgroups: Sequence[Subgroup], witness: OneLength | None) -> str:
    """The circuit class of the states; ``ACC0`` also means not in AC⁰, because of the words of ``witness``.

    By Barrington (1989), Barrington and Thérien (1988), Barrington, Compton, Straubing and Thérien (1992).
    """
    if not all(subgroup.is_solvable for subgroup in subgroups):
        return "NC1-complete"
    return "AC0" if witness is None else "ACC0"


def reason(automaton: Semiautomaton, subgroups: Sequence[Subgroup], witness: OneLength | None) -> str:
    """Why the verdict holds: the deciding group, the states it permutes and its idempotent."""
    verdict = complexity(subgroups, witness)
    if not subgroups:
        return "AC0 because the semigroup is aperiodic: no word permutes a set of states non-trivially"
    if verdict == "NC1-complete":
        subgroups = [subgroup for subgroup in subgroups if not subgroup.is_solvable]
    deciding = max(subgroups, key=lambda subgroup: subgroup.order)
    description = _describe(automaton, deciding)
    if verdict == "AC0":
        return (
            "AC0 because the semigroup is quasi-aperiodic: words of one length form no group, for what its "
            f"groups count is the length alone: {description}"
        )
    if verdict == "ACC0":
        return (
            "ACC0 because every group in the semigroup is solvable, and not AC0 because "
            f"{_one_length(automaton, witness)}: {description}"
        )
    simple = sorted({factor for factor in deciding.factors if not factor.startswith("C")})
    return (
        f"NC1-complete because a group in the semigroup is not solvable, having the "
        f"factor{'s' * (len(simple) > 1)} {', '.join(simple)}: {description}"
    )


def _one_length(automaton: Semiautomaton, witness: OneLength | None) -> str:
    if witness is None or not witness.words:
        return "words of one length form a group"
    words = [_some([automaton.letter_names[letter] for letter in word], " ") for word in witness.words]
    shown = _some([f"'{word}'" for word in words], ", ")
    return f"words of {counted(len(witness.words[0]), 'letter')} form the group C{len(words)} ({shown})"


def _describe(automaton: Semiautomaton, subgroup: Subgroup) -> str:
    named = "a group" if subgroup.name.startswith("order") else subgroup.name
    group = f"{named} of order {subgroup.order}"
    if len(subgroup.states) == automaton.num_states:
        return f"{group} permutes all {automaton.num_states} states, at the identity"
    states = _some([automaton.state_names[state] for state in subgroup.states], ", ")
    text = f"{group} permutes the states {{{states}}}"
    if subgroup.idempotent is None:
        return text
    word = _some([automaton.letter_names[letter] for letter in subgroup.idempotent.word], " ")
    power = f"({word})^{subgroup.idempotent.exponent}" if subgroup.idempotent.exponent > 1 else word
    return f"{text}, at the idempotent {power}"


def _some(names: Sequence[str], separator: str) -> str:
    shown = separator.join(names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown}{separator}… ({len(names)} in all)"


# The algebra report of an automaton: aperiodic, solvable or neither, and why (Theorem 4 of the paper).
#
# Every group that divides a transition semigroup divides one of the groups of its image sets, and
# those are found from the orbit of image sets alone. So the verdict never needs the semigroup's
# elements; its size and Green's relations are added where the limits allow.


MAX_TABLE = 400_000
"""Entries of the largest table, states × letters, that is analysed at effort 1; S8 has 322,560."""
_GREEN_CLASSES = 20_000  # up to this many R-classes, Green's classes are counted


@dataclass(frozen=True, repr=False)
class Analysis:
    """The algebra report of an automaton.

    Attributes:
        automaton: what the report is about.
        semigroup_size: transformations induced by non-empty words; ``None`` beyond the limits.
        monoid_size: the same with the empty word.
        is_group: whether every letter permutes the states.
        complexity: ``AC0``, ``ACC0`` (and not AC⁰) or ``NC1-complete``: the circuit class of the states
            reachable from the start; unreachable states do not count here.
        one_length: words of one length that form a group, if any.
        groups: the non-trivial maximal subgroups, one for each regular D-class, largest image first.
        green: the numbers of Green's classes; ``None`` beyond the limits.
        reason: why the verdict holds, in words.
        notes: what was left out and which limit to raise.
        is_partial: whether only the letters that permute all states were examined, enough for a verdict.
        reached: the report of the reachable states, without sizes; ``None`` if all states are reachable.
    """

    automaton: Semiautomaton = field(compare=False)
    num_states: int
    num_letters: int
    semigroup_size: int | None
    monoid_size: int | None
    is_group: bool
    is_aperiodic: bool
    is_solvable: bool
    complexity: str
    one_length: OneLength | None
    groups: tuple[Subgroup, ...]
    green: GreenCounts | None
    reason: str
    notes: tuple[str, ...]
    is_partial: bool = False
    reached: "Analysis | None" = None

    @cached_property
    def depth(self) -> Any:
        """Bounds on the layers of a Transformer: ``upper``, ``lower``, ``optimal``, ``witness``.

        A ``DepthBounds``, computed on first use: the search for plans takes from milliseconds to minutes.
        """
        bounds = import_module("krohn.construct.depth_bounds")  # on use: that part depends on this one
        return bounds.depth_bounds(self.automaton, solvable=self.complexity != "NC1-complete")

    def report(self) -> "AnalysisReport":
        """What ``krohn analyze`` prints: ``text()``, ``to_json()`` and ``notes``."""
        return AnalysisReport(self)

    def eggbox(self, *, effort: float = 1.0) -> Eggbox:
        """Green's classes as a picture; beyond the limits an error."""
        return Eggbox(TransitionSemigroup(self.automaton.letters, effort).d_classes)

    @property
    def is_quasi_aperiodic(self) -> bool:
        """Whether no set of all words of one length contains a non-trivial group."""
        return self.one_length is None

    def __repr__(self) -> str:
        size = "unknown size" if self.semigroup_size is None else f"{self.semigroup_size:,} elements"
        sizes = f"{self.num_states:,} states, {self.num_letters:,} letters, semigroup of {size}"
        return f"<Analysis: {sizes}, {self.complexity}>"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        green = self.green
        rows = {
            "states, letters": f"{self.num_states:,}, {self.num_letters:,}",
            "semigroup": self.semigroup_size,
            "D-classes": None if green is None else green.num_d,
            "idempotents": None if green is None else green.num_idempotents,
            "groups": ", ".join(group.name for group in self.groups) or "none",
            "class": self.complexity,
            "because": self.reason,
        }
        return html_table("What algebra says", rows)


@plainly
def analyze(automaton: AutomatonLike, *, effort: float = 1.0) -> Analysis:
    """The algebra report of an automaton, given as an object, a name or a file.

    For a minimal DFA it is the report of the syntactic monoid.

    ``effort`` bounds the table, the image sets that are searched (needed for the verdict, unless the letters
    that permute all states generate a group that is not solvable), and the R-classes (needed only for the
    size of the semigroup); 10 allows ten times as many.

    Example:
        >>> report = krohn.analyze("S5")
        >>> report.complexity, report.groups[0].factors
        ('NC1-complete', ('A5', 'C2'))
    """
    automaton = as_automaton(automaton)
    if not 0 < effort < inf:
        raise InvalidInput(f"the effort must be a number above 0; got {effort}")
    if automaton.table.size > MAX_TABLE * max(1.0, effort):
        raise LimitExceeded(
            f"a table may have at most {MAX_TABLE:,} entries at effort 1; this one has "
            f"{automaton.num_states:,} states × {automaton.num_letters:,} letters: raise --effort to "
            f"{ceil(automaton.table.size / MAX_TABLE)} (effort= in Python), or take a smaller automaton"
        )
    result = _report(automaton, effort)
    part = reachable(automaton)
    if part is automaton:
        return result
    return _of_reached_states(automaton, result, _report(part, effort, sized=False))


def _report(automaton: Semiautomaton, effort: float, *, sized: bool = True) -> Analysis:
    """The report with all states counted; without sizes if only the verdict is needed."""
    semigroup = TransitionSemigroup(automaton.letters, effort)
    permuting = [is_permutation(letter) for letter in automaton.letters]
    size: int | None
    partial = False
    try:
        groups = semigroup.subgroups
        one_length = group_of_one_length(semigroup.images) if groups else None
        size, green, notes = _size(semigroup) if sized else (None, None, ())
    except LimitExceeded as limit:
        groups = _unsolvable_units(automaton, permuting)
        if not groups:
            raise
        one_length = _of_units(automaton, permuting)
        size, green, partial = None, None, True
        notes = (f"the verdict rests on the letters that permute all states, for {limit}",)
    return Analysis(
        automaton=automaton,
        num_states=automaton.num_states,
        num_letters=automaton.num_letters,
        semigroup_size=size,
        monoid_size=None if size is None else size + (not any(permuting)),
        is_group=all(permuting),
        is_aperiodic=not groups,
        is_solvable=all(group.is_solvable for group in groups),
        complexity=complexity(groups, one_length),
        one_length=one_length,
        groups=groups,
        green=green,
        reason=reason(automaton, groups, one_length),
        notes=notes,
        is_partial=partial,
    )


def _of_reached_states(automaton: Semiautomaton, whole: Analysis, inner: Analysis) -> Analysis:
    """The same report, with the circuit class of the reachable states, which ``inner`` describes."""
    witness = inner.one_length
    if witness is not None:
        order = reachable_states(automaton)
        witness = replace(witness, states=tuple(order[state] for state in witness.states))
    if inner.complexity == whole.complexity:
        text = reason(automaton, whole.groups, witness)
        return replace(whole, one_length=witness, reason=text, reached=inner)
    states = counted(automaton.num_states - inner.num_states, "state")
    note = f"{states} that no word reaches: counted in the semigroup, but not in the class and its reason"
    verdict = replace(whole, complexity=inner.complexity, one_length=witness, reason=inner.reason)
    return replace(verdict, notes=(*whole.notes, note), reached=inner)


def _unsolvable_units(automaton: Semiautomaton, permuting: list[bool]) -> tuple[Subgroup, ...]:
    """The group of the letters that permute all states, if it settles the verdict alone."""
    letters = [letter for letter, permutes in zip(automaton.letters, permuting, strict=True) if permutes]
    if not letters:
        return ()
    units = PermutationGroup(letters, automaton.num_states)
    return () if units.is_solvable else (Subgroup(units, tuple(range(automaton.num_states)), None),)


def _of_units(automaton: Semiautomaton, permuting: list[bool]) -> OneLength | None:
    """Words of equal length that form a group, over the letters that permute all states."""
    chosen = [letter for letter, permutes in enumerate(permuting) if permutes]
    result = group_of_one_length(ImageOrbit(tuple(automaton.letters[letter] for letter in chosen)))
    if result is None:
        return None
    return replace(result, words=tuple(tuple(chosen[letter] for letter in word) for word in result.words))


def _size(semigroup: TransitionSemigroup) -> tuple[int | None, GreenCounts | None, tuple[str, ...]]:
    """The size and Green's numbers as far as the limits allow, and notes on what is missing."""
    try:
        size = semigroup.size
    except LimitExceeded as limit:
        return None, None, (f"the size of the semigroup is not known: {limit}",)
    count = semigroup.r_classes.count
    if count > _GREEN_CLASSES:
        note = f"Green's classes are not counted beyond {_GREEN_CLASSES:,} R-classes: {count:,}"
        return size, None, (note,)
    return size, semigroup.green, ()


# What ``krohn analyze`` says about an automaton: its algebra, its depth, which architectures can track it.
#
# Depth, levels and architectures come from parts that depend on this one; they are imported on use.


_MAX_SKELETON_STATES = 2_000
GROWTH = (
    "with T: precision, as log T, and MLPs that count, as √T with four hidden layers or as T with one; "
    "heads and head dimension do not"
)
"""What "at every length" and "optimal" leave out: a constant number of layers is not a constant size."""


@dataclass(frozen=True)
class AnalysisReport:
    """An analysis with everything that is printed beside it."""

    analysis: Analysis

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


def holonomy_levels(analysis: Analysis) -> tuple[int | None, tuple[str, ...]]:
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


def _text(spec: str, analysis: Analysis, levels: int | None) -> str:
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
