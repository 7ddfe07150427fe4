"""Boolean expressions against Python's own ``re`` and sets of words."""

import itertools
import re

import pytest

import krohn
from every import every
from krohn.cli.app import run
from krohn.errors import InvalidInput, KrohnError, LimitExceeded

ONE, TWO, THREE = "(a|b)*abb", "(b|ab)*a?", "a{1,3}b*"


def accepts(automaton: krohn.Semiautomaton, word: str) -> bool:
    states = automaton.run(list(word)) or [automaton.start]
    return bool((automaton.observe or ())[states[-1]])


@every(
    "text, meaning",
    [
        (f"and(regex:{ONE}; regex:{TWO})", lambda x, y, z: x and y),
        (f"or(regex:{ONE}; regex:{TWO}; regex:{THREE})", lambda x, y, z: x or y or z),
        (f"minus(regex:{TWO}; regex:{THREE})", lambda x, y, z: y and not z),
        (f"not(or(regex:{ONE};not(regex:{TWO})))", lambda x, y, z: not (x or not y)),
    ],
)
def test_words_are_those_of_the_parts(text: str, meaning: object) -> None:
    automaton = krohn.automaton(text)
    assert automaton.name == text
    for length in range(7):
        for letters in itertools.product("ab", repeat=length):
            word = "".join(letters)
            held = [re.fullmatch(pattern, word) is not None for pattern in (ONE, TWO, THREE)]
            assert accepts(automaton, word) == meaning(*held), word  # type: ignore[operator]


def test_the_result_is_smallest_and_its_parts_may_be_named() -> None:
    assert krohn.automaton("and(C2@zero; C2@zero)").num_states == 2
    assert krohn.automaton("or(regex:(ab)*; not(regex:(ab)*))").num_states == 1
    assert krohn.equal("not(and(regex:a*b;regex:ab*))", "or(not(regex:a*b); not(regex:ab*))")
    assert krohn.equal("minus(regex:[a-z]+;regex:[a-f]+)", "regex:[a-z]*[g-z][a-z]*")
    assert krohn.equal(r"and(regex:a\;b|a[;(]b; regex:[ab;]*)", r"regex:a\;b").equal


@every(
    "text, says",
    [
        ("and(C2@zero)", "2 to 16 parts"),
        ("not(C2@zero; C3@zero)", "one part"),
        ("and(C2; C2)", "must accept words"),
        ("and(regex:a*; )", "2 to 16 parts"),
        ("and(regex:a(; regex:b)", "brackets must close"),
        ("and(regex:a; C12@zero)", "same letters"),
        ("not(" * 60 + "regex:a" + ")" * 60, "50 deep"),
        ("and(nothing; regex:a)", "must be named"),
        ("and(C1500@zero; not(C1500@zero))", "arrows"),
    ],
)
def test_what_is_no_expression_says_why(text: str, says: str) -> None:
    with pytest.raises(KrohnError, match=re.escape(says)) as refused:
        krohn.automaton(text)
    assert isinstance(refused.value, (InvalidInput, LimitExceeded, KrohnError))


def test_commands_take_expressions(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["analyze", "and(regex:(a|b)*b; not(regex:(a|b)*a))"]) == 0
    assert run(["equal", "and(regex:a.*; regex:.*b)", "regex:a.*b"]) == 0
    assert run(["compile", "minus(regex:(a|b)*; regex:(ab)*)", "--length", "12"]) == 0
    assert run(["equal", "--match", "search", "not(regex:ab)", "regex:ab"]) == 1
    assert "error" not in capsys.readouterr().err
