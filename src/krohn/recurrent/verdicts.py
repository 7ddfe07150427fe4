"""Which family of sequence models can track an automaton, under which assumptions, and why.

For recurrent layers "finite precision" means that finitely many vectors are ever reached. Then a channel of
a diagonal layer moves finitely many numbers by maps x ↦ a x + b, and its groups are trivial (0 ≤ a ≤ 1), of
order at most two (−1 ≤ a ≤ 1) or cyclic (complex a, |a| ≤ 1). A stack of layers is a cascade of such
channels, so by Krohn and Rhodes its groups are trivial, 2-groups or solvable, at every depth. The layers
are upper bounds: one for each step of a series of each level's group, along the levels of the holonomy
cascade. Every row says what it assumes, and whether fewer layers are known not to suffice.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

from krohn.algebra.analysis import Algebra
from krohn.algebra.group_names import group_family
from krohn.algebra.permgroup import PermutationGroup
from krohn.algebra.transition_semigroup import list_elements
from krohn.automata.quotients import reachable
from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.portable import UNITS, Budget
from krohn.cascade.holonomy import Cascade, derived_length, holonomy_cascade
from krohn.errors import LimitExceeded, Unsupported
from krohn.recurrent.delta_weights import in_columns
from krohn.recurrent.family_verdict import FINITE, FamilyVerdict, able, unable
from krohn.recurrent.obstructions import any_group, not_solvable, not_two_group
from krohn.recurrent.one_step import block_length, reflect
from krohn.recurrent.small_action import small_action, swaps_and_merges
from krohn.recurrent.transformer_rows import transformer_rows

MAX_STATES = 300
"""Most states for which the cascade is built to count layers."""
MAX_ELEMENTS = 5_000
"""Largest semigroup searched for pairs of idempotents."""
MAX_IMAGES = 40_000_000
"""Images of states, of all elements times all letters, that this search may compute."""

SARROF = "Sarrof, Veitsman, Hahn 2024 (arXiv 2405.17394)"
GRAZZI = "Grazzi et al. 2025 (arXiv 2411.12537)"
SHAKERINAVA = "Shakerinava et al. 2026 (arXiv 2603.01959)"
SIEMS = "Siems et al. 2025 (arXiv 2502.10297)"
TERZIC = "Terzić et al. 2025 (arXiv 2509.22284)"
OURS = "proved in docs/proofs.md of the repository"

SHIFTED = f"{FINITE}; a layer also sees the letter before"
_OF_SOLIDS = (("S", 3), ("A", 4), ("S", 4), ("A", 5))
"""Groups of rotations of space beside cyclic and dihedral ones: S3, which is D6, and those of solids."""


def verdicts(
    automaton: Semiautomaton, analysis: Algebra, transformer_layers: int | None = None
) -> tuple[FamilyVerdict, ...]:
    """A row per family, from the weakest to the strongest; the Transformer's layers are given, if known.

    Only the states reachable from the start need to be tracked.
    """
    return _Rows(reachable(automaton), analysis.reached or analysis, transformer_layers).rows()


class _Rows:
    def __init__(self, automaton: Semiautomaton, analysis: Algebra, transformer_layers: int | None) -> None:
        self.automaton, self.analysis, self.known = automaton, analysis, transformer_layers
        self.cascade = _cascade(automaton)
        self.pair = None if analysis.is_group else idempotent_pair(automaton)  # a group has one idempotent

    def rows(self) -> tuple[FamilyVerdict, ...]:
        states, letters = self.automaton.num_states, self.automaton.num_letters
        units = f"{states * letters + 1} units: one for each state and letter, one for the start"
        column = "each letter is a matrix with a single 1 in each column"
        result = (
            self.diagonal("diagonal [0, 1]", any_group(self.analysis), _one, SARROF),
            self.diagonal("diagonal [-1, 1]", not_two_group(self.analysis), two_series, GRAZZI),
            self.diagonal("diagonal complex", not_solvable(self.analysis), derived_steps, SHAKERINAVA),
            self.diagonal("DeltaNet [0, 1]", any_group(self.analysis), _one, GRAZZI),
            self.deltanet(),
            self.deltaproduct(),
            self.rankone(),
            able("PD-SSM", f"{column}, {states} dimensions", TERZIC, layers=1),
            able("LSTM", units, OURS, layers=1),
            able("GRU", units, OURS, layers=1),
            *transformer_rows(self.automaton, self.analysis, self.known),
        )
        return tuple(replace(row, least=True) if row.layers == 1 else row for row in result)

    @cached_property
    def points(self) -> tuple[tuple[int, ...], ...]:
        """A group's letters as permutations of few points."""
        return small_action(self.automaton.letters)

    def swaps(self) -> int:
        """The most transpositions that a letter of a group takes."""
        return max(len(swaps_and_merges(letter)) for letter in self.points)

    def layers(self, of_group: Callable[[PermutationGroup], int]) -> int | None:
        """Σ over the levels of what the longest tower of a component needs."""
        if self.cascade is None:
            return None
        return sum(
            max(of_group(part.group) for part in self.cascade.components if part.level == level)
            for level in range(self.cascade.num_levels)
        )

    def diagonal(
        self, name: str, obstacle: str | None, of_group: Callable[[PermutationGroup], int], source: str
    ) -> FamilyVerdict:
        if obstacle is not None:
            return unable(name, obstacle, source)
        how = "a layer for each step of the groups' series, along the cascade"
        least = self.analysis.is_group and name.startswith("diagonal")
        return able(name, how, source, layers=self.layers(of_group), assumptions=SHIFTED, least=least)

    def deltanet(self) -> FamilyVerdict:
        name = "DeltaNet [0, 2]"
        if self.analysis.is_group and self.swaps() <= 1:
            how = "every letter is a transposition: one reflection"
            return able(name, how, SIEMS, layers=1)
        built, how = self.built_deltanet()
        known, why = self.published_deltanet()
        if known is not None and (built is None or known < built):
            have = "" if built is None else f"; the construction here takes {built}"
            return able(name, f"{why}, as published{have}", SIEMS, layers=known, assumptions=SHIFTED)
        return able(name, how, OURS, layers=built, assumptions=SHIFTED)

    def built_deltanet(self) -> tuple[int | None, str]:
        """Layers of the constructions in docs/proofs.md, and how they work."""
        if not_two_group(self.analysis) is None:
            how = "reflections along one direction are the signs of real diagonal layers"
            return self.layers(two_series), how
        counting = self.counting_layers()
        if counting is not None:
            how = "counters modulo 2 and 3 along the cascade; modulo 3, x becomes −x + c, which is one swap"
            return counting, how
        block, levels = self.block_and_levels()
        if block is None or levels is None:
            return None, "blocks of letters, along the cascade"
        how = f"blocks of {block} letters: the work of one is done, a step a letter, while the next is read"
        return block.bit_length() - 1 + levels * (block + 1), how

    def published_deltanet(self) -> tuple[int | None, str]:
        """Layers with one step per letter proved to suffice in the literature, for two families of groups."""
        if not (self.analysis.is_group and self.analysis.groups):
            return None, ""
        name, family = self.analysis.groups[0].name, group_family(self.analysis.groups[0].group)
        if family[0] == "D" or family == ("S", 3):
            return 2, f"{name} is a dihedral group: two layers"
        return (4, f"{name} is a symmetric group: four layers") if family[0] == "S" else (None, "")

    def _is_of_rotations(self) -> bool:
        """Whether the group is one of rotations of space: cyclic, dihedral, or that of a solid."""
        family = group_family(self.analysis.groups[0].group)
        return family[0] in ("C", "D") or family in _OF_SOLIDS

    def counting_layers(self) -> int | None:
        """Layers of DeltaNet if counters modulo 2 and 3 suffice."""
        factors = {factor for subgroup in self.analysis.groups for factor in subgroup.factors}
        if self.cascade is None or factors - {"C2", "C3"}:
            return None
        try:
            return len(reflect(self.cascade).machine.start)
        except (LimitExceeded, Unsupported):
            return None

    def block_and_levels(self) -> tuple[int | None, int | None]:
        """Letters in a block whose work is one step per letter, and levels of the cascade."""
        if self.analysis.is_group:
            try:
                return block_length(in_columns(self.automaton)), 1
            except LimitExceeded:
                return None, None
        if self.cascade is None:
            return None, None
        longest = max(1, *(size - 1 for size in self.cascade.sizes))
        return 1 << (longest - 1).bit_length(), self.cascade.num_levels

    def deltaproduct(self) -> FamilyVerdict:
        name = "DeltaProduct"
        if self.analysis.is_group:
            swaps = max(1, self.swaps())
            if swaps > 2 and self._is_of_rotations():  # the trivial group has no row there
                group = self.analysis.groups[0].name
                how = f"each letter as two reflections: {group} is a group of rotations of space"
                return able(name, how, SIEMS, layers=1, steps=2)
            how = f"each letter as reflections that swap two of {len(self.points[0])} points"
            return able(name, how, SIEMS, layers=1, steps=swaps)
        how = "one layer for each level of the cascade"
        if self.cascade is None:
            return able(name, how, OURS, layers=None, steps=None)
        levels, steps = self.cascade.num_levels, max(1, *(size - 1 for size in self.cascade.sizes))
        how += "; resets by the gate"
        if levels > 1 and self.pair is not None:
            first, second = (" ".join(self.automaton.letter_names[a] for a in word) for word in self.pair)
            how += f"; not one layer with a fixed margin: {first} and {second} are idempotents with one image"
        return able(name, how, OURS, layers=levels, steps=steps)

    def rankone(self) -> FamilyVerdict:
        steps = max(1, *(len(swaps_and_merges(letter)) for letter in self.automaton.letters))
        how = "each letter as swaps and merges of two states"
        product = self.deltaproduct()
        if product.layers == 1 and product.steps is not None and product.steps < steps:
            steps, how = product.steps, "as DeltaProduct, whose steps are a special case"
        if steps > 1:
            how += "; RWKV-7 itself takes one step for each letter"
        return able("rank-one (RWKV-7)", how, OURS, layers=1, steps=steps)


def _cascade(automaton: Semiautomaton) -> Cascade | None:
    if automaton.num_states > MAX_STATES:
        return None
    try:
        return holonomy_cascade(automaton, budget=Budget(UNITS))
    except LimitExceeded:
        return None


def _one(group: PermutationGroup) -> int:
    return 1


def derived_steps(group: PermutationGroup) -> int:
    """Steps of the derived series: the shortest with abelian sections."""
    return max(1, derived_length(group))


def two_series(group: PermutationGroup) -> int:
    """Steps of the shortest series of a 2-group whose sections are powers of C2."""
    steps = 0
    while not group.is_trivial:
        # Squares and commutators generate the least normal subgroup whose quotient is a power of C2 (for a
        # 2-group the Frattini subgroup). So no series with such sections is shorter.
        squares = [tuple(g[g[i]] for i in range(group.degree)) for g in group.generators]
        group = group.normal_closure([*group.derived_subgroup().generators, *squares])
        steps += 1
    return max(1, steps)


def idempotent_pair(automaton: Semiautomaton) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Words for two different idempotents with the same image of two or more states, if any."""
    try:
        elements = list_elements(automaton.letters, min(MAX_ELEMENTS, MAX_IMAGES // automaton.table.size))
    except LimitExceeded:
        return None
    first: dict[frozenset[int], int] = {}
    for index in elements.idempotents:
        image = frozenset(elements[index])
        if len(image) > 1 and first.setdefault(image, index) != index:
            return elements.word(first[image]), elements.word(index)
    return None
