"""What is claimed about a network, in one place for networks of every kind."""

from dataclasses import replace
from typing import Any

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.check.certificate import Certificate
from krohn.check.claim import ANY, Claim
from krohn.check.files.net import Net
from krohn.check.files.reader import Automaton
from krohn.check.rules import RULES


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
    allowed: tuple[tuple[int, ...], ...] | None = None,
) -> Claim:
    """That ``net`` is right on all words up to a length, with what these rules assume, if there are any.

    ``allowed`` are the letters that may follow in each state, by default all of them.
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
        allowed=allowed,
    )
    return claim if rules is None else replace(claim, assumptions=RULES[rules].assumptions(net, claim))


def certificate_about(claim: Claim, rules: str, witness: Any) -> Certificate:
    """The claim with the witness that these rules need."""
    return Certificate(claim, rules, RULES[rules].version, witness)
