"""What algebra says of an automaton: aperiodic, solvable or neither, and why (Theorem 4 of the paper).

Every group that divides a transition semigroup divides one of the groups of its image sets, and those are
found from the orbit of image sets alone. So the verdict never needs the semigroup's elements; its size and
Green's relations are added where the limits allow.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil, inf

from krohn.algebra.classes.naming import Classes, classify
from krohn.algebra.green import Eggbox, GreenCounts
from krohn.algebra.image_orbit import ImageOrbit
from krohn.algebra.one_length import OneLength, group_of_one_length
from krohn.algebra.permgroup import PermutationGroup
from krohn.algebra.subgroups import Subgroup
from krohn.algebra.transformation import is_permutation
from krohn.algebra.transition_semigroup import TransitionSemigroup
from krohn.algebra.verdict import complexity, reason
from krohn.automata.quotients import minimize, reachable, reachable_states
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import AutomatonLike, as_automaton
from krohn.base.notebook import html_table
from krohn.errors import InvalidInput, LimitExceeded, counted

MAX_TABLE = 400_000
"""Entries of the largest table, states × letters, that is analysed at effort 1; S8 has 322,560."""
_GREEN_CLASSES = 20_000  # up to this many R-classes, Green's classes are counted


@dataclass(frozen=True, repr=False)
class Algebra:
    """The semigroup of an automaton, its groups, and the circuit class of its states.

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
    reached: "Algebra | None" = None

    @cached_property
    def classes(self) -> Classes:
        """The named classes of what the automaton shows, the smallest first; computed on first use."""
        smallest, known = minimize(self.automaton), self.reached or self
        try:
            if smallest.num_states != known.num_states:
                known = _report(smallest, 1.0, sized=False)
        except LimitExceeded:
            return classify(self.automaton, None, "", decided=False)
        group = next((group.name for group in known.groups if not group.is_solvable), "")
        return classify(self.automaton, known.one_length, f"the group {group} inside" if group else "")

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
        return f"<{type(self).__name__}: {sizes}, {self.complexity}>"

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


def algebra_of(automaton: AutomatonLike, *, effort: float = 1.0) -> Algebra:
    """The algebra of an automaton; of a minimal DFA it is that of the syntactic monoid.

    ``effort`` bounds the table, the image sets that are searched (needed for the verdict, unless the letters
    that permute all states generate a group that is not solvable), and the R-classes (needed only for the
    size of the semigroup); 10 allows ten times as many.
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


def _report(automaton: Semiautomaton, effort: float, *, sized: bool = True) -> Algebra:
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
    return Algebra(
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


def _of_reached_states(automaton: Semiautomaton, whole: Algebra, inner: Algebra) -> Algebra:
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
