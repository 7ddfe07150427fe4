"""One level of a cascade as the network needs it: stage sets, actions, classes with their counters.

A level sees three small numbers: the stage set before the letter, the letter, and the stage set after it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from krohn.algebra.solvable import CounterTower, Residues, counter_tower
from krohn.algebra.transformation import Permutation, identity, inverse
from krohn.cascade.holonomy import Cascade, Update
from krohn.construct.tight.draft import Finite, ProgramDraft
from krohn.network.register_meaning import Meaning

Triple = tuple[int, int, int]


@dataclass(frozen=True, eq=False)
class CascadeLevel:
    """One level: every (set before, letter, set after) that can occur and what it does to the coordinate.

    The letter ``num_letters`` is the beginning of the sequence, which resets to the initial coordinate.
    An action is a reset (int), a permutation of tiles, or ``None`` where the level is inactive.
    """

    number: int
    cascade: Cascade
    triples: dict[Triple, Update | None]
    start: int
    initial: int

    @cached_property
    def sets(self) -> dict[int, int]:
        """Stage sets of the level, numbered from 0."""
        used = {s for before, _, after in self.triples for s in (before, after)}
        return {number: index for index, number in enumerate(sorted(used))}

    @cached_property
    def num_tiles(self) -> int:
        """The number of values of the coordinate."""
        return self.cascade.sizes[self.number]

    def tiles(self, stage: int) -> tuple[int, ...]:
        """The tiles of a stage set that is active at this level, () for any other."""
        frame = self.cascade.skeleton
        return frame.tiles[stage] if frame.depth[stage] == self.number else ()

    @cached_property
    def has_resets(self) -> bool:
        """Whether some letter resets the coordinate."""
        return any(isinstance(action, int) and a != self.bos for (_, a, _), action in self.triples.items())

    @cached_property
    def reached(self) -> frozenset[int]:
        """The values the coordinate can take, from its initial value on."""
        values = {self.initial}
        while True:
            more = {self.after(action, x) for action in self.triples.values() for x in values}
            if more - {None} <= values:
                return frozenset(values)
            values |= {x for x in more if x is not None}

    @property
    def is_constant(self) -> bool:
        """Whether the coordinate can never leave its initial value."""
        return len(self.reached) == 1

    def after(self, action: Update | None, value: int) -> int | None:
        """The coordinate after an action; ``None`` where it is not defined."""
        if action is None or isinstance(action, int):
            return action
        return action[value] if value < len(action) else None

    @cached_property
    def needs_before(self) -> bool:
        """Whether the action depends on the stage set before the letter, beyond letter and set after it."""
        seen: dict[tuple[int, int], Update | None] = {}
        return any(
            seen.setdefault((letter, after), action) != action
            for (_, letter, after), action in self.triples.items()
        )

    @cached_property
    def moves(self) -> dict[int, set[Permutation]]:
        """Class number → the permutations of its tiles, for the classes whose tiles are actually permuted."""
        result: dict[int, set[Permutation]] = {}
        for (_, _, after), action in self.triples.items():
            if isinstance(action, tuple) and action != identity(len(action)):
                result.setdefault(self.cascade.skeleton.class_of[after], set()).add(action)
        return dict(sorted(result.items()))

    @cached_property
    def towers(self) -> dict[int, CounterTower]:
        """Class number → the counters of its group."""
        return {number: counter_tower(sorted(m), len(next(iter(m)))) for number, m in self.moves.items()}

    @cached_property
    def clock(self) -> Permutation | None:
        """The common action of all letters but resets, if there is one: then the position counts."""
        active = {stage for _, _, stage in self.triples if self.tiles(stage)}
        actions = {action for action in self.triples.values() if isinstance(action, tuple)}
        same = len(actions) == 1 and all(self.kind(stage) == 1 for stage in active)
        return next(iter(actions)) if same and self.has_resets and self.towers else None

    def kind(self, stage: int) -> int:
        """0 where the coordinate is stored directly, c + 1 in the c-th class that has counters."""
        if not self.tiles(stage):
            return 0
        number = self.cascade.skeleton.class_of[stage]
        return 1 + list(self.towers).index(number) if number in self.towers else 0

    def move(self, number: int, after: int, action: Update | None) -> Permutation:
        """What an action adds to the counters of a class: its permutation of that class, else 1."""
        mine = isinstance(action, tuple) and self.cascade.skeleton.class_of[after] == number
        return action if mine and isinstance(action, tuple) else identity(self.towers[number].degree)

    def target(self, action: Update | None) -> int:
        """The tile a reset goes to, 0 where there is none (then it is not read)."""
        return action if isinstance(action, int) else 0

    @property
    def bos(self) -> int:
        """The letter that stands for the beginning of the sequence."""
        return self.cascade.automaton.num_letters

    def below(self, triple: Triple) -> Iterable[tuple[int, int]]:
        """The pairs of stage sets one level down."""
        before, _, after = triple
        action = self.triples[triple]
        tiles, goal = self.tiles(before), self.tiles(after)
        here = [x for x in range(len(tiles)) if x in self.reached]
        if isinstance(action, tuple):
            return ((tiles[x], goal[action[x]]) for x in here)
        target = after if action is None else goal[action]
        return ((source, target) for source in ([tiles[x] for x in here] if tiles else [before]))


def cascade_levels(cascade: Cascade, state: int) -> list[CascadeLevel]:
    """The levels from the top, started in a state; only what can follow from the levels above is listed."""
    coordinates = cascade.coordinates(state)
    letters = cascade.automaton.num_letters
    triples: set[Triple] = {(0, letter, 0) for letter in range(letters)}
    levels = []
    stages = cascade.stages(coordinates)
    for level in range(cascade.num_levels):
        start, initial = stages[level], coordinates[level]
        active = cascade.skeleton.depth[start] == level
        actions = {triple: _action(cascade, level, triple) for triple in sorted(triples)}
        # The beginning of the sequence writes the initial coordinate, whether or not it is read.
        actions[start, letters, start] = initial if active else None
        result = CascadeLevel(level, cascade, actions, start, initial)
        levels.append(result)
        triples = {
            (*pair[:1], triple[1], pair[1])
            for triple in actions
            if triple[1] < letters
            for pair in result.below(triple)
        }
    return levels


def _action(cascade: Cascade, level: int, triple: Triple) -> Update | None:
    before, letter, after = triple
    if cascade.skeleton.depth[after] != level:
        return None
    return cascade.update(before, letter, after)


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

    @property
    def is_done(self) -> bool:
        """Whether every section has been counted."""
        return self.section == len(self.tower.sections)

    def outputs(self) -> tuple[Meaning, ...]:
        """The registers a table of actions must write for this group."""
        return (self.letter, *self.steps)

    def values(self, element: Permutation) -> tuple[int, ...]:
        """What it must write for a group element; steps are as near to 0 as can be, and so are their sums."""
        residues = self.tower.sections[self.section].residues[element]
        steps = (r - n if 2 * r > n else r for r, n in zip(residues, self._moduli, strict=True))
        return (self.letters.index(element), *steps)


def running(level: Meaning, tower: CounterTower, elements: set[Permutation]) -> RunningCounters:
    """Counters about to start, for the given letters; the identity is always among them."""
    return RunningCounters(level, tower, sorted(elements | {identity(tower.degree)}))


def count(draft: ProgramDraft, group: RunningCounters) -> None:
    """Counts every section: a uniform head (shared with all others of its layer), residues, next letters."""
    while not group.is_done:
        _count_section(draft, group)


def _count_section(draft: ProgramDraft, group: RunningCounters) -> None:
    section = group.tower.sections[group.section]
    now = [
        draft.modulo([(draft.prefix_sum(step.name), 1)], modulus, group.counter(index))
        for index, (step, modulus) in enumerate(zip(group.steps, section.moduli, strict=True))
    ]
    letter, letters = group.letter.name, group.letters
    group.now = (*group.now, *now)
    group.section += 1
    if group.is_done:
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


@dataclass(frozen=True)
class CounterReading:
    """The registers of one class's counters after the letter."""

    tower: CounterTower | None
    counters: tuple[str, ...]


def moved(
    draft: ProgramDraft,
    value: Finite,
    kind: Finite,
    readings: Sequence[CounterReading],
    level: Meaning,
    *,
    undo: bool,
) -> Finite:
    """value·G, or to be written value·G⁻¹, with G what the counters of that kind hold; kind 0 leaves it."""
    kinds = sorted(kind.values)
    if len(kinds) == 1:
        return value if kinds == [0] else _through(value, readings[kinds[0] - 1], undo)
    when = "write" if undo else "now"
    which = kind.register(draft, replace(level, kind=f"{when} kind"))
    held = value.register(draft, replace(level, kind=f"{when} value"))
    values = value.values if held else {0}
    parts = []
    for number in kinds:
        reading = readings[number - 1] if number else CounterReading(None, ())
        rows = {
            (here, x, *h): (y if here == number else 0)
            for x in values
            for h, y in _images(reading, x, undo)
            for here in kinds
        }
        inputs = (which, *((held,) if held else ()), *reading.counters)
        part = Finite(inputs, rows if held else {(r[0], *r[2:]): y for r, y in rows.items()})
        parts.append(part.register(draft, replace(level, kind=f"{when} by kind", number=number)))
    top = max(draft.registers[part].high for part in parts if part)
    tile = replace(level, kind=f"{when} tile")
    total = draft.linear([(part, 1) for part in parts if part], 0, (0, top), tile)
    return Finite((total,), {(x,): x for x in range(top + 1)})


def _through(value: Finite, reading: CounterReading, undo: bool) -> Finite:
    rows = {(*row, *h): y for row, x in value.rows.items() for h, y in _images(reading, x, undo)}
    return Finite((*value.inputs, *reading.counters), rows)


def _images(reading: CounterReading, tile: int, undo: bool) -> Iterator[tuple[Residues, int]]:
    """Counter values and where they take the tile; tiles that the class does not have stay."""
    if reading.tower is None:
        yield (), tile
        return
    for residues, element in reading.tower.listed:
        move = inverse(element) if undo else element
        yield residues, move[tile] if tile < len(move) else tile
