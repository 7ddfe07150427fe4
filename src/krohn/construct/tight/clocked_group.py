"""Programs of group automata beside a clock, with as many layers as G₀ has sections (docs/lower-bounds.md).

The state after t letters is x·cᵗ, where x moves by factors in G₀ that depend on the letter and on its place
modulo the order of c. The counters of the first section of G₀ add up residues that depend on both: one head
for each set of places at which the letters add the same. From the second section on, a table reads letter,
place and the counters before, as it does for a group without a clock.
"""

from collections.abc import Iterator
from functools import partial

from krohn.algebra.counters import CounterTower, counter_tower
from krohn.algebra.equal_lengths import EqualLengths, equal_lengths
from krohn.algebra.permgroup import PermutationGroup
from krohn.algebra.transformation import Permutation, identity
from krohn.automata.quotients import reachable_states
from krohn.base.portable import Budget
from krohn.cascade.holonomy import derived_length
from krohn.construct.request import Proposal, Request
from krohn.construct.tight.draft import ProgramDraft
from krohn.construct.tight.running_counters import RunningCounters, count
from krohn.errors import LimitExceeded, counted
from krohn.network.operations import Row
from krohn.network.program import Meaning, Program

MOST_PLACES = 24
"""Largest order of the letter that is the clock."""
AT = Meaning("stage", level=0)


def clocked_proposals(request: Request, budget: Budget) -> Iterator[Proposal]:
    """The program of G₀ beside a clock, where G₀ has a shorter derived series than the group; else none."""
    seen = equal_lengths(request.automaton)
    if seen is None:
        return
    layers = derived_length(seen.group)
    if not 0 < layers < derived_length(PermutationGroup(seen.automaton.letters, seen.automaton.num_states)):
        return
    if seen.period > MOST_PLACES:
        raise LimitExceeded(f"a clock may have at most {MOST_PLACES} places; this one has {seen.period}")
    tower = counter_tower({f for row in seen.factors for f in row}, len(seen.points))
    if len(tower.listed) * seen.period > request.max_rows:
        raise LimitExceeded(
            f"a table may have at most {request.max_rows:,} rows; "
            f"{len(tower.listed):,} values of counters at {seen.period} places need more: raise --effort"
        )
    if seen.fault:  # not an assert statement: the proof must not depend on how Python is started
        raise AssertionError(seen.fault)
    title = (
        f"a clock of {counted(seen.period, 'place')}, which takes no layer; then a group of order "
        f"{len(tower.listed):,} on {len(seen.points)} states, driven by letter and place"
    )
    yield Proposal("cascade", layers, partial(_program, request, seen, tower), (title,))


def _program(request: Request, seen: EqualLengths, tower: CounterTower) -> Program:
    """Counters by place, the sections below them, and a table of the states."""
    automaton = request.automaton
    draft = ProgramDraft(automaton.num_letters)
    letter = draft.source(Meaning("letter"), range(automaton.num_letters), automaton.num_letters)
    place = draft.places(Meaning("position from 0", modulus=seen.period), (0,), (*range(1, seen.period), 0))
    now = _first_counters(draft, seen, tower)
    group = RunningCounters(AT, tower, [], section=1, now=now)
    if len(tower.sections) > 1:
        _second_letters(draft, seen, group, letter, place)
        count(draft, group)
    names = range(automaton.num_states) if seen.automaton is automaton else reachable_states(automaton)
    start = seen.points.index(seen.automaton.start)
    states: dict[Row, int] = {
        (*residues, at): names[seen.state(element[start], at)]
        for residues, element in tower.listed
        for at in range(seen.period)
    }
    return draft.finish((*group.now, place), states, automaton)


def _first_counters(draft: ProgramDraft, seen: EqualLengths, tower: CounterTower) -> tuple[str, ...]:
    """The residues of the first section, summed over each set of places where letters add the same."""
    section, letters = tower.sections[0], range(seen.automaton.num_letters)
    rows = [
        tuple(
            tuple(_near(*pair) for pair in zip(section.residues[f], section.moduli, strict=True)) for f in row
        )
        for row in seen.factors
    ]
    several = len(section.moduli) > 1
    terms: list[list[tuple[str, int]]] = [[] for _ in section.moduli]
    for number, steps in enumerate(dict.fromkeys(rows), 1):
        alike = [int(row == steps) for row in rows]
        flag = ""
        if not all(alike):
            cycle = (*alike[1:], alike[0])
            flag = draft.places(Meaning("alike places", number=number, modulus=seen.period), (0,), cycle)
        for index, modulus in enumerate(section.moduli):
            added = [steps[a][index] for a in letters]
            if not any(added):
                continue
            which = index + 1 if several else None
            meaning = Meaning(
                "step at places", level=0, section=1, modulus=modulus, number=which, start=number
            )
            step = draft.source(meaning, added, 0)
            terms[index].append((draft.place_sum(flag, step) if flag else draft.prefix_sum(step), 1))
    result = []
    for index, (modulus, sums) in enumerate(zip(section.moduli, terms, strict=True)):
        which = index + 1 if several else None
        meaning = Meaning("counter by place", level=0, section=1, modulus=modulus, number=which)
        if len(sums) > 1:  # the heads add into one channel
            low = min(draft.registers[name].low for name, _ in sums)
            high = max(draft.registers[name].high for name, _ in sums)
            total = Meaning("number", of=(meaning,))
            sums = [(draft.linear(sums, 0, (low, high), total, kind="wide"), 1)]
        result.append(draft.modulo(sums, modulus, meaning))
    return tuple(result)


def _near(residue: int, modulus: int) -> int:
    """The number nearest to 0 with this residue: so the sums are nearest to 0, too."""
    return residue - modulus if 2 * residue > modulus else residue


def _second_letters(
    draft: ProgramDraft, seen: EqualLengths, group: RunningCounters, letter: str, place: str
) -> None:
    """A table from letter, place and the first counters to the letters and steps of the second section."""
    section = group.tower.sections[0]
    following: dict[Row, Permutation] = {}
    for at, row in enumerate(seen.factors):
        for number, factor in enumerate(row):
            for residues in section.transversal:
                after, inner = section.next_letter(residues, factor)
                following[number, at, *after] = inner
    silent = identity(len(seen.points))
    group.letters = sorted({silent, *following.values()})
    rows = {row: group.values(inner) for row, inner in following.items()}
    rows[seen.automaton.num_letters, 0, *(0 for _ in section.moduli)] = group.values(silent)
    draft.table((letter, place, *group.now), group.outputs(), rows)
