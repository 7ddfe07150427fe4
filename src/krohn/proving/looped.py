"""Verification of looped networks with codes: words of every length; there is nothing to search for."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.portable import portable_bound
from krohn.check.certificate import Certificate
from krohn.check.files.folders import Net
from krohn.check.ground import Verdict
from krohn.check.looped.rules import DTYPE, WINDOWS
from krohn.check.rules import check_certificate
from krohn.errors import InvalidInput
from krohn.proving.claims import Check, Question, certificate_about, claim_about
from krohn.proving.identity import identify
from krohn.proving.outcome import Verification, mismatched
from krohn.proving.word_search import longest_of, run_every_word
from krohn.recurrent.looped_network import LoopedNetwork, load

SHORT_WORDS = 5_000
"""Words to run beside the proof."""


@dataclass(frozen=True, eq=False)
class CodeProof:
    """Whether the codes prove the network right, and how words may be read.

    Attributes:
        codes: values that the stream can take after a loop.
        verdict: of the checker.
        letter_by_letter: whether words may also be read letter by letter.
        certificate: the claim that was checked.
    """

    codes: int
    verdict: Verdict
    letter_by_letter: bool
    certificate: Certificate

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "proved": self.verdict.certified,
            "codes": self.codes,
            "letter_by_letter": self.letter_by_letter,
            "margin": portable_bound(self.verdict.margin),
            "dtype": DTYPE,
            "failure": self.verdict.reason or None,
        }

    @property
    def summary(self) -> str:
        """What is closed."""
        return f"{self.codes} codes closed under the block, {self.codes**2:,} pairs evaluated"

    @property
    def check(self) -> Check:
        """As one check of a verification."""
        done = self.verdict.certified
        return Check.exact("codes", 1, done, self.summary if done else self.verdict.reason)

    def text(self, name: str) -> str:
        """The proof, or the reason for its failure."""
        if not self.verdict.certified:
            return f"not proved for words of every length: {self.verdict.reason}"
        how = "in loops or letter by letter" if self.letter_by_letter else "in loops"
        return (
            f"certified: {name}, words of every length, {DTYPE}, sums in any order, read {how}\n"
            f"{self.summary}; logit margin {portable_bound(self.verdict.margin):.4g}"
        )


def prove_net(net: Net, codes: int, automaton: Semiautomaton) -> CodeProof:
    """The proof for words that are read in loops or letter by letter, else in loops alone."""
    for how in ((WINDOWS,), ()):
        claim = claim_about(net, automaton, None, DTYPE, "codes", assumptions=how)
        certificate = certificate_about(claim, "codes", None)
        verdict = check_certificate(net, certificate)
        if verdict.certified:
            break
    return CodeProof(codes, verdict, bool(how), certificate)


def verify_looped(given: LoopedNetwork | Path, question: Question) -> Verification:
    """Every length, or why not; a counterexample if a short word is run wrong."""
    network = given if isinstance(given, LoopedNetwork) else load(given)
    if question.dtype not in (None, DTYPE):
        raise InvalidInput(f"looped networks are proved in {DTYPE}; got {question.dtype}")
    net = network.net
    identity = identify(network.automaton, question.automaton, renamed=question.renamed)
    if identity.mismatch:
        claim = claim_about(net, network.automaton, None, DTYPE, "codes")
        return mismatched(claim, identity, 1, {"architecture": "looped", "proof": None})
    automaton = identity.automaton
    proof = prove_net(net, len(network.tensors["codes"]), automaton)
    letters = automaton.num_letters
    length = longest_of(letters, SHORT_WORDS, SHORT_WORDS.bit_length() if letters > 1 else SHORT_WORDS)
    opinion, wrong = run_every_word(network.forward, automaton, length)
    done = proof.verdict.certified and wrong is None
    subject = automaton.name or "the automaton"
    return Verification(
        certified=done,
        claim=proof.certificate.claim,
        identity=identity,
        reason="" if done else proof.verdict.reason or "a word is run wrong",
        margin=proof.verdict.margin if done else 0.0,
        checks=(proof.check,),
        counterexample=wrong,
        second_opinion=opinion,
        depth=1,
        certificate=proof.certificate if done else None,
        more={"architecture": "looped", "proof": proof.to_json()},
        wording=proof.text(subject) + f"\nassumed: {', '.join(proof.certificate.claim.assumptions)}" * done,
    )
