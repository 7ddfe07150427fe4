"""The skeleton against SgpDec's values and against its definition, spelled out naively."""

import itertools
import random

import pytest

from cascade.random_automata import GOLDEN, cerny, golden, random_automaton
from every import every
from krohn.automata.semiautomaton import Semiautomaton
from krohn.cascade.image_sets import image_function, image_sets
from krohn.cascade.skeleton import Skeleton, skeleton
from krohn.errors import LimitExceeded


def naive_family(automaton: Semiautomaton) -> set[frozenset[int]]:
    family = {frozenset(range(automaton.num_states))}
    queue = list(family)
    for current in queue:
        for letter in automaton.letters:
            image = frozenset(letter[state] for state in current)
            if image not in family:
                family.add(image)
                queue.append(image)
    return family | {frozenset([state]) for state in range(automaton.num_states)}


def naive_tiles(family: set[frozenset[int]], whole: frozenset[int]) -> set[frozenset[int]]:
    inside = [part for part in family if part < whole]
    return {part for part in inside if not any(part < other for other in inside)}


def as_set(frame: Skeleton, number: int) -> frozenset[int]:
    return frozenset(frame.states(number))


@every("name", GOLDEN)
def test_levels_and_tiles_equal_sgpdec(name: str) -> None:
    frame = skeleton(golden(name))
    result = [
        sorted(len(part.tiles) for part in frame.classes if part.level == level)
        for level in range(frame.num_levels)
    ]
    assert result == [sorted(level) for level in GOLDEN[name]["tiles_by_level"]]
    assert frame.num_levels == GOLDEN[name]["levels"]


@every("seed", range(40))
def test_sets_images_and_tiles_are_those_of_the_definition(seed: int) -> None:
    automaton = random_automaton(seed, largest=7)
    frame = skeleton(automaton)
    family = naive_family(automaton)
    assert {as_set(frame, number) for number in range(frame.num_sets)} == family
    for number, letter in itertools.product(range(frame.num_sets), range(automaton.num_letters)):
        image = frozenset(automaton.step(state, letter) for state in frame.states(number))
        assert as_set(frame, frame.images[letter][number]) == image
    for number in range(frame.num_sets):
        tiles = {as_set(frame, tile) for tile in frame.tiles[number]}
        assert tiles == naive_tiles(family, as_set(frame, number))
        assert len(tiles) == len(frame.tiles[number])


@every("seed", range(20))
def test_depth_is_strict_along_tiles_and_images_that_do_not_come_back(seed: int) -> None:
    frame = skeleton(random_automaton(seed))
    for number in range(frame.num_sets):
        assert all(frame.depth[tile] > frame.depth[number] for tile in frame.tiles[number])
        for row in frame.images:
            if frame.class_of[row[number]] == frame.class_of[number]:
                assert frame.depth[row[number]] == frame.depth[number]
            else:
                assert frame.depth[row[number]] > frame.depth[number]


def test_four_states_can_have_seven_levels() -> None:
    """The holonomy height is not bounded by |Q|, whatever Theorem Krohn–Rhodes (iii) is quoted to say."""
    seven = Semiautomaton.from_letters([(3, 0, 3, 2), (3, 1, 3, 2), (0, 1, 3, 3)])
    six = Semiautomaton.from_letters([(0, 0, 1, 3), (2, 2, 0, 1)])
    assert skeleton(seven).num_levels == 7
    assert skeleton(six).num_levels == 6


def test_an_automaton_of_identities_keeps_its_states() -> None:
    frame = skeleton(Semiautomaton.from_letters([(0, 1, 2)]))
    assert [len(part.tiles) for part in frame.classes] == [3]
    assert frame.classes[0].generators == {}


def test_one_state_needs_no_level() -> None:
    assert skeleton(Semiautomaton.from_letters([(0,)])).num_levels == 0


def test_states_fixed_by_every_letter_are_kept() -> None:
    """SgpDec drops trailing fixed points; here every state stays in Q."""
    frame = skeleton(Semiautomaton.from_letters([(1, 0, 2, 3)]))
    assert frame.states(0) == (0, 1, 2, 3)
    assert [len(part.tiles) for part in frame.classes] == [4]


def test_arrays_and_lists_find_the_same_tiles() -> None:
    frame = skeleton(cerny(10))
    assert frame.num_sets == 1023
    for part in frame.classes:
        size = len(frame.states(part.representative))
        assert len(part.tiles) == size
        assert all(len(frame.states(tile)) == size - 1 for tile in part.tiles)


@pytest.mark.parametrize("seed", range(15))
def test_arrays_and_tables_list_the_same_family(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    letters = random_automaton(seed).letters
    narrow = image_sets(letters)
    monkeypatch.setattr("krohn.cascade.image_sets.WIDE", 1)
    wide = image_sets(letters)
    assert (wide.masks, wide.images, wide.number) == (narrow.masks, narrow.images, narrow.number)


def test_the_limit_holds_for_wide_automata_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("krohn.cascade.image_sets.WIDE", 1)
    with pytest.raises(LimitExceeded, match="at most 100 members"):
        skeleton(cerny(10), max_sets=100)


@pytest.mark.parametrize("size", [5, 9, 14, 20, 30, 70, 230])
def test_image_functions_of_every_width_agree_with_the_letter(size: int) -> None:
    rng = random.Random(size)
    letter = tuple(rng.randrange(size) for _ in range(size))
    image = image_function(letter)
    for _ in range(40):
        states = rng.sample(range(size), rng.randint(1, size))
        expected = sum(1 << target for target in {letter[state] for state in states})
        assert image(sum(1 << state for state in states)) == expected
