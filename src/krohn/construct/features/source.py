"""Proposals of features: one layer without a search, one layer by search, two layers."""

from collections.abc import Iterator, Sequence
from typing import Protocol

from krohn.automata.semiautomaton import Semiautomaton
from krohn.construct.features.exchange import exchange_conflict
from krohn.construct.features.plans import error_bit_plan, one_layer_plan, plan_without_search, two_layer_plan
from krohn.construct.features.writing import FeatureLayers
from krohn.construct.request import Proposal, Request
from krohn.depth.block_search import find_block_scheme
from krohn.errors import Unsupported
from krohn.work import Work, WorkSpent

ONE_LAYER, ERROR_BIT, TWO_LAYERS = 4_000_000, 1_000_000, 6_000_000
"""Units of work at effort 1."""

MOST_STATES = 10_000
MOST_IN_TWO_LAYERS = 16
"""States up to which one layer, and at effort 1 two layers, are looked for."""

FEW_STATES = 100
"""With more states a proof that one layer is not enough is found sooner than the search ends."""


class Search(Protocol):
    """How a plan is looked for."""

    def __call__(
        self, automaton: Semiautomaton, wanted: Sequence[int], work: Work, *, strict: bool
    ) -> FeatureLayers | None:
        """The plan, ``None`` if there is none."""


def proposals_without_search(request: Request, work: Work) -> Iterator[Proposal]:
    """Definite automata, and one track with dead ends."""
    yield from _proposed(request, _without_search, ONE_LAYER, work)


def _without_search(
    automaton: Semiautomaton, wanted: Sequence[int], work: Work, *, strict: bool
) -> FeatureLayers | None:
    return plan_without_search(automaton, wanted, strict=strict)


def one_layer_proposals(request: Request, work: Work) -> Iterator[Proposal]:
    """The cheapest features of one layer; no search where an exchange of letters rules them out."""
    if exchange_conflict(request.automaton, strict=request.mask == "strict"):
        raise Unsupported("the state does not follow from counts and from first, last and nearby letters")
    if request.automaton.num_states > FEW_STATES and find_block_scheme(request.automaton) is not None:
        raise Unsupported("a block scheme shows that one layer is not enough")
    yield from _proposed(request, one_layer_plan, ONE_LAYER, work)


def error_bit_proposals(request: Request, work: Work) -> Iterator[Proposal]:
    """Where words die for good: features of living words, and a count of fatal letters."""
    yield from _proposed(request, error_bit_plan, ERROR_BIT, work)


def two_layer_proposals(request: Request, work: Work) -> Iterator[Proposal]:
    """Features over letters with notes; groups are left to the cascade, which counts as well."""
    if all(len(set(letter)) == len(letter) for letter in request.automaton.letters):
        raise Unsupported("two layers of features are not looked for in groups")
    if request.automaton.num_states > MOST_IN_TWO_LAYERS * max(1.0, request.effort):
        few = f"up to {MOST_IN_TWO_LAYERS} states at effort 1"
        raise Unsupported(f"two layers of features are looked for {few}")
    yield from _proposed(request, two_layer_plan, TWO_LAYERS, work)


def _proposed(request: Request, search: Search, units: float, work: Work) -> Iterator[Proposal]:
    automaton = request.automaton
    if automaton.num_states > MOST_STATES:
        raise Unsupported(f"features are looked for up to {MOST_STATES:,} states")
    work.look()
    try:
        plan = search(
            automaton, automaton.outputs, Work(units * request.effort), strict=request.mask == "strict"
        )
    except WorkSpent:
        work.give_up("a search for features")
        raise
    if plan is None:
        raise Unsupported("no set of features that heads can see determines the state")
    yield Proposal("features", plan.layers, lambda: plan.program(len(automaton.output_names)), plan.titles)
