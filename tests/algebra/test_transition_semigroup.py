import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from algebra.golden_cases import CASES, SOURCE, Letters, NaiveGreen, letters_of, naive_elements
from every import every
from krohn.algebra.transformation import product_of_word
from krohn.algebra.transition_semigroup import TransitionSemigroup
from krohn.errors import LimitExceeded

letter_lists = st.integers(1, 4).flatmap(
    lambda n: st.lists(st.tuples(*[st.integers(0, n - 1) for _ in range(n)]), min_size=1, max_size=3).map(
        tuple
    )
)


def count_r_classes(semigroup: TransitionSemigroup) -> int:
    return sum(semigroup.r_classes.component_counts.values())


def test_the_golden_file_names_its_source() -> None:
    assert "GAP" in SOURCE
    assert len(CASES) == 52


@every("name", CASES)
def test_golden_sizes_r_classes_and_solvability_agree(name: str) -> None:
    case = CASES[name]
    semigroup = TransitionSemigroup(letters_of(case))
    assert semigroup.size == case["size"]
    assert all(group.is_solvable for group in semigroup.subgroups) == case["solvable"]
    if case["green"] is not None:
        assert count_r_classes(semigroup) == case["green"]["R"]


@settings(max_examples=80, deadline=None)
@given(letter_lists)
def test_small_semigroups_agree_with_the_definitions(letters: Letters) -> None:
    if len(naive_elements(letters)) > 120:
        return
    naive = NaiveGreen(letters)
    semigroup = TransitionSemigroup(letters)
    assert semigroup.size == len(naive.elements)
    assert count_r_classes(semigroup) == len(set(naive.right.values()))
    assert sorted(group.order for group in semigroup.subgroups) == naive.subgroup_orders()


@settings(max_examples=60, deadline=None)
@given(letter_lists)
def test_every_group_has_an_idempotent_that_its_word_induces(letters: Letters) -> None:
    for part in TransitionSemigroup(letters).subgroups:
        idempotent = part.idempotent
        assert idempotent is not None
        images = idempotent.images
        assert all(images[image] == image for image in images)
        assert set(images) == set(part.states)
        assert product_of_word(letters, idempotent.word * idempotent.exponent) == images


@settings(max_examples=60, deadline=None)
@given(letter_lists)
def test_loops_of_a_component_generate_its_group_on_the_image(letters: Letters) -> None:
    for component in TransitionSemigroup(letters).images.components:
        place = {point: position for position, point in enumerate(component.base)}
        for word in component.loops():
            action = product_of_word(letters, word)
            loop = tuple(place[action[point]] for point in component.base)
            assert component.group.contains(loop)


def same_by_batches(monkeypatch: pytest.MonkeyPatch, letters: Letters) -> None:
    one_by_one = TransitionSemigroup(letters)
    expected = (one_by_one.size, dict(one_by_one.r_classes.component_counts))
    with monkeypatch.context() as patch:
        patch.setattr("krohn.algebra.r_classes.BATCH", -1)
        in_batches = TransitionSemigroup(letters)
        assert (in_batches.size, in_batches.r_classes.component_counts) == expected


@pytest.mark.parametrize("name", ["T5", "rand8_s1", "rand10_s0", "rand12_s1", "rperm5_s0", "reg_D8", "T3"])
def test_whole_arrays_find_the_same_classes_as_one_at_a_time(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    same_by_batches(monkeypatch, letters_of(CASES[name]))


@settings(max_examples=40, deadline=None)
@given(letter_lists)
def test_whole_arrays_agree_on_small_semigroups(letters: Letters) -> None:
    with pytest.MonkeyPatch.context() as patch:
        same_by_batches(patch, letters)


@pytest.mark.parametrize("degree", [3, 257, 300])
def test_many_states_are_handled_as_few(degree: int) -> None:
    """A cycle of three states and a reset, padded with states that nothing moves."""
    rest = tuple(range(3, degree))
    semigroup = TransitionSemigroup(((1, 2, 0, *rest), (0, 0, 2, *rest)))
    assert semigroup.size == 24
    small = TransitionSemigroup(((1, 2, 0), (0, 0, 2)))
    assert count_r_classes(semigroup) == count_r_classes(small)


def test_the_search_of_image_sets_stops_at_its_limit() -> None:
    letters = letters_of(CASES["T7"])
    with pytest.raises(LimitExceeded, match=r"at most 20 image sets.* --max-images"):
        _ = TransitionSemigroup(letters, max_images=20).subgroups
    with pytest.raises(LimitExceeded, match=r"at most 100 R-classes.* --max-classes"):
        _ = TransitionSemigroup(letters, max_classes=100).size


def test_sizes_agree_with_libsemigroups() -> None:
    peer = pytest.importorskip("libsemigroups_pybind11")
    with_report_off = peer.ReportGuard(False)
    for name in ("rand8_s1", "rand9_s1", "dyck2_2"):
        letters = letters_of(CASES[name])
        konieczny = peer.Konieczny([peer.Transf(list(letter)) for letter in letters])
        konieczny.run()
        semigroup = TransitionSemigroup(letters)
        assert semigroup.size == konieczny.size()
    del with_report_off
