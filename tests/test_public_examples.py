"""The examples in the docstrings of the public functions are true."""

import doctest

import pytest

import krohn


@pytest.mark.parametrize("name", ["zoo", "from_regex", "analyze", "decompose", "simulate", "sample"])
def test_the_docstring_has_an_example_that_holds(name: str) -> None:
    function = getattr(krohn, name)
    result = doctest.DocTestFinder().find(function, name, globs={"krohn": krohn})
    examples = [test for test in result if test.examples]
    assert examples
    for test in examples:
        assert doctest.DocTestRunner().run(test).failed == 0
