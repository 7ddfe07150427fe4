"""The varieties a small automaton belongs to, from the elements of its transition semigroup."""

from collections.abc import Sequence

from krohn.algebra.image_orbit import ImageOrbit
from krohn.algebra.one_length import group_of_one_length
from krohn.automata.semiautomaton import Semiautomaton, Transformation

MOST_ELEMENTS = 5_000


def varieties(automaton: Semiautomaton) -> tuple[str, ...]:
    """The names of its varieties; empty if the semigroup is too large to list."""
    letters = tuple(dict.fromkeys(automaton.letters))
    elements = _elements(letters)
    if elements is None:
        return ()
    idempotents = [e for e in elements if _times(e, e) == e]
    local = (frozenset(_times(_times(e, s), e) for s in elements) for e in idempotents)
    tests = {
        "group": all(len(set(letter)) == len(letter) for letter in letters),
        "commutative": all(_times(f, g) == _times(g, f) for f in letters for g in letters),
        "definite": all(_times(s, e) == e for e in idempotents for s in elements),
        "locally testable": all(map(_is_semilattice, local)),
        "R-trivial": _is_r_trivial(elements, letters),
        "aperiodic": all(_is_aperiodic(element) for element in elements),
        "quasi-aperiodic": group_of_one_length(ImageOrbit(letters)) is None,
    }
    return tuple(name for name, holds in tests.items() if holds)


def _times(f: Transformation, g: Transformation) -> Transformation:
    return tuple(g[q] for q in f)


def _elements(letters: Sequence[Transformation]) -> list[Transformation] | None:
    result = dict.fromkeys(letters)
    for element in (queue := list(letters)):
        for letter in letters:
            product = _times(element, letter)
            if product not in result:
                result[product] = None
                queue.append(product)
        if len(queue) > MOST_ELEMENTS:
            return None
    return queue


def _is_aperiodic(element: Transformation) -> bool:
    power = element
    for _ in element:
        power = _times(power, element)
    return _times(power, element) == power


def _is_semilattice(monoid: frozenset[Transformation]) -> bool:
    return all(_times(f, f) == f for f in monoid) and all(
        _times(f, g) == _times(g, f) for f in monoid for g in monoid
    )


def _is_r_trivial(elements: Sequence[Transformation], letters: Sequence[Transformation]) -> bool:
    """Whether no element returns to itself under right multiplication through another one."""
    for element in elements:
        reached = {_times(element, letter) for letter in letters} - {element}
        for other in (queue := sorted(reached)):
            fresh = {_times(other, letter) for letter in letters} - reached
            if element in fresh:
                return False
            reached |= fresh
            queue += sorted(fresh)
    return True
