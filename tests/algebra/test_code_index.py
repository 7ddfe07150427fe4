import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from krohn.algebra import code_index
from krohn.algebra.code_index import CodeIndex

batches = st.lists(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 40), max_size=30), max_size=8)


def assert_first_numbers(index: CodeIndex, batches: list[list[int]]) -> None:
    first: dict[int, int] = {}
    for batch in batches:
        begin = len(index)
        answers, new = index.enter(np.array(batch, dtype=np.int64))
        known = set(first)
        assert answers.tolist() == [first.setdefault(code, begin + i) for i, code in enumerate(batch)]
        assert new.tolist() == sorted({batch.index(code) for code in set(batch) - known})
        assert (len(index), index.distinct) == (begin + len(batch), len(first))


@settings(max_examples=100, deadline=None)
@given(batches)
def test_a_code_is_answered_with_its_first_number(batches: list[list[int]]) -> None:
    assert_first_numbers(CodeIndex(), batches)


@settings(max_examples=100, deadline=None)
@given(batches, st.integers(1, 9))
def test_codes_that_crowd_into_few_slots_are_told_apart(batches: list[list[int]], slots: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(code_index, "_LOAD", 0)  # never grow
        index = CodeIndex()
        index._clear(slots)
        assert_first_numbers(index, batches)


@settings(max_examples=100, deadline=None)
@given(batches)
def test_a_table_that_grows_keeps_every_number(batches: list[list[int]]) -> None:
    index = CodeIndex()
    index._clear(3)
    assert_first_numbers(index, batches)


def test_more_codes_than_there_was_room_for() -> None:
    codes = [(7 * i) % 9001 for i in range(10_000)]
    assert_first_numbers(CodeIndex(), [codes, codes[::-1], list(range(5000))])
