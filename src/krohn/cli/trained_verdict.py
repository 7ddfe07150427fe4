"""What ``krohn verify`` says about a trained run: what was run, and what is proved."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from krohn.automata.semiautomaton import Semiautomaton
from krohn.certify.identity import identify
from krohn.cli.output import note
from krohn.cli.recurrent import mismatch_payload
from krohn.errors import InvalidInput

if TYPE_CHECKING:
    from krohn.evaluate.trained_states import TrainedStates
    from krohn.trained.examined import Examined
    from krohn.trained.proving import Proof


@dataclass(frozen=True)
class TrainedRequest:
    """What ``krohn verify`` was asked about a run; ``claim`` is a certificate to check again."""

    length: int | None = None
    meant: Semiautomaton | None = None
    renamed: bool = False
    effort: float = 1.0
    device: str = "cpu"
    out: Path | None = None
    claim: Path | None = None


def trained_verdict(directory: Path, asked: TrainedRequest) -> tuple[dict[str, Any], str]:
    """The verdict on the run's best replicate, as JSON and as text."""
    if asked.length is not None and asked.length < 1:
        raise InvalidInput(f"--length must be at least 1; got {asked.length}")
    from krohn.evaluate.trained_states import trained_states
    from krohn.trained.examined import examine_run
    from krohn.trained.proving import provable, recheck

    trained = trained_states(directory, asked.device)
    identity = identify(trained.automaton, asked.meant, renamed=asked.renamed)
    if identity.mismatch:
        return mismatch_payload(identity), f"not certified: {identity.mismatch}"
    automaton = identity.automaton
    if (asked.claim or asked.out) and not provable(trained):
        raise InvalidInput("a certificate of boxes needs an lstm or gru run that reads letters alone")
    if asked.claim is not None:
        return _rechecked(recheck(directory, trained, automaton, asked.claim), automaton)
    report = examine_run(trained, automaton, asked.length, asked.effort)
    proofs = _proofs(trained, automaton, report, directory)
    found = report.counterexample
    payload = {
        **_head(proofs),
        "examined": True,
        "replicate": trained.replicate,
        "length": report.sample.length,
        **report.to_json(),
        "counterexample": None if found is None else found.to_json(trained.automaton),
    }
    if asked.out is not None:
        _write(directory, trained, automaton, proofs, asked.out)
    return payload, _text(payload, automaton)


def _head(proofs: "list[Proof]") -> dict[str, Any]:
    done = {proof.words for proof in proofs if proof.verdict.proved}
    return {
        "certified": "all" in done,
        "every_length": "all" in done,
        "every_length_in_training": "all" in done or "training" in done,
        "proofs": [proof.to_json() for proof in proofs],
    }


def _proofs(
    trained: "TrainedStates", automaton: Semiautomaton, report: "Examined", directory: Path
) -> "list[Proof]":
    """Proofs for words of every length, looked for only where no wrong word is known."""
    from krohn.trained.proving import provable, prove

    if not provable(trained):
        return []
    proofs = []
    if report.counterexample is None:
        proofs.append(prove(trained, automaton, "all", directory))
    if report.legal is not None and report.right_in_training and not any(p.verdict.proved for p in proofs):
        proofs.append(prove(trained, automaton, "training", directory))
    return proofs


def _write(
    directory: Path, trained: "TrainedStates", automaton: Semiautomaton, proofs: "list[Proof]", out: Path
) -> None:
    from krohn.trained.box_certificate import save_certificate
    from krohn.trained.proving import certificate_of

    done = [proof for proof in proofs if proof.verdict.proved]
    if not done:
        raise InvalidInput("there is no proof to write; krohn verify without --out says why")
    save_certificate(certificate_of(directory, trained, automaton, done[0]), out)
    note(f"wrote {out}")


def _rechecked(proof: "Proof", automaton: Semiautomaton) -> tuple[dict[str, Any], str]:
    payload = {**_head([proof]), "examined": False, "counterexample": None}
    return payload, _proof_text(payload["proofs"][0], automaton)


def _text(payload: dict[str, Any], automaton: Semiautomaton) -> str:
    lines = [_proof_text(proof, automaton) for proof in payload["proofs"]]
    if not payload["every_length_in_training"]:
        lines.append(f"examined, not certified: a trained network (replicate {payload['replicate']})")
    lines.append(_all_words(payload["exact"], "words"))
    if payload["exact_in_training"] is not None:
        lines.append(_all_words(payload["exact_in_training"], "words that training draws"))
    for name, kind in (("sample", "random words"), ("habits", "words that repeat and alternate")):
        lines.append(_sampled(payload[name], kind))
    found = payload["counterexample"]
    if found is None:
        lines.append("no counterexample found")
    else:
        shown = " ".join(found["letters"])
        lines.append(f"counterexample: {shown} → {found['got']}, must be {found['expected']}")
    return "\n".join(lines)


def _proof_text(proof: dict[str, Any], automaton: Semiautomaton) -> str:
    name = automaton.name or f"an automaton of {automaton.num_states} states"
    which = "words of every length" + ("" if proof["words"] == "all" else ", of those that training draws")
    if proof["proved"]:
        return (
            f"certified: {name}, {which}, float32, any order of adding\n"
            f"{proof['boxes']} boxes closed under {proof['steps']} steps; "
            f"logit margin {proof['margin']:.4g}, widest side {proof['widest']:.3g}\n"
            f"assumed: {proof['assumes']}"
        )
    return f"not proved for {which}: {proof['failure']}"


def _all_words(ran: dict[str, Any], which: str) -> str:
    return (
        f"all {ran['words']:,} {which} of length {ran['length']}: {ran['wrong']:,} with an error, "
        f"{100 * ran['right_share']:.6g} % right ({ran['words_per_second']:,.0f} words/s)"
    )


def _sampled(ran: dict[str, Any], kind: str) -> str:
    return (
        f"{ran['words']:,} {kind} of length {ran['length']}: {ran['right']:,} right at every position; "
        f"{100 * ran['confidence']:g} % confidence that the share of such words is between "
        f"{ran['low']:.4f} and {ran['high']:.4f}"
    )
