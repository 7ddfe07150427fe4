"""Barrington's theorem: the word over A5 has the value of the formula, under every assignment."""

import itertools
import json

import pytest

from krohn.automata.spec import parse_spec
from krohn.cli.app import run
from krohn.construct.barrington import (
    ACCEPT,
    ONE,
    barrington,
    commutator_factors,
    five_cycles,
    inverse,
    product,
    program_length,
)
from krohn.construct.formula import parse_formula
from krohn.errors import InvalidInput, LimitExceeded

FORMULAS = {
    "x": lambda x: x,
    "!x": lambda x: not x,
    "x & y": lambda x, y: x and y,
    "x | y": lambda x, y: x or y,
    "x ^ y": lambda x, y: x != y,
    "not (x and not y) or z": lambda x, y, z: not (x and not y) or z,
    "x & (y | !z)": lambda x, y, z: x and (y or not z),
    "a & b & c & d": lambda a, b, c, d: a and b and c and d,
    "a | b & c ^ d": lambda a, b, c, d: a or ((b and c) != d),
    "~a*b + ¬c∧(d∨a)": lambda a, b, c, d: (not a and b) or (not c and (d or a)),
    "x & (1 | y) & !0": lambda x: x,
}


@pytest.mark.parametrize("text", FORMULAS)
def test_the_word_has_the_value_of_the_formula_under_every_assignment(text) -> None:
    program = barrington(text)
    names = program.formula.variables()
    automaton = parse_spec("A5:all")
    for values in itertools.product((False, True), repeat=len(names)):
        given = dict(zip(names, values, strict=True))
        wanted = FORMULAS[text](*values)
        assert program.formula.value(given) == wanted
        assert program.accepts(given) == wanted
        letters = ["".join(map(str, letter)) for letter in program.word(given)]
        states = automaton.run([automaton.letter_names.index(letter) for letter in letters])
        assert automaton.state_names[states[-1]] == "".join(map(str, ACCEPT if wanted else ONE))


def test_the_length_is_four_to_the_depth_at_most_and_known_beforehand() -> None:
    for text, length in {"x": 1, "!x": 1, "x & y": 4, "a & b & c & d": 16, "x | y | z": 10}.items():
        assert len(barrington(text).instructions) == program_length(parse_formula(text)) == length


def test_constants_need_at_most_one_letter() -> None:
    assert barrington("x & 0").instructions == ()
    assert not barrington("0").accepts({})
    assert barrington("1 | x").accepts({})
    assert len(barrington("x | !0").instructions) == 1


def test_every_five_cycle_is_a_commutator_of_five_cycles() -> None:
    assert len(set(five_cycles())) == 24
    for cycle in five_cycles():
        a, b = commutator_factors(cycle)
        assert product(product(a, b), product(inverse(a), inverse(b))) == cycle


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a variable, 0, 1, ! or .* at character 1 .* got the end"),
        ("x &", "at character 4 .* got the end"),
        ("x y", "the end or an operator at character 3 .* got 'y'"),
        ("(x", r"a closing \) at character 3"),
        ("x & $", r"at character 5 .* got '\$'"),
        ("x)", "the end or an operator"),
        ("& x", "at character 1"),
        ("(" * 200 + "x" + ")" * 200, "at most 100 nested operators"),
    ],
)
def test_a_bad_formula_is_refused_with_its_place(text, message) -> None:
    with pytest.raises(InvalidInput, match=message):
        barrington(text)


def test_limits_and_missing_values_are_refused() -> None:
    with pytest.raises(LimitExceeded, match="at most 10 letters; this formula needs 16"):
        barrington("a & b & c & d", max_length=10)
    with pytest.raises(InvalidInput, match="every variable needs a value; without one: y"):
        barrington("x & y").word({"x": True})


def test_the_command_prints_length_and_word(capsys) -> None:
    assert run(["barrington", "x & (y | !z)", "--json"]) == 0
    payload = json.loads(capsys.readouterr().out)
    assert payload["length"] == len(payload["word"]) == 10
    assert payload["variables"] == ["x", "y", "z"]
    assert run(["barrington", "x & (y | !z)", "--assign", "x=1,y=0 z=0", "--json"]) == 0
    payload = json.loads(capsys.readouterr().out)
    assert payload["value"] is True
    assert len(payload["letters"]) == 10
    assert run(["barrington", "a & b & c & d & e & f & g & h"]) == 0
    assert "and 24 more" in capsys.readouterr().out
    assert run(["barrington", "x", "--assign", "x=1"]) == 0
    assert capsys.readouterr().out.strip() == "12340"


def test_the_command_refuses_nonsense_in_one_line(capsys) -> None:
    assert run(["barrington", "x &&"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert run(["barrington", "x", "--assign", "x"]) == 2
    assert "must read x=1,y=0" in capsys.readouterr().err
