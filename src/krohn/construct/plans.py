"""Every plan there is: the sources of proposals, in the order in which they are asked.

A new way to build networks is one more line here.
"""

from krohn.construct.features.source import (
    one_layer_proposals,
    proposals_without_search,
    two_layer_proposals,
)
from krohn.construct.proposal import Proposal, Source
from krohn.construct.request import Request
from krohn.construct.tight.cascade_source import cascade_proposals
from krohn.construct.tight.scan import scan_depth, scan_proposals
from krohn.errors import LimitExceeded, Unsupported
from krohn.work import Work

SOURCES = (
    Source("features", ("auto", "features"), proposals_without_search, lambda request: 1),
    Source("cascade", ("auto", "cascade"), cascade_proposals, lambda request: int(_moves(request))),
    Source("features", ("auto", "features"), one_layer_proposals, lambda request: 1),
    Source("features", ("auto", "features"), two_layer_proposals, lambda request: 2),
    Source("scan", ("auto",), scan_proposals, lambda request: scan_depth(request.length)),
)


def _moves(request: Request) -> bool:
    """Whether some letter leaves the start; if none does, no layer is needed."""
    automaton = request.automaton
    return any(
        automaton.step(automaton.start, letter) != automaton.start for letter in range(automaton.num_letters)
    )


def proposals(request: Request, work: Work, sources: tuple[Source, ...] = SOURCES) -> list[Proposal]:
    """What every source that fits the request proposes; all reasons if there is nothing.

    Where depth is all that matters, a source that cannot do with fewer layers is not asked.
    """
    found: list[Proposal] = []
    reasons: list[str] = []
    for source in sources:
        least = min((proposal.layers for proposal in found), default=None)
        if request.method not in source.methods or (
            request.objective == "depth" and least is not None and least <= source.least(request)
        ):
            continue
        try:
            found += source.propose(request, work)
        except (Unsupported, LimitExceeded) as error:
            reasons.append(str(error))
        work.look()
    if not found:
        raise Unsupported(" | ".join(reasons))
    return found


def shallower(request: Request, layers: int | None) -> Proposal | None:
    """The plan that compile takes instead of a cascade of so many layers; ``None`` if it takes that one."""
    rivals = tuple(
        source
        for source in SOURCES
        if source.name == "features" and (layers is None or source.least(request) < layers)
    )
    try:
        found = proposals(request, request.work(), rivals)
    except (Unsupported, LimitExceeded):
        return None
    return min(found, key=lambda plan: plan.layers)


def last_resort(request: Request, work: Work) -> list[Proposal]:
    """What the last source proposes, which always has something: for plans that do not fit after all."""
    source = SOURCES[-1]
    return list(source.propose(request, work)) if request.method in source.methods else []
