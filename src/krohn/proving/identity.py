"""The automaton that a network is compared with: the one that the user names, or that the file claims."""

from dataclasses import dataclass
from typing import Any

from krohn.automata.observed import with_target
from krohn.automata.quotients import minimize
from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import counted
from krohn.proving.renaming import renaming, reorder_as

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
