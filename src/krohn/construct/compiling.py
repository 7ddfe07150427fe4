"""``krohn.compile``: from an automaton to a network with explicit weights, of the requested architecture.

Constructions propose Transformers, and the checker decides. ``candidates`` is the pipeline: plans of the
automaton, programs that say what the layers do, matrices, and their order. ``SOURCES`` lists where plans
come from. The network is the first of them, in the order of the objective, that is proved right on every word
in float32; if there is none, in float64.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import tee
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack, overload

from krohn.automata.observed import with_target
from krohn.automata.quotients import minimize
from krohn.automata.zoo import AutomatonLike, as_automaton
from krohn.base.files import COMPILED, KEYS, LOOPED, RECURRENT, Folder
from krohn.base.plugins import Plugins, instance_of
from krohn.base.portable import FLOATS, Budget
from krohn.base.typed import plainly
from krohn.cascade.plan import ClampedCounterPlan, HolonomyPlan, Plan
from krohn.cascade.plan_search import cascade_plans
from krohn.check.ground import Work
from krohn.construct.features.event_layers import event_proposals
from krohn.construct.features.plans import (
    error_bit_proposals,
    one_layer_proposals,
    proposals_without_search,
    two_layer_proposals,
)
from krohn.construct.printed import grid_as_printed, paper_as_printed, scan_as_printed
from krohn.construct.request import Objective, Proposal, ProposalSource, Request, TransformerOptions
from krohn.construct.tight.clocked_group import clocked_proposals
from krohn.construct.tight.leaf_programs import has_unit_steps
from krohn.construct.tight.plan_programs import plan_program
from krohn.construct.tight.small_scan import scan_proposals, wide_proposals
from krohn.errors import InvalidInput, LimitExceeded, UnknownName, Unsupported, counted
from krohn.network.compiled import MODEL, CompiledNetwork
from krohn.network.lowering.assembly import Style, lower
from krohn.network.lowering.reach import longest, precision_faults
from krohn.network.lowering.stock_blocks import in_blocks
from krohn.network.operations import Clamp, Modulo, Table
from krohn.network.program import Program
from krohn.network.transformer import Transformer
from krohn.proving.attempts import attempt

if TYPE_CHECKING:
    from krohn.recurrent.looped_network import LoopedNetwork
    from krohn.recurrent.recurrent_network import RecurrentNetwork


MAX_OBSERVATIONS = 4_096


def check_options(options: Mapping[str, Any]) -> None:
    """Refuses what is no option of a Transformer."""
    unknown = sorted(set(options) - TransformerOptions.__annotations__.keys())
    if unknown:
        known = ", ".join(TransformerOptions.__annotations__)
        raise InvalidInput(f"options of a Transformer must be length and among {known}; got {unknown[0]}")


def make_request(automaton: AutomatonLike, length: int, **options: Unpack[TransformerOptions]) -> Request:
    """The request for the automaton that is built: minimised where only its observation matters."""
    check_options(options)
    request = Request(as_automaton(automaton), length, **options)
    if request.target == "state":
        return replace(request, automaton=with_target(request.automaton, "state"))
    smallest = with_target(minimize(with_target(request.automaton, "observation")), "observation")
    if smallest.num_observations > MAX_OBSERVATIONS:
        most = f"observations must be numbers below {MAX_OBSERVATIONS:,}, one output each"
        raise InvalidInput(f"{most}; got {smallest.num_observations - 1:,}")
    return replace(request, automaton=smallest)


def build(request: Request) -> CompiledNetwork:
    """The network that serves the objective best; MLPs are built so that they suit short floats too.

    Of ways to build the same layers that is, if only depth matters, the one with the fewest units.
    """
    usual = partial(_lower, request, styles=_usual_styles, shape=_same, estimated=request.length)
    return next(_networks(request, usual))[0]  # a search that finds nothing raises the reasons


def candidates(request: Request) -> Iterator[CompiledNetwork]:
    """All networks that are found and worth a proof, the best by the objective first."""
    every = partial(_lower, request, styles=_all_styles, shape=in_blocks, estimated=_hopeful(request.length))
    for networks in _networks(request, every):
        yield from networks


def _networks(
    request: Request, lowered: Callable[[Proposal], Iterable[CompiledNetwork]]
) -> Iterator[list[CompiledNetwork]]:
    """Round by round plans, their programs and the weights of the programs, in the objective's order."""
    if request.method in PRINTED:
        yield [PRINTED[request.method](request)]
        return
    budget = request.budget()
    reasons: list[str] = []
    found = False
    for plans in _rounds(request, budget):
        networks: list[CompiledNetwork] = []
        for plan in plans:
            try:
                networks += lowered(plan)
            except (Unsupported, LimitExceeded) as error:
                reasons.append(str(error))
        if networks:
            found = True
            networks.sort(key=lambda network: cost(network.transformer, request.objective))
            yield [replace(network, notes=_notes(request, network, budget)) for network in networks]
    if not found:
        raise Unsupported(reasons[0])  # of the first plan, verbatim: it names the limit and the option


def _rounds(request: Request, budget: Budget) -> Iterator[list[Proposal]]:
    """Rounds of plans to compare: fewest layers first, more layers if none fits, a scan as fallback."""
    plans = proposals(request, budget)
    fallback = SOURCES[-1]  # works for every automaton
    waits = request.method in fallback.methods and not any(plan.method == "scan" for plan in plans)
    rounds = [plans]
    if request.objective == "depth":
        numbers = sorted({plan.layers for plan in plans})
        rounds = [[plan for plan in plans if plan.layers == layers] for layers in numbers]
    for each in [*rounds, []]:
        if waits and (not each or (len(rounds) > 1 and each[0].layers > fallback.least(request))):
            waits = False  # it is shallower than the plans that are left, or there are none
            with suppress(
                Unsupported, LimitExceeded
            ):  # the plans before have been tried, and say why none fits
                yield list(fallback.propose(request, budget))
        if each:
            yield each


# Proposals from Krohn–Rhodes plans: several searches, each plan as the program of fewest layers.


def cascade_proposals(request: Request, budget: Budget) -> Iterator[Proposal]:
    """Programs of different plans, only those of the best if only depth matters; raises if there is none."""
    built = list(built_plans(request, cascade_plans(request.automaton, budget, request.max_sets)))
    for plan, program in [shallowest(built)] if request.objective == "depth" else built:
        lines = tuple("  " * indent + node.title for indent, node in plan.walk())
        yield Proposal("cascade", program.depth, partial(_same, program), lines)
        if request.objective == "blocks" or request.dtype == "float64":  # too fine for shorter formats
            flat = plan_program(plan, flat=True)
            if flat != program and flat.depth == program.depth:
                yield Proposal("cascade", flat.depth, partial(_same, flat), lines)


def _same(program: Program) -> Program:
    return program


def built_plans(request: Request, plans: Iterable[Plan]) -> Iterator[tuple[Plan, Program]]:
    """Plans with their programs; a plan with more than twice the layers of a scan is skipped."""
    reasons: dict[str, None] = {}
    result = False
    in_scan = request.scan_depth if (request.method, request.objective) == ("auto", "depth") else None
    for plan in plans:
        faults = [] if plan.is_solvable else [*_unsolvable(plan)]
        if not faults and in_scan is not None and plan.layers > 2 * in_scan:
            faults = [f"{plan.layers} layers are needed"]
        if not faults:
            try:
                programs = _programs(plan, None if in_scan is None else 2 * in_scan)
            except LimitExceeded as error:
                faults = [str(error)]
        if faults:
            reasons.update(dict.fromkeys(faults))
            continue
        result = True
        yield from ((plan, program) for program in programs)
    if not result:
        limits = f"{request.max_sets:,} image sets and {request.budget().units:,.0f} units of work (--effort)"
        listed = "; ".join(reasons) or f"no plan within {limits}"
        raise Unsupported(f"no cascade: {listed}; krohn compile --method scan does without")


def shallowest(built: Sequence[tuple[Plan, Program]]) -> tuple[Plan, Program]:
    """The plan that compile builds and decompose shows: sort key: layers, then levels, then size."""
    return min(built, key=lambda pair: (pair[1].depth, pair[0].levels, program_size(pair[1])))


def program_size(program: Program) -> int:
    """Estimated units and channels of a program: rows of tables, registers and heads."""
    rows = sum(
        len(change.rows) for layer in program.layers for change in layer.maps if isinstance(change, Table)
    )
    return rows + len(program.registers) + sum(len(layer.attention) for layer in program.layers)


def _programs(plan: Plan, most: int | None) -> list[Program]:
    """The plan's program and, where it is shallower, the one that keeps stage sets of several positions.

    That one saves at most half of the layers, and takes minutes to write if there are hundreds.
    """
    plain = plan_program(plan)
    if most is not None and plain.depth > 2 * most:
        raise LimitExceeded(f"{plain.depth} layers are needed")
    if not any(_has_levels(node) for _, node in plan.walk()):
        return [plain]
    lagged = plan_program(plan, lagged=True)
    return [plain, lagged] if lagged.depth < plain.depth else [plain]


def _has_levels(node: Plan) -> bool:
    """Whether a node is written level by level, as a counter is whose steps are too large for its shape."""
    return isinstance(node, HolonomyPlan) or (
        isinstance(node, ClampedCounterPlan) and not has_unit_steps(node)
    )


def _unsolvable(plan: Plan) -> Iterator[str]:
    nodes = [node for _, node in plan.walk() if isinstance(node, HolonomyPlan)]
    for part in (part for node in nodes for part in node.components if not part.is_solvable):
        what = f"the group {part.group} of order {part.group_order} on {part.tiles} tiles"
        yield f"{what} (level {part.level}) is not solvable"


# The sources of proposals, in calling order. A new way to build networks is one more line here.

SOURCES = (
    ProposalSource("features", ("auto", "features"), proposals_without_search, lambda request: 1),
    ProposalSource("cascade", ("auto", "cascade"), cascade_proposals, lambda request: int(_moves(request))),
    ProposalSource("features", ("auto", "features"), one_layer_proposals, lambda request: 1),
    ProposalSource("clock", ("auto", "cascade"), clocked_proposals, lambda request: 1),
    ProposalSource("features", ("auto", "features"), error_bit_proposals, lambda request: 2),
    ProposalSource("features", ("auto", "features"), two_layer_proposals, lambda request: 2),
    ProposalSource("features", ("auto", "features"), event_proposals, lambda request: 1),
    ProposalSource("wide", ("wide",), wide_proposals, lambda request: 1),
    ProposalSource("scan", ("auto",), scan_proposals, lambda request: request.scan_depth),
)


def _moves(request: Request) -> bool:
    """Whether some letter leaves the start; if none does, no layer is needed."""
    automaton = request.automaton
    return any(
        automaton.step(automaton.start, letter) != automaton.start for letter in range(automaton.num_letters)
    )


ADDED: Plugins[ProposalSource] = Plugins(
    "krohn.constructions", "a construction", dict, instance_of(ProposalSource, "a construction")
)
"""Sources of other packages, called after krohn's own."""


def proposals(
    request: Request, budget: Budget, sources: Sequence[ProposalSource] | None = None
) -> list[Proposal]:
    """The proposals of every source that fits the request; raises the reasons if there are none.

    All sources by default; if only depth matters, a source that cannot save layers is skipped.
    """
    result: list[Proposal] = []
    reasons: dict[str, str] = {}
    for source in (*SOURCES, *ADDED.added().values()) if sources is None else sources:
        least = min((proposal.layers for proposal in result), default=None)
        if request.method not in source.methods or (
            request.objective == "depth" and least is not None and least <= source.least(request)
        ):
            continue
        try:
            result += source.propose(request, budget)
        except (Unsupported, LimitExceeded) as error:
            reasons.setdefault(source.name, str(error))
    if not result:
        raise Unsupported(_together(list(reasons.values())))
    return result


def _together(reasons: list[str]) -> str:
    """One line: one reason verbatim, several shortened to their first clauses."""
    if len(reasons) == 1:
        return reasons[0]
    return "no method fits: " + "; ".join(reason.split("; ")[0] for reason in reasons)


def shallower(request: Request, layers: int | None) -> Proposal | None:
    """The plan that compile prefers to a cascade of ``layers`` layers; ``None`` if it takes the cascade."""
    rivals = tuple(
        source
        for source in SOURCES
        if source.name in ("features", "clock") and (layers is None or source.least(request) < layers)
    )
    try:
        result = proposals(request, request.budget(), rivals)
    except (Unsupported, LimitExceeded):
        return None
    return min(result, key=lambda plan: plan.layers)


# Weights: a program becomes matrices, or the reasons why it cannot.


def _lower(
    request: Request,
    plan: Proposal,
    *,
    styles: Callable[[Request, Program], Iterable[Style]],
    shape: Callable[[Program], Program],
    estimated: int,
) -> Iterator[CompiledNetwork]:
    """The plan's program in a shape, a network for each style.

    A program is refused that is too coarse for words of ``estimated`` letters.
    """
    program, length = shape(plan.program()), request.length
    reasons = list(_refusals(request, program, estimated))
    if reasons:
        raise Unsupported("; ".join(reasons))
    for style in styles(request, program):
        network, layout = lower(program, length, style._replace(exact=_is_half(request)))
        yield CompiledNetwork(network, request.automaton, plan.method, program, layout)


def _refusals(request: Request, program: Program, estimated: int) -> Iterator[str]:
    """Every reason why a program cannot be lowered as asked."""
    for change in (change for layer in program.layers for change in layer.maps):
        if isinstance(change, Table) and len(change.rows) > request.max_rows:
            yield (
                f"the table for {', '.join(change.outputs)} has {len(change.rows):,} reachable rows, "
                f"more than {request.max_rows:,}; raise --effort or use method scan"
            )
    dtype = request.dtype or "float64"
    faults = list(precision_faults(program, estimated, dtype))
    if faults:
        most = longest(lambda length: precision_faults(program, length, dtype))
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        held = f"which suffices up to length {most}" if most else "which is too coarse for every length"
        fault = shorten(faults[0], 100)
        yield f"length {request.length} is too long for {dtype}, {held}: {fault}{more}; use float64"


def _is_half(request: Request) -> bool:
    return request.dtype is not None and FLOATS[request.dtype].half


def _usual_styles(request: Request, program: Program) -> Iterable[Style]:
    """The style of fewest units where only depth matters: in float64 differences are exact enough."""
    if request.objective == "depth":
        return [Style() if request.dtype == "float64" else Style(narrow=True, saturate=True, rounded=True)]
    return _all_styles(request, program)


def _all_styles(request: Request, program: Program) -> Iterable[Style]:
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


# The choice.


def cost(network: Transformer, objective: Objective) -> tuple[int, ...]:
    """Sort key: the objective, then tie-breakers."""
    width = max(network.dim, network.mlp_width, network.heads * network.head_dim)
    return {
        "depth": (network.depth, network.num_blocks, network.num_parameters),
        "blocks": (network.num_blocks, network.depth, network.num_parameters),
        "parameters": (network.num_parameters, network.depth),
        "width": (width, network.num_parameters),
    }[objective]


def _notes(request: Request, network: CompiledNetwork, budget: Budget) -> tuple[str, ...]:
    """Where the search was cut short, if the network has several layers and more effort could save some."""
    if network.transformer.depth < 2:
        return ()
    more = f"{10 * request.effort:g}"
    return tuple(
        f"{what} was given up; --effort {more} (effort={more}) would continue it" for what in budget.given_up
    )


PRINTED: dict[str, Callable[[Request], CompiledNetwork]] = {
    "scan": scan_as_printed,
    "grid": grid_as_printed,
    "paper": paper_as_printed,
}
"""The paper's own constructions, corrected."""


Written = TypeVar("Written", CompiledNetwork, "RecurrentNetwork", "LoopedNetwork")
FORMATS = ("float32", "float64")
"""Where a proof is sought, in this order, unless a request names a format."""
WORK, SHARE = 1.6e9, 6e8
"""Array entries that all searches for proofs in one format may take at effort 1, and each of them.

That is some forty seconds at most, and fifteen.
"""
REASON = 160


@overload
def compile(
    automaton: AutomatonLike,
    length: int,
    *,
    architecture: Literal["transformer"] = ...,
    unproved: bool = ...,
    out: str | Path | None = ...,
    **options: Unpack[TransformerOptions],
) -> CompiledNetwork: ...


@overload
def compile(
    automaton: AutomatonLike, length: None = ..., *, architecture: str, out: str | Path | None = ...
) -> "RecurrentNetwork | LoopedNetwork": ...


@plainly
def compile(
    automaton: AutomatonLike,
    length: int | None = None,
    *,
    architecture: str = "transformer",
    unproved: bool = False,
    out: str | Path | None = None,
    **options: Any,
) -> "CompiledNetwork | RecurrentNetwork | LoopedNetwork":
    """A network that outputs the states of ``automaton``: ``compile("S4", 64)``.

    Of the Transformers that the checker accepts in float32 it is the one of least depth, then of the fewest
    blocks of a stock decoder, then of the fewest parameters; if none is accepted, the same in float64; else
    the one most likely to be right, with ``proved`` left at ``None``.

    Args:
        automaton: what to simulate, from its own start state: an object, a name or a file.
        length: the longest word of a Transformer; recurrent networks read words of every length.
        architecture: ``transformer``, ``deltaproduct``, ``deltanet``, ``diagonal``, ``rankone``, ``lstm``,
            ``gru`` or ``looped``.
        unproved: take a Transformer of least depth without asking the checker.
        out: a directory to write it to, refused before the work if it holds something else.
        options: of a Transformer: ``method`` (auto, cascade, features, wide, scan,
            paper or grid), ``activation``, ``objective``, ``target``, ``dtype``, ``gadget``, ``variant``,
            ``effort``; see ``krohn compile --help``.
    """
    if architecture == "transformer":
        check_options(options)
        if length is None:
            raise InvalidInput("a Transformer is built for words up to a length; give length=")
        request = make_request(automaton, length, **options)
        _check_target(out, COMPILED)
        return _write(build(request) if unproved else find_accepted(request), out)
    from krohn.recurrent.looped_network import LoopedNetwork
    from krohn.recurrent.looped_weights import looped, model_of
    from krohn.recurrent.recurrent_network import RecurrentNetwork
    from krohn.recurrent.recurrent_weights import WEIGHTS

    if architecture not in (*WEIGHTS, LOOPED):
        known = ", ".join(["transformer", *WEIGHTS, LOOPED])
        raise UnknownName(f"the architecture must be one of {known}; got {architecture!r:.40}")
    given = [*(["length"] if length is not None else []), *(["unproved"] if unproved else []), *options]
    if given:
        raise InvalidInput(f"{given[0]} is for Transformers; a recurrent network reads words of every length")
    meant = as_automaton(automaton)
    if architecture == LOOPED:
        _check_target(out, LOOPED)
        tensors = looped(meant)
        return _write(LoopedNetwork(tensors, model_of(tensors), meant), out)
    _check_target(out, RECURRENT)
    return _write(RecurrentNetwork(WEIGHTS[architecture](meant), meant), out)


def _check_target(out: str | Path | None, kind: str) -> None:
    """Refuses a directory that holds anything but a network of this kind."""
    if out is not None:
        Folder(Path(out)).check_target(kind, (MODEL, KEYS[kind]))


def _write(network: Written, out: str | Path | None) -> Written:
    if out is not None:
        network.save(out)
    return network


def find_accepted(request: Request) -> CompiledNetwork:
    """The best network that the checker accepts; if it accepts none, the usual one."""
    formats = FORMATS if request.dtype is None else (request.dtype,)
    passed: list[str] = []
    for dtype, networks in zip(formats, tee(candidates(request), len(formats)), strict=True):
        work = Work(WORK * request.effort)
        for network in networks:
            doubt = _doubt(network, dtype, work.part(SHARE * request.effort))
            if not doubt:
                return replace(network, proved=dtype, passed_over=tuple(passed))
            passed.append(_describe_passed_over(network, dtype, doubt))
    return replace(build(request), passed_over=tuple(passed))


def _doubt(network: CompiledNetwork, dtype: str, work: Work) -> str:
    """Why the network is not taken, if so: it is far too long for the format, or the checker says why."""
    if network.program is not None:
        faults = precision_faults(network.program, _hopeful(network.length), dtype)
        if fault := next(iter(faults), ""):
            return fault
    _, failure, _ = attempt(network.transformer, network.automaton, network.length, dtype, budget=work)
    return "" if failure is None else failure.reason


def _hopeful(length: int) -> int:
    """Estimates of what a format supports are coarse: only words of four times that length are not tried."""
    return -(-length // 4)


def _describe_passed_over(network: CompiledNetwork, dtype: str, reason: str) -> str:
    net = network.transformer
    sizes = f"{counted(net.depth, 'layer')}, {counted(net.num_blocks, 'block')}"
    return f"{network.method} of {sizes} is not proved in {dtype}: {shorten(reason, REASON)}"
