"""What is asked and claimed about a network of any kind: question, automaton, claim, record of a proof.

The automaton is the one that the user names, or the one that the file claims. The inequalities of a proof are
collected while it runs; one that does not hold ends it.
"""

from dataclasses import dataclass, replace
from math import floor, isfinite
from typing import Any

from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.portable import portable_bound
from krohn.check.certificate import Certificate
from krohn.check.claim import ANY, Claim
from krohn.check.files.folders import Net
from krohn.check.rules import RULES
from krohn.proving.witness.search import checkable_table


@dataclass(frozen=True)
class Check:
    """One proved inequality: ``bound`` must stay below ``limit``; ``margin`` is the share of it left."""

    name: str
    layer: int
    bound: float
    limit: float
    passed: bool
    text: str

    @classmethod
    def exact(cls, name: str, layer: int, passed: bool, text: str) -> "Check":
        """One without numbers: it holds or it does not."""
        return cls(name, layer, 0.0 if passed else 1.0, 1.0 if passed else 0.0, passed, text)

    @property
    def margin(self) -> float:
        """1 − bound/limit: 1 if none of the tolerance is used, ≤ 0 if it is exceeded."""
        if self.bound == 0:
            return 1.0
        return 1.0 - self.bound / self.limit if self.limit > 0 else -1.0

    def to_json(self) -> dict[str, Any]:
        """Plain values; the bound in millionths of the limit, rounded up: every machine writes the same."""
        limit, share = portable_bound(self.limit), 1.0 - self.margin
        if isfinite(share) and not (4096 * share).is_integer():
            share = -floor(portable_bound(-share) * 1e6) / 1e6
        return {
            "name": self.name,
            "layer": self.layer,
            "bound": share * limit if limit > 0 and isfinite(limit) else self.bound,
            "limit": limit,
            "margin": 1.0 - share,
            "passed": self.passed,
            "text": self.text,
        }


def place(layer: int, depth: int) -> str:
    """Where a check belongs, in words: blocks are numbered from 1."""
    if layer < 1:
        return "the network as a whole"
    return f"block {layer}" if layer <= depth else "the read-out"


@dataclass(frozen=True)
class Question:
    """The question about a network of any kind.

    Attributes:
        dtype: the float format; by default float64 for compiled networks, for GPT-2s the one that
            config.json names, and float32 for others.
        length: the longest words; by default as long as the network was built for, or of every length.
        automaton: the automaton to verify against; by default the one that the files name.
        renamed: allow its names of states and letters to differ from the network's.
        order: of a certificate: the one order of sums that is asked for, by name; by default every order.
        chunks: whether the chunked form of a recurrent network must be proved, too.
        second_opinion: also run all short words, independently of the proof.
        largest: if the proof fails, find the largest length that is proved; this may take minutes.
        effort: for a trained network: how many words to run.
        device: the torch device for a trained network.
        tokens: of letters and states, for a network that krohn did not write.
        input: for a module: the automaton that accepts the inputs; by default all words are inputs.
    """

    dtype: str | None = None
    length: int | None = None
    automaton: Semiautomaton | None = None
    renamed: bool = False
    chunks: bool = False
    second_opinion: bool = True
    largest: bool = False
    effort: float = 1.0
    device: str = "cpu"
    tokens: Any = None
    order: str | None = None
    input: Semiautomaton | None = None


def claim_about(
    net: Net,
    automaton: Semiautomaton,
    length: int | None,
    dtype: str,
    rules: str | None,
    *,
    target: str | None = None,
    order: str = ANY,
    assumptions: tuple[str, ...] = (),
) -> Claim:
    """That ``net`` is right on all words up to a length, with what these rules assume, if there are any.

    ``assumptions``: one that the rules leave open, of how words are read.
    """
    claim = Claim(
        kind=net.kind,
        network=net.digest,
        configuration=net.configuration,
        letters=automaton.letter_names,
        states=automaton.state_names,
        automaton=checkable_table(automaton),
        target=target or automaton.target,
        up_to=length,
        dtype=dtype,
        order=order,
        assumptions=assumptions,
    )
    return claim if rules is None else replace(claim, assumptions=RULES[rules].assumptions(net, claim))


def certificate_about(claim: Claim, rules: str, witness: Any) -> Certificate:
    """The claim with the witness that these rules need."""
    return Certificate(claim, rules, RULES[rules].version, witness)
