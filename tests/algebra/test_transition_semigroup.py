import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from algebra.golden_cases import CASES, Letters, NaiveGreen, letters_of, naive_elements
from every import every
from krohn.algebra.idempotents import idempotent_onto
from krohn.algebra.packed import product_of_word
from krohn.algebra.transition_semigroup import TransitionSemigroup
from krohn.errors import LimitExceeded

letter_lists = st.integers(1, 4).flatmap(
    lambda n: st.lists(st.tuples(*[st.integers(0, n - 1) for _ in range(n)]), min_size=1, max_size=3).map(
        tuple
    )
)


def counts(semigroup: TransitionSemigroup) -> tuple[int, ...]:
    green = semigroup.green
    return (
        green.num_d,
        green.num_r,
        green.num_l,
        green.num_h,
        green.num_regular_d,
        green.num_idempotents,
    )


@every("name", CASES)
def test_golden_sizes_green_counts_and_solvability_agree(name: str) -> None:
    case = CASES[name]
    semigroup = TransitionSemigroup(letters_of(case))
    assert semigroup.size == case["size"]
    assert all(group.is_solvable for group in semigroup.subgroups) == case["solvable"]
    if case["green"] is not None:
        expected = [case["green"][key] for key in ("D", "R", "L", "H", "regular_D", "idempotents")]
        assert list(counts(semigroup)) == expected


@settings(max_examples=80, deadline=None)
@given(letter_lists)
def test_small_semigroups_agree_with_the_definitions(letters: Letters) -> None:
    if len(naive_elements(letters)) > 120:
        return
    naive = NaiveGreen(letters)
    semigroup = TransitionSemigroup(letters)
    assert semigroup.size == len(naive.elements)
    assert counts(semigroup) == naive.counts()
    assert sorted(group.order for group in semigroup.subgroups) == naive.subgroup_orders()
    assert sum(part.size for part in semigroup.d_classes) == semigroup.size


@settings(max_examples=60, deadline=None)
@given(letter_lists)
def test_every_regular_class_shows_an_idempotent_that_its_word_induces(letters: Letters) -> None:
    for part in TransitionSemigroup(letters).d_classes:
        if not part.is_regular:
            assert part.group is None
            continue
        idempotent = idempotent_onto(part.component)
        assert idempotent is not None
        images = idempotent.images
        assert all(images[image] == image for image in images)
        assert len(set(images)) == part.rank
        assert product_of_word(letters, idempotent.word * idempotent.exponent) == images


@pytest.mark.parametrize("degree", [3, 257, 300])
def test_many_states_are_handled_as_few(degree: int) -> None:
    """A cycle of three states and a reset, padded with states that nothing moves."""
    rest = tuple(range(3, degree))
    semigroup = TransitionSemigroup(((1, 2, 0, *rest), (0, 0, 2, *rest)))
    assert semigroup.size == 24
    small = TransitionSemigroup(((1, 2, 0), (0, 0, 2)))
    assert counts(semigroup) == counts(small)


def test_the_search_of_image_sets_stops_at_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    letters = letters_of(CASES["T7"])
    monkeypatch.setattr("krohn.algebra.transition_semigroup.MAX_CLASSES", 100)
    with pytest.raises(LimitExceeded, match=r"at most 100 R-classes.* --effort"):
        _ = TransitionSemigroup(letters).size


def test_sizes_agree_with_libsemigroups() -> None:
    peer = pytest.importorskip("libsemigroups_pybind11")
    with_report_off = peer.ReportGuard(False)
    for name in ("rand8_s1", "rand9_s1", "dyck2_2"):
        letters = letters_of(CASES[name])
        konieczny = peer.Konieczny([peer.Transf(list(letter)) for letter in letters])
        konieczny.run()
        semigroup = TransitionSemigroup(letters)
        assert semigroup.size == konieczny.size()
        assert semigroup.green.num_d == konieczny.number_of_D_classes()
        assert semigroup.green.num_idempotents == konieczny.number_of_idempotents()
    del with_report_off
