"""``krohn.compile``: from an automaton to a network with explicit weights, of the requested architecture.

Constructions propose Transformers, and the checker decides. ``find_accepted`` is the pipeline: plans of the
automaton (``sources.py`` lists where they come from), programs that say what the layers do, matrices, and
their order. The network is the first of them, in the order of the objective, that is proved right on every
word in float32; if there is none, in float64.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
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
from krohn.base.portable import Budget
from krohn.base.typed import plainly
from krohn.check.ground import Work
from krohn.construct.cascade_source import same_program
from krohn.construct.printed import grid_as_printed, paper_as_printed, scan_as_printed
from krohn.construct.request import Objective, Proposal, Request, TransformerOptions
from krohn.construct.sources import SOURCES, proposals
from krohn.construct.weights import TooCoarse, all_styles, lower_proposal, usual_styles
from krohn.errors import InvalidInput, KrohnError, LimitExceeded, UnknownName, Unsupported, counted
from krohn.network.compiled import CompiledNetwork
from krohn.network.lowering.reach import precision_faults
from krohn.network.lowering.stock_blocks import in_blocks
from krohn.network.transformer import Transformer
from krohn.network.transformer_file import MODEL
from krohn.proving.attempts import attempt
from krohn.proving.scan_cost import too_long

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
    usual = partial(
        lower_proposal,
        request,
        styles=usual_styles,
        shape=same_program,
        estimated=request.length,
        dtype=request.dtype or "float64",
    )
    budget, refusals = request.budget(), list[tuple[Proposal, KrohnError]]()
    for networks in _networks(request, _rounds(request, budget), usual, refusals, budget):
        return networks[0]
    raise Unsupported(str(refusals[0][1]))  # of the first plan, verbatim: it names the limit and the option


Rounds = Iterable[list[Proposal]]


def _networks(
    request: Request,
    rounds: Rounds,
    lowered: Callable[[Proposal], Iterable[CompiledNetwork]],
    refusals: list[tuple[Proposal, KrohnError]],
    budget: Budget,
) -> Iterator[list[CompiledNetwork]]:
    """Round by round the networks of the plans, in the objective's order; ``refusals`` has the others."""
    if request.method in PRINTED:
        yield [PRINTED[request.method](request)]
        return
    for plans in rounds:
        networks: list[CompiledNetwork] = []
        for plan in plans:
            try:
                networks += lowered(plan)
            except (Unsupported, LimitExceeded) as error:
                refusals.append((plan, error))
        networks.sort(key=lambda network: cost(network.transformer, request.objective))
        if networks:
            yield [replace(network, notes=_notes(request, network, budget)) for network in networks]


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
            # If there is none either, the plans before it, all tried by then, say why none fits.
            with suppress(Unsupported, LimitExceeded):
                yield list(fallback.propose(request, budget))
        if each:
            yield each


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
WORK, SHARE = 1.6e9, 1.2e9
"""Array entries that all searches for proofs in one format may take at effort 1, and each of them.

That is some forty seconds at most, and thirty.
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
    budget = request.budget()
    for dtype, rounds in zip(formats, tee(_rounds(request, budget), len(formats)), strict=True):
        # What a format is too short for is not built for it: staircases for many letters are large.
        lowered = partial(
            lower_proposal,
            request,
            styles=all_styles,
            shape=in_blocks,
            estimated=_hopeful(request.length),
            dtype=dtype,
        )
        allowed = partial(_unless_too_long, request, lowered)
        work, refusals, told = Work(WORK * request.effort), list[tuple[Proposal, KrohnError]](), 0
        for networks in _networks(request, rounds, allowed, refusals, budget):
            passed += _too_coarse(refusals[told:])
            told = len(refusals)
            for network in networks:
                doubt = _doubt(network, dtype, work.part(SHARE * request.effort))
                if not doubt:
                    return replace(network, proved=dtype, passed_over=tuple(passed))
                passed.append(_describe_passed_over(network, dtype, doubt))
        passed += _too_coarse(refusals[told:])
        for _, error in refusals:
            if isinstance(error, TooLong):
                raise error
    return replace(build(request), passed_over=tuple(passed))


class TooLong(LimitExceeded):
    """No proof is begun: it would exceed the checker's budget."""


def _unless_too_long(
    request: Request, lowered: Callable[[Proposal], Iterable[CompiledNetwork]], plan: Proposal
) -> Iterable[CompiledNetwork]:
    """The networks of a plan, if a proof can be afforded."""
    if plan.method == "scan" and (reason := too_long(request.length)):
        raise TooLong(reason)
    return lowered(plan)


def _too_coarse(refusals: list[tuple[Proposal, KrohnError]]) -> list[str]:
    """What was not built, since it cannot be proved in the format."""
    return [
        f"{plan.method} of {counted(plan.layers, 'layer')} is not built: {shorten(str(error), REASON)}"
        for plan, error in refusals
        if isinstance(error, TooCoarse)
    ]


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
