"""The proof of a looped run with codes, for words of every length; there is nothing to search for."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.portable import portable_bound
from krohn.check.certificate import Certificate
from krohn.check.files.folders import Net
from krohn.check.ground import Verdict
from krohn.check.looped.rules import DTYPE, WINDOWS
from krohn.check.rules import check_certificate, read_net
from krohn.lab.models.architectures.looped import Looped
from krohn.lab.training.trained_network import TrainedNetwork
from krohn.proving.claims import certificate_about, claim_about


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

    def text(self, name: str) -> str:
        """The proof, or the reason for its failure."""
        if not self.verdict.certified:
            return f"not proved for words of every length: {self.verdict.reason}"
        how = "in loops or letter by letter" if self.letter_by_letter else "in loops"
        return (
            f"certified: {name}, words of every length, {DTYPE}, sums in any order, read {how}\n"
            f"{self.summary}; logit margin {portable_bound(self.verdict.margin):.4g}"
        )


def has_codes(trained: TrainedNetwork) -> bool:
    """Whether a proof by codes can be attempted."""
    network, task = trained.network, trained.task.config
    reads_letters = not task.scratchpad and not task.bos
    return isinstance(network, Looped) and network.config.codes > 0 and reads_letters


def prove_codes(directory: Path, trained: TrainedNetwork, automaton: Semiautomaton) -> CodeProof:
    """The proof of a run, from its files."""
    assert isinstance(trained.network, Looped)
    return prove_net(read_net(directory, trained.replicate), trained.network.config.codes, automaton)


def prove_net(net: Net, codes: int, automaton: Semiautomaton) -> CodeProof:
    """The proof for words that are read in loops or letter by letter, else in loops alone."""
    for how in ((WINDOWS,), ()):
        claim = claim_about(net, automaton, None, DTYPE, "codes", assumptions=how)
        certificate = certificate_about(claim, "codes", None)
        verdict = check_certificate(net, certificate)
        if verdict.certified:
            break
    return CodeProof(codes, verdict, bool(how), certificate)
