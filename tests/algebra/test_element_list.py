import pytest
from hypothesis import given, settings

from algebra.golden_cases import CASES, Letters, letters_of, naive_elements, times
from algebra.test_transition_semigroup import letter_lists
from krohn.algebra.packed import product_of_word
from krohn.algebra.transition_semigroup import ElementList, TransitionSemigroup, list_elements


def assert_words_and_graphs_are_right(elements: ElementList, letters: Letters, step: int = 1) -> None:
    for index in range(0, len(elements), step):
        element = elements[index]
        assert product_of_word(letters, elements.word(index)) == element
        for number, letter in enumerate(letters):
            assert elements[int(elements.right[index, number])] == times(element, letter)
            assert elements[int(elements.left[index, number])] == times(letter, element)


@settings(max_examples=60, deadline=None)
@given(letter_lists)
def test_small_semigroups_are_listed_whole_in_order_of_their_words(letters: Letters) -> None:
    elements = list_elements(letters)
    assert {elements[i] for i in range(len(elements))} == set(naive_elements(letters))
    words = elements.words()
    assert words == [elements.word(index) for index in range(len(elements))]
    assert words == sorted(words, key=lambda word: (len(word), word))
    assert_words_and_graphs_are_right(elements, letters)


@pytest.mark.parametrize("name", ["T5", "grid20", "dyck4_2", "rand9_s2", "dyck5_2"])
def test_larger_semigroups_are_listed_with_right_words_and_graphs(name: str) -> None:
    letters = letters_of(CASES[name])
    elements = list_elements(letters)
    assert len(elements) == CASES[name]["size"]
    assert_words_and_graphs_are_right(elements, letters, step=37)


@pytest.mark.parametrize("name", ["T4", "rand6_s1", "rand8_s1", "abab", "grid9"])
def test_green_classes_of_listed_elements_agree_with_golden_counts(name: str) -> None:
    elements = list_elements(letters_of(CASES[name]))
    green = CASES[name]["green"]
    assert len(set(elements.r_class)) == green["R"]
    assert len(set(elements.l_class)) == green["L"]
    assert len(elements.idempotents) == green["idempotents"]
    assert all(times(elements[i], elements[i]) == elements[i] for i in elements.idempotents)


def test_more_states_than_a_byte_holds_are_listed_too() -> None:
    rest = tuple(range(3, 300))
    letters = ((1, 2, 0, *rest), (0, 0, 2, *rest))
    elements = list_elements(letters)
    assert len(elements) == TransitionSemigroup(letters).size == 24
    assert_words_and_graphs_are_right(elements, letters)


def test_equal_letters_share_an_element() -> None:
    elements = list_elements(((1, 0), (1, 0)))
    assert len(elements) == 2
    assert elements.right.tolist() == [[1, 1], [0, 0]]


def test_an_element_is_found_by_its_images() -> None:
    elements = list_elements(letters_of(CASES["grid4"]))
    assert all(elements.index(elements[i]) == i for i in range(len(elements)))


def test_as_many_elements_are_listed_as_may_be() -> None:
    assert len(list_elements(letters_of(CASES["T5"]), limit=3125)) == 3125


def test_cayley_graphs_and_words_agree_with_libsemigroups() -> None:
    peer = pytest.importorskip("libsemigroups_pybind11")
    with_report_off = peer.ReportGuard(False)
    for name in ("T5", "grid16", "rand9_s2"):
        letters = letters_of(CASES[name])
        other = peer.FroidurePin([peer.Transf(list(letter)) for letter in letters])
        other.run()
        elements = list_elements(letters)
        right, left = other.right_cayley_graph(), other.left_cayley_graph()
        for index in range(0, len(elements), 41):
            assert tuple(peer.froidure_pin.minimal_factorisation(other, index)) == elements.word(index)
            for letter in range(len(letters)):
                assert right.target(index, letter) == elements.right[index, letter]
                assert left.target(index, letter) == elements.left[index, letter]
    del with_report_off
