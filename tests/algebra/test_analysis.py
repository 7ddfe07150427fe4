from dataclasses import fields

import pytest
from hypothesis import given, settings

import krohn
from algebra import named_groups as named
from algebra.golden_cases import CASES, Letters, NaiveGreen, letters_of, naive_elements
from algebra.test_transition_semigroup import letter_lists
from krohn.algebra.analysis import Algebra, algebra_of
from krohn.algebra.packed import product_of_word
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import zoo


def analysis_of(letters: Letters, effort: float = 1.0) -> Algebra:
    return algebra_of(Semiautomaton.from_letters(letters), effort=effort)


def test_the_public_analysis_has_what_algebra_says() -> None:
    algebra, analysis = algebra_of("T3"), krohn.analyze("T3")
    assert {item.name: getattr(analysis, item.name) for item in fields(algebra)} == vars(algebra)


@pytest.mark.parametrize("name", ["grid9", "flipflop", "dyck2_2", "mem16"])
def test_aperiodic_automata_are_in_ac0(name: str) -> None:
    analysis = analysis_of(letters_of(CASES[name]))
    assert (analysis.complexity, analysis.is_aperiodic, analysis.is_solvable) == ("AC0", True, True)
    assert analysis.groups == ()
    assert "aperiodic" in analysis.reason


def test_the_group_of_an_automaton_sits_at_an_idempotent_and_may_count_the_length_alone() -> None:
    letters = letters_of(CASES["abab"])
    analysis = analysis_of(letters)
    assert (analysis.complexity, analysis.is_aperiodic, analysis.is_solvable) == ("AC0", False, True)
    assert "quasi-aperiodic" in analysis.reason
    (group,) = analysis.groups
    assert (group.order, group.name, group.factors) == (2, "C2", ("C2",))
    assert group.idempotent is not None
    assert set(group.idempotent.images) == set(group.states)
    word = group.idempotent.word * group.idempotent.exponent
    assert product_of_word(letters, word) == group.idempotent.images
    assert "C2 of order 2 permutes the states" in analysis.reason
    assert "at the idempotent" in analysis.reason


@pytest.mark.parametrize(
    ("name", "orders"),
    [("reg_A5", [60]), ("reg_S5", [120]), ("T5", [120, 24, 6, 2]), ("rand16_s1", None)],
)
def test_automata_with_a_group_that_is_not_solvable_are_nc1_complete(
    name: str, orders: list[int] | None
) -> None:
    analysis = analysis_of(letters_of(CASES[name]))
    assert analysis.complexity == "NC1-complete"
    assert not analysis.is_solvable
    assert orders is None or [group.order for group in analysis.groups] == orders
    assert "not solvable, having the factor" in analysis.reason


def test_the_cube_gets_its_verdict_without_listing() -> None:
    analysis = analysis_of(tuple(named.cube()))
    assert analysis.semigroup_size == named.CUBE_ORDER
    assert analysis.is_group
    assert analysis.complexity == "NC1-complete"
    assert sorted(analysis.groups[0].factors) == ["A12", "A8"] + ["C2"] * 12 + ["C3"] * 7
    assert "factors A12, A8" in analysis.reason


@settings(max_examples=60, deadline=None)
@given(letter_lists)
def test_verdicts_agree_with_the_definition_on_small_automata(letters: Letters) -> None:
    elements = naive_elements(letters)
    analysis = analysis_of(letters)
    # Aperiodic: every element x has x^n = x^(n+1) for some n.
    aperiodic = all(_power(x, len(x) + 24) == _power(x, len(x) + 25) for x in elements)
    assert analysis.is_aperiodic == aperiodic
    assert analysis.is_solvable  # no group on four points has a non-abelian simple factor
    identity = tuple(range(len(letters[0])))
    assert analysis.monoid_size == len({*elements, identity})
    if len(elements) <= 60:
        assert sorted(g.order for g in analysis.groups) == NaiveGreen(letters).subgroup_orders()


def _power(element: tuple[int, ...], exponent: int) -> tuple[int, ...]:
    return product_of_word([element], [0] * exponent)


def test_a_verdict_survives_the_limit_on_the_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("krohn.algebra.transition_semigroup.MAX_CLASSES", 50)
    analysis = analysis_of(letters_of(CASES["T7"]))
    assert analysis.semigroup_size is None
    assert analysis.monoid_size is None
    assert analysis.green is None
    assert [group.order for group in analysis.groups] == [5040, 720, 120, 24, 6, 2]
    assert "--effort" in analysis.notes[0]


def test_letters_that_all_act_as_the_identity_are_a_trivial_group() -> None:
    analysis = analysis_of(((0, 1, 2), (0, 1, 2)))
    assert (analysis.semigroup_size, analysis.monoid_size, analysis.is_group, analysis.complexity) == (
        1,
        1,
        True,
        "AC0",
    )


def test_one_state_is_fine() -> None:
    analysis = analysis_of(((0,),))
    assert (analysis.semigroup_size, analysis.complexity) == (1, "AC0")


def test_permuting_letters_give_the_verdict_where_the_image_sets_are_too_many() -> None:
    report = algebra_of(zoo("T8"), effort=2e-5)
    assert (report.complexity, report.is_aperiodic, report.is_solvable) == ("NC1-complete", False, False)
    assert report.groups[0].factors == ("A8", "C2")
    assert report.is_partial
    assert report.semigroup_size is None
    assert "--effort" in report.notes[0]


def test_many_states_count_against_the_limit_on_r_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("krohn.algebra.transition_semigroup.MAX_CLASSES", 250)
    report = algebra_of(zoo("Dyck6,2"))
    assert report.complexity == "AC0"
    assert report.semigroup_size is None
    assert "--effort" in report.notes[0]


def test_groups_whose_idempotent_is_not_found_still_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("krohn.algebra.subgroups.ALL_PAIRS", 0)
    report = algebra_of(zoo("T5"))
    assert report.complexity == "NC1-complete"
    assert [group.order for group in report.groups] == [120, 24, 6, 2]
