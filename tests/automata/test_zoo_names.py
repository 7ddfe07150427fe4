"""Names of the zoo: generator sets, observations, and what is refused."""

import numpy as np
import pytest
from naive_machines import closure
from sympy.combinatorics import Permutation

from every import every
from krohn.automata.generator_sets import generator_set, parse_permutation
from krohn.automata.zoo import FAMILIES, zoo, zoo_names
from krohn.errors import KrohnError

SETS = ("", ":minimal", ":paper", ":release2023", ":repo2026")
ORDERS = {"S3": 6, "S4": 24, "S5": 120, "A4": 12, "A5": 60}


@every(
    ("name", "order"),
    [*((name + letters, order) for name, order in ORDERS.items() for letters in SETS), ("Q8", 8), ("D8", 8)],
)
def test_every_generator_set_generates_the_whole_group(name: str, order: int) -> None:
    automaton = zoo(name)
    assert automaton.num_states == order
    assert len(closure(automaton.letters)) == order


def test_generator_sets_of_s5_are_those_on_record() -> None:
    # The eight actions of the 2023 data release and of the 2026 training repository, read off their code.
    release = ["01234", "12340", "01243", "01324", "01342", "01423", "01432", "02134"]
    repository = ["01234", "12340", "10234", "01243", "01324", "01342", "01423", "01432"]
    assert list(zoo("S5:release2023").letter_names) == release
    assert list(zoo("S5:repo2026").letter_names) == repository
    paper = zoo("S5").letter_names
    assert zoo("S5") == zoo("S5:paper")
    assert len(paper) == 8  # a transposition, an n-cycle and six others
    assert paper[:2] == ("10234", "12340")
    assert "01234" not in paper
    assert zoo("S5:paper,5").letter_names == paper[:5]


def test_letters_of_a5_are_the_three_cycles_of_the_paper() -> None:
    cycles = [Permutation(0, 1, i, size=5).array_form for i in (2, 3, 4)]
    assert [list(map(int, name)) for name in zoo("A5").letter_names] == cycles
    assert zoo("A5:release2023").letter_names == ("01234", *zoo("A5").letter_names)


def test_any_list_of_permutations_can_be_the_letters() -> None:
    assert zoo("S5:(0 1),(0 1 2 3 4)") == zoo("S5:10234,12340")
    assert parse_permutation("(0 1)(1 2)", 3) == tuple(Permutation([[0, 1]], size=3) * Permutation([[1, 2]]))
    assert generator_set("S", 3, "(0 1 2)") == [(1, 2, 0)]


@every(
    ("name", "observation", "expected"),
    [
        ("Dyck2,2", "top", {"empty": 0, "(": 1, "[": 2, "((": 1, "([": 2, "[(": 1, "[[": 2, "sink": 3}),
        ("Grid4", "boundary", {"0": 1, "1": 0, "2": 0, "3": 1}),
        ("Grid3x3:noop", "boundary", {f"{i},{j}": int((i, j) != (1, 1)) for i in range(3) for j in range(3)}),
        ("S3", "first", {"012": 0, "021": 0, "102": 1, "120": 1, "201": 2, "210": 2}),
        ("S3", "relative", {"012": 0, "021": 1, "102": 1, "120": 0, "201": 0, "210": 1}),
        ("C4", "zero", {"0": 1, "1": 0, "2": 0, "3": 0}),
        ("D6", "location", {"0,0": 0, "0,1": 1, "0,2": 2, "1,0": 0, "1,1": 1, "1,2": 2}),
        ("D6", "toggle", {"0,0": 0, "0,1": 0, "0,2": 0, "1,0": 1, "1,1": 1, "1,2": 1}),
        ("abab", "accept", {"0": 0, "1": 0, "2": 0, "3": 1, "4": 0}),
        ("Add", "digit", {"0c0": 0, "1c0": 1, "0c1": 0, "1c1": 1}),
        ("Add", "carry", {"0c0": 0, "1c0": 0, "0c1": 1, "1c1": 1}),
    ],
)
def test_observations_are_those_of_the_table(name: str, observation: str, expected: dict[str, int]) -> None:
    automaton = zoo(f"{name}@{observation}")
    assert automaton == zoo(f"{name}@{observation}")
    assert dict(zip(automaton.state_names, automaton.observe or (), strict=True)) == expected


def test_letters_act_on_what_relative_shows() -> None:
    automaton = zoo("A5@relative")
    shown = np.array(automaton.observe)
    assert np.bincount(shown).tolist() == [5] * 12
    for column in automaton.table.T:
        assert len({*zip(shown.tolist(), shown[column].tolist(), strict=True)}) == 12


def test_the_sizes_of_the_papers_table_of_observations() -> None:
    observed = {name: zoo(name).num_observations for name in ("Dyck4,8@top", "S5@first", "D8@location")}
    assert observed == {"Dyck4,8@top": 10, "S5@first": 5, "D8@location": 4}


@every(
    "name",
    [
        *(
            "C0",
            "D7",
            "D0",
            "S0",
            "A2",
            "Dyck0,2",
            "Dyck2,0",
            "Grid0",
            "Grid3x0",
            "Memory0",
            "Counter0",
            "T0",
        ),
        *("PermReset0", "Add0", "Add13", "S40", "A40", "S10", "Dyck40,2", "Dyck1,999999999", "C100000"),
        *("Grid999999999", "Grid9999x9999", "PermReset9", "S7:all", "S999999999", "C99999999999999999999"),
        *("", "x", "C", "S", "C2x", "xC2", "C2xx", "C2x3", "Rubik:13", "Q7", "s4", "C2 ", "C2@", "C2@first"),
        *(
            "C2xC2@zero",
            "C2@zero@zero",
            "x".join(["C2"] * 40),
            "Dyck4",
            "Dyck4,2,2",
            "S4:",
            "C5:012",
            "T3:noop",
        ),
    ],
)
def test_names_outside_the_zoo_are_refused_in_one_line(name: str) -> None:
    with pytest.raises(KrohnError) as caught:
        zoo(name)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) > 20


def test_every_listed_name_builds_and_keeps_its_name() -> None:
    for name in zoo_names():
        assert zoo(name).name == name


def test_every_family_and_observation_is_listed_once() -> None:
    forms = [family.form for family in FAMILIES]
    assert len(set(forms)) == len(forms)
    for family in FAMILIES:
        for observation in family.observations:
            automaton = zoo(f"{family.examples[0]}@{observation}")
            assert automaton.observe is not None
            assert 1 < automaton.num_observations <= automaton.num_states
