"""Levels, layers and merged classes of cascades against longest paths and definitions."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from cascade.random_automata import golden, random_automaton, states_along
from every import every
from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.portable import Budget, BudgetSpent
from krohn.cascade.holonomy import UNSOLVABLE_LAYERS, Cascade, holonomy_cascade
from krohn.cascade.image_sets import image_sets
from krohn.cascade.merging import merge_classes, mergeable
from krohn.cascade.plan import HolonomyPlan
from krohn.cascade.skeleton import Skeleton

SEEDS = range(30)


@every("seed", SEEDS)
def test_a_level_costs_as_much_as_its_dearest_class(seed: int) -> None:
    cascade = holonomy_cascade(random_automaton(seed, largest=7))
    costs: dict[int, int] = {}
    for part, cost in zip(cascade.components, cascade.costs, strict=True):
        costs[part.level] = max(costs.get(part.level, 1), cost)
    assert cascade.layers == sum(costs.values())


@pytest.mark.parametrize(
    ("name", "costs"), [("T3", [3, 2]), ("T4", [4, 3, 2]), ("reg_Q8", [2]), ("flipflop", [1])]
)
def test_a_component_costs_its_derived_length_and_one_more_for_resets(name: str, costs: list[int]) -> None:
    cascade = holonomy_cascade(golden(name))
    assert list(cascade.costs) == costs
    assert cascade.is_solvable


def test_a_group_that_is_not_solvable_has_no_layers() -> None:
    cascade = holonomy_cascade(golden("reg_A5"))
    assert not cascade.is_solvable
    assert cascade.costs == (UNSOLVABLE_LAYERS,)
    plan = HolonomyPlan(cascade.automaton, cascade)
    assert not plan.is_solvable
    assert plan.components[0].factors == ("A5",)


@every("seed", SEEDS)
def test_coordinates_have_the_sizes_of_their_levels_and_stages_the_depth(seed: int) -> None:
    cascade = holonomy_cascade(random_automaton(seed))
    frame = cascade.skeleton
    for level, size in enumerate(cascade.sizes):
        assert size == max(len(part.tiles) for part in cascade.components if part.level == level)
    for state in range(cascade.automaton.num_states):
        coordinates = cascade.coordinates(state)
        assert all(0 <= value < size for value, size in zip(coordinates, cascade.sizes, strict=True))
        chain = cascade.chain(coordinates)
        assert chain[0] == 0
        assert frame.states(chain[-1]) == (state,)
        for level, stage in enumerate(cascade.stages(coordinates)):
            assert stage == next(number for number in chain if frame.depth[number] >= level)


def naive_mergeable(frame: Skeleton) -> set[tuple[int, int]]:
    """Two classes joined by letters, each of which carries tiles one to one onto tiles."""
    crossings: dict[tuple[int, int], list[bool]] = {}
    for row in frame.images:
        for source, target in enumerate(row):
            pair = (frame.class_of[source], frame.class_of[target])
            if -1 not in pair and pair[0] != pair[1]:
                moved = sorted(row[tile] for tile in frame.tiles[source])
                crossings.setdefault(pair, []).append(moved == sorted(frame.tiles[target]))
    return {pair for pair, onto in crossings.items() if all(onto)}


@every("seed", range(40))
def test_classes_can_be_merged_where_letters_carry_tiles_to_tiles(seed: int) -> None:
    automaton = random_automaton(seed, smallest=4, largest=7)
    frame = holonomy_cascade(automaton).skeleton
    result = mergeable(frame)
    assert set(result) == naive_mergeable(frame)
    sizes = [len(frame.states(part.representative)) for part in frame.classes]
    equal = [sizes[upper] == sizes[lower] for upper, lower in result]
    assert equal == sorted(equal, reverse=True)
    for upper, lower in combinations(range(len(frame.classes)), 2):
        rest = [[part.number] for part in frame.classes if part.number not in (upper, lower)]
        smaller = merge_classes(frame, [*rest, [upper, lower]])
        if smaller is None:
            continue
        assert (upper, lower) in result or (lower, upper) in result
        (joined,) = [part for part in smaller.classes if part.is_merged]
        members = frame.classes[upper].members + frame.classes[lower].members
        assert sorted(joined.members) == sorted(members)
        assert len(smaller.classes) == len(frame.classes) - 1
        assert sorted(map(sorted, smaller.tiles)) == sorted(map(sorted, frame.tiles))
        assert Cascade(smaller).covering.holds
        for member in joined.members:
            for letter, row in enumerate(smaller.images):
                if smaller.class_of[row[member]] == joined.number:
                    assert joined.group.contains(_move(smaller, member, row[member], letter))


def _move(frame: Skeleton, source: int, target: int, letter: int) -> tuple[int, ...]:
    row = frame.images[letter]
    return tuple(frame.tiles[target].index(row[tile]) for tile in frame.tiles[source])


def test_a_merge_of_everything_into_one_class_is_refused_where_a_tile_would_lie_beside_its_set() -> None:
    frame = holonomy_cascade(golden("grid6")).skeleton
    assert merge_classes(frame, [[part.number for part in frame.classes]]) is None
    apart = [[part.number] for part in frame.classes]
    same = merge_classes(frame, apart)
    assert same is not None
    assert [replace(part, number=0) for part in same.classes] == [
        replace(part, number=0) for part in frame.classes
    ]


def test_words_of_no_letters_and_no_words_at_all_can_be_run() -> None:
    plan = HolonomyPlan(golden("T3"), holonomy_cascade(golden("T3")))
    for shape in ((0, 5), (3, 0)):
        assert plan.simulate(np.zeros(shape, dtype=np.int64)).shape == shape
    still = Semiautomaton.from_letters([(0,), (0,)])
    one = holonomy_cascade(still)
    assert states_along(one, [0, 1]) == [0, 0]
    assert HolonomyPlan(still, one).simulate(np.zeros((2, 3), dtype=np.int64)).tolist() == [[0] * 3] * 2
    assert (one.num_levels, one.coordinates(0), one.state(())) == (0, (), 0)


def test_a_family_of_sets_is_paid_for_in_work() -> None:
    letters = golden("T4").letters
    sets = len(image_sets(letters).masks)
    cost = 4 + len(letters)
    enough, little = Budget(sets * cost), Budget(sets * cost - 1)
    image_sets(letters, budget=enough)
    assert enough.left == 0
    with pytest.raises(BudgetSpent, match="raise --effort"):
        image_sets(letters, budget=little)
    assert little.left < cost
