"""The result of ``krohn.decompose``: a proved plan, its baseline, and what each pass saved."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from krohn.automata.semiautomaton import Semiautomaton, Word, letter_numbers
from krohn.automata.simulation import checked_words
from krohn.cascade.bulk import States, Words
from krohn.cascade.cascade_data import plan_as_dict
from krohn.cascade.cascade_picture import cascade_picture
from krohn.cascade.group_order import UNSOLVABLE_LAYERS
from krohn.cascade.holonomy import Cascade
from krohn.cascade.plan import Component, Coordinates, Plan


@dataclass(frozen=True, slots=True)
class PassReport:
    """What one pass saved, with all passes before it switched on.

    ``levels`` and ``layers`` are those of the best plan with this pass; ``layers`` is None while some
    group is not solvable.
    """

    name: str
    levels: int
    layers: int | None
    levels_saved: int
    layers_saved: int


@dataclass(frozen=True, eq=False, repr=False)
class Decomposition:
    """The result of ``decompose``: the chosen plan, the plain cascade as baseline, the passes.

    Attributes:
        automaton: the automaton that was decomposed.
        plan: the chosen plan; its nodes are proved, and it can simulate words in bulk.
        cascade: the plain holonomy cascade; None if its family of sets is past the limit.
        passes: what each pass saved, with ``explain``.
    is_complete: whether the search finished within its budget.
    layers: layers of the plan's network under ``mask``; None if it has no network.
        mask: ``causal`` or ``strict``.
    """

    automaton: Semiautomaton
    plan: Plan
    cascade: Cascade | None
    passes: tuple[PassReport, ...] = ()
    is_complete: bool = True
    layers: int | None = None
    mask: str = "causal"

    def __repr__(self) -> str:
        counted = {"level": self.levels, "component": len(self.components), "layer": self.layers}
        sizes = ", ".join(f"{n} {what}{'s' * (n != 1)}" for what, n in counted.items() if n is not None)
        sizes += ", no layers: not solvable" * (self.layers is None)
        return f"<Decomposition of {self.automaton.name or 'an automaton'}: {sizes}>"

    @property
    def levels(self) -> int:
        """Levels of the chosen plan."""
        return self.plan.levels

    @property
    def components(self) -> tuple[Component, ...]:
        """Components of the chosen plan, by level."""
        return self.plan.components

    @property
    def covering_checked(self) -> bool:
        """Always true: an unproved decomposition cannot be constructed."""
        return self.plan.covering_checked

    @property
    def is_solvable(self) -> bool:
        """Whether all groups of the chosen plan are solvable."""
        return self.plan.is_solvable

    def simulate(self, words: Words | Iterable[Word], start: int | None = None) -> States:
        """States after each letter, for words of shape (batch, length) or of names, computed by the plan."""
        return self.plan.simulate(checked_words(self.automaton, words), self.automaton.first(start))

    @property
    def initial(self) -> Coordinates:
        """The coordinates of the start state."""
        return self.coordinates(self.automaton.start)

    def coordinates(self, state: int) -> Coordinates:
        """Coordinates of a state in the chosen plan, plain or shortened."""
        return self.plan.coordinates(state)

    def state(self, coordinates: Coordinates) -> int:
        """The covering map: the state that the coordinates stand for."""
        return self.plan.state(coordinates)

    def step(self, coordinates: Coordinates, letter: int | str) -> Coordinates:
        """The coordinates after one letter, given by its number or its name."""
        (number,) = letter_numbers([letter], self.automaton.letter_names)
        return self.plan.step(coordinates, number)

    def as_dict(self) -> dict[str, Any]:
        """The decomposition as plain data, ready for JSON."""
        plain = self.cascade
        return {
            "name": self.automaton.name,
            "num_states": self.automaton.num_states,
            "num_letters": self.automaton.num_letters,
            "levels": self.levels,
            "layers": self.layers,
            "mask": self.mask,
            "plain_levels": None if plain is None else plain.num_levels,
            "is_solvable": self.is_solvable,
            "covering_checked": self.covering_checked,
            "search_complete": self.is_complete,
            **plan_as_dict(self.plan),
            "passes": [
                {name: getattr(report, name) for name in PassReport.__slots__} for report in self.passes
            ],
        }

    @cached_property
    def _svg(self) -> str:
        return cascade_picture(self.plan)

    def _repr_svg_(self) -> str:
        return self._svg


def pass_report(name: str, before: Plan, after: Plan) -> PassReport:
    """What a pass saved, from the best plan without it to the best plan with it."""
    layers = (_finite(before.layers), _finite(after.layers))
    saved = layers[0] - layers[1] if layers[0] is not None and layers[1] is not None else 0
    return PassReport(name, after.levels, layers[1], before.levels - after.levels, saved)


def _finite(layers: int) -> int | None:
    return layers if layers < UNSOLVABLE_LAYERS else None
