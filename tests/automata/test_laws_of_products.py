"""Laws that tie products, quotients, minimal automata and small zoo members together, by brute force."""

import itertools
import random
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from every import every
from krohn.automata.products import direct_product
from krohn.automata.quotients import coarsest_congruence, minimize, quotient
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import parse_spec, zoo
from krohn.errors import InvalidInput

SMALL = ("Parity", "C3", "FlipFlop", "Grid3", "D6", "abab", "Dyck2,1", "T3")
PAIRS = (("Parity", "FlipFlop"), ("abab", "Grid3"), ("Dyck2,1", "C3"), ("Counter1", "D6"), ("T3", "Parity"))


def random_automaton(rng: random.Random, states: int, letters: int, colours: int = 0) -> Semiautomaton:
    table = [[rng.randrange(states) for _ in range(letters)] for _ in range(states)]
    observe = tuple(rng.randrange(colours) for _ in range(states)) if colours else None
    return Semiautomaton(np.array(table), start=rng.randrange(states), observe=observe)


def renamed(automaton: Semiautomaton, rng: random.Random) -> Semiautomaton:
    """The same automaton with its states in another order."""
    place = list(range(automaton.num_states))
    rng.shuffle(place)
    table = np.zeros_like(automaton.table)
    observe = [0] * automaton.num_states
    for state, row in enumerate(automaton.table.tolist()):
        table[place[state]] = [place[target] for target in row]
        if automaton.observe is not None:
            observe[place[state]] = automaton.observe[state]
    seen = None if automaton.observe is None else tuple(observe)
    return Semiautomaton(table, start=place[automaton.start], observe=seen)


def isomorphic(one: Semiautomaton, other: Semiautomaton) -> bool:
    """Is some renaming of states one automaton's table, start and observations as the other's?"""
    if one.table.shape != other.table.shape:
        return False
    a, b, seen = one.table.tolist(), other.table.tolist(), other.observe or ()
    return any(
        names[one.start] == other.start
        and all(seen[names[q]] == value for q, value in enumerate(one.observe or ()))
        and all([names[q] for q in a[state]] == b[names[state]] for state in names)
        for names in itertools.permutations(range(one.num_states))
    )


def partitions(size: int) -> Iterator[list[int]]:
    """All partitions of 0 … size − 1, as restricted growth strings."""
    if size == 0:
        yield []
        return
    for shorter in partitions(size - 1):
        for label in range(max(shorter, default=-1) + 2):
            yield [*shorter, label]


def is_congruence(rows: Sequence[Sequence[int]], classes: Sequence[int]) -> bool:
    pairs = [(p, q) for p, q in itertools.combinations(range(len(rows)), 2) if classes[p] == classes[q]]
    return all(classes[a] == classes[b] for p, q in pairs for a, b in zip(rows[p], rows[q], strict=True))


@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_a_run_of_a_product_is_the_pair_of_runs_and_the_factors_are_its_quotients(
    left: str, right: str
) -> None:
    one, two = zoo(left), zoo(right)
    product = zoo(f"{left}x{right}")
    rng = random.Random(left + right)
    for _ in range(10):
        word = [(rng.randrange(one.num_letters), rng.randrange(two.num_letters)) for _ in range(25)]
        pairs = zip(one.run([a for a, _ in word]), two.run([b for _, b in word]), strict=True)
        expected = [f"{one.state_names[p]},{two.state_names[q]}" for p, q in pairs]
        letters = [f"{one.letter_names[a]},{two.letter_names[b]}" for a, b in word]
        states = product.run([product.letter_names.index(letter) for letter in letters])
        assert [product.state_names[state] for state in states] == expected
    first = quotient(product, [state // two.num_states for state in range(product.num_states)])
    assert first.table[:, :: two.num_letters].tolist() == one.table.tolist()
    second = quotient(product, [state % two.num_states for state in range(product.num_states)])
    assert second.table[:, : two.num_letters].tolist() == two.table.tolist()
    assert (first.start, second.start) == (one.start, two.start)


@pytest.mark.parametrize("seed", range(6))
def test_a_product_may_be_bracketed_at_will_and_a_single_state_changes_nothing(seed: int) -> None:
    rng = random.Random(seed)
    a, b, c = (random_automaton(rng, rng.randint(1, 3), rng.randint(1, 2)) for _ in range(3))
    flat = direct_product(a, b, c)
    for bracketed in (
        direct_product(direct_product(a, b), c),
        direct_product(a, direct_product(b, c)),
    ):
        assert bracketed.table.tolist() == flat.table.tolist()
        assert (bracketed.start, bracketed.state_names) == (flat.start, flat.state_names)
    for unit in (direct_product(zoo("C1"), a), direct_product(a, zoo("Counter1"))):
        assert (unit.table.tolist(), unit.start) == (a.table.tolist(), a.start)


@pytest.mark.parametrize("name", ["C4", "D6", "abab", "Dyck2,1", "Grid4", "T3", "table:12.20.33.03"])
def test_the_quotient_takes_exactly_the_partitions_that_are_congruences(name: str) -> None:
    automaton = parse_spec(name)
    rows = automaton.table.tolist()
    taken = 0
    for classes in partitions(automaton.num_states):
        if not is_congruence(rows, classes):
            with pytest.raises(InvalidInput, match="congruence"):
                quotient(automaton, classes)
            continue
        taken += 1
        smaller = quotient(automaton, classes)
        assert smaller.num_states == len(set(classes))
        assert smaller.start == classes[automaton.start]
        for state, row in enumerate(rows):
            assert smaller.table[classes[state]].tolist() == [classes[target] for target in row]
    assert taken >= 2  # equality and, in one class, everything


@every("seed", range(12))
def test_hopcroft_s_congruence_has_the_fewest_classes_of_all_that_keep_the_colours(seed: int) -> None:
    rng = random.Random(seed)
    automaton = random_automaton(rng, rng.randint(2, 6), rng.randint(1, 2), 2)
    assert automaton.observe is not None
    colours = automaton.observe
    rows = automaton.table.tolist()
    keeping = [
        classes
        for classes in partitions(automaton.num_states)
        if is_congruence(rows, classes) and len(set(zip(classes, colours, strict=True))) == len(set(classes))
    ]
    fewest = min(keeping, key=lambda classes: len(set(classes)))
    result = coarsest_congruence(automaton, colours)
    states = range(automaton.num_states)
    assert [[result[p] == result[q] for q in states] for p in states] == [
        [fewest[p] == fewest[q] for q in states] for p in states
    ]


@every("seed", range(12))
def test_minimal_automata_of_one_machine_under_two_numberings_are_isomorphic(seed: int) -> None:
    rng = random.Random(seed)
    automaton = random_automaton(rng, rng.randint(1, 6), 2, 2)
    other = renamed(automaton, rng)
    one, two = minimize(automaton), minimize(other)
    assert isomorphic(one, two)
    assert minimize(one) == one
    # Another first answer is seen by the empty word: such automata are never isomorphic.
    observe = one.observe
    assert observe is not None
    flipped = tuple(1 - value for value in observe)
    changed = Semiautomaton(one.table, start=one.start, observe=flipped)
    assert not isomorphic(changed, two)


@every(
    ("name", "states", "table"),
    [
        ("S1", ("0",), None),
        ("S2", ("01", "10"), None),
        ("A3", ("012", "120", "201"), None),
        ("WriteOnce1", ("empty", "1"), [[1, 0, 0], [1, 0, 1]]),
        ("Counter1", ("0",), [[0]]),
        ("Grid1x1", ("0,0",), [[0, 0, 0, 0]]),
        ("Grid1x2", ("0,0", "0,1"), [[0, 0, 0, 1], [1, 1, 0, 1]]),
        ("Grid2x1:noop", ("0,0", "1,0"), [[0, 1, 0, 0, 0], [0, 1, 1, 1, 1]]),
        ("Dyck1,2", ("empty", "(", "[", "sink"), [[1, 2, 3, 3], [3, 3, 0, 3], [3, 3, 3, 0], [3, 3, 3, 3]]),
        ("T2", ("0", "1"), [[1, 0], [0, 0]]),
        ("PermReset2", ("01", "10"), None),
    ],
)
def test_the_smallest_members_of_a_family_are_what_their_names_say(
    name: str, states: tuple[str, ...], table: list[list[int]] | None
) -> None:
    automaton = zoo(name)
    assert automaton.state_names == states
    if table is not None:
        assert automaton.table.tolist() == table
        return
    for letter, column in zip(automaton.letter_names, automaton.letters, strict=True):
        for state, target in zip(states, column, strict=True):
            expected = letter[1:] if letter[0] == "=" else "".join(letter[int(person)] for person in state)
            assert states[target] == expected


@pytest.mark.parametrize("name", ["Dyck1,1", "Dyck3,1", "Dyck2,3", "Dyck2,5"])
def test_the_top_of_a_stack_is_the_last_bracket_of_its_name(name: str) -> None:
    automaton = zoo(f"{name}@top")
    kinds = automaton.num_letters // 2
    opens = automaton.letter_names[:kinds]
    tops = {"empty": 0, "sink": kinds + 1}
    expected = [
        tops[stack] if stack in tops else 1 + next(i for i in range(kinds) if stack.endswith(opens[i]))
        for stack in automaton.state_names
    ]
    assert list(automaton.observe or ()) == expected


@pytest.mark.parametrize("name", ["Grid1", "Grid5", "Grid1x3", "Grid3x4", "Grid3x3x3", "Grid4x3:noop"])
def test_a_cell_is_on_the_boundary_if_a_coordinate_is_first_or_last(name: str) -> None:
    sides = [int(side) for side in name.removeprefix("Grid").removesuffix(":noop").split("x")]
    automaton = zoo(f"{name}@boundary")
    for cell, seen in zip(automaton.state_names, automaton.observe or (), strict=True):
        places = zip(map(int, cell.split(",")), sides, strict=True)
        assert seen == any(place in (0, side - 1) for place, side in places)


@pytest.mark.parametrize("order", [2, 4, 6, 14])
def test_place_and_direction_of_a_car_are_the_two_halves_of_its_name(order: int) -> None:
    place, toggle = zoo(f"D{order}@location"), zoo(f"D{order}@toggle")
    pairs = zip(toggle.observe or (), place.observe or (), strict=True)
    assert tuple(f"{direction},{where}" for direction, where in pairs) == place.state_names
    assert minimize(place).num_states == (1 if order == 2 else 2 if order == 4 else order)
    assert minimize(toggle).num_states == 2
