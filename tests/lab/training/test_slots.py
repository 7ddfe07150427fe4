import pytest

from krohn.lab.training.slots import Slots


def test_replicates_that_are_done_move_behind_once_they_fill_half_the_rows() -> None:
    start = Slots.start(5)
    assert start.narrow([True, False, True, False, True]) == start  # three of five: not worth it
    slots = start.narrow([False, True, False, False, True])
    assert slots.working == (1, 4)
    assert slots.order == (1, 4, 0, 2, 3)
    assert [slots.order[row] for row in slots.rows] == [0, 1, 2, 3, 4]
    again = slots.narrow([False, False, False, False, True])
    assert again.working == (4,)
    assert sorted(again.order) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("replicates", [1, 2, 7])
def test_a_run_that_is_over_keeps_its_rows(replicates: int) -> None:
    slots = Slots.start(replicates)
    assert slots.narrow([False] * replicates) == slots
