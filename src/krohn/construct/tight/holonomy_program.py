"""A holonomy cascade inside a program: a few operations for each of its levels."""

from dataclasses import dataclass, field, replace

from krohn.algebra.transformation import Permutation, identity, order
from krohn.cascade.holonomy import Cascade
from krohn.cascade.levels import CascadeLevel, cascade_levels
from krohn.construct.tight.draft import Part, ProgramDraft
from krohn.construct.tight.finite import Finite, register_value
from krohn.construct.tight.moved_coordinate import moved
from krohn.construct.tight.potential import Potential, potential
from krohn.construct.tight.running_counters import RunningCounters, count
from krohn.network.operations import Row
from krohn.network.program import Meaning


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


def _lag(draft: ProgramDraft, levels: tuple[CascadeLevel, ...], letter: str, part: Part) -> Finite:
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
        known: Actions = {}
        stages = [
            _LevelWriter(
                draft, level, letters[lag], meanings[lag], held[lag], held[lag + shift], known
            ).following()
            for lag in range(len(held) - shift)
        ]
    return stages[0]


def _held(draft: ProgramDraft, stages: Finite, meaning: Meaning) -> Finite:
    """Stage sets in a register, numbered from 0."""
    place = {number: index for index, number in enumerate(sorted(stages.values))}
    held = stages.renamed(place.__getitem__).register(draft, meaning)
    return Finite((held,) if held else (), {(i,) if held else (): n for n, i in place.items()})


Actions = dict[tuple[object, ...], dict[Row, Row]]
"""Tables of a level's actions by what decides them: they are the same for every lag."""


@dataclass
class _LevelWriter:
    """Writes one level; ``stages`` are its stage sets, by their numbers in the skeleton.

    ``earlier`` are those before the letter, where they are known without a look-back; ``stage`` is the
    meaning of a register that holds the stage sets; ``known`` are tables that were listed before.
    """

    draft: ProgramDraft
    level: CascadeLevel
    letter: str
    stage: Meaning
    stages: Finite
    earlier: Finite | None = None
    known: Actions = field(default_factory=dict)

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
        key = (*map(tuple, (place_before.items(), place_after.items())), bool(groups))
        if key not in self.known:
            self.known[key] = self._listed(place_before, place_after, groups)
        rows = self.known[key]
        outputs = [self._meaning("reset"), self._meaning("target")]
        self.draft.table(inputs, (*outputs, *(each for group in groups for each in group.outputs())), rows)

    def _listed(
        self, place_before: dict[int, Row], place_after: dict[int, Row], groups: list[RunningCounters]
    ) -> dict[Row, Row]:
        """The rows of that table: what each letter does between two stage sets."""
        level, rows, bos = self.level, dict[Row, Row](), self.level.bos
        pairs = list(zip(groups, level.towers, strict=True)) if groups else []
        for (old, letter, new), action in level.triples.items():
            target = action if isinstance(action, int) else 0  # 0 is not read
            written = letter == bos or isinstance(action, int)
            moves = [value for group, n in pairs for value in group.values(level.move(n, new, action))]
            rows[*place_before.get(old, ()), letter, *place_after[new]] = (int(written), target, *moves)
        return rows

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
