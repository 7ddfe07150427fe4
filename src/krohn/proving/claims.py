"""What is asked and claimed about a network of any kind: question, automaton, claim, record of a proof.

The automaton is the one that the user names, or the one that the file claims. The inequalities of a proof are
collected while it runs; one that does not hold ends it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import floor, isfinite
from typing import Any

import numpy as np

from krohn.automata.observed import with_target
from krohn.automata.quotients import minimize
from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.portable import portable_bound
from krohn.check.certificate import Certificate
from krohn.check.claim import ANY, Claim
from krohn.check.files.folders import Net
from krohn.check.rules import RULES
from krohn.errors import LimitExceeded, counted
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


MAX_STEPS = 5_000_000
"""Transitions that the search for a renaming may compare."""
MAX_LETTERS = 500

Letters = tuple[int, ...]


def reorder_as(automaton: Semiautomaton, other: Semiautomaton) -> Semiautomaton | None:
    """The automaton with its states and letters in the order of ``other``; ``None`` if it has other names."""
    states = {name: index for index, name in enumerate(automaton.state_names)}
    letters = {name: index for index, name in enumerate(automaton.letter_names)}
    if states.keys() != set(other.state_names) or letters.keys() != set(other.letter_names):
        return None
    rows = np.array([states[name] for name in other.state_names])
    columns = np.array([letters[name] for name in other.letter_names])
    place = np.argsort(rows)
    observed = (
        automaton.observe if other.observation_names == automaton.observation_names else automaton.observed
    )
    return Semiautomaton(
        place[automaton.table[np.ix_(rows, columns)]],
        start=int(place[automaton.start]),
        state_names=other.state_names,
        letter_names=other.letter_names,
        observe=tuple(observed[row] for row in rows) if observed else None,
        name=automaton.name,
        observation_names=other.observation_names,
        characters=tuple(automaton.characters[column] for column in columns) if automaton.characters else (),
    )


def renaming(left: Semiautomaton, right: Semiautomaton) -> tuple[Letters, dict[int, int]] | None:
    """Letters and reachable states of ``right`` for those of ``left``: a bijection that keeps all moves, and
    what is shown if that is the target.

    Unreachable states may differ. ``None`` if there is no renaming.
    """
    if left.table.shape != right.table.shape:
        return None
    if left.num_letters > MAX_LETTERS:
        raise LimitExceeded(
            f"a renaming can be looked for with at most {MAX_LETTERS} letters; got {left.num_letters}"
        )
    steps = 0

    def spent(count: int) -> None:
        nonlocal steps
        steps += count
        if steps > MAX_STEPS:
            raise LimitExceeded(
                f"a renaming must be found within {MAX_STEPS:,} steps; these automata look too much alike: "
                "give one with the same names"
            )

    return _extend(left, right, (), spent)


def _extend(
    left: Semiautomaton, right: Semiautomaton, letters: Letters, spent: Callable[[int], None]
) -> tuple[Letters, dict[int, int]] | None:
    """The first renaming whose letters begin with the given ones."""
    states = _match(left, right, letters, spent)
    if states is None:
        return None
    if len(letters) == left.num_letters:
        return letters, states
    for letter in range(right.num_letters):
        if letter not in letters:
            result = _extend(left, right, (*letters, letter), spent)
            if result is not None:
                return result
    return None


def _match(
    left: Semiautomaton, right: Semiautomaton, letters: Letters, spent: Callable[[int], None]
) -> dict[int, int] | None:
    """Pairs the states that the letters chosen so far reach in step; ``None`` if this is no bijection."""
    # Start goes to start; from there the letters chosen so far decide everything, so no pair is a choice.
    match = {left.start: right.start}
    taken = {right.start}
    queue = [left.start]
    observed = left.target == "observation"  # states are renamed, observations are not
    for state in queue:
        spent(len(letters) + 1)
        if observed and left.observed[state] != right.observed[match[state]]:
            return None
        for letter, other in enumerate(letters):
            target, wanted = int(left.table[state, letter]), int(right.table[match[state], other])
            if target not in match and wanted not in taken:
                match[target] = wanted
                taken.add(wanted)
                queue.append(target)
            elif match.get(target) != wanted:
                return None
    return match


SHOWN = 6
"""Names of states and letters that a report lists."""


@dataclass(frozen=True, eq=False)
class Identity:
    """The automaton that a network is compared with.

    Attributes:
        automaton: states and letters in the order of the network's outputs and embeddings.
        by_user: whether the user named it; otherwise it is only what the file claims.
        renamed: the user's letters and states for those of the network, where other names were allowed.
        mismatch: why the automaton that the user means cannot be the network's; empty if it can.
    """

    automaton: Semiautomaton
    by_user: bool = False
    renamed: dict[str, dict[str, str]] | None = None
    mismatch: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "claimed_by": "user" if self.by_user else "file",
            "name": self.automaton.name or None,
            "target": self.automaton.target,
            "states": self.automaton.num_states,
            "letters": list(self.automaton.letter_names),
            "digest": self.automaton.digest,
            "renamed": self.renamed,
        }

    def sentence(self) -> str:
        """One or two lines for people."""
        description = f"{describe_automaton(self.automaton)}, digest {self.automaton.digest[:12]}"
        if self.automaton.target == "observation":
            description += "; certified is what it shows, not the state"
        if self.by_user:
            with_names = " with the names of the file" if self.renamed else ""
            return f"the automaton is the one you named{with_names}: {description}"
        claim = f"the automaton is the one the file claims: {description}"
        return f"{claim}; --automaton SPEC compares it with yours"


def describe_automaton(automaton: Semiautomaton) -> str:
    """Its states and letters by name, the first few of them."""
    states, letters = (_list_names(names) for names in (automaton.state_names, automaton.letter_names))
    count, size = counted(automaton.num_states, "state"), counted(automaton.num_letters, "letter")
    return f"{count} ({states}), {size} ({letters})"


def identify(claimed: Semiautomaton, meant: Semiautomaton | None, *, renamed: bool = False) -> Identity:
    """The automaton to certify against: the user's, in the file's order, or the file's own."""
    if meant is None:
        return Identity(claimed)
    ordered = reorder_as(meant, claimed)
    if claimed.target == "observation":
        meant = with_target(meant, "observation")
        if ordered is None:  # compiled networks have the least automaton that shows the same
            meant = with_target(minimize(meant), "observation")
            ordered = reorder_as(meant, claimed)
    # Where other names are allowed, the same names may stand for other states and letters, too.
    result = renaming(claimed, meant) if renamed and ordered != claimed else None
    if ordered is not None and result is None:
        return Identity(with_target(ordered, claimed.target), by_user=True)
    own, other = describe_automaton(claimed), describe_automaton(meant)
    if not renamed:
        why = f"the network has {own}; you mean {other}"
        how = "; --renamed allows other names" if claimed.table.shape == meant.table.shape else ""
        return Identity(meant, by_user=True, mismatch=why + how)
    if result is None:
        why = f"the network has {own}, which is no renaming of {other}"
        return Identity(meant, by_user=True, mismatch=why)
    letters, states = result
    names = {
        "letters": {meant.letter_names[b]: claimed.letter_names[a] for a, b in enumerate(letters)},
        "states": {meant.state_names[b]: claimed.state_names[a] for a, b in states.items()},
    }
    return Identity(claimed, by_user=True, renamed=names)


def _list_names(names: tuple[str, ...]) -> str:
    shown = [name if len(name) <= 16 else name[:15] + "…" for name in names[:SHOWN]]
    return " ".join([*shown, "…"] if len(names) > SHOWN else shown)
