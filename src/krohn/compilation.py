"""``krohn.compile``: from an automaton to a network with explicit weights, of the requested architecture.

Of a Transformer the constructions propose and the checker decides: the network is the first of them, in the
order of the objective, that is proved right on every word in float32; if there is none, in float64.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import tee
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack, overload

from krohn.automata.zoo import AutomatonLike, as_automaton
from krohn.base.files import COMPILED, KEYS, RECURRENT, Folder
from krohn.check.ground import Budget
from krohn.construct.compiling import build, candidates, check_options, make_request
from krohn.construct.lowering.assembly import precision_faults
from krohn.construct.request import Request, TransformerOptions
from krohn.errors import InvalidInput, UnknownName, counted, plainly
from krohn.network.compiled import MODEL, CompiledNetwork
from krohn.proving.compiled import attempt

if TYPE_CHECKING:
    from krohn.recurrent.recurrent_network import RecurrentNetwork

Written = TypeVar("Written", CompiledNetwork, "RecurrentNetwork")
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
) -> "RecurrentNetwork": ...


@plainly
def compile(
    automaton: AutomatonLike,
    length: int | None = None,
    *,
    architecture: str = "transformer",
    unproved: bool = False,
    out: str | Path | None = None,
    **options: Any,
) -> "CompiledNetwork | RecurrentNetwork":
    """A network that outputs the states of ``automaton``: ``compile("S4", 64)``.

    Of the Transformers that the checker accepts in float32 it is the one of least depth, then of the fewest
    blocks of a stock decoder, then of the fewest parameters; if none is accepted, the same in float64; else
    the one most likely to be right, with ``proved`` left at ``None``.

    Args:
        automaton: what to simulate, from its own start state: an object, a name or a file.
        length: the longest word of a Transformer; recurrent networks read words of every length.
        architecture: ``transformer``, ``deltaproduct``, ``deltanet``, ``diagonal``, ``rankone``, ``lstm``
            or ``gru``.
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
    from krohn.recurrent.recurrent_network import RecurrentNetwork
    from krohn.recurrent.recurrent_weights import WEIGHTS

    if architecture not in WEIGHTS:
        known = ", ".join(["transformer", *WEIGHTS])
        raise UnknownName(f"the architecture must be one of {known}; got {architecture!r:.40}")
    given = [*(["length"] if length is not None else []), *(["unproved"] if unproved else []), *options]
    if given:
        raise InvalidInput(f"{given[0]} is for Transformers; a recurrent network reads words of every length")
    meant = as_automaton(automaton)
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
        left = WORK * request.effort
        for network in networks:
            budget = Budget(min(left, SHARE * request.effort))
            left -= budget.left
            reason = next(_doubts(network, dtype, budget), None)
            left += budget.left
            if reason is None:
                return replace(network, proved=dtype, passed_over=tuple(passed))
            passed.append(_describe_passed_over(network, dtype, reason))
    return replace(build(request), passed_over=tuple(passed))


def _doubts(network: CompiledNetwork, dtype: str, budget: Budget) -> Iterator[str]:
    """Why the network is not taken: it is far too long for the format, or the checker says why.

    Estimates of what a format supports are coarse: only words of four times that length are not tried.
    """
    if network.program is not None:
        yield from precision_faults(network.program, -(-network.length // 4), dtype)
    _, failure, _ = attempt(network.transformer, network.automaton, network.length, dtype, budget=budget)
    if failure is not None:
        yield failure.reason


def _describe_passed_over(network: CompiledNetwork, dtype: str, reason: str) -> str:
    net = network.transformer
    sizes = f"{counted(net.depth, 'layer')}, {counted(net.num_blocks, 'block')}"
    return f"{network.method} of {sizes} is not proved in {dtype}: {shorten(reason, REASON)}"
