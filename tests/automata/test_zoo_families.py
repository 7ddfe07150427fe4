"""Every family of the zoo against its definition in plain Python."""

import itertools
import random
from collections.abc import Callable

import numpy as np
import pytest
from naive_machines import bracket_name, bracket_step, closure, follow, words
from sympy.combinatorics import Permutation, PermutationGroup

from every import every
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import zoo


def named_run(automaton: Semiautomaton, word: tuple[str, ...]) -> list[str]:
    letters = [automaton.letter_names.index(letter) for letter in word]
    return [automaton.state_names[state] for state in automaton.run(letters)]


def agrees(
    name: str, start: object, step: Callable[..., object], shown: Callable[..., str], longest: int
) -> None:
    automaton = zoo(name)
    for word in words(automaton.letter_names, longest):
        assert named_run(automaton, word) == follow(start, step, shown, word)
    rng = random.Random(name)
    for _ in range(20):
        word = tuple(rng.choices(automaton.letter_names, k=60))
        assert named_run(automaton, word) == follow(start, step, shown, word)


@every("n", range(1, 9))
def test_cyclic_groups_add_modulo_n(n: int) -> None:
    agrees(f"C{n}", 0, lambda q, a: (q + int(a)) % n, str, 2)
    assert zoo(f"C{n}").num_letters == n


def test_cyclic_groups_with_letters_0_and_1_count_the_ones() -> None:
    agrees("C5:01", 0, lambda q, a: (q + int(a)) % 5, str, 5)


@pytest.mark.parametrize("order", [2, 4, 6, 8, 10])
def test_dihedral_groups_are_a_car_on_a_ring(order: int) -> None:
    n = order // 2

    def step(state: tuple[int, int], letter: str) -> tuple[int, int]:
        toggle, place = state
        if letter == "toggle":
            return (1 - toggle, place)
        return (toggle, (place + (-1 if toggle else 1)) % n)

    agrees(f"D{order}", (0, 0), step, lambda q: f"{q[0]},{q[1]}", 6)
    assert zoo(f"D{order}").state_names.index("1,0") == n  # id = n·toggle + place
    assert zoo(f"D{order}").letter_names == ("toggle", "drive")


def test_the_quaternion_group_multiplies_like_its_matrices() -> None:
    one = np.eye(2, dtype=complex)
    units = {
        "1": one,
        "i": np.array([[1j, 0], [0, -1j]]),
        "j": np.array([[0, 1], [-1, 0]], dtype=complex),
        "k": np.array([[0, 1j], [1j, 0]]),
    }
    named = {**units, **{f"-{name}": -matrix for name, matrix in units.items()}}

    def shown(matrix: np.ndarray) -> str:
        return next(name for name, value in named.items() if np.array_equal(value, matrix))

    agrees("Q8", one, lambda q, a: q @ units[a], shown, 3)
    assert zoo("Q8").state_names == ("1", "i", "j", "k", "-1", "-i", "-j", "-k")


@every("name", ["S1", "S2", "S3", "S4", "S5", "A3", "A4", "A5", "S4:all", "S5:repo2026"])
def test_permutation_groups_rearrange_people_on_chairs(name: str) -> None:
    automaton = zoo(name)
    start = automaton.state_names[0]
    assert start == "".join(map(str, range(len(start))))
    agrees(name, start, lambda q, a: "".join(q[int(chair)] for chair in a), str, 2)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_permutations_are_numbered_in_lexicographic_order(n: int) -> None:
    expected = tuple("".join(map(str, p)) for p in itertools.permutations(range(n)))
    assert zoo(f"S{n}").state_names == expected


def test_a_write_once_cell_keeps_the_first_value_until_it_is_cleared() -> None:
    def step(value: str, letter: str) -> str:
        if letter == "clear":
            return "empty"
        return letter if value == "empty" and letter != "idle" else value

    agrees("WriteOnce2", "empty", step, str, 5)
    agrees("WriteOnce3", "empty", step, str, 4)


def test_adjacent_letters_swap_neighbours_and_generate_the_group() -> None:
    assert zoo("S4:adjacent").letter_names == ("1023", "0213", "0132")
    assert len(closure(zoo("S4:adjacent").letters)) == 24


@pytest.mark.parametrize(("depth", "kinds"), [(1, 1), (4, 1), (4, 2), (2, 3), (2, 5)])
def test_dyck_is_a_stack_of_bounded_depth(depth: int, kinds: int) -> None:
    automaton = zoo(f"Dyck{depth},{kinds}")
    opens, closes = automaton.letter_names[:kinds], automaton.letter_names[kinds:]
    step = bracket_step(depth, {**dict(zip(closes, opens, strict=True)), **{o: o for o in opens}})
    agrees(f"Dyck{depth},{kinds}", (), step, bracket_name, 4 if kinds < 3 else 3)
    assert automaton.num_states == sum(kinds**i for i in range(depth + 1)) + 1


@pytest.mark.parametrize(
    "name", ["Grid1", "Grid4", "Grid9", "Grid9:noop", "Grid3x4", "Grid2x3x2", "Grid3x4:noop"]
)
def test_grids_stop_at_their_walls(name: str) -> None:
    sides = tuple(map(int, name.removeprefix("Grid").removesuffix(":noop").split("x")))
    moves = {"L": (0, -1), "R": (0, 1), "D": (1, -1), "U": (1, 1)}
    moves |= {f"{sign}{axis + 1}": (axis, int(f"{sign}1")) for axis in range(3) for sign in "-+"}

    def step(cell: tuple[int, ...], letter: str) -> tuple[int, ...]:
        if letter == "noop":
            return cell
        axis, by = moves[letter]
        moved = (*cell[:axis], cell[axis] + by, *cell[axis + 1 :])
        return moved if 0 <= moved[axis] < sides[axis] else cell

    agrees(name, (0,) * len(sides), step, lambda cell: ",".join(map(str, cell)), 4)
    assert zoo(name).num_letters == 2 * len(sides) + name.endswith(":noop")


@pytest.mark.parametrize("name", ["FlipFlop", "Memory1", "Memory2", "Memory5"])
def test_memory_keeps_what_was_written_last(name: str) -> None:
    agrees(name, "1", lambda q, a: q if a == "read" else a, str, 4)
    assert zoo("FlipFlop") == zoo("Memory2")


def test_the_automaton_of_abab_follows_the_papers_example() -> None:
    automaton = zoo("abab")
    assert automaton.start == 3
    assert "".join(named_run(automaton, tuple("abababaaabab"))) == "012301244444"


def test_the_papers_second_acceptance_example_is_wrong() -> None:
    # The paper prints φ(ababbabab) = 000111111; its own automaton accepts once, at the fourth letter.
    automaton = zoo("abab@accept")
    assert automaton.observe is not None

    def accepted(word: str) -> str:
        return "".join(str(automaton.observe[q]) for q in automaton.run("ab".index(x) for x in word))

    assert accepted("ababababa") == "000100010"
    assert accepted("ababbabab") == "000100000"


def test_parity_and_counters_count() -> None:
    agrees("Parity", 0, lambda q, a: q ^ int(a), str, 6)
    agrees("Counter5", 0, lambda q, a: (q + 1) % 5, str, 12)


@pytest.mark.parametrize("addends", [1, 2, 3, 4])
def test_the_adder_adds(addends: int) -> None:
    automaton = zoo("Add" if addends == 2 else f"Add{addends}")
    rng = random.Random(addends)
    for _ in range(50):
        numbers = [rng.randrange(2**20) for _ in range(addends)]
        letters = ["".join(str(number >> bit & 1) for number in numbers) for bit in range(24)]
        states = named_run(automaton, tuple(letters))
        digits = [int(state.split("c")[0]) for state in states]
        assert sum(digit << bit for bit, digit in enumerate(digits)) == sum(numbers)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_the_full_monoid_has_all_maps(n: int) -> None:
    everything = set(itertools.product(range(n), repeat=n))
    assert closure(zoo(f"T{n}").letters) == everything


def test_permutation_reset_renames_or_resets() -> None:
    agrees(
        "PermReset3",
        "012",
        lambda q, a: a[1:] if a[0] == "=" else "".join(a[int(person)] for person in q),
        str,
        3,
    )
    automaton = zoo("PermReset5")
    assert (automaton.num_states, automaton.num_letters) == (120, 122)
    assert automaton.letter_names[-2:] == ("10234", "12340")


def test_the_cube_has_the_known_order() -> None:
    automaton = zoo("Rubik")
    assert (automaton.num_states, automaton.num_letters) == (48, 6)
    group = PermutationGroup([Permutation(list(letter)) for letter in automaton.letters])
    assert group.order() == 43252003274489856000
    assert sorted(map(len, group.orbits())) == [24, 24]  # corners and edges never meet


def test_turns_of_the_cube_are_clockwise_quarter_turns() -> None:
    cube = zoo("Rubik")

    def after(sticker: str, *turns: str) -> str:
        state = cube.state_names.index(sticker)
        return cube.state_names[cube.run([cube.letter_names.index(t) for t in turns], start=state)[-1]]

    # Clockwise from above the front goes to the left; from the right the front goes up.
    assert after("FU", "U") == "LU"
    assert after("FR", "R") == "UR"
    assert after("UF", "F") == "RF"
    assert after("FU", *"UUUU") == "FU"
    assert after("FU", *"UU") == "BU"
    # R U R' U' has order 6, and (R U) has order 105: facts every cuber knows.
    identity = tuple(range(48))
    for turns, order in (("RURRRUUU", 6), ("RU", 105)):  # three turns undo one
        word = [cube.letter_names.index(t) for t in turns]
        power, product = 0, identity
        while power == 0 or product != identity:
            for letter in word:
                product = tuple(cube.letters[letter][q] for q in product)
            power += 1
        assert power == order


@pytest.mark.parametrize(("name", "sizes"), [("C2xC2", (4, 4)), ("C2xC2xC2", (8, 8)), ("S3xD6", (36, 10))])
def test_a_product_steps_its_factors_side_by_side(name: str, sizes: tuple[int, int]) -> None:
    product, factors = zoo(name), [zoo(factor) for factor in name.split("x")]
    assert (product.num_states, product.num_letters) == sizes
    rng = random.Random(0)
    runs = [[rng.randrange(factor.num_letters) for _ in range(30)] for factor in factors]
    names = [
        ",".join(factor.letter_names[letter] for factor, letter in zip(factors, letters, strict=True))
        for letters in zip(*runs, strict=True)
    ]
    states = zip(*(factor.run(run) for factor, run in zip(factors, runs, strict=True)), strict=True)
    expected = [
        ",".join(factor.state_names[q] for factor, q in zip(factors, qs, strict=True)) for qs in states
    ]
    assert named_run(product, tuple(names)) == expected


def test_a_grid_in_a_product_keeps_its_own_sign() -> None:
    assert zoo("C2xGrid3x4").num_states == 24
    assert zoo("Grid3x4xC2").num_states == 24
    assert zoo("ababxParity").num_states == 10
