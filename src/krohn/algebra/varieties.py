"""The varieties to which the semigroup of an automaton belongs, by their laws on all elements."""

from krohn.algebra.image_orbit import ImageOrbit
from krohn.algebra.one_length import group_of_one_length
from krohn.algebra.transformation import compose
from krohn.algebra.transition_semigroup import list_elements
from krohn.automata.semiautomaton import Semiautomaton, Transformation
from krohn.errors import LimitExceeded

MOST_ELEMENTS = 5_000


def varieties(automaton: Semiautomaton) -> tuple[str, ...]:
    """The names of its varieties; empty if the semigroup is too large to list."""
    letters = tuple(dict.fromkeys(automaton.letters))
    try:
        listed = list_elements(letters, MOST_ELEMENTS)
    except LimitExceeded:
        return ()
    elements = [listed[number] for number in range(len(listed))]
    idempotents = [elements[number] for number in listed.idempotents]
    local = (frozenset(compose(compose(e, s), e) for s in elements) for e in idempotents)
    tests = {
        "group": all(len(set(letter)) == len(letter) for letter in letters),
        "commutative": all(compose(f, g) == compose(g, f) for f in letters for g in letters),
        "definite": all(compose(s, e) == e for e in idempotents for s in elements),
        "locally testable": all(map(_is_semilattice, local)),
        "R-trivial": len(set(listed.r_class)) == len(elements),
        "aperiodic": all(_is_aperiodic(element) for element in elements),
        "quasi-aperiodic": group_of_one_length(ImageOrbit(letters)) is None,
    }
    return tuple(name for name, holds in tests.items() if holds)


def _is_aperiodic(element: Transformation) -> bool:
    power = element
    for _ in element:
        power = compose(power, element)
    return compose(power, element) == power


def _is_semilattice(monoid: frozenset[Transformation]) -> bool:
    return all(compose(f, f) == f for f in monoid) and all(
        compose(f, g) == compose(g, f) for f in monoid for g in monoid
    )
