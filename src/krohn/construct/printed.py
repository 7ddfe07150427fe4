"""Methods ``scan``, ``paper`` and ``grid``: the paper's constructions, and their options.

As printed they are made for real numbers. A request that names a short float format gets the variant that
suits it where there is one (counters by steps, clamped circles), or a refusal with the largest length that
holds.
"""

from collections.abc import Iterator

from krohn.algebra.transformation import prime_factors
from krohn.cascade.holonomy import holonomy_cascade
from krohn.construct.paper_reach import (
    circle_faults,
    composition_faults,
    counter_faults,
    grid_faults,
    memory_faults,
)
from krohn.construct.request import Request
from krohn.errors import Unsupported
from krohn.network.compiled import CompiledNetwork
from krohn.network.lowering.reach import Faults, longest
from krohn.paper.component_cascade import ComponentCascade, component_cascade
from krohn.paper.grid_runs import grid_run
from krohn.paper.gridworlds import recognise_grid
from krohn.paper.theorem1 import build_scan
from krohn.paper.theorem2 import build_paper, cascade_refusals
from krohn.paper.theorem3 import build_grid

FINE_CIRCLE = 48
"""Word length above which the paper's heads of Theorem 3 get the clamped circle, in float64 as well."""


def scan_as_printed(request: Request) -> CompiledNetwork:
    """Builds Theorem 1 with the options of the request."""
    states, dtype = request.automaton.num_states, _format(request)

    def faults(length: int) -> Iterator[str]:
        yield from circle_faults(states, length, dtype)
        yield from composition_faults(states, dtype)

    _refuse(request, faults)
    return build_scan(request.automaton, request.length, request.gadget or "direct")


def paper_as_printed(request: Request) -> CompiledNetwork:
    """Builds Theorem 2 with the options of the request."""
    dtype, counting = _format(request), str(request.activation)
    if dtype != "float64":
        whole = component_cascade(holonomy_cascade(request.automaton, max_sets=request.max_sets))
        states = max((part.states for part in whole.components), default=1)
        others = tuple(cascade_refusals(whole, request.max_rows))
        _refuse(request, lambda t: _cascade_faults(whole, states, t, dtype, counting), others)
        counting = "steps" if counting == "relu" else counting
    return build_paper(request.automaton, request.length, counting, request.max_rows)


def _cascade_faults(
    whole: ComponentCascade, states: int, length: int, dtype: str, counting: str
) -> Iterator[str]:
    # Composition series count modulo primes.
    primes = (prime for part in whole.components for prime in prime_factors(part.group.order))
    yield from counter_faults(max(primes, default=1), length, dtype, counting)
    if any(part.has_resets for part in whole.components):
        yield from memory_faults(states, length, dtype)
    if whole.num_levels > 1:
        yield from circle_faults(states, length, dtype)


def grid_as_printed(request: Request) -> CompiledNetwork:
    """Builds Theorem 3 with the options of the request."""
    variant, dtype = request.variant or "mod", _format(request)
    grid = recognise_grid(request.automaton)

    def faults(length: int) -> Iterator[str]:
        if grid is not None:
            total = grid_run(request.automaton, grid, length).total
            added = max(grid.shape) if variant == "mod_sum" else 2  # heads that share a channel add up
            yield from counter_faults(added, total, dtype)
            for walls in {size - 1 for size in grid.shape}:
                yield from grid_faults(walls, total, dtype, variant, circle)

    circle: str = request.activation
    _refuse(request, faults)
    # On one circle the sums of long words lie too close for the printed MLP, whose large terms cancel.
    fine = not variant.startswith("mod") and request.length > FINE_CIRCLE
    if circle == "relu" and (dtype != "float64" or fine):
        circle = "clamped"
    return build_grid(request.automaton, request.length, variant, circle)


def _format(request: Request) -> str:
    return request.dtype or "float64"


def _refuse(request: Request, faults: Faults, others: tuple[str, ...] = ()) -> None:
    """Refuses what the format cannot support, together with the ``other`` reasons."""
    reasons = list(faults(request.length))
    if not reasons:
        return
    most = longest(faults)
    holds = f"the largest that holds is {most}" if most else "no length holds"
    too_long = (
        f"method {request.method} at length {request.length} is too much for {_format(request)}, {holds}: "
        f"{'; '.join(reasons)}; {_remedy(request)}"
    )
    raise Unsupported("; ".join((too_long, *others)))


def _remedy(request: Request) -> str:
    """What to do instead."""
    if request.variant not in (None, "mod"):
        return "use --variant mod, a longer format or method auto"
    if request.activation == "sin":
        return "use --activation relu, a longer format or method auto"
    return "use a longer format or method auto"
