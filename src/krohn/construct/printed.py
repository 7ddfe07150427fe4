"""Methods ``scan``, ``paper`` and ``grid``: the paper's constructions, and their options.

As printed they are made for real numbers. A request that names a short float format gets the variant that
suits it where there is one (counters by steps, clamped circles), or a refusal with the largest length that
holds.
"""

from collections.abc import Iterator
from math import pi

from krohn.algebra.transformation import prime_factors
from krohn.base.portable import FLOATS, cos, log
from krohn.cascade.holonomy import holonomy_cascade
from krohn.construct.request import Request
from krohn.errors import Unsupported
from krohn.network.compiled import CompiledNetwork
from krohn.network.lowering.assembly import Faults, longest
from krohn.paper.grid_heads import MOD_LOGIT_GAP, key_gap
from krohn.paper.permutation_reset import ComponentCascade, component_cascade
from krohn.paper.theorem1 import build_scan, scan_gamma
from krohn.paper.theorem2 import build_paper, cascade_refusals
from krohn.paper.theorem3 import build_grid, grid_run, recognise_grid

# The longest words that the paper's heads support in a float format: estimates, made before building.
#
# A head is lost when rounding moves two scores by more than the gap between them. A score of size γ is a few
# roundings of γ away from its value, so what matters is γ·u against the gap. What does work is decided by
# the certificate; ``research/precision_limits.py`` compares these limits with runs.


ROUNDINGS = 16
"""Roundings in two scores of two products, each of a rounded weight, position and query."""
VISIT_ROUNDINGS = {"log_depth": 1 << 20}
"""Roundings of a visit's score that the printed MLPs of Theorem 3 tolerate, if not ``MOST_VISITS``."""
MOST_VISITS = 1 << 13
STEP_ERROR = {"sin": 1 / 12}
"""Tolerated error of a sum whose sine is taken, if not ``MOST_STEPS``."""
MOST_STEPS = 2 / 9


def circle_faults(states: int, length: int, dtype: str) -> Iterator[str]:
    """Why the points of one circle (Theorem 1) cannot be distinguished in the format, if they cannot."""
    gamma = scan_gamma(states, length)
    if gamma > FLOATS[dtype].largest / 4:
        yield f"scores of size {gamma:.3g} overflow {dtype}"
        return
    # The remaining gap must still make softmax one-hot up to 0.1/(|Q|T).
    left = gamma * (1.0 - cos(pi / max(length, 2)) - ROUNDINGS * FLOATS[dtype].unit)
    if left < log(10 * states * length):
        yield f"{dtype} cannot tell neighbours on a circle of {2 * length} positions apart"


def composition_faults(states: int, dtype: str) -> Iterator[str]:
    """Why maps of this many states cannot be composed in the format, if they cannot."""
    reach = 2 * states * (states + 1)
    if reach * FLOATS[dtype].unit > 1:
        yield f"composing maps of {states} states takes integers up to {reach:,}, beyond {dtype}"


def sum_error(total: int) -> float:
    """Roundings of a mean of this many steps, in any summation order: of the weights and of the sum."""
    return 1.1 * total + 80


def counter_faults(modulus: int, length: int, dtype: str, counting: str = "relu") -> Iterator[str]:
    """Why a prefix sum of residues cannot be recovered from its mean, if it cannot."""
    reach, room = (modulus - 1) * length, STEP_ERROR.get(counting, MOST_STEPS)
    if reach * sum_error(length) * FLOATS[dtype].unit > room:
        yield f"a sum up to {reach:,} would be off by more than {room:.2g} in {dtype}, in some order"


def memory_faults(states: int, length: int, dtype: str) -> Iterator[str]:
    """Why recency j/T cannot be resolved by scores of size 2T·log(16|Q|T), if it cannot."""
    scale = length * log(16 * states * length)
    if 2 * scale > FLOATS[dtype].largest or 8 * FLOATS[dtype].unit * length > 1:
        yield f"{dtype} cannot tell {length} neighbouring positions apart"


def grid_faults(walls: int, total: int, dtype: str, variant: str, circle: str) -> Iterator[str]:
    """Why a head cannot distinguish the latest visit from the one before it, if it cannot."""
    gap, needed = key_gap(walls), 8.0
    recency = gap / total
    if not variant.startswith("mod"):
        recency = (1.0 - cos(pi / (2.0 * total))) / (2.0 * log(2.0)) / (2.0 * total)
        needed = float(VISIT_ROUNDINGS.get(variant, MOST_VISITS))
    elif circle == "sin":  # the angle is as far off as the sum: up to 8 times that in the lead of a visit
        angle = 4.0 * pi * total / (walls + 1) * sum_error(total)
        left = max(1.0 - log(8.0 * total) / MOD_LOGIT_GAP, 1e-9)
        needed = 8.0 * angle / left
    if needed * FLOATS[dtype].unit > recency:
        yield f"{dtype} cannot tell visits apart that differ by {recency:.1e} of a score"


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
