"""Verification of a training run: all short words and samples are run; boxes prove lstm and gru runs.

Words without an error are no proof: such a run is examined, and not certified.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

from krohn.automata.semiautomaton import Semiautomaton
from krohn.certify.certificate import Check, SecondOpinion, Verification
from krohn.certify.identity import Identity, identify
from krohn.certify.proof import checkable_table
from krohn.check.claim import Certificate, Claim
from krohn.check.folder import read_net
from krohn.check.rules import RULES
from krohn.check.verdict import Refused
from krohn.errors import InvalidInput, KrohnError
from krohn.study.examined import Examined, examine_run
from krohn.study.proving import Proof, certificate_of, provable, prove
from krohn.training.trained_states import TrainedStates, trained_states

DTYPE = "float32"


def verify_trained(
    directory: Path,
    dtype: str | None = None,
    length: int | None = None,
    meant: Semiautomaton | None = None,
    *,
    renamed: bool = False,
    effort: float = 1.0,
    device: str = "cpu",
) -> Verification:
    """Verifies the run's best replicate: a proof for every length, or the results of running words."""
    if dtype not in (None, DTYPE):
        raise InvalidInput(f"trained networks are proved in {DTYPE}; got {dtype}")
    trained = trained_states(directory, device)
    identity = identify(trained.automaton, meant, renamed=renamed)
    if identity.mismatch:
        return _outcome(trained, _claim(directory, trained, trained.automaton), identity, [], None, None)
    automaton = identity.automaton
    report = examine_run(trained, automaton, length, effort)
    proofs = _proofs(trained, automaton, report, directory)
    done = next((proof for proof in proofs if proof.verdict.proved), None)
    certificate = None if done is None else certificate_of(directory, trained, automaton, done)
    claim = _claim(directory, trained, automaton)
    return _outcome(trained, claim, identity, proofs, certificate, report)


def _proofs(
    trained: TrainedStates, automaton: Semiautomaton, report: Examined, directory: Path
) -> list[Proof]:
    """Proofs for words of every length, attempted only if no wrong word is known."""
    if not provable(trained):
        return []
    proofs = []
    if report.counterexample is None:
        proofs.append(prove(trained, automaton, "all", directory))
    if report.legal is not None and report.right_in_training and not any(p.verdict.proved for p in proofs):
        proofs.append(prove(trained, automaton, "training", directory))
    return proofs


def _claim(directory: Path, trained: TrainedStates, automaton: Semiautomaton) -> Claim:
    """The claim: words of every length; for networks without proof rules, of the training length."""
    net = read_net(directory, trained.replicate)
    names = automaton.letter_names, automaton.state_names
    up_to = None if provable(trained) else trained.length
    table = checkable_table(automaton)
    claim = Claim(net.kind, net.digest, net.configuration, *names, table, "state", up_to, DTYPE)
    try:
        return replace(claim, assumptions=RULES["boxes"].assumptions(net, claim))
    except (KrohnError, Refused):
        return claim


def _outcome(
    trained: TrainedStates,
    claim: Claim,
    identity: Identity,
    proofs: list[Proof],
    certificate: Certificate | None,
    report: Examined | None,
) -> Verification:
    """``certified`` is about all words; a certificate for the training words alone is included, too."""
    proved = {proof.words for proof in proofs if proof.verdict.proved}
    done, result = "all" in proved, None if report is None else report.counterexample
    margins = [proof.verdict.margin for proof in proofs if proof.words == "all" and proof.verdict.proved]
    more: dict[str, Any] = {
        "examined": report is not None,
        "replicate": trained.replicate,
        "proofs": [proof.to_json() for proof in proofs],
        "every_length_in_training": done or "training" in proved,
        **({} if report is None else report.to_json()),
    }
    exact = None if report is None else report.exact
    return Verification(
        certified=done,
        claim=claim,
        margin=max(margins, default=0.0),
        checks=tuple(_check(proof) for proof in proofs),
        counterexample=result,
        largest=0,
        reason="" if done else _reason(identity, proofs, report),
        second_opinion=None if exact is None else SecondOpinion(exact.length, exact.words, exact.wrong),
        depth=1,
        identity=identity,
        certificate=certificate,
        more=more,
    )


def _reason(identity: Identity, proofs: list[Proof], report: Examined | None) -> str:
    if identity.mismatch:
        return f"identity: {identity.mismatch}"
    if report is not None and report.counterexample is not None:
        return "a word is run wrong"
    if proofs:
        return proofs[0].failure or proofs[0].verdict.failure
    return (
        "words were run, and nothing is proved: rules are known for lstm and gru runs that read letters alone"
    )


def _check(proof: Proof) -> Check:
    done = proof.verdict.proved
    text = f"{len(proof.boxes.state)} boxes closed under {proof.verdict.steps} steps"
    why = text if done else proof.failure or proof.verdict.failure
    return Check("boxes", 1, 0.0 if done else 1.0, 1.0 if done else 0.0, done, why)
