"""Running counters of a group, and the coordinates that are read off them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from krohn.algebra.permutation import Permutation, identity, inverse
from krohn.algebra.solvable import CounterTower, Residues
from krohn.construct.tight.draft import ProgramDraft
from krohn.construct.tight.finite import Finite

# The counters of a group as layers: one uniform head per section, residues, and the letters of the next.


@dataclass
class RunningCounters:
    """One group's counters inside a program: names of what is known so far.

    ``letters`` are the elements that can still come, ``letter`` the register with their number,
    ``steps`` the registers with their residues in the next section. ``now`` and ``before`` are the
    counters after and before the letter (``before`` only under a strict mask).
    """

    name: str
    tower: CounterTower
    letters: list[Permutation]
    section: int = 0
    now: tuple[str, ...] = ()
    before: tuple[str, ...] = ()

    @property
    def letter(self) -> str:
        """The register that holds the number of the current section's letter."""
        return f"{self.name} section {self.section + 1} letter"

    @property
    def steps(self) -> tuple[str, ...]:
        """The registers that hold its residues."""
        return tuple(self._named("step", index) for index in range(len(self._moduli)))

    def counter(self, index: int) -> str:
        """The register that counts the steps of the current section."""
        return self._named("count", index)

    def _named(self, what: str, index: int) -> str:
        which = f" no. {index + 1}" if len(self._moduli) > 1 else ""
        return f"{self.name} section {self.section + 1} {what} mod {self._moduli[index]}{which}"

    @property
    def _moduli(self) -> Residues:
        return self.tower.sections[self.section].moduli

    @property
    def is_done(self) -> bool:
        """Whether every section has been counted."""
        return self.section == len(self.tower.sections)

    def outputs(self) -> tuple[str, ...]:
        """The registers a table of actions must write for this group."""
        return (self.letter, *self.steps)

    def values(self, element: Permutation) -> tuple[int, ...]:
        """What it must write for a group element."""
        return (self.letters.index(element), *self.tower.sections[self.section].residues[element])


def running(name: str, tower: CounterTower, elements: set[Permutation]) -> RunningCounters:
    """Counters about to start, for the given letters; the identity is always among them."""
    return RunningCounters(name, tower, sorted(elements | {identity(tower.degree)}))


def count(draft: ProgramDraft, group: RunningCounters) -> None:
    """Counts every section: a uniform head (shared with all others of its layer), residues, next letters."""
    while not group.is_done:
        _count_section(draft, group)


def _count_section(draft: ProgramDraft, group: RunningCounters) -> None:
    section = group.tower.sections[group.section]
    now, before = [], []
    for index, (step, modulus) in enumerate(zip(group.steps, section.moduli, strict=True)):
        counter = group.counter(index)
        total = draft.prefix_sum(step)
        if draft.strict:
            before.append(draft.modulo([(total, 1)], modulus, f"{counter} before"))
            now.append(draft.modulo([(total, 1), (step, 1)], modulus, counter))
        else:
            now.append(draft.modulo([(total, 1)], modulus, counter))
    letter, letters = group.letter, group.letters
    group.now, group.before = (*group.now, *now), (*group.before, *before)
    group.section += 1
    if group.is_done:
        return
    following: dict[tuple[int, ...], Permutation] = {}
    for number, element in enumerate(letters):
        for residues in section.transversal:
            after, inner = section.next_letter(residues, element)
            following[(number, *(residues if draft.strict else after))] = inner
    group.letters = sorted(set(following.values()))
    rows = {row: group.values(inner) for row, inner in following.items()}
    draft.table((letter, *(before if draft.strict else now)), group.outputs(), rows)


# The coordinate of a permutation-reset level: a value in memory, moved by the counters of its group.
#
# At a reset at time r the value written is w = target·G_r⁻¹; later the coordinate is w·G_t. One small integer
# is copied, whatever the group (the permutation-reset lemma copies a whole representation). A change of class
# is always a reset, so all classes of a level share one memory; ``kind`` says whose counters apply.


@dataclass(frozen=True)
class CounterReading:
    """The registers of one class's counters at the moment that is meant (after or before the letter)."""

    tower: CounterTower | None
    counters: tuple[str, ...]


def moved(
    draft: ProgramDraft,
    value: Finite,
    kind: Finite,
    readings: Sequence[CounterReading],
    name: str,
    *,
    undo: bool,
) -> Finite:
    """value·G, or value·G⁻¹, with G the product held by the counters of that kind; kind 0 leaves it."""
    kinds = sorted(kind.values)
    if len(kinds) == 1:
        return value if kinds == [0] else _through(value, readings[kinds[0] - 1], undo)
    which, held = kind.register(draft, f"{name} kind"), value.register(draft, f"{name} value")
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
        parts.append(part.register(draft, f"{name} by kind {number}"))
    top = max(draft.registers[part].high for part in parts if part)
    total = draft.linear([(part, 1) for part in parts if part], 0, (0, top), draft.fresh(f"{name} tile"))
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
