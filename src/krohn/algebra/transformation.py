"""Transformations as tuples of images, and permutations among them."""

from collections.abc import Iterable, Sequence
from math import isqrt, lcm

from krohn.automata.words import whole
from krohn.errors import InvalidInput

Permutation = tuple[int, ...]


def as_permutation(images: Sequence[int], degree: int | None = None) -> Permutation:
    """``images`` as a checked permutation of ``range(len(images))``."""
    permutation = tuple(map(whole, images))
    if degree is not None and len(permutation) != degree:
        raise InvalidInput(
            f"a permutation of {degree} points must have {degree} images; got {len(permutation)}"
        )
    if not is_permutation(permutation):
        raise InvalidInput(
            f"a permutation must list each of 0, …, {len(permutation) - 1} once; got {list(images)}"
        )
    return permutation


def is_permutation(images: Sequence[int]) -> bool:
    """Whether ``images`` lists every point of its own range exactly once."""
    return sorted(images) == list(range(len(images)))


def identity(degree: int) -> Permutation:
    """The permutation that moves nothing."""
    return tuple(range(degree))


def compose(first: Sequence[int], second: Sequence[int]) -> Permutation:
    """``first`` then ``second``; works for any transformations of the same points."""
    return tuple([second[image] for image in first])


def inverse(permutation: Sequence[int]) -> Permutation:
    """The permutation that undoes this one."""
    images = [0] * len(permutation)
    for point, image in enumerate(permutation):
        images[image] = point
    return tuple(images)


def power(permutation: Sequence[int], exponent: int) -> Permutation:
    """The ``exponent``-fold product, any integer exponent, read off the cycles."""
    images = list(range(len(permutation)))
    for cycle in cycles(permutation):
        length = len(cycle)
        for index, point in enumerate(cycle):
            images[point] = cycle[(index + exponent) % length]
    return tuple(images)


def commutator(first: Sequence[int], second: Sequence[int]) -> Permutation:
    """``first⁻¹ second⁻¹ first second``."""
    return compose(compose(inverse(first), inverse(second)), compose(first, second))


def cycles(permutation: Sequence[int]) -> list[list[int]]:
    """The cycles of length at least two, each from its least point, in order of that point."""
    seen = bytearray(len(permutation))
    result = []
    for start, image in enumerate(permutation):
        if seen[start] or image == start:
            continue
        cycle = [start]
        seen[start] = 1
        while image != start:
            cycle.append(image)
            seen[image] = 1
            image = permutation[image]
        result.append(cycle)
    return result


def order(permutation: Sequence[int]) -> int:
    """The least positive exponent that gives the identity."""
    return lcm(*(len(cycle) for cycle in cycles(permutation)))


def is_even(permutation: Sequence[int]) -> bool:
    """Whether the permutation is a product of an even number of transpositions."""
    return sum(len(cycle) - 1 for cycle in cycles(permutation)) % 2 == 0


def cycle_notation(permutation: Sequence[int]) -> str:
    """Cycles in brackets, as in ``(0 1 2)(3 4)``; the identity is ``()``."""
    return "".join(f"({' '.join(map(str, cycle))})" for cycle in cycles(permutation)) or "()"


def orbits(generators: Iterable[Sequence[int]], degree: int) -> tuple[tuple[int, ...], ...]:
    """The orbits of the generated group, each sorted, in order of their least points."""
    gens = list(generators)
    seen = bytearray(degree)
    result = []
    # Generators alone, without inverses, reach the whole orbit: in a finite group an inverse is a power.
    for start in range(degree):
        if seen[start]:
            continue
        seen[start] = 1
        orbit = [start]
        for point in orbit:
            for generator in gens:
                image = generator[point]
                if not seen[image]:
                    seen[image] = 1
                    orbit.append(image)
        result.append(tuple(sorted(orbit)))
    return tuple(result)


def prime_factors(number: int) -> list[int]:
    """The prime factors in increasing order, repeated as often as they divide."""
    factors = []
    for prime in range(2, isqrt(number) + 1):
        while number % prime == 0:
            factors.append(prime)
            number //= prime
        if prime * prime > number:
            break
    return factors + ([number] if number > 1 else [])
