"""Weights: the program of a proposal becomes matrices, or the reasons why it cannot."""

from collections.abc import Callable, Iterable, Iterator
from textwrap import shorten

from krohn.base.portable import FLOATS
from krohn.construct.request import Proposal, Request
from krohn.errors import Unsupported
from krohn.network.compiled import CompiledNetwork
from krohn.network.lowering.assembly import Style, lower
from krohn.network.lowering.reach import longest, precision_faults
from krohn.network.operations import Clamp, Modulo, Table
from krohn.network.program import Program


class TooCoarse(Unsupported):
    """A float format is too short for a program."""


def lower_proposal(
    request: Request,
    plan: Proposal,
    *,
    styles: Callable[[Request, Program], Iterable[Style]],
    shape: Callable[[Program], Program],
    estimated: int,
    dtype: str,
) -> Iterator[CompiledNetwork]:
    """The plan's program in a shape, a network for each style.

    A program is refused, before any matrix is built, that is too coarse for words of ``estimated`` letters.
    """
    program, length = shape(plan.program()), request.length
    tables, coarse = [*_large_tables(request, program)], _too_coarse(request, program, estimated, dtype)
    if tables:
        raise Unsupported("; ".join([*tables, coarse] if coarse else tables))
    if coarse:
        raise TooCoarse(coarse)
    for style in styles(request, program):
        network, layout = lower(program, length, style._replace(exact=_is_half(request)))
        yield CompiledNetwork(network, request.automaton, plan.method, program, layout)


def _large_tables(request: Request, program: Program) -> Iterator[str]:
    """What is too large, a line for each table."""
    for change in (change for layer in program.layers for change in layer.maps):
        if isinstance(change, Table) and len(change.rows) > request.max_rows:
            yield (
                f"the table for {', '.join(change.outputs)} has {len(change.rows):,} reachable rows, "
                f"more than {request.max_rows:,}; raise --effort or use method scan"
            )


def _too_coarse(request: Request, program: Program, estimated: int, dtype: str) -> str:
    """Why the format is too short for words of so many letters, if it is."""
    faults = list(precision_faults(program, estimated, dtype))
    if not faults:
        return ""
    most = longest(lambda length: precision_faults(program, length, dtype))
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    held = f"which suffices up to length {most}" if most else "which is too coarse for every length"
    fault, advice = shorten(faults[0], 100), "" if dtype == "float64" else "; use float64"
    return f"length {request.length} is too long for {dtype}, {held}: {fault}{more}{advice}"


def _is_half(request: Request) -> bool:
    return request.dtype is not None and FLOATS[request.dtype].half


def usual_styles(request: Request, program: Program) -> Iterable[Style]:
    """The style of fewest units where only depth matters: in float64 differences are exact enough."""
    if request.objective == "depth":
        return [Style() if request.dtype == "float64" else Style(narrow=True, saturate=True, rounded=True)]
    return all_styles(request, program)


def all_styles(request: Request, program: Program) -> Iterable[Style]:
    """Those that differ for this program; half types need steps that saturate."""
    maps = [change for layer in program.layers for change in layer.maps]
    clamped = {change.target for change in maps if isinstance(change, Clamp)}
    wraps = any(isinstance(change, Modulo) for change in maps)
    steps = any(isinstance(change, Modulo | Table | Clamp) for change in maps)
    read = any(isinstance(change, Table) and clamped & {*change.reads} for change in maps)
    for narrow in (False, True) if wraps else (False,):
        if not _is_half(request):
            yield Style(narrow)
        if steps or _is_half(request):
            yield Style(narrow, saturate=True)
        if read:
            yield Style(narrow, saturate=True, rounded=True)
