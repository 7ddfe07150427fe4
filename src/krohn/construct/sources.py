"""The sources of proposals, in calling order. A new way to build networks is one more line here."""

from collections.abc import Sequence

from krohn.base.plugins import Plugins, instance_of
from krohn.base.portable import Budget
from krohn.construct.cascade_source import cascade_proposals
from krohn.construct.features.event_layers import event_proposals
from krohn.construct.features.plans import (
    error_bit_proposals,
    one_layer_proposals,
    proposals_without_search,
    two_layer_proposals,
)
from krohn.construct.request import Proposal, ProposalSource, Request
from krohn.construct.tight.clocked_group import clocked_proposals
from krohn.construct.tight.small_scan import scan_proposals, wide_proposals
from krohn.errors import LimitExceeded, Unsupported

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
