"""The counters of a group as layers, and the coordinate of a level: a value in memory that they move."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from krohn.algebra.permgroup import CounterTower, Residues
from krohn.algebra.transformation import Permutation, inverse
from krohn.cascade.holonomy import Triple
from krohn.construct.tight.draft import Finite, ProgramDraft
from krohn.network.register_meaning import Meaning

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
    """Counts every section: a uniform head (shared with all others of its layer), residues, next letters."""
    for section in group.tower.sections:
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
