"""A certificate against a network: the rules alone, on the certificate's witness and the network's own files.

Nothing is searched and nothing in the certificate is trusted. In addition to ``python -m krohn.check``, the
claim's automaton is compared with the one that the user names, or that the network's files name.
"""

from dataclasses import replace

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.certify.certificate import Check, Verification
from krohn.certify.identity import identify
from krohn.certify.proof import checkable_table, one_thread
from krohn.check.claim import Certificate
from krohn.check.net import Net
from krohn.check.rules import check_certificate


def recheck_net(
    net: Net,
    named: Semiautomaton,
    certificate: Certificate,
    meant: Semiautomaton | None,
    *,
    renamed: bool = False,
) -> Verification:
    """The verdict on a certificate; ``named`` is the automaton that the files of the network name."""
    identity, claim = identify(named, meant, renamed=renamed), certificate.claim
    reason, verdict = identity.mismatch and f"identity: {identity.mismatch}", None
    if not reason and not _same(certificate, identity.automaton):
        reason = "identity: the certificate is about another automaton than the network's files name"
    if not reason:
        with one_thread():
            verdict = check_certificate(net, certificate)
        reason = verdict.reason
    done = verdict is not None and verdict.certified
    lead = f", with a logit margin of {verdict.margin:.6g}" if verdict and verdict.margin else ""
    text = reason or f"the witness holds{lead}"
    limit, layer = (1.0 if done else 0.0), (0 if verdict is None else verdict.layer)
    return Verification(
        certified=done,
        claim=claim,
        margin=0.0 if verdict is None else verdict.margin,
        checks=(Check("witness", layer, 1.0 - limit, limit, done, text),),
        counterexample=None,
        largest=claim.up_to or 0 if done else 0,
        reason=reason,
        second_opinion=None,
        depth=len(net.configuration.get("shape", ())),
        identity=identity,
        certificate=certificate if done else None,
    )


def _same(certificate: Certificate, automaton: Semiautomaton) -> bool:
    """Whether the claim is about this automaton: the same names, table, start and outputs."""
    claim, table = certificate.claim, checkable_table(automaton)
    names = (claim.letters, claim.states, claim.target)
    if names != (automaton.letter_names, automaton.state_names, automaton.target):
        return False
    held = replace(claim.automaton, start=int(claim.automaton.start))
    return held.start == table.start and all(
        np.array_equal(mine, theirs)
        for mine, theirs in ((held.table, table.table), (held.shows, table.shows))
    )
