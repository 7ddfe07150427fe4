"""Verification by Coq: from a directory to a certificate, and what Coq's kernel says of it."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import nan
from pathlib import Path
from typing import Any

from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.files import path_of, short, write_text
from krohn.check.claim import ANY, LEFT, Claim
from krohn.check.rules import read_net
from krohn.coq.certificate_text import (
    MARK,
    CoqCertificate,
    recurrent_certificate,
    run_certificate,
    transformer_certificate,
)
from krohn.coq.coqc import NO_COQ, CoqVerdict, check_text, coq_version
from krohn.coq.counters import counting
from krohn.coq.exploring import explore, grow
from krohn.coq.heads import NoCounters
from krohn.coq.scanning import Scanning, scanning
from krohn.coq.stored import (
    Stored,
    StoredNetwork,
    StoredRun,
    StoredTransformer,
)
from krohn.errors import InvalidInput, LimitExceeded, MissingDependency, Unsupported
from krohn.network.compiled import CompiledNetwork
from krohn.proving.claims import Check, Identity, claim_about, identify
from krohn.proving.kinds import kind_of
from krohn.proving.outcome import Counterexample, SecondOpinion, Verification
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
    out: str | Path | None = None,
) -> Verification:
    """Writes the certificate of a network, has Coq check it, and runs short words.

    Args:
        given: a network that ``compile`` returned, or the directory it was saved in.
        automaton: the intended automaton; by default the one that the file names.
        renamed: allow that the network's states and letters have other names than those of ``automaton``.
        out: also write the certificate to this ``.v`` file, before Coq checks it, and what it must prove to
            the same name with ``.reader.v``.
    """
    target = None if out is None else checked_target(Path(out))
    with _folder_of(given) as folder:
        net = read_net(folder)
        kind = kind_of(folder)
        if kind is None or not kind.does("stored"):
            raise Unsupported(
                "the kernel's proofs cover what krohn compile writes and trained LSTMs; "
                "others are not covered"
            )
        network, run = kind.stored(folder)
    if coq_version() is None and target is None:
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
        return _outcome(network, claim, identity, str(error), ran)
    if target is not None:
        write_text(target, proposed.certificate.text)
        write_text(_reader(target), proposed.certificate.reader(target.stem))
    coq = check_text(proposed.certificate.text)
    claim = replace(claim, order=proposed.order, assumptions=coq.assumptions)
    return _outcome(network, claim, identity, _reason(coq, proposed, ran[0]), ran, proposed, coq)


def _outcome(
    network: Stored,
    claim: Claim,
    identity: Identity,
    reason: str,
    ran: Ran | None = None,
    proposed: "_Proposed | None" = None,
    coq: CoqVerdict | None = None,
) -> Verification:
    """Certified: Coq accepts a proof for sums in any order, and no word that was run is wrong."""
    accepted = coq is not None and coq.accepted
    text = f"proved by Coq {coq.version}" if coq and not reason else reason
    result = Verification(
        certified=accepted and not reason,
        claim=claim,
        margin=nan,  # Coq proves that the right logit leads, not by how much
        checks=(Check.exact("kernel", 0, not reason, text),),
        counterexample=None if ran is None else ran[1],
        largest=0 if reason else claim.up_to or 0,
        reason=reason,
        second_opinion=None if ran is None else ran[0],
        depth=len(network.weights.layers) if isinstance(network, StoredTransformer) else network.layers,
        identity=identity,
        more={
            "kernel": {
                "accepted": accepted,
                "architecture": network.architecture,
                "order": None if proposed is None else ORDERS[proposed.order],
                "schedule": LETTER_BY_LETTER if network.length is None else WHOLE_WORDS,
                "coq": coq.version if coq else coq_version(),
                "seconds": round(coq.seconds, 2) if coq else 0.0,
                "processor_seconds": round(coq.processor_seconds, 2) if coq else 0.0,
                "megabytes": coq.megabytes if coq else 0,
                "pairs": 0 if proposed is None else proposed.pairs,
                "assumptions": list(coq.assumptions) if coq else [],
                "configuration": network.line,
                "file": network.file,
                "sha256": network.digest,
                "reason": reason or None,
            }
        },
    )
    return replace(result, wording=_wording(network, result, result.more["kernel"]))


def _wording(network: Stored, verdict: Verification, kernel: dict[str, Any]) -> str:
    """The verdict, and what Coq proves."""
    about = f"{verdict.subject}, {network.architecture}"
    if isinstance(network, StoredNetwork) and network.cell.options.get("householders") == 1:
        about += " of one step, a DeltaNet" if network.architecture == "deltaproduct" else ""
    lines = [f"certified: {about}" if verdict.certified else f"not certified: {about}: {verdict.reason}"]
    if kernel["accepted"]:
        words = "every length" if verdict.length is None else f"at most {verdict.length} letters"
        lines += [
            f"proved by Coq {kernel['coq']} in {kernel['seconds']:.1f} s: words of {words}, "
            f"{kernel['schedule']}, float32, sums in {kernel['order']}",
            f"'{kernel['configuration']}' and {kernel['file']} after it have the SHA-256 {kernel['sha256']}",
            f"assumptions: {', '.join(kernel['assumptions'])}",
        ]
    return "\n".join(lines)


@dataclass(frozen=True)
class _Proposed:
    """A certificate that Coq has not checked yet."""

    certificate: CoqCertificate
    order: str
    pairs: int
    right: bool


def _reason(coq: CoqVerdict, proposed: _Proposed, ran: SecondOpinion) -> str:
    """Why the network is not certified; empty if it is."""
    if not coq.accepted:
        wrong = ": as its states or counts were read off, some word leads to a wrong state"
        return coq.reason + ("" if proposed.right else wrong)
    if ran.wrong:
        wrong = f"{ran.wrong:,} of {ran.words:,} words are run wrong"
        return f"Coq proves it for sums in {ORDERS[proposed.order]}, but {wrong}"
    if proposed.order != ANY:
        return f"Coq proves it for sums in {ORDERS[proposed.order]}; a device may take them otherwise"
    return ""


def _propose(network: Stored) -> _Proposed:
    if isinstance(network, StoredRun):
        boxes, closed = grow(network)
        return _Proposed(run_certificate(network, boxes), ANY, len(boxes.state), closed)
    if isinstance(network, StoredNetwork):
        found = explore(network)
        order = ANY if found.any_order else LEFT
        return _Proposed(recurrent_certificate(network, found), order, len(found.hints), found.right)
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


def _reader(target: Path) -> Path:
    return target.with_suffix(".reader.v")


def checked_target(out: Path) -> Path:
    """The file, if Coq accepts its name and nothing but a certificate would be overwritten."""
    if out.suffix != ".v" or not out.stem.isidentifier():
        raise InvalidInput(
            f"--out must end in .v here, and its name must be a word of letters, digits and _; got {out.name}"
        )
    for file in (out, _reader(out)):
        if file.exists() and not (file.is_file() and MARK.encode() in file.read_bytes()[:1000]):
            raise InvalidInput(f"{short(file)} exists and is not a certificate of krohn: choose another file")
    return out
