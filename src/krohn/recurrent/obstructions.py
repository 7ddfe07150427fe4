"""Why a family of diagonal layers cannot track an automaton, if a group inside it shows that."""

from krohn.algebra.analysis import Algebra


def any_group(analysis: Algebra) -> str | None:
    """A group, if there is one: then some word counts modulo m > 1."""
    if analysis.is_aperiodic:
        return None
    name = analysis.groups[0].name
    return f"the group {name} inside needs counting, and such layers can only remember"


def not_two_group(analysis: Algebra) -> str | None:
    """A group with a factor other than C2: real diagonal layers multiply by signs."""
    for subgroup in analysis.groups:
        if odd := set(subgroup.factors) - {"C2"}:
            why = f"the group {subgroup.name} inside has the factor {min(odd)}"
            return f"{why}; real diagonal layers can only do 2-groups"
    return None


def not_solvable(analysis: Algebra) -> str | None:
    """A group that is not solvable: complex diagonal layers count, one abelian step each."""
    for subgroup in analysis.groups:
        if not subgroup.is_solvable:
            return f"the group {subgroup.name} inside is not solvable; those of diagonal layers are"
    return None
