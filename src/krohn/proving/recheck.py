"""Checks a certificate against a network: the rules alone, on the witness and the network's own files.

Nothing is searched, and nothing in the certificate is trusted. In addition to ``python -m krohn.check``, the
claim's automaton is compared with the one that the user names, or that the files name.
"""

from dataclasses import replace

from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.threads import one_thread
from krohn.check.certificate import Certificate
from krohn.check.files.folders import Net
from krohn.check.ground import Verdict
from krohn.check.rules import check_certificate
from krohn.proving.claims import Check
from krohn.proving.identity import Identity, identify
from krohn.proving.outcome import Verification
from krohn.proving.witness.search import checkable_table


def recheck_net(
    net: Net,
    named: Semiautomaton,
    certificate: Certificate,
    meant: Semiautomaton | None,
    *,
    renamed: bool = False,
    unclaimed: str = "",
    effort: float = 1.0,
) -> Verification:
    """The verdict on a certificate.

    ``named`` is the automaton that the network's files name, ``meant`` the user's, and ``unclaimed`` says
    what of the question the certificate does not claim.
    """
    identity, claim = identify(named, meant, renamed=renamed), certificate.claim
    reason = _objection(identity, certificate, unclaimed)
    verdict = Verdict(False, 0.0, reason) if reason else _judged(net, certificate, effort)
    lead = f", with a logit margin of {verdict.margin:.6g}" if verdict.margin else ""
    text = verdict.reason or f"the witness holds{lead}"
    return Verification(
        certified=verdict.certified,
        claim=claim,
        margin=verdict.margin,
        checks=(Check.exact("witness", verdict.layer, verdict.certified, text),),
        largest=claim.up_to or 0 if verdict.certified else 0,
        reason=verdict.reason,
        depth=len(net.configuration.get("shape", ())),
        identity=identity,
        certificate=certificate if verdict.certified else None,
        rechecked=True,
    )


def _objection(identity: Identity, certificate: Certificate, unclaimed: str) -> str:
    """Why the certificate does not answer the question, whatever its witness; empty if it does."""
    if identity.mismatch:
        return f"identity: {identity.mismatch}"
    if unclaimed or _same(certificate, identity.automaton):
        return unclaimed
    return "identity: the certificate is about another automaton than the network's files name"


def _judged(net: Net, certificate: Certificate, effort: float) -> Verdict:
    with one_thread():
        return check_certificate(net, certificate, effort)


def _same(certificate: Certificate, automaton: Semiautomaton) -> bool:
    """Whether the claim is about this automaton: the same names, table, start and outputs."""
    claim = certificate.claim
    names = (claim.letters, claim.states, claim.target)
    named = (automaton.letter_names, automaton.state_names, automaton.target)
    return names == named and claim.table == replace(claim, automaton=checkable_table(automaton)).table
