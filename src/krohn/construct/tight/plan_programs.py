"""Programs of plans: what the layers of a network do, node by node.

Each kind of node of a plan is a few operations around the programs of its parts. A holonomy cascade has per
level counters for its groups, as layers, and one memory for its resets: the coordinate of the level, which
the counters move. A memory head gives the coordinate after the letter; the stage set before the letter is
fetched by a look-back where a level needs it (it cannot be recovered past a reset: erratum 28).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import singledispatch

from krohn.algebra.counters import CounterTower, Residues
from krohn.algebra.transformation import Permutation, identity, inverse, order
from krohn.automata.semiautomaton import Semiautomaton
from krohn.cascade.holonomy import Cascade, holonomy_cascade
from krohn.cascade.levels import CascadeLevel, Triple, cascade_levels
from krohn.cascade.plan import ClampedCounterPlan, HolonomyPlan, Plan
from krohn.cascade.plan_nodes import ErrorBitPlan, ParallelPlan, ReachablePlan, SerialPlan
from krohn.cascade.stack import StackPlan
from krohn.construct.tight.draft import Finite, Part, ProgramDraft, joined, register_value
from krohn.construct.tight.leaf_programs import clamped_track, has_unit_steps, padding_steps, stack_track
from krohn.network.operations import Row
from krohn.network.program import Meaning, Program

# Steps that depend on the stage set before a letter, summed without looking back.
#
# If step(before, letter, after) = u(letter, after) + ψ(after) − ψ(before) modulo m for every step that
# counts, then the sum of all steps is the sum of the u, which every position knows of itself, plus
# ψ(now) − ψ(start). Steps at resets do not count: what follows a reset is measured from there. ψ and u are
# found by following equations ψ(p) − ψ(q) = step(q, a, s) − step(p, a, s), one for each two sets that a
# letter brings together.


@dataclass(frozen=True)
class Potential:
    """``steps[letter, after]`` are the u and ``level[set]`` the ψ, with ψ(start) = 0."""

    steps: dict[tuple[int, int], int]
    level: dict[int, int]


def potential(
    counted: Mapping[Triple, int], others: set[Triple], start: int, modulus: int
) -> Potential | None:
    """The u and ψ for the steps that count, 0 where unconstrained; ``None`` if there are none."""
    known: dict[tuple[int, int], tuple[int, int]] = {}
    links: dict[int, list[tuple[int, int]]] = {}
    for (before, letter, after), step in sorted(counted.items()):
        other, same = known.setdefault((letter, after), (before, step))
        links.setdefault(before, []).append((other, step - same))
        links.setdefault(other, []).append((before, same - step))
    level: dict[int, int] = {}
    for first in (start, *sorted(links)):
        queue = [first] if first not in level else []
        level.setdefault(first, 0)
        for stage in queue:
            for other, more in links.get(stage, ()):
                wanted = (level[stage] + more) % modulus
                if other not in level:
                    level[other] = wanted
                    queue.append(other)
                elif level[other] != wanted:
                    return None
    for before, _, after in (*counted, *others):
        level.setdefault(before, 0)
        level.setdefault(after, 0)
    steps = {(letter, after): 0 for _, letter, after in others}
    for (letter, after), (before, step) in known.items():
        steps[letter, after] = (step - level[after] + level[before]) % modulus
    return Potential(steps, level)


# The counters of a group as layers: one uniform head per section, residues, the letters of the next, and the
# coordinates that are read off them.


@dataclass
class RunningCounters:
    """One group's counters inside a program: what is known so far.

    ``letters`` are the elements that can still come, ``letter`` the register with their number,
    ``steps`` the registers with their residues in the next section, ``now`` the counters. ``level`` is a
    meaning that says where they lie.
    """

    level: Meaning
    tower: CounterTower
    letters: list[Permutation]
    section: int = 0
    now: tuple[str, ...] = ()

    @property
    def letter(self) -> Meaning:
        """The register that holds the number of the current section's letter."""
        return replace(self.level, kind="section letter", section=self.section + 1)

    @property
    def steps(self) -> tuple[Meaning, ...]:
        """The registers that hold its residues."""
        return tuple(self._counting("step", index) for index in range(len(self._moduli)))

    def counter(self, index: int) -> Meaning:
        """The register that counts the steps of the current section."""
        return self._counting("counter", index)

    def _counting(self, kind: str, index: int) -> Meaning:
        which = index + 1 if len(self._moduli) > 1 else None
        modulus = self._moduli[index]
        return replace(self.level, kind=kind, section=self.section + 1, modulus=modulus, number=which)

    @property
    def _moduli(self) -> Residues:
        return self.tower.sections[self.section].moduli

    def outputs(self) -> tuple[Meaning, ...]:
        """The registers a table of actions must write for this group."""
        return (self.letter, *self.steps)

    def values(self, element: Permutation) -> tuple[int, ...]:
        """What it must write for a group element; steps are as near to 0 as can be, and so are their sums."""
        residues = self.tower.sections[self.section].residues[element]
        steps = (r - n if 2 * r > n else r for r, n in zip(residues, self._moduli, strict=True))
        return (self.letters.index(element), *steps)


def count(draft: ProgramDraft, group: RunningCounters) -> None:
    """Counts the sections left: a uniform head (shared with all of its layer), residues, next letters."""
    for section in group.tower.sections[group.section :]:
        now = [
            draft.modulo([(draft.prefix_sum(step.name), 1)], modulus, group.counter(index))
            for index, (step, modulus) in enumerate(zip(group.steps, section.moduli, strict=True))
        ]
        letter, letters = group.letter.name, group.letters
        group.now = (*group.now, *now)
        group.section += 1
        if group.section == len(group.tower.sections):
            return
        following: dict[tuple[int, ...], Permutation] = {}
        for number, element in enumerate(letters):
            for residues in section.transversal:
                after, inner = section.next_letter(residues, element)
                following[(number, *after)] = inner
        group.letters = sorted(set(following.values()))
        rows = {row: group.values(inner) for row, inner in following.items()}
        draft.table((letter, *now), group.outputs(), rows)


# The coordinate of a permutation-reset level: a value in memory, moved by the counters of its group.
#
# At a reset at time r the value written is w = target·G_r⁻¹; later the coordinate is w·G_t. One small integer
# is copied, whatever the group (the permutation-reset lemma copies a whole representation). A change of class
# is always a reset, so all classes of a level share one memory; ``kind`` says whose counters apply.


def moved(
    draft: ProgramDraft,
    value: Finite,
    kind: Finite,
    groups: Sequence[RunningCounters],
    level: Meaning,
    *,
    undo: bool,
) -> Finite:
    """value·G, or to be written value·G⁻¹, with G what the counters of that kind hold; kind 0 leaves it."""
    kinds = sorted(kind.values)
    if kinds == [0]:
        return value
    if len(kinds) == 1:
        group = groups[kinds[0] - 1]
        through = {(*row, *h): y for row, x in value.rows.items() for h, y in _images(group, x, undo)}
        return Finite((*value.inputs, *group.now), through)
    when = "write" if undo else "now"
    which = kind.register(draft, replace(level, kind=f"{when} kind"))
    held = value.register(draft, replace(level, kind=f"{when} value"))
    values = value.values if held else {0}
    parts = []
    for number in kinds:
        mover = groups[number - 1] if number else None
        rows = {
            (here, x, *h): (y if here == number else 0)
            for x in values
            for h, y in (_images(mover, x, undo) if mover else [((), x)])
            for here in kinds
        }
        inputs = (which, *((held,) if held else ()), *(mover.now if mover else ()))
        part = Finite(inputs, rows if held else {(r[0], *r[2:]): y for r, y in rows.items()})
        parts.append(part.register(draft, replace(level, kind=f"{when} by kind", number=number)))
    top = max(draft.registers[part].high for part in parts if part)
    tile = replace(level, kind=f"{when} tile")
    total = draft.linear([(part, 1) for part in parts if part], 0, (0, top), tile)
    return Finite((total,), {(x,): x for x in range(top + 1)})


def _images(group: RunningCounters, tile: int, undo: bool) -> Iterator[tuple[Residues, int]]:
    """Counter values and where they take the tile; tiles that the class does not have stay."""
    for residues, element in group.tower.listed:
        move = inverse(element) if undo else element
        yield residues, move[tile] if tile < len(move) else tile


# A function of (state before the letter, letter): what drives the next part of a serial plan.


@dataclass(frozen=True)
class Drive:
    """``function(state before, letter)`` of an automaton's run; ``at_bos`` at every padding position."""

    automaton: Semiautomaton
    function: Callable[[int, int], int]
    at_bos: int

    def by_after(self, states: set[int]) -> dict[tuple[int, int], int] | None:
        """The same as a function of (state after, letter), if it is one (as it is for permutations)."""
        answers: dict[tuple[int, int], int] = {}
        for (state, letter), answer in self.by_before(states).items():
            if answers.setdefault((self.automaton.step(state, letter), letter), answer) != answer:
                return None
        return answers

    def by_before(self, states: set[int]) -> dict[tuple[int, int], int]:
        """The function as a table."""
        letters = range(self.automaton.num_letters)
        return {(state, letter): self.function(state, letter) for state in states for letter in letters}


def driven(draft: ProgramDraft, now: Finite, letter: str, drive: Drive, target: Meaning) -> str:
    """A register with the drive's value.

    The state before is fetched by a look-back, unless the state after the letter and the letter already
    determine the answer.
    """
    state, answers = now, drive.by_after(now.values)
    if answers is None:
        answers = drive.by_before(now.values)
        held = now.register(draft, Meaning("state for", of=(target,)))
        if held:
            state = Finite((draft.look_back(held),), {(q,): q for q in now.all_rows.values()})
    bos = drive.automaton.num_letters
    rows: dict[Row, int] = {(*row, bos): drive.at_bos for row in state.all_rows}
    for row, value in state.rows.items():
        rows |= {(*row, a): answers[value, a] for a in range(bos) if (value, a) in answers}
    return Finite((*state.inputs, letter), rows).register(draft, target)


# A plan inside a program: each kind of node is a few operations around the programs of its parts.


@singledispatch
def plan_track(plan: Plan, draft: ProgramDraft, letter: str, start: int, part: Part) -> Finite:
    """The states of the plan's automaton, driven by the register ``letter`` (BOS: number of letters)."""
    raise TypeError(f"no program for a {type(plan).__name__}")


@plan_track.register
def _(plan: HolonomyPlan, draft: ProgramDraft, letter: str, start: int, part: Part) -> Finite:
    return holonomy_track(draft, plan.cascade, letter, start, part)


@plan_track.register
def _(plan: ReachablePlan, draft: ProgramDraft, letter: str, start: int, part: Part) -> Finite:
    inner = plan_track(plan.inner, draft, letter, plan.states.index(start), part)
    return inner.renamed(plan.states.__getitem__)


@plan_track.register
def _(plan: ParallelPlan, draft: ProgramDraft, letter: str, start: int, part: Part) -> Finite:
    ways = [(*part, str(index)) for index in range(len(plan.parts))]
    tracks = [
        plan_track(side, draft, letter, labels[start], way)
        for side, labels, way in zip(plan.parts, plan.maps, ways, strict=True)
    ]
    state: dict[Row, int] = {labels: q for q, labels in enumerate(zip(*plan.maps, strict=True))}
    return joined(draft, tracks, [Meaning("state", part=way) for way in ways], state)


@plan_track.register
def _(plan: SerialPlan, draft: ProgramDraft, letter: str, start: int, part: Part) -> Finite:
    blocks = plan_track(plan.quotient, draft, letter, plan.blocks[start], (*part, "block"))
    rest = plan.fiber.automaton.num_letters
    drive = Drive(plan.quotient.automaton, lambda block, a: plan.drive[block][a], rest)
    inner = driven(draft, blocks, letter, drive, Meaning("drive", part=part))
    places = plan_track(plan.fiber, draft, inner, plan.labels[start], (*part, "fibre"))
    state: dict[Row, int] = {pair: q for q, pair in enumerate(zip(plan.blocks, plan.labels, strict=True))}
    meanings = [Meaning(kind, part=part) for kind in ("block", "place in block")]
    return joined(draft, [blocks, places], meanings, state)


@plan_track.register
def _(plan: ErrorBitPlan, draft: ProgramDraft, letter: str, start: int, part: Part) -> Finite:
    if start == plan.sink:
        return Finite((), {(): start})
    first = plan.states.index(start)
    inner = plan_track(plan.inner, draft, letter, first, (*part, "legal"))
    drive = Drive(plan.inner.automaton, lambda q, a: int(plan.errors[q, a]), 0)
    error = driven(draft, inner, letter, drive, Meaning("error", part=part))
    bit = draft.ever(error, Meaning("failed", part=part))
    legal = {(0, *row): plan.states[value] for row, value in inner.rows.items()}
    other = {(0, *row): plan.states[value] for row, value in inner.elsewhere.items()}
    return Finite((bit, *inner.inputs), legal | {(1, *row): plan.sink for row in inner.rows}, other)


@plan_track.register
def _(plan: ClampedCounterPlan, draft: ProgramDraft, letter: str, start: int, part: Part) -> Finite:
    if has_unit_steps(plan):
        return clamped_track(plan, draft, letter, start, part, range(len(plan.line)))
    return holonomy_track(draft, holonomy_cascade(plan.automaton), letter, start, part)


@plan_track.register
def _(plan: StackPlan, draft: ProgramDraft, letter: str, start: int, part: Part) -> Finite:
    return stack_track(plan, draft, letter, start, part)


# Plans of an automaton as programs, and the shallowest of them.


def plan_program(plan: Plan, *, lagged: bool = False, flat: bool = False) -> Program:
    """The program of a plan, from the start state of its automaton.

    ``lagged``: cascades keep stage sets of several positions back instead of looking back.
    ``flat``: MLPs of few hidden layers rather than few units.
    """
    automaton = plan.automaton
    letters = automaton.num_letters
    nodes = (node for _, node in plan.walk() if isinstance(node, ClampedCounterPlan) and has_unit_steps(node))
    pads = (len(padding_steps(len(node.line), place)) for node in nodes for place in node.line)
    draft = ProgramDraft(letters, 1 + max(pads, default=0), lagged, flat)
    letter = draft.source(Meaning("letter"), range(letters), letters)
    if isinstance(plan, ClampedCounterPlan) and has_unit_steps(plan):
        after = clamped_track(plan, draft, letter, automaton.start, (), automaton.outputs)
    else:
        after = plan_track(plan, draft, letter, automaton.start, ())
    if not after.inputs:
        state = after.rows[()]
        name = draft.source(Meaning("state"), [state] * letters, state)
        return draft.finish((name,), {(state,): state}, automaton)
    return draft.finish(after.inputs, after.rows, automaton, after.elsewhere)


# A holonomy cascade inside a program.


def holonomy_track(draft: ProgramDraft, cascade: Cascade, letter: str, start: int, part: Part) -> Finite:
    """The states of the cascade's automaton, driven by the register ``letter`` (BOS: number of letters)."""
    levels = cascade_levels(cascade, start)
    if draft.lagged:
        stages = _lag(draft, levels, letter, part)
    else:
        stages = Finite((), {(): 0})
        for level in levels:
            meaning = Meaning("stage", part=part, level=level.number)
            stages = _LevelWriter(draft, level, letter, meaning, stages).following()
    masks = cascade.skeleton.masks
    return stages.renamed(lambda number: masks[number].bit_length() - 1)


def _lag(draft: ProgramDraft, levels: list[CascadeLevel], letter: str, part: Part) -> Finite:
    """All levels with stage sets of several positions back, so that no level waits for a look-back.

    A level that depends on the set before the letter turns sets 0 … m back into sets 0 … m − 1 back. Only the
    letters are looked up, once, 1 … m back: depth D + 1 instead of 2D − 1, for O(D²) memory heads.
    """
    lags = sum(level.needs_before and not level.is_constant for level in levels)
    letters = [letter, *(draft.look_back(letter, lag) for lag in range(1, lags + 1))]
    stages = [Finite((), {(): 0})] * (lags + 1)
    for level in levels:
        shift = int(level.needs_before and not level.is_constant)
        meanings = [Meaning("stage", part=part, level=level.number, lag=lag) for lag in range(len(stages))]
        held = [_held(draft, stage, meaning) for stage, meaning in zip(stages, meanings, strict=True)]
        stages = [
            _LevelWriter(draft, level, letters[lag], meanings[lag], held[lag], held[lag + shift]).following()
            for lag in range(len(held) - shift)
        ]
    return stages[0]


def _held(draft: ProgramDraft, stages: Finite, meaning: Meaning) -> Finite:
    """Stage sets in a register, numbered from 0."""
    place = {number: index for index, number in enumerate(sorted(stages.values))}
    held = stages.renamed(place.__getitem__).register(draft, meaning)
    return Finite((held,) if held else (), {(i,) if held else (): n for n, i in place.items()})


@dataclass
class _LevelWriter:
    """Writes one level; ``stages`` are its stage sets, by their numbers in the skeleton.

    ``earlier`` are those before the letter, where they are known without a look-back; ``stage`` is the
    meaning of a register that holds the stage sets.
    """

    draft: ProgramDraft
    level: CascadeLevel
    letter: str
    stage: Meaning
    stages: Finite
    earlier: Finite | None = None

    def _meaning(self, kind: str) -> Meaning:
        return replace(self.stage, kind=kind)

    def following(self) -> Finite:
        """The stage sets of the next level."""
        level, draft = self.level, self.draft
        if level.is_constant:
            return self.stages.renamed(self._initial_tile)
        after, before = self._stage()
        if level.clock is not None:
            return self._by_the_clock(after, before, level.clock)
        several = len(level.towers) > 1
        groups = [
            RunningCounters(
                replace(self.stage, group=n if several else None),
                tower,
                sorted(level.moves[n] | {identity(tower.degree)}),
            )
            for n, tower in level.towers.items()
        ]
        # Where the actions wait for a look-back, sums of known values need not.
        potentials = self._potentials() if level.needs_before and self.earlier is None else []
        if potentials:
            self._actions(after, before, [])
            for group, parts in zip(groups, potentials, strict=True):
                self._count_ahead(after, group, parts)
        else:
            self._actions(after, before, groups)
            for group in groups:
                count(draft, group)
        memory = self._memory(after, groups)
        tile = moved(draft, memory, after.renamed(level.kind), groups, self.stage, undo=False)
        return self._below(after, tile)

    def _potentials(self) -> list[list[Potential]]:
        """For each group and modulus its steps from what is known after a letter; [] if one has none."""
        level, result = self.level, []
        for number, tower in level.towers.items():
            if len(tower.sections) > 1:
                return []
            parts = []
            for place, modulus in enumerate(tower.sections[0].moduli):
                counted = {
                    triple: tower.sections[0].residues[level.move(number, triple[2], action)][place]
                    for triple, action in level.triples.items()
                    if isinstance(action, tuple) and level.cascade.skeleton.class_of[triple[2]] == number
                }
                parts.append(potential(counted, set(level.triples) - set(counted), level.start, modulus))
            result.append([part for part in parts if part is not None])
            if len(result[-1]) < len(parts):
                return []
        return result

    def _count_ahead(self, after: Finite, group: RunningCounters, parts: list[Potential]) -> None:
        """The counters of a group of one section, from steps that need no look-back."""
        draft, now = self.draft, []
        place = {number: row for row, number in after.rows.items()}
        for index, (step, part) in enumerate(zip(group.steps, parts, strict=True)):
            modulus = group.tower.sections[0].moduli[index]
            rows: dict[Row, int] = {(a, *place[s]): u for (a, s), u in part.steps.items()}
            heights: dict[Row, int] = {row: part.level.get(number, 0) for row, number in after.rows.items()}
            known = Finite((self.letter, *after.inputs), rows).register(
                draft, replace(step, kind="step ahead")
            )
            height = Finite(after.inputs, heights).register(draft, replace(step, kind="step to come"))
            terms = [(name, 1) for name in (draft.prefix_sum(known) if known else "", height) if name]
            now.append(draft.modulo(terms, modulus, group.counter(index)))  # 0 at BOS: no constant is lost
        group.now, group.section = tuple(now), 1

    def _by_the_clock(self, after: Finite, before: Finite, move: Permutation) -> Finite:
        """Between resets every letter does the same: a reset leaves tile and place, and nothing is counted.

        The place is fetched unchanged, not multiplied into the tile: so no layer is needed before the head.
        """
        self._actions(after, before, [])
        period = order(move)
        clock = Meaning("position from 0", modulus=period)
        place = self.draft.places(clock, (0,), (*range(1, period), 0))
        flag, target = self._meaning("reset").name, self._meaning("target").name
        result = self.draft.latest_write(flag, target, self._meaning("memory"))
        where = replace(self.stage, kind="place of reset", modulus=period)
        then = self.draft.latest_write(flag, place, where)
        rows: dict[Row, int] = {}
        for x in range(self.level.num_tiles):
            image = x
            for past in range(period):
                rows |= {(x, r, (r + past) % period): image for r in range(period)}
                image = move[image] if image < len(move) else image
        return self._below(after, Finite((result, then, place), rows))

    def _initial_tile(self, stage: int) -> int:
        tiles = self.level.tiles(stage)
        return tiles[self.level.initial] if tiles else stage

    def _stage(self) -> tuple[Finite, Finite]:
        """The stage sets in registers, numbered from 0; before the letter only if the actions need it."""
        level, draft = self.level, self.draft
        after = _held(draft, self.stages, self.stage)
        if not level.needs_before:
            return after, Finite((), {(): level.start})
        if self.earlier is not None:
            return after, self.earlier
        earlier = draft.look_back(after.inputs[0])
        return after, Finite((earlier,), after.rows)

    def _actions(self, after: Finite, before: Finite, groups: list[RunningCounters]) -> None:
        """One table from (set before, letter, set after) to flag, target, and the letters of the groups."""
        level = self.level
        place_after = {number: row for row, number in after.rows.items()}
        place_before = {number: row for row, number in before.rows.items()} if level.needs_before else {}
        inputs = (*(before.inputs if level.needs_before else ()), self.letter, *after.inputs)
        rows: dict[Row, Row] = {}
        for (old, letter, new), action in level.triples.items():
            row = (*place_before.get(old, ()), letter, *place_after[new])
            target = action if isinstance(action, int) else 0  # 0 is not read
            written = letter == level.bos or isinstance(action, int)
            pairs = zip(groups, level.towers if groups else (), strict=True)
            moves = [value for group, n in pairs for value in group.values(level.move(n, new, action))]
            rows[row] = (int(written), target, *moves)
        outputs = [self._meaning("reset"), self._meaning("target")]
        self.draft.table(inputs, (*outputs, *(each for group in groups for each in group.outputs())), rows)

    def _memory(self, after: Finite, groups: list[RunningCounters]) -> Finite:
        """What the memory head finds: the last w = target·G⁻¹; without resets always the initial tile."""
        level, draft = self.level, self.draft
        if not level.has_resets:
            return Finite((), {(): level.initial})
        target = register_value(self._meaning("target").name, set(range(level.num_tiles)))
        written = moved(draft, target, after.renamed(level.kind), groups, self.stage, undo=True)
        held = written.register(draft, self._meaning("written"))
        result = draft.latest_write(self._meaning("reset").name, held, self._meaning("memory"))
        return register_value(result, set(range(level.num_tiles)))

    def _below(self, stage: Finite, tile: Finite) -> Finite:
        """The stage set one level down: the tile of an active set, the same set otherwise."""
        many = len(stage.rows) > 1 and len(tile.inputs) > 1
        if many:
            tile = register_value(tile.register(self.draft, self._meaning("tile")), tile.values)
        rows: dict[Row, int] = {}
        for row, number in stage.rows.items():
            tiles = self.level.tiles(number)
            for values, x in tile.rows.items():
                if not tiles or x < len(tiles):
                    rows[(*row, *values)] = tiles[x] if tiles else number
        return Finite((*stage.inputs, *tile.inputs), rows)
