"""Verification of a training run: boxes prove lstm and gru runs, codes looped ones; words are run too.

A proof says that the network is right on words of every length. Words without an error are no proof: a run
without one is examined, and not certified.
"""

import base64
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.files import write_json
from krohn.base.portable import portable_bound
from krohn.check.certificate import Certificate, read_certificate
from krohn.check.claim import Claim
from krohn.check.files.folders import Net
from krohn.check.ground import Refused, Verdict, require
from krohn.check.recurrent.boxes import (
    GATED,
    SIDES,
    BoxCell,
    Boxes,
    boxes_from,
    build_gated,
    check,
)
from krohn.check.rules import check_certificate, read_net
from krohn.errors import InvalidFile, InvalidInput, KrohnError
from krohn.lab.provable.box_search import SHORT, contexts, proof_summary, search, shorten
from krohn.lab.provable.coded import has_codes, prove_codes
from krohn.lab.provable.exact import Examined, examine_run, kind_of
from krohn.lab.training.trained_network import TrainedNetwork, read_run
from krohn.proving.claims import Check, Question, certificate_about, claim_about
from krohn.proving.evidence import SecondOpinion
from krohn.proving.identity import Identity, identify
from krohn.proving.looped import CodeProof
from krohn.proving.outcome import Verification
from krohn.proving.witness.search import checkable_table

NAME = "certificate.json"
DTYPE = "float32"


def claim_boxes(net: Net, automaton: Semiautomaton, boxes: Boxes, sides: str) -> Certificate:
    """The boxes and the claim they prove about a run; ``sides``: their float type in the file."""
    claim = claim_about(net, automaton, None, "float32", "boxes")
    return certificate_about(claim, "boxes", witness_of(boxes, sides))


def save_certificate(certificate: Certificate, path: Path) -> None:
    """Writes the file atomically."""
    write_json(path, certificate.to_json())


def witness_of(boxes: Boxes, sides: str = "f8") -> dict[str, Any]:
    """The boxes as plain values; sides in short floats, which must hold them exactly."""
    parts = {}
    for name in ("low", "high"):
        value = getattr(boxes, name).astype(SIDES[sides])
        require(value == getattr(boxes, name), f"{sides} does not hold the sides of the boxes")
        parts[name] = base64.b64encode(value.tobytes()).decode()
    lists = {"state": boxes.state.tolist(), "follower": boxes.follower.tolist()}
    return {**lists, "sides": sides, "width": int(boxes.low.shape[1]), **parts}


@dataclass(frozen=True, eq=False)
class BoxProof:
    """Boxes, and whether they prove the network right."""

    boxes: Boxes
    verdict: Verdict

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "proved": self.verdict.certified,
            "boxes": len(self.boxes.state),
            "steps": self.boxes.steps,
            "margin": portable_bound(self.verdict.margin),
            "widest": self.boxes.widest,
            "dtype": DTYPE,
            "failure": self.verdict.reason or None,
        }

    @property
    def summary(self) -> str:
        """What is closed."""
        return f"{len(self.boxes.state)} boxes closed under {self.boxes.steps} steps"

    def text(self, name: str) -> str:
        """The proof, or the reason for its failure."""
        if not self.verdict.certified:
            return f"not proved for words of every length: {self.verdict.reason}"
        return (
            f"certified: {name}, words of every length, {DTYPE}, sums in any order\n"
            f"{self.summary}; "
            f"logit margin {portable_bound(self.verdict.margin):.4g}, widest side {self.boxes.widest:.3g}"
        )


def provable(trained: TrainedNetwork) -> bool:
    """Whether a proof can be attempted: a cell that reads letters from the zero state."""
    config = trained.task.config
    return kind_of(trained) in GATED and not config.scratchpad and not config.bos


def tensors_of(trained: TrainedNetwork) -> dict[str, npt.NDArray[np.float32]]:
    """The weights as stored."""
    return {name: value[0].cpu().numpy() for name, value in trained.weights.items()}


def cell_of(trained: TrainedNetwork) -> BoxCell:
    """The network as the checker reads it."""
    letters, outputs = trained.automaton.num_letters, len(trained.automaton.output_names)
    return BoxCell(build_gated(kind_of(trained), tensors_of(trained), letters, outputs), "float32")


def prove(trained: TrainedNetwork, automaton: Semiautomaton, near: Path | None = None) -> BoxProof:
    """Boxes from the run's certificate if valid, otherwise by search: one for each state and last letter."""
    cell, table = cell_of(trained), checkable_table(automaton)
    kept = None if near is None else _kept(near / NAME)
    if kept is not None and (verdict := check(cell, kept, table)).certified:
        return BoxProof(kept, verdict)
    found = contexts(table)
    if found is None:
        many = Verdict(False, 0.0, "there are too many states to give each a box")
        return BoxProof(_no_boxes(cell), many)
    boxes, verdict = search(cell, table, found)
    if verdict.certified:
        return BoxProof(boxes, verdict)
    return BoxProof(boxes, replace(verdict, reason=proof_summary(boxes, verdict, automaton)))


def _kept(path: Path) -> Boxes | None:
    """The boxes in a certificate, if there is one: only a hint, so that nothing else in it matters."""
    try:
        return boxes_from(read_certificate(path).witness) if path.exists() else None
    except InvalidFile:
        return None


def certificate_of(
    directory: Path, trained: TrainedNetwork, automaton: Semiautomaton, proof: BoxProof
) -> Certificate:
    """The boxes with their claim, in the shortest float type in which they are still a proof."""
    net, cell = read_net(directory, trained.replicate), cell_of(trained)
    for sides in SHORT:
        boxes = shorten(cell, proof.boxes, sides)
        if check(cell, boxes, checkable_table(automaton)).certified:
            return claim_boxes(net, automaton, boxes, sides)
    return claim_boxes(net, automaton, proof.boxes, "f8")


def _no_boxes(cell: BoxCell) -> Boxes:
    nothing = np.zeros((0, cell.size))
    return Boxes(np.zeros(0, np.int64), np.zeros((0, cell.cell.num_letters), np.int64), nothing, nothing)


def verify_trained(directory: Path, question: Question) -> Verification:
    """Verifies the run's best replicate: a proof for every length, or the results of running words."""
    if question.dtype not in (None, DTYPE):
        raise InvalidInput(f"trained networks are proved in {DTYPE}; got {question.dtype}")
    trained = read_run(directory, question.device)
    identity = identify(trained.automaton, question.automaton, renamed=question.renamed)
    if identity.mismatch:
        return _outcome(trained, _claim(directory, trained, trained.automaton), identity, None, None, None)
    automaton = identity.automaton
    report = examine_run(trained, automaton, question.length, question.effort)
    proof: BoxProof | CodeProof | None = None
    certificate = None
    # A search costs seconds, and a wrong word already refutes what it would prove.
    if report.counterexample is None and has_codes(trained):
        proof = prove_codes(directory, trained, automaton)
        certificate = proof.certificate if proof.verdict.certified else None
    elif report.counterexample is None and provable(trained):
        proof = prove(trained, automaton, directory)
        certificate = _final(directory, trained, automaton, proof) if proof.verdict.certified else None
    claim = _claim(directory, trained, automaton) if certificate is None else certificate.claim
    return _outcome(trained, claim, identity, proof, certificate, report)


def _final(
    directory: Path, trained: TrainedNetwork, automaton: Semiautomaton, proof: BoxProof
) -> Certificate:
    """The certificate, checked against the files as they are now: the proof is about those read at first."""
    certificate = certificate_of(directory, trained, automaton, proof)
    verdict = check_certificate(read_net(directory, trained.replicate), certificate)
    if not verdict.certified:
        raise InvalidFile(
            f"{directory} must not change while it is verified; the proof does not hold for its files now: "
            f"{verdict.reason}; try again once nothing writes to it"
        )
    return certificate


def _claim(directory: Path, trained: TrainedNetwork, automaton: Semiautomaton) -> Claim:
    """The claim: words of every length; for networks without proof rules, of the training length."""
    net = read_net(directory, trained.replicate)
    coded = has_codes(trained)
    up_to = None if coded or provable(trained) else trained.length
    try:
        return claim_about(net, automaton, up_to, DTYPE, "codes" if coded else "boxes")
    except (KrohnError, Refused):
        return claim_about(net, automaton, up_to, DTYPE, None)


def _outcome(
    trained: TrainedNetwork,
    claim: Claim,
    identity: Identity,
    proof: BoxProof | CodeProof | None,
    certificate: Certificate | None,
    report: Examined | None,
) -> Verification:
    done, wrong = certificate is not None, None if report is None else report.counterexample
    more: dict[str, Any] = {
        "examined": report is not None,
        "replicate": trained.replicate,
        "proof": None if proof is None else proof.to_json(),
        **({} if report is None else report.to_json()),
    }
    exact = None if report is None else report.exact
    result = Verification(
        certified=done,
        claim=claim,
        margin=proof.verdict.margin if proof is not None and done else 0.0,
        checks=() if proof is None else (_check(proof),),
        counterexample=wrong,
        largest=0,
        reason="" if done else _reason(identity, proof, report),
        second_opinion=None
        if exact is None
        else SecondOpinion(exact.length, exact.words, exact.wrong, DTYPE),
        depth=1,
        identity=identity,
        certificate=certificate,
        more=more,
    )
    return result if report is None else replace(result, wording=_wording(result, trained, proof, report))


def _wording(
    verdict: Verification, trained: TrainedNetwork, proof: BoxProof | CodeProof | None, report: Examined
) -> str:
    """The proof, if one was tried, and the runs."""
    lines = [] if proof is None else [proof.text(verdict.subject)]
    examined = f"examined, not certified: a trained network (replicate {trained.replicate})"
    assumed = f"assumed: {', '.join(verdict.claim.assumptions)}"
    return "\n".join([*lines, assumed if verdict.certified else examined, report.text()])


def _reason(identity: Identity, proof: BoxProof | CodeProof | None, report: Examined | None) -> str:
    if identity.mismatch:
        return f"identity: {identity.mismatch}"
    if report is not None and report.counterexample is not None:
        return "a word is run wrong"
    if proof is not None:
        return proof.verdict.reason
    return (
        "words were run, and nothing is proved: rules are known for lstm and gru runs, and looped ones with "
        "codes (--provable), that read letters alone"
    )


def _check(proof: BoxProof | CodeProof) -> Check:
    if isinstance(proof, CodeProof):
        return proof.check
    done = proof.verdict.certified
    return Check.exact("boxes", 1, done, proof.summary if done else proof.verdict.reason)
