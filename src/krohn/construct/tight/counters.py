"""The counters of a group as layers: one uniform head per section, residues, and the letters of the next."""

from dataclasses import dataclass

from krohn.algebra.permutation import Permutation, identity
from krohn.algebra.solvable import CounterTower, Residues
from krohn.construct.tight.draft import ProgramDraft


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
