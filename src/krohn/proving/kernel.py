"""Verification by Coq: from a directory to a certificate, and what Coq, or its checker as a program, says."""

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from math import nan
from pathlib import Path
from typing import Any

from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.files import check_output, path_of, write_text
from krohn.check.claim import ANY, LEFT, Claim
from krohn.check.rules import read_net
from krohn.coq.certificate import (
    KernelCertificate,
    recurrent_certificate,
    run_certificate,
    transformer_certificate,
)
from krohn.coq.coqc import NO_COQ, KernelVerdict, coq_version, prove
from krohn.coq.counters import counting
from krohn.coq.exploring import explore, grow
from krohn.coq.heads import NoCounters
from krohn.coq.program import built_program, check
from krohn.coq.scanning import Scanning, scanning
from krohn.coq.stored import (
    Stored,
    StoredNetwork,
    StoredRun,
    StoredTransformer,
    digest_of,
    whole_of,
)
from krohn.errors import LimitExceeded, MissingDependency, Unsupported
from krohn.network.compiled import CompiledNetwork
from krohn.proving.claims import Check, claim_about
from krohn.proving.evidence import Counterexample, SecondOpinion
from krohn.proving.identity import Identity, identify
from krohn.proving.kinds import kind_of
from krohn.proving.outcome import Verification
from krohn.proving.witness.machines import scans
from krohn.proving.witness.search import checkable
from krohn.recurrent.recurrent_network import RecurrentNetwork

ORDERS = {ANY: "any order", LEFT: f"order {LEFT}"}
LETTER_BY_LETTER, WHOLE_WORDS = "letter by letter", "whole words"
Ran = tuple[SecondOpinion, Counterexample | None]


def kernel_verdict(
    given: CompiledNetwork | RecurrentNetwork | str | Path,
    automaton: Semiautomaton | None = None,
    *,
    renamed: bool = False,
    by_coq: bool = False,
    out: str | Path | None = None,
) -> Verification:
    """Writes the certificate of a network, has it checked, and runs short words.

    Args:
        given: a network that ``compile`` returned, or the directory it was saved in.
        automaton: the intended automaton; by default the one that the file names.
        renamed: allow that the network's states and letters have other names than those of ``automaton``.
        by_coq: ask Coq itself, also where krohn-kernel is built.
        out: also write the certificate to this JSON file, before it is checked.
    """
    if out is not None:
        check_output(Path(out), ".json")
    with _folder_of(given) as folder:
        net = read_net(folder)
        kind = kind_of(folder)
        if kind is None or not kind.does("stored"):
            raise Unsupported(
                "the kernel's proofs cover what krohn compile writes and trained LSTMs; "
                "others are not covered"
            )
        network, run = kind.stored(folder)
    program = None if by_coq else built_program()
    if program is None and coq_version() is None and out is None:
        raise MissingDependency(NO_COQ)
    identity = identify(network.automaton, automaton, renamed=renamed)
    if identity.mismatch:
        claim = claim_about(net, network.automaton, network.length, "float32", None, target="state")
        return _outcome(network, claim, identity, f"identity: {identity.mismatch}")
    network = replace(network, automaton=identity.automaton)
    claim = claim_about(net, identity.automaton, network.length, "float32", None, target="state")
    ran = run(identity.automaton)
    try:
        proposed = _propose(network)
    except (LimitExceeded, NoCounters) as error:
        if ran[0].wrong:
            return _outcome(network, claim, identity, str(error), ran)
        raise Unsupported(f"the kernel's proofs do not cover this network: {error}") from error
    certificate = proposed.certificate.to_json()
    if out is not None:
        write_text(Path(out), json.dumps(certificate) + "\n")
    whole = whole_of(network)
    said = prove(certificate, whole) if program is None else check(program, certificate, whole)
    claim = replace(claim, order=proposed.order, assumptions=said.assumptions)
    return _outcome(network, claim, identity, _reason(said, proposed, ran[0]), ran, proposed, said)


def _outcome(
    network: Stored,
    claim: Claim,
    identity: Identity,
    reason: str,
    ran: Ran | None = None,
    proposed: "_Proposed | None" = None,
    said: KernelVerdict | None = None,
) -> Verification:
    """Certified: a proof for sums in any order is accepted, and no word that was run is wrong."""
    accepted = said is not None and said.accepted
    text = f"proved by {said.by}" if said and not reason else reason
    result = Verification(
        certified=accepted and not reason,
        claim=claim,
        margin=nan,  # Coq proves that the right logit leads, not by how much
        checks=(Check.exact("kernel", 0, not reason, text),),
        counterexample=None if ran is None else ran[1],
        largest=0 if reason else claim.up_to or 0,
        reason=reason,
        second_opinion=None if ran is None else ran[0],
        depth=network.layers,
        identity=identity,
        more={
            "kernel": {
                "accepted": accepted,
                "by": said.by if said else None,
                "trusts": list(said.trusts) if said else [],
                "architecture": network.architecture,
                "order": None if proposed is None else ORDERS[proposed.order],
                "schedule": LETTER_BY_LETTER if network.length is None else WHOLE_WORDS,
                "seconds": round(said.seconds, 2) if said else 0.0,
                "processor_seconds": round(said.processor_seconds, 2) if said else 0.0,
                "megabytes": said.megabytes if said else 0,
                "pairs": 0 if proposed is None else proposed.pairs,
                "assumptions": list(said.assumptions) if said else [],
                "configuration": network.line,
                "file": network.file,
                "sha256": digest_of(network),
                "reason": reason or None,
            }
        },
    )
    return replace(result, wording=_wording(network, result, result.more["kernel"]))


def _wording(network: Stored, verdict: Verification, kernel: dict[str, Any]) -> str:
    """The verdict, what is proved, and by whom."""
    about = f"{verdict.subject}, {network.architecture}"
    if isinstance(network, StoredNetwork) and network.cell.options.get("householders") == 1:
        about += " of one step, a DeltaNet" if network.architecture == "deltaproduct" else ""
    lines = [f"certified: {about}" if verdict.certified else f"not certified: {about}: {verdict.reason}"]
    if kernel["accepted"]:
        words = "every length" if verdict.length is None else f"at most {verdict.length} letters"
        lines += [
            f"proved by {kernel['by']} in {kernel['seconds']:.1f} s: words of {words}, "
            f"{kernel['schedule']}, float32, sums in {kernel['order']}",
            f"'{kernel['configuration']}', names and {kernel['file']} have the SHA-256 {kernel['sha256']}",
            f"trusted: {', '.join(kernel['trusts'])}",
            f"axioms: {', '.join(kernel['assumptions'])}",
        ]
    return "\n".join(lines)


@dataclass(frozen=True)
class _Proposed:
    """A certificate that is not checked yet."""

    certificate: KernelCertificate
    order: str
    pairs: int
    right: bool


def _reason(said: KernelVerdict, proposed: _Proposed, ran: SecondOpinion) -> str:
    """Why the network is not certified; empty if it is."""
    if not said.accepted:
        wrong = ": as its states or counts were read off, some word leads to a wrong state"
        return said.reason + ("" if proposed.right else wrong)
    if ran.wrong:
        wrong = f"{ran.wrong:,} of {ran.words:,} words are run wrong"
        return f"{said.by} proves it for sums in {ORDERS[proposed.order]}, but {wrong}"
    if proposed.order != ANY:
        return f"{said.by} proves it for sums in {ORDERS[proposed.order]}; a device may take them otherwise"
    return ""


def _propose(network: Stored) -> _Proposed:
    if isinstance(network, StoredRun):
        boxes, closed = grow(network)
        return _Proposed(run_certificate(network, boxes), ANY, len(boxes.state), closed)
    if isinstance(network, StoredNetwork):
        found = explore(network)
        order = ANY if found.any_order else LEFT
        return _Proposed(recurrent_certificate(network, found), order, len(found.hints), found.right)
    # Fallback: heads that look back may also fill delay lines, which need no maps of points.
    with suppress(NoCounters, LimitExceeded):
        if network.scans:
            scan = scan_hints(network)
            return _Proposed(transformer_certificate(network, scan), ANY, len(scan.states), right=True)
    hints = counting(network.weights, network.automaton)
    return _Proposed(transformer_certificate(network, hints), ANY, len(hints.known), hints.right)


def scan_hints(network: StoredTransformer) -> Scanning:
    """Hints from the scan that the search for witnesses finds."""
    found = next(scans(checkable(network.weights, network.automaton)[0]), None)
    if found is None:
        raise NoCounters("letters must stand for maps of points where heads look back; here they do not")
    return scanning(network.weights, network.automaton, found)


@contextmanager
def _folder_of(given: CompiledNetwork | RecurrentNetwork | str | Path) -> Iterator[Path]:
    """Where the network lies; a network that is nowhere is saved for a while."""
    if isinstance(given, str | Path):
        yield path_of(given)
        return
    with tempfile.TemporaryDirectory() as name:
        given.save(name)
        yield Path(name)
