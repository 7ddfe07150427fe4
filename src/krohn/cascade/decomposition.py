"""``krohn.decompose``: an automaton as a checked cascade, as shallow as the search can make it."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from krohn.automata.semiautomaton import Semiautomaton
from krohn.cascade import holonomy
from krohn.cascade.bulk import States, Words
from krohn.cascade.cascade_picture import cascade_picture
from krohn.cascade.export import plan_as_dict
from krohn.cascade.group_order import UNSOLVABLE_LAYERS
from krohn.cascade.image_sets import DEFAULT_MAX_SETS
from krohn.cascade.plan import Component, Coordinates, Plan
from krohn.cascade.plan_nodes import HolonomyPlan
from krohn.cascade.plan_search import PASSES, PlanSearch
from krohn.errors import InvalidInput, LimitExceeded

DEFAULT_TIME_LIMIT = 2.0
_MAX_INNER_SETS = 2_000  # a part of a plan with a larger family is not worth its time


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


@dataclass(frozen=True, eq=False)
class Decomposition:
    """The result of ``decompose``: the chosen plan, the plain cascade it was measured against, the passes.

    Attributes:
        automaton: the automaton that was decomposed.
        plan: the chosen plan; its nodes are proved, and it can simulate words in bulk.
        cascade: the plain holonomy cascade; None if its family of sets is past the limit.
        passes: what each pass saved, if ``explain`` was asked for.
        is_complete: whether the search looked at everything it wanted to within its limits.
    """

    automaton: Semiautomaton
    plan: Plan
    cascade: holonomy.Cascade | None
    passes: tuple[PassReport, ...] = ()
    is_complete: bool = True

    @property
    def levels(self) -> int:
        """Levels of the chosen plan."""
        return self.plan.levels

    @property
    def layers(self) -> int | None:
        """Layers of the chosen plan; None if some group is not solvable."""
        return _finite(self.plan.layers)

    @property
    def components(self) -> tuple[Component, ...]:
        """Components of the chosen plan, by level."""
        return self.plan.components

    @property
    def covering_checked(self) -> bool:
        """Always true: what is not proved is not made."""
        return self.plan.covering_checked

    @property
    def is_solvable(self) -> bool:
        """Whether all groups of the chosen plan are solvable."""
        return self.plan.is_solvable

    def simulate(self, words: Words, start: int | None = None) -> States:
        """States after each letter, for words of shape (batch, length), computed by the plan."""
        return self.plan.simulate(words, start)

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

    def step(self, coordinates: Coordinates, letter: int) -> Coordinates:
        """The coordinates after one letter."""
        if not 0 <= letter < self.automaton.num_letters:
            raise InvalidInput(f"a letter must lie in [0, {self.automaton.num_letters}); got {letter}")
        return self.plan.step(coordinates, letter)

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
            "passes": [
                {name: getattr(report, name) for name in PassReport.__slots__} for report in self.passes
            ],
        }

    @cached_property
    def _svg(self) -> str:
        return cascade_picture(self.plan)

    def _repr_svg_(self) -> str:
        return self._svg


def decompose(
    automaton: Semiautomaton,
    *,
    plain: bool = False,
    explain: bool = False,
    time_limit: float = DEFAULT_TIME_LIMIT,
    max_sets: int = DEFAULT_MAX_SETS,
) -> Decomposition:
    """A Krohn–Rhodes decomposition, proved; never deeper than plain holonomy.

    Args:
        automaton: what to decompose.
        plain: holonomy and no shortening: the levels, tiles and groups that SgpDec finds.
        explain: also report what each pass saves (one search per pass).
        time_limit: seconds after which the search keeps the best plan so far.
        max_sets: largest family of image sets.

    Example:
        >>> cascade = krohn.decompose(krohn.zoo("Dyck4,2"))
        >>> there = cascade.step(cascade.initial, 0)  # read an opening bracket
        >>> cascade.state(there), cascade.levels
        (1, 3)
    """
    if not time_limit >= 0:  # refuses nan too
        raise InvalidInput(f"a time limit must be at least 0 seconds; got {time_limit}")
    if max_sets < 1:
        raise InvalidInput(f"the limit on image sets must be at least 1; got {max_sets}")
    if plain:
        cascade = holonomy.decompose(automaton, max_sets=max_sets)
        return Decomposition(automaton, HolonomyPlan(automaton, cascade), cascade)
    first = _first_plan(automaton, time_limit, max_sets)
    base = first.cascade if isinstance(first, HolonomyPlan) and not first.is_asynchronous else None
    reports: list[PassReport] = []
    best, complete = first, True
    for count in range(1, len(PASSES) + 1) if explain else [len(PASSES)]:
        found, complete = _search(automaton, PASSES[:count], best, time_limit, max_sets)
        assert found is not None
        reports.append(_report(PASSES[count - 1], best, found))
        best = found
    return Decomposition(automaton, best, base, tuple(reports) if explain else (), complete)


def _first_plan(automaton: Semiautomaton, time_limit: float, max_sets: int) -> Plan:
    """Plain holonomy, or whatever some pass finds where the family of sets is too large for it."""
    try:
        return HolonomyPlan(automaton, holonomy.decompose(automaton, max_sets=max_sets))
    except LimitExceeded:
        found = _search(automaton, PASSES, None, time_limit, max_sets)[0]
        if found is None:
            raise
        return found


def _search(
    automaton: Semiautomaton, passes: tuple[str, ...], known: Plan | None, time_limit: float, max_sets: int
) -> tuple[Plan | None, bool]:
    search = PlanSearch(frozenset(passes), time_limit, min(max_sets, _MAX_INNER_SETS))
    return search.best(automaton, known), search.is_complete


def _report(name: str, before: Plan, after: Plan) -> PassReport:
    layers = (_finite(before.layers), _finite(after.layers))
    saved = layers[0] - layers[1] if layers[0] is not None and layers[1] is not None else 0
    return PassReport(name, after.levels, layers[1], before.levels - after.levels, saved)


def _finite(layers: int) -> int | None:
    return layers if layers < UNSOLVABLE_LAYERS else None
