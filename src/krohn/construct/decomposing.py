"""``krohn.decompose``: the Krohn–Rhodes plan that ``krohn.compile`` builds, proved and explained.

Its result has the plan, its baseline, what each pass saved, and a picture.
"""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton, check_words
from krohn.automata.words import Word
from krohn.automata.zoo import AutomatonLike, as_automaton
from krohn.base.notebook import table
from krohn.base.portable import Budget
from krohn.base.typed import plainly
from krohn.cascade.cascade_data import plan_as_dict
from krohn.cascade.holonomy import UNSOLVABLE_LAYERS, Cascade, holonomy_cascade
from krohn.cascade.image_sets import DEFAULT_MAX_SETS
from krohn.cascade.picture import cascade_picture
from krohn.cascade.plan import Component, Coordinates, HolonomyPlan, Plan, States, Words
from krohn.cascade.plan_search import PASSES, PlanSearch, cascade_plans, plain_cascade
from krohn.construct.cascade_source import built_plans, shallowest
from krohn.construct.request import DEFAULT_EFFORT, Proposal, Request
from krohn.construct.sources import shallower
from krohn.errors import Unsupported, counted


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
        cascade: the plain holonomy cascade; None if it takes more than its share of the effort.
        passes: what each pass saved, with ``explain``.
        is_complete: whether the search finished within its budget.
        layers: layers of the plan's network; None if it has no network, or is plain.
        is_plain: whether it is the holonomy cascade itself, not shortened.
        effort: how hard was searched.
    """

    automaton: Semiautomaton
    plan: Plan
    cascade: Cascade | None
    passes: tuple[PassReport, ...] = ()
    is_complete: bool = True
    layers: int | None = None
    is_plain: bool = False
    effort: float = 1.0

    def __repr__(self) -> str:
        counted = {"level": self.levels, "component": len(self.components), "layer": self.layers}
        sizes = ", ".join(f"{n} {what}{'s' * (n != 1)}" for what, n in counted.items() if n is not None)
        sizes += ", no layers: not solvable" * (not self.is_solvable)
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
        return True

    @property
    def is_solvable(self) -> bool:
        """Whether all groups of the chosen plan are solvable."""
        return self.plan.is_solvable

    def simulate(self, words: Words | Iterable[Word], start: int | None = None) -> States:
        """States after each letter of a word, or of several words of one length, computed by the plan."""
        letters = check_words(self.automaton, words)
        states = self.plan.simulate(np.atleast_2d(letters), self.automaton.first(start))
        return states.reshape(letters.shape)

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
        (number,) = self.automaton.numbers([letter])
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
            "plain_levels": None if plain is None else plain.num_levels,
            "is_solvable": self.is_solvable,
            "covering_checked": self.covering_checked,
            "search_complete": self.is_complete,
            **plan_as_dict(self.plan),
            "passes": [asdict(report) for report in self.passes],
        }

    @cached_property
    def rival(self) -> Proposal | None:
        """The plan of fewer layers that ``krohn compile`` prefers; ``None`` if it takes this cascade."""
        if self.is_plain:
            return None
        return shallower(Request(self.automaton, 1, effort=self.effort), self.layers)

    def to_json(self) -> dict[str, Any]:
        """``as_dict``, and the plan that ``krohn compile`` takes: this cascade, or one of fewer layers."""
        if self.is_plain:
            return {**self.as_dict(), "compiled": None}
        method, layers = "scan" if self.layers is None else "cascade", self.layers
        plan = [node.title for _, node in self.plan.walk()]
        if self.rival is not None:
            method, layers, plan = self.rival.method, self.rival.layers, list(self.rival.lines)
        return {**self.as_dict(), "compiled": {"method": method, "layers": layers, "plan": plan}}

    def text(self) -> str:
        """Levels and layers, the plan, its components, and what each pass saved."""
        plain = "" if self.cascade is None else f" (plain holonomy: {self.cascade.num_levels})"
        name = self.automaton.name or "the automaton"
        levels = counted(self.levels, "level")
        head = f"{name}: a cascade of {levels}{plain}, proved to cover the automaton"
        parts = ["\n".join([head, *_layers(self)])]
        parts.append("\n".join("  " * indent + node.title for indent, node in self.plan.walk()))
        rows = [
            (
                part.level,
                part.tiles,
                part.group,
                part.group_order,
                "yes" if part.has_resets else "no",
                part.kind,
            )
            for part in self.components
        ]
        parts.append(table(("level", "tiles", "group", "order", "resets", "kind"), rows))
        if self.passes:
            gains = [["-" if x is None else x for x in asdict(report).values()] for report in self.passes]
            saved = table(("pass", "levels", "layers", "levels saved", "layers saved"), gains)
            parts.append(f"The cascade after each pass:\n{saved}")
        if not self.is_complete:
            parts.append("The search for fewer layers was given up; --effort 10 would continue it.")
        return "\n\n".join(parts)

    @cached_property
    def svg(self) -> str:
        """The cascade, drawn."""
        return cascade_picture(self.plan)

    def _repr_svg_(self) -> str:
        return self.svg


def pass_report(name: str, before: Plan, after: Plan) -> PassReport:
    """What a pass saved, from the best plan without it to the best plan with it."""
    layers = (_finite(before.layers), _finite(after.layers))
    saved = layers[0] - layers[1] if layers[0] is not None and layers[1] is not None else 0
    return PassReport(name, after.levels, layers[1], before.levels - after.levels, saved)


def _finite(layers: int) -> int | None:
    return layers if layers < UNSOLVABLE_LAYERS else None


def _layers(result: Decomposition) -> Iterator[str]:
    """The layers of what krohn compile builds; then those of the cascade, if it builds another network."""
    if result.is_plain:  # not what is compiled
        return
    rival = result.rival
    if rival is not None:
        layers, seen = counted(rival.layers, "layer"), "; then ".join(rival.lines)
        yield f"network      {layers}, not by this cascade: {seen}"
    if result.layers is None:
        yield "network      a scan, whose layers grow with the word: a group of the cascade is not solvable"
    elif rival is None:
        yield f"network      {counted(result.layers, 'layer')}, by this cascade"
    else:
        yield f"cascade      would take {counted(result.layers, 'layer')}"


@plainly
def decompose(
    automaton: AutomatonLike, *, plain: bool = False, explain: bool = False, effort: float = DEFAULT_EFFORT
) -> Decomposition:
    """A Krohn–Rhodes decomposition, proved: the plan of fewest layers, as method ``cascade`` compiles it.

    Args:
        automaton: what to decompose: an object, a name or a file.
        plain: holonomy without shortening: the levels, tiles and groups that SgpDec finds.
        explain: also report what each pass saves (one search per pass).
        effort: how hard to search; 10 allows ten times the work. The same effort gives the same plan
            on every machine.

    Example:
        >>> cascade = krohn.decompose("Dyck4,2")
        >>> there = cascade.step(cascade.initial, 0)  # read an opening bracket
        >>> cascade.state(there), cascade.levels
        (1, 3)
    """
    automaton = as_automaton(automaton)
    request = Request(automaton, 1, method="cascade", effort=effort)
    max_sets = max(1, round(DEFAULT_MAX_SETS * effort))  # plain holonomy is quick, and no other plan needs it
    if plain:
        cascade = holonomy_cascade(automaton, max_sets=max_sets)
        return Decomposition(automaton, HolonomyPlan(automaton, cascade), cascade, is_plain=True)
    budget = request.budget()
    base = plain_cascade(automaton, budget.part(budget.left / 3), max_sets)
    best, layers = _chosen(request, budget, base)
    reports = _explain(request, base, best) if explain else ()
    return Decomposition(automaton, best, base, reports, not budget.given_up, layers, effort=effort)


def _chosen(request: Request, budget: Budget, base: Cascade | None) -> tuple[Plan, int | None]:
    """The plan whose network has the fewest layers; the fewest levels if a group is not solvable."""
    plans = list(cascade_plans(request.automaton, budget, request.max_sets, base))
    try:
        plan, program = shallowest(list(built_plans(request, plans)))
    except Unsupported:
        if not plans:
            raise
        return min(plans, key=lambda plan: plan.measure), None
    return plan, program.depth


def _explain(request: Request, base: Cascade | None, chosen: Plan) -> tuple[PassReport, ...]:
    """The saving of each pass over those before it, starting from plain holonomy."""
    best: Plan = chosen if base is None else HolonomyPlan(request.automaton, base)
    reports = []
    for count in range(1, len(PASSES) + 1):
        budget = request.budget().part(request.budget().units / len(PASSES))
        search = PlanSearch(frozenset(PASSES[:count]), budget, request.max_sets)
        result = search.best(request.automaton, best)
        assert result is not None
        reports.append(pass_report(PASSES[count - 1], best, result))
        best = result
    return tuple(reports)
