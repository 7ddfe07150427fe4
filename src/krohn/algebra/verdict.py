"""The verdict in words: which class the word problem is in, and the group that decides it."""

from collections.abc import Sequence

from krohn.algebra.one_length import OneLength
from krohn.algebra.subgroups import Subgroup
from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import counted

_SHOWN = 12  # states or letters listed before an ellipsis


def complexity(subgroups: Sequence[Subgroup], witness: OneLength | None) -> str:
    """The circuit class of the states; ``ACC0`` also means not in AC⁰, because of the words of ``witness``.

    By Barrington (1989), Barrington and Thérien (1988), Barrington, Compton, Straubing and Thérien (1992).
    """
    if not all(subgroup.is_solvable for subgroup in subgroups):
        return "NC1-complete"
    return "AC0" if witness is None else "ACC0"


def reason(automaton: Semiautomaton, subgroups: Sequence[Subgroup], witness: OneLength | None) -> str:
    """Why the verdict holds: the deciding group, the states it permutes and its idempotent."""
    verdict = complexity(subgroups, witness)
    if not subgroups:
        return "AC0 because the semigroup is aperiodic: no word permutes a set of states non-trivially"
    if verdict == "NC1-complete":
        subgroups = [subgroup for subgroup in subgroups if not subgroup.is_solvable]
    deciding = max(subgroups, key=lambda subgroup: subgroup.order)
    description = _describe(automaton, deciding)
    if verdict == "AC0":
        return (
            "AC0 because the semigroup is quasi-aperiodic: words of one length form no group, for what its "
            f"groups count is the length alone: {description}"
        )
    if verdict == "ACC0":
        return (
            "ACC0 because every group in the semigroup is solvable, and not AC0 because "
            f"{_one_length(automaton, witness)}: {description}"
        )
    simple = sorted({factor for factor in deciding.factors if not factor.startswith("C")})
    return (
        f"NC1-complete because a group in the semigroup is not solvable, having the "
        f"factor{'s' * (len(simple) > 1)} {', '.join(simple)}: {description}"
    )


def _one_length(automaton: Semiautomaton, witness: OneLength | None) -> str:
    if witness is None or not witness.words:
        return "words of one length form a group"
    words = [_some([automaton.letter_names[letter] for letter in word], " ") for word in witness.words]
    shown = _some([f"'{word}'" for word in words], ", ")
    return f"words of {counted(len(witness.words[0]), 'letter')} form the group C{len(words)} ({shown})"


def _describe(automaton: Semiautomaton, subgroup: Subgroup) -> str:
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
