"""What is asked and what is claimed about a network, in one place for networks of every kind."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.check.certificate import Certificate
from krohn.check.claim import ANY, Claim
from krohn.check.files.net import Net
from krohn.check.files.reader import Automaton
from krohn.check.rules import RULES


@dataclass(frozen=True)
class Question:
    """The question about a network of any kind.

    Attributes:
        dtype: the float format; by default float64 for compiled networks, for exports the one that
            config.json names, and float32 for others.
        length: the longest words; by default as long as the network was built for, or of every length.
        automaton: the automaton to verify against; by default the one that the files name.
        renamed: allow its names of states and letters to differ from the network's.
        chunks: whether the chunked form of a recurrent network must be proved, too.
        second_opinion: also run all short words, independently of the proof.
        largest: if the proof fails, find the largest length that is proved; this may take minutes.
        effort: for a trained network: how many words to run.
        device: the torch device for a trained network.
        tokens: of letters and states, for a network that krohn did not write.
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


def checkable_table(automaton: Semiautomaton) -> Automaton:
    """Table and outputs alone, without names."""
    shows = np.array(automaton.outputs, dtype=np.int64)
    return Automaton(np.asarray(automaton.table, dtype=np.int64), automaton.start, shows)


def claim_about(
    net: Net,
    automaton: Semiautomaton,
    length: int | None,
    dtype: str,
    rules: str | None,
    *,
    target: str | None = None,
    order: str = ANY,
) -> Claim:
    """That ``net`` is right on all words up to a length, with what these rules assume, if there are any."""
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
    )
    return claim if rules is None else replace(claim, assumptions=RULES[rules].assumptions(net, claim))


def certificate_about(claim: Claim, rules: str, witness: Any) -> Certificate:
    """The claim with the witness that these rules need."""
    return Certificate(claim, rules, RULES[rules].version, witness)
