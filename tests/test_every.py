import inspect

import pytest

from every import every


def test_every_input_is_given_and_all_failing_ones_are_named() -> None:
    seen = []

    @every(("one", "two"), [(1, 2), (3, 4), (5, 6), (7, 8)])
    @every("three", range(2))
    def holds(one: int, two: int, three: int, tmp_path: object) -> None:
        seen.append((one, two, three, tmp_path))
        assert one != 3, "three\nis not wanted"
        if one == 7 and three:
            pytest.fail("seven")

    assert list(inspect.signature(holds).parameters) == ["tmp_path"]
    with pytest.raises(AssertionError, match="three") as raised:
        holds(tmp_path="here")
    assert seen == [(one, one + 1, three, "here") for one in (1, 3, 5, 7) for three in (0, 1)]
    assert raised.value.__notes__ == [
        "with {'three': 0}",
        "2 of 2 inputs fail; the others:",
        "  {'three': 1}: AssertionError: three",
        "with {'one': 3, 'two': 4}",
        "2 of 4 inputs fail; the others:",
        "  {'three': 1}, {'one': 7, 'two': 8}: Failed: seven",
    ]


def test_what_is_skipped_or_interrupted_ends_at_once() -> None:
    for error in (KeyboardInterrupt, pytest.skip.Exception):
        seen = []

        @every("one", range(3))
        def ends(one: int, seen: list[int] = seen, error: type[BaseException] = error) -> None:
            seen.append(one)
            raise error

        with pytest.raises(error):
            ends()
        assert seen == [0]


def test_a_property_of_nothing_and_an_unknown_name_are_refused() -> None:
    with pytest.raises(AssertionError, match="no input at all"):
        every("one", [])
    with pytest.raises(AssertionError, match="two"):
        every("two", [1])(lambda one: None)
