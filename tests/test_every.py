import inspect

import pytest

from every import every


def test_every_input_is_given_and_the_first_failing_one_is_named() -> None:
    seen = []

    @every(("one", "two"), [(1, 2), (3, 4), (5, 6)])
    @every("three", range(2))
    def holds(one: int, two: int, three: int, tmp_path: object) -> None:
        seen.append((one, two, three, tmp_path))
        assert one < 5

    assert list(inspect.signature(holds).parameters) == ["tmp_path"]
    with pytest.raises(AssertionError) as raised:
        holds(tmp_path="here")
    assert seen == [
        (1, 2, 0, "here"),
        (1, 2, 1, "here"),
        (3, 4, 0, "here"),
        (3, 4, 1, "here"),
        (5, 6, 0, "here"),
    ]
    assert raised.value.__notes__ == ["with {'three': 0}", "with {'one': 5, 'two': 6}"]


def test_a_property_of_nothing_and_an_unknown_name_are_refused() -> None:
    with pytest.raises(AssertionError, match="no input at all"):
        every("one", [])
    with pytest.raises(AssertionError, match="two"):
        every("two", [1])(lambda one: None)
