"""The verdict in words: which class the word problem is in, and the group that decides it."""

from collections.abc import Sequence

from krohn.algebra.subgroups import Subgroup
from krohn.automata.semiautomaton import Semiautomaton

_SHOWN = 12  # states or letters spelled out before an ellipsis


def complexity(subgroups: Sequence[Subgroup]) -> str:
    """The circuit class of the word problem (Theorem 4; Barrington; Barrington and Thérien)."""
    if not subgroups:
        return "AC0"
    return "ACC0" if all(subgroup.is_solvable for subgroup in subgroups) else "NC1-complete"


def reason(automaton: Semiautomaton, subgroups: Sequence[Subgroup]) -> str:
    """Why: the group that matters most, the states it permutes and the idempotent it sits at."""
    verdict = complexity(subgroups)
    if verdict == "AC0":
        return "AC0 because the semigroup is aperiodic: no word permutes a set of states non-trivially"
    if verdict == "ACC0":
        deciding = max(subgroups, key=lambda subgroup: subgroup.order)
        return (
            f"ACC0 because every group in the semigroup is solvable but not every one is trivial: "
            f"{_described(automaton, deciding)}"
        )
    deciding = max(
        (subgroup for subgroup in subgroups if not subgroup.is_solvable), key=lambda subgroup: subgroup.order
    )
    simple = sorted({factor for factor in deciding.factors if not factor.startswith("C")})
    return (
        f"NC1-complete because a group in the semigroup is not solvable, having the "
        f"factor{'s' * (len(simple) > 1)} {', '.join(simple)}: {_described(automaton, deciding)}"
    )


def _described(automaton: Semiautomaton, subgroup: Subgroup) -> str:
    named = "a group" if subgroup.name.startswith("order") else subgroup.name
    group = f"{named} of order {subgroup.order}"
    if len(subgroup.states) == automaton.num_states:
        return f"{group} permutes all {automaton.num_states} states, at the identity"
    states = _some([automaton.state_names[state] for state in subgroup.states], ", ")
    text = f"{group} permutes the states {{{states}}}"
    if subgroup.idempotent is None:
        return text
    word = _some([automaton.letter_names[letter] for letter in subgroup.idempotent.word], " ")
    power = f"({word})^{subgroup.idempotent.exponent}" if subgroup.idempotent.exponent > 1 else word
    return f"{text}, at the idempotent {power}"


def _some(names: Sequence[str], separator: str) -> str:
    shown = separator.join(names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown}{separator}… ({len(names)} in all)"
