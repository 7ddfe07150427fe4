"""Bounds of Theorem 2 in whole numbers, and the recursion of the recipe step by step."""

import math
from fractions import Fraction
from itertools import product

import pytest

from every import every
from krohn.automata.zoo import parse_spec
from krohn.cascade.holonomy import holonomy_cascade
from krohn.paper.bounds import cascade_bounds, scan_bounds, solvable_group_bounds
from paper.recipe_sizes import RecipeSize, component_recipe, paper_recipe_size


def width_in_whole_numbers(states: int, letters: int, size: int, length: int) -> int:
    first = 20 * states * size * length + 4 * states + size**2 * states
    return 2**states * (first + states ** (2**states) * letters)


@every("states", [1, 2, 3, 4, 5, 7, 8])
@every(("letters", "size", "length"), [(1, 1, 1), (3, 27, 64)])
def test_the_width_of_theorem_two_is_its_formula_to_the_last_digit_or_power(
    states: int, letters: int, size: int, length: int
) -> None:
    result = cascade_bounds(states, letters, size, length).stated
    exact = width_in_whole_numbers(states, letters, size, length)
    assert result.log10_mlp_width == pytest.approx(math.log10(exact), rel=1e-12)
    if exact < 10**15:
        assert result.mlp_width == exact
    else:
        assert abs(Fraction(result.mlp_width) / exact - 1) < Fraction(1, 10**12)


@pytest.mark.parametrize("states", [9, 10, 11])
def test_a_width_beyond_floats_has_the_power_of_ten_of_its_formula(states: int) -> None:
    result = cascade_bounds(states, 4, 100, 50).stated
    exact = width_in_whole_numbers(states, 4, 100, 50)
    assert math.isinf(result.mlp_width)
    assert result.log10_mlp_width == pytest.approx(math.log10(exact), rel=1e-9)


def test_all_bounds_grow_with_the_automaton_and_the_length() -> None:
    names = ("depth", "dim", "heads", "head_dim", "log10_mlp_width", "max_weight")
    for states, size, length in product((2, 3, 6), (2, 24), (1, 2, 100)):
        for more in ((states + 1, size, length), (states, size + 1, length), (states, size, length + 1)):
            small = cascade_bounds(states, 3, size, length)
            large = cascade_bounds(more[0], 3, *more[1:])
            for name, side in product(names, ("stated", "corrected")):
                assert getattr(getattr(small, side), name) <= getattr(getattr(large, side), name), name


def test_what_is_corrected_is_never_less_than_what_is_printed() -> None:
    for states, length in product((2, 3, 24), (1, 2, 7, 100)):
        for result in (scan_bounds(states, length), cascade_bounds(states, 3, 24, length)):
            assert result.corrected.mlp_width >= result.stated.mlp_width
            assert result.corrected.max_weight >= result.stated.max_weight
            assert result.corrected.dim >= result.stated.dim
        group = solvable_group_bounds(states, states, length)
        assert group.corrected.dim >= max(3, group.stated.dim)
    cascade_bounds(999, 2, 5, 10)  # one state more is refused: it raised an OverflowError


@pytest.mark.parametrize(
    ("primes", "size"),
    [
        ((), RecipeSize(2, 4, 1)),  # resets alone: the lemma's two layers, four channels, one head
        ((2,), RecipeSize(1 + 2, 3 + 1 + 4, 1 + 1)),
        ((3, 2), RecipeSize(4 + 2, (2 * 3 + 1) + (2 * 1 + 1) + 4, (2 * 1 + 1) + 1)),
        ((2, 2, 3, 2), RecipeSize(10 + 2, 45 + 21 + 4, 21 + 1)),  # S4: 3, 7, 22, 45 and 1, 3, 10, 21
    ],
)
def test_the_recipe_of_one_component_follows_its_series(primes: tuple[int, ...], size: RecipeSize) -> None:
    assert component_recipe(primes) == size


def test_levels_of_a_recipe_are_joined_by_one_layer_and_components_stand_side_by_side() -> None:
    for name in ("FlipFlop", "Grid4", "T3", "S3", "abab", "PermReset3"):
        cascade = holonomy_cascade(parse_spec(name))
        result = paper_recipe_size(cascade)
        assert result is not None
        parts = [
            (part.level, component_recipe(tuple(sorted(prime_factors(order)))))
            for part, order in ((part, part.group.order) for part in cascade.components)
        ]
        deepest = [max(size.depth for level, size in parts if level == n) for n in range(cascade.num_levels)]
        assert result.depth == sum(deepest) + cascade.num_levels - 1
    assert paper_recipe_size(holonomy_cascade(parse_spec("A5"))) is None


def prime_factors(number: int) -> list[int]:
    result, prime = [], 2
    while number > 1:
        while number % prime == 0:
            result.append(prime)
            number //= prime
        prime += 1
    return result
