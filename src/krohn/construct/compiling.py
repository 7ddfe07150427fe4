"""``krohn.compile``: an automaton, a length, and out comes a Transformer with explicit weights.

Read it as the paper does: recognise or decompose the automaton, write what the layers do, lower it to
matrices. ``auto`` compares the constructions that fit and takes the shallowest.
"""

from collections.abc import Callable, Iterator

from krohn.automata.semiautomaton import Semiautomaton
from krohn.construct.lowering.assembly import lower
from krohn.construct.lowering.map_context import Activation
from krohn.construct.lowering.precision import largest_length, precision_faults
from krohn.construct.paper.composition import Gadget
from krohn.construct.paper.grid import Variant
from krohn.construct.paper.scan import Positions
from krohn.construct.paper_methods import grid_as_printed, paper_as_printed, scan_as_printed
from krohn.construct.request import (
    DEFAULT_MAX_ROWS,
    DEFAULT_MAX_SETS,
    DEFAULT_TIME_LIMIT,
    Method,
    Objective,
    Request,
)
from krohn.construct.tight.candidates import Candidate, cascade_candidates
from krohn.construct.tight.scan import scan_depth, scan_program
from krohn.errors import LimitExceeded, Unsupported
from krohn.network.compiled import CompiledNetwork
from krohn.network.operations import Table
from krohn.network.program import Program
from krohn.network.transformer import Mask


def compile(
    automaton: Semiautomaton,
    length: int,
    *,
    method: Method = "auto",
    mask: Mask = "causal",
    activation: Activation = "relu",
    objective: Objective = "depth",
    dtype: str | None = None,
    gadget: Gadget | None = None,
    positions: Positions | None = None,
    variant: Variant | None = None,
    time_limit: float = DEFAULT_TIME_LIMIT,
    max_sets: int = DEFAULT_MAX_SETS,
    max_rows: int = DEFAULT_MAX_ROWS,
) -> CompiledNetwork:
    """A network that outputs the states of ``automaton`` on every word of at most ``length`` letters.

    Args:
        automaton: what to simulate, from its own start state.
        length: the longest word.
        method: ``scan``, ``paper`` and ``grid`` are Theorems 1, 2 and 3 as the paper builds them (corrected);
            ``cascade`` is the tight compiler; ``auto`` the shallowest that fits.
        mask: ``strict`` lets a head see only earlier positions, which saves layers.
        activation: ``sin`` makes modular counters two units wide.
        objective: what to make small first: ``depth``, ``parameters`` or ``width``.
        dtype: the float format to bear: lengths it cannot bear are refused. By default, and for short
            formats, MLPs have steps that are exact in every format and count wraps in two rounds (few
            units, several hidden layers); ``float64`` gives MLPs of one or two hidden layers instead.
        gadget: how ``scan`` composes maps: ``direct`` (narrowest in memory), ``plateau`` (as printed),
            ``step2``, ``hat`` (the width Theorem 1 states, no tolerance).
        positions: how heads of ``scan`` and ``paper`` find places: ``circle`` as printed, ``binary`` for
            long words in short formats. By default ``circle`` unless ``dtype`` cannot bear it.
        variant: heads and second MLP of ``grid``; see ``krohn.construct.paper.grid.build_grid``.
        time_limit: seconds for the search of a plan.
        max_sets: largest family of image sets in a decomposition.
        max_rows: most reachable rows of a table.
    """
    request = Request(
        automaton=automaton,
        length=length,
        method=method,
        mask=mask,
        activation=activation,
        objective=objective,
        dtype=dtype,
        gadget=gadget,
        positions=positions,
        variant=variant,
        time_limit=time_limit,
        max_sets=max_sets,
        max_rows=max_rows,
    )
    return BUILDERS[request.method](request)


def build_cascade(request: Request) -> CompiledNetwork:
    """The tight compiler on the plan that serves the objective best."""
    return _best(request, list(_cascades(request)))


def build_auto(request: Request) -> CompiledNetwork:
    """The best of the tight cascade and the tight scan; all reasons if neither fits."""
    reasons = []
    found: list[CompiledNetwork] = []
    for build in (_cascades, _scans):
        shallow = min(
            (network.transformer.depth for network in found), default=scan_depth(request.length) + 1
        )
        if request.objective == "depth" and shallow <= scan_depth(request.length):
            break
        try:
            found += build(request)
        except (Unsupported, LimitExceeded) as error:
            reasons.append(str(error))
    if not found:
        raise Unsupported(" | ".join(reasons))
    return _best(request, found)


def _cascades(request: Request) -> list[CompiledNetwork]:
    bound = scan_depth(request.length) if (request.method, request.objective) == ("auto", "depth") else None
    candidates = list(
        cascade_candidates(
            request.automaton,
            request.mask,
            time_limit=request.time_limit,
            max_sets=request.max_sets,
            max_depth=bound,
        )
    )
    if request.objective == "depth":
        shallow = min(candidate.program.depth for candidate in candidates)
        candidates = [candidate for candidate in candidates if candidate.program.depth == shallow]
    return [network for candidate in candidates for network in _lowered(request, candidate, "cascade")]


def _scans(request: Request) -> list[CompiledNetwork]:
    """The scan on as few points as possible."""
    program = scan_program(request.automaton, request.length, request.mask)
    candidate = Candidate(program, (f"scan in {scan_depth(request.length)} layers",))
    return list(_lowered(request, candidate, "scan"))


def _lowered(request: Request, candidate: Candidate, method: str) -> Iterator[CompiledNetwork]:
    """One network per way to build steps and count wraps; only one where depth is all that matters."""
    program, length = candidate.program, request.length
    reasons = list(_refusals(request, program))
    if reasons:
        raise Unsupported("; ".join(reasons))
    for narrow, saturate in _ways(request):
        network, layout = lower(
            program, length, activation=request.activation, narrow=narrow, saturate=saturate
        )
        yield CompiledNetwork(network, request.automaton, method, program, layout)


def _refusals(request: Request, program: Program) -> Iterator[str]:
    """Every reason why a program cannot be lowered as asked."""
    for layer in program.layers:
        for change in layer.maps:
            if isinstance(change, Table) and len(change.rows) > request.max_rows:
                yield (
                    f"the table for {', '.join(change.outputs)} has {len(change.rows):,} reachable rows, "
                    f"more than {request.max_rows:,}; raise --max-rows (max_rows= in Python) or use "
                    "method scan"
                )
    dtype = request.dtype or "float64"
    faults = list(precision_faults(program, request.length, dtype))
    if faults:
        longest = largest_length(program, dtype)
        yield f"length {request.length} is too much for {dtype}, which bears {longest}: {', '.join(faults)}"


def _ways(request: Request) -> list[tuple[bool, bool]]:
    """(narrow, saturate): whether wraps are counted in two rounds, and whether steps saturate."""
    if request.objective == "depth":
        return [(False, False) if request.dtype == "float64" else (True, True)]
    free = request.dtype in (None, "float64")
    return [
        (narrow, saturate) for saturate in ((False, True) if free else (True,)) for narrow in (False, True)
    ]


def _best(request: Request, networks: list[CompiledNetwork]) -> CompiledNetwork:
    def cost(network: CompiledNetwork) -> tuple[int, ...]:
        built = network.transformer
        width = max(built.dim, built.mlp_width, built.heads * built.head_dim)
        return {
            "depth": (built.depth, built.num_parameters),
            "parameters": (built.num_parameters, built.depth),
            "width": (width, built.num_parameters),
        }[request.objective]

    return min(networks, key=cost)


BUILDERS: dict[str, Callable[[Request], CompiledNetwork]] = {
    "auto": build_auto,
    "cascade": build_cascade,
    "scan": scan_as_printed,
    "grid": grid_as_printed,
    "paper": paper_as_printed,
}
