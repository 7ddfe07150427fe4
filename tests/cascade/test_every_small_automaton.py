"""Every automaton of two letters and at most three states, and some of four, against the definitions.

The monoid is listed whole here, which the package never does: all words, as maps of the states.
"""

import random
from functools import cache
from itertools import product
from xml.etree import ElementTree

import numpy as np
import pytest

from algebra.named_groups import closure
from krohn.automata.semiautomaton import Semiautomaton, Transformation
from krohn.cascade.holonomy import Cascade, holonomy_cascade
from krohn.cascade.picture import cascade_picture
from krohn.cascade.plan import HolonomyPlan, Plan
from krohn.cascade.plan_nodes import ReachablePlan
from krohn.cascade.skeleton import SetClass, Skeleton, skeleton
from krohn.construct.decomposing import decompose

States = frozenset[int]
SVG = "{http://www.w3.org/2000/svg}"
REACH = 5


@cache
def family(states: int) -> tuple[Semiautomaton, ...]:
    """All pairs of maps of up to three states, in either order; a seeded sample of those of four."""
    maps = list(product(range(states), repeat=states))
    pairs = list(product(maps, repeat=2))
    if states > 3:
        pairs = random.Random(states).sample(pairs, 30)
    return tuple(Semiautomaton.from_letters(pair, start=sum(pair[0]) % states) for pair in pairs)


@cache
def monoid(letters: tuple[Transformation, ...]) -> tuple[Transformation, ...]:
    """The maps of all words, the empty one first."""
    return tuple(closure(list(letters)))


def words_of(automaton: Semiautomaton) -> tuple[Transformation, ...]:
    return monoid(tuple(tuple(letter) for letter in automaton.letters))


def moved(states: States, element: Transformation) -> States:
    return frozenset(element[state] for state in states)


def sets_of(frame: Skeleton) -> list[States]:
    return [frozenset(frame.states(number)) for number in range(frame.num_sets)]


@cache
def images(words: tuple[Transformation, ...], states: States) -> frozenset[States]:
    return frozenset(moved(states, word) for word in words)


def equivalent(words: tuple[Transformation, ...], one: States, other: States) -> bool:
    """Whether each is an image of the other."""
    return other in images(words, one) and one in images(words, other)


@pytest.mark.parametrize("states", [1, 2, 3, 4])
def test_the_family_holds_the_images_of_all_states_and_the_single_states(states: int) -> None:
    for automaton in family(states):
        sets = sets_of(skeleton(automaton))
        whole = frozenset(range(states))
        assert set(sets) == images(words_of(automaton), whole) | {frozenset([state]) for state in whole}
        assert len(set(sets)) == len(sets)
        assert sets[0] == whole


@pytest.mark.parametrize("states", [2, 3, 4])
def test_classes_hold_the_sets_that_are_images_of_each_other(states: int) -> None:
    for automaton in family(states):
        frame, words = skeleton(automaton), words_of(automaton)
        sets = sets_of(frame)
        large = [number for number, members in enumerate(sets) if len(members) > 1]
        for one, other in product(large, repeat=2):
            together = frame.class_of[one] == frame.class_of[other]
            assert together == equivalent(words, sets[one], sets[other]), automaton.letters
        assert [number for number in range(len(sets)) if frame.class_of[number] < 0] == [
            number for number, members in enumerate(sets) if len(members) == 1
        ]
        assert sorted(member for part in frame.classes for member in part.members) == large


def longest_way_down(frame: Skeleton, words: tuple[Transformation, ...]) -> list[int]:
    """Steps of the longest way from Q to each set, over tiles and images that do not come back."""
    sets = sets_of(frame)
    steps = {
        (one, other)
        for one, other in product(range(len(sets)), repeat=2)
        if len(sets[one]) > 1 and len(sets[other]) > 1 and not equivalent(words, sets[one], sets[other])
        if sets[other] in images(words, sets[one])
        or (sets[other] < sets[one] and not any(sets[other] < part < sets[one] for part in sets))
    }
    level = [0] * len(sets)
    alike = [
        (one, other)
        for one, other in product(range(len(sets)), repeat=2)
        if len(sets[one]) > 1 and equivalent(words, sets[one], sets[other])
    ]
    for _ in sets:  # a way visits every set once at most
        for one, other in steps:
            level[other] = max(level[other], level[one] + 1)
        for one, other in alike:
            level[one] = max(level[one], level[other])
    return level


@pytest.mark.parametrize("states", [2, 3, 4])
def test_the_depth_of_a_set_is_the_longest_way_down_to_it(states: int) -> None:
    for automaton in family(states)[:: 2 * states]:
        frame = skeleton(automaton)
        level = longest_way_down(frame, words_of(automaton))
        for number, members in enumerate(sets_of(frame)):
            expected = level[number] if len(members) > 1 else frame.num_levels
            assert frame.depth[number] == expected, automaton.letters
        assert frame.num_levels == 1 + max(level)


def listed(generators: list[tuple[int, ...]], degree: int) -> set[tuple[int, ...]]:
    """All products of the permutations."""
    letters = tuple(generators) or (tuple(range(degree)),)
    return set(monoid(letters))


def holonomy_group(frame: Skeleton, part: SetClass) -> set[tuple[int, ...]]:
    """How the words that carry the representative onto itself permute its tiles."""
    sets = sets_of(frame)
    whole, tiles = sets[part.representative], [sets[tile] for tile in part.tiles]
    return {
        tuple(tiles.index(moved(tile, word)) for tile in tiles)
        for word in words_of(frame.automaton)
        if moved(whole, word) == whole
    }


@pytest.mark.parametrize("states", [2, 3, 4])
def test_generators_generate_the_permutations_of_tiles_by_words_that_keep_the_set(states: int) -> None:
    for automaton in family(states):
        cascade = holonomy_cascade(automaton)
        for part, order in ((part, part.group.order) for part in cascade.components):
            group = holonomy_group(cascade.skeleton, part)
            assert listed(list(part.generators), len(part.tiles)) == group, automaton.letters
            assert order == len(group)


@pytest.mark.parametrize("states", [2, 3, 4])
def test_parents_lead_from_the_representative_to_every_member(states: int) -> None:
    for automaton in family(states):
        frame = skeleton(automaton)
        for part in frame.classes:
            assert frame.parent[part.representative] is None
            reached = {part.representative}
            for member in part.members[1:]:
                origin = frame.parent[member]
                assert origin is not None
                assert origin[0] in reached
                assert frame.images[origin[1]][origin[0]] == member
                reached.add(member)


def valid_coordinates(cascade: Cascade) -> list[tuple[int, ...]]:
    """All that name a chain of tiles, whatever stands at levels that the chain skips."""
    frame = cascade.skeleton

    def names_a_chain(values: tuple[int, ...]) -> bool:
        current = 0
        while tiles := frame.tiles[current]:
            if values[frame.depth[current]] >= len(tiles):
                return False
            current = tiles[values[frame.depth[current]]]
        return True

    return [values for values in product(*map(range, cascade.sizes)) if names_a_chain(values)]


@pytest.mark.parametrize("states", [1, 2, 3, 4])
def test_the_covering_map_commutes_with_letters_on_all_coordinates(states: int) -> None:
    """Not only on those that stand for a state: a cascade may wander off to any of them."""
    for automaton in family(states)[:: 1 if states < 3 else 8]:
        cascade = holonomy_cascade(automaton)
        everything = valid_coordinates(cascade)
        assert {cascade.state(values) for values in everything} == set(range(states))
        for values, letter in product(everything, range(2)):
            expected = automaton.step(cascade.state(values), letter)
            assert cascade.state(cascade.step(values, letter)) == expected, (automaton.letters, values)


def all_words(letters: int) -> np.ndarray:
    """All words of the longest length up to ``REACH`` that are at most a thousand."""
    reach = max(length for length in range(1, REACH + 1) if length == 1 or letters**length <= 1_100)
    return np.array(list(product(range(letters), repeat=reach)), dtype=np.int64)


def naive_runs(automaton: Semiautomaton, words: np.ndarray, start: int) -> list[list[int]]:
    runs = []
    for word in words.tolist():
        state, run = start, []
        for letter in word:
            state = int(automaton.table[state, letter])
            run.append(state)
        runs.append(run)
    return runs


def starts_of(node: Plan) -> list[int]:
    below = any(isinstance(part, ReachablePlan) for _, part in node.walk())
    return [node.automaton.start] if below else list(range(node.automaton.num_states))


@pytest.mark.parametrize("states", [2, 3, 4])
def test_a_cascade_run_in_bulk_has_the_states_of_every_short_word_from_every_start(states: int) -> None:
    words = all_words(2)
    for automaton in family(states)[::19]:
        plan = HolonomyPlan(automaton, holonomy_cascade(automaton))
        for start in range(states):
            assert plan.simulate(words, start).tolist() == naive_runs(automaton, words, start)


@pytest.mark.parametrize("states", [2, 3, 4])
def test_every_node_of_a_shortened_plan_runs_its_own_automaton_on_every_short_word(states: int) -> None:
    for automaton in family(states)[3::31]:
        result = decompose(automaton, effort=0.1)
        for _, node in result.plan.walk():
            words = all_words(node.automaton.num_letters)
            for start in starts_of(node):
                assert node.simulate(words, start).tolist() == naive_runs(node.automaton, words, start)


@pytest.mark.parametrize("states", [1, 2, 3, 4])
def test_a_shortened_plan_has_no_more_levels_and_says_how_many(states: int) -> None:
    for automaton in family(states)[5 % states :: 23]:
        result, plain = decompose(automaton, effort=0.1), HolonomyPlan(automaton, holonomy_cascade(automaton))
        assert result.levels <= plain.levels
        levels = [part.level for part in result.components]
        assert levels == sorted(levels)
        assert set(levels) == set(range(result.levels))
        assert result.as_dict()["levels"] == result.levels
        assert result.as_dict()["plain_levels"] == plain.levels
        assert f"{result.levels} level" in repr(result)


@pytest.mark.parametrize("states", [2, 3, 4])
def test_pictures_are_well_formed_and_the_same_twice(states: int) -> None:
    for automaton in family(states)[7::59]:
        plan = HolonomyPlan(automaton, holonomy_cascade(automaton))
        picture = cascade_picture(plan)
        assert picture == cascade_picture(plan)
        assert ElementTree.fromstring(picture).tag == f"{SVG}svg"
