"""A built network beside the paper's recipe on the same automaton and the theorem's bound."""

from dataclasses import asdict, dataclass
from math import log2, log10
from typing import Any

from krohn.cascade.holonomy import decompose
from krohn.construct.paper.bounds import bounds_for, paper_recipe_size
from krohn.construct.request import DEFAULT_MAX_SETS
from krohn.errors import LimitExceeded
from krohn.network.compiled import CompiledNetwork
from krohn.work import UNITS, Work

THEOREMS = {
    "scan": "Theorem 1",
    "cascade": "Theorem 2",
    "features": "Theorem 2",
    "paper": "Theorem 2",
    "grid": "Theorem 3",
}

MANY_STATES = 200
"""Beyond this many states the bounds of Theorem 2 are given by their power of two."""


@dataclass(frozen=True)
class SizeReport:
    """Quantities by name: the recipe's (empty if it does not apply), the stated bound, the true one."""

    theorem: str
    recipe: dict[str, Any]
    bound: dict[str, Any]
    corrected: dict[str, Any]

    @property
    def columns(self) -> tuple[dict[str, Any], ...]:
        """The three to print beside the built sizes."""
        return self.recipe, self.bound, self.corrected


def size_report(network: CompiledNetwork) -> SizeReport:
    """The theorem is that of the network's method: 1 for a scan, 3 for a grid, else 2."""
    theorem = THEOREMS[network.method]
    states = network.automaton.num_states
    if theorem == "Theorem 2" and states > MANY_STATES:
        beyond = _beyond(states)
        return SizeReport(theorem, _recipe(network), beyond, beyond)
    bounds = bounds_for(network.method, network.automaton, network.length)
    stated, corrected = (_plain(bound.as_dict()) for bound in (bounds.stated, bounds.corrected))
    return SizeReport(theorem, _recipe(network), stated, corrected)


def _beyond(states: int) -> dict[str, Any]:
    """Theorem 2 for many states: its numbers hold a factor 2^|Q|, and |T(A)| would take long to count."""
    least = f"> 1e{int(states * log10(2))}"
    depth = round(3 * states**2 * log2(states) + 7 * states)
    return {"depth": depth, "dim": least, "heads": least, "mlp_width": least, "max_weight": least}


def _recipe(network: CompiledNetwork) -> dict[str, Any]:
    try:
        cascade = decompose(network.automaton, max_sets=DEFAULT_MAX_SETS, work=Work(UNITS / 4))
    except LimitExceeded:
        return {}
    size = paper_recipe_size(cascade, network.length)
    return {} if size is None else asdict(size)


def _plain(quantities: dict[str, float | str]) -> dict[str, Any]:
    """Whole numbers as integers; what a float cannot hold as text."""
    return {
        name: int(value) if isinstance(value, float) and value.is_integer() and value < 1e15 else value
        for name, value in quantities.items()
    }
