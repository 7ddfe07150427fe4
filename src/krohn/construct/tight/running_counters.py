"""The counters of a group as layers: one uniform head per section, residues, the letters of the next, and the
coordinates that are read off them.
"""

from dataclasses import dataclass, replace

from krohn.algebra.counters import CounterTower, Residues
from krohn.algebra.transformation import Permutation
from krohn.construct.tight.draft import ProgramDraft
from krohn.network.program import Meaning


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
