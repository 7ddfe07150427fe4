"""Barrington's theorem: the word has the value of the formula, under every assignment."""

import itertools
import json
from collections.abc import Iterator

import pytest

from every import every
from krohn.algebra.transformation import compose, inverse
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import parse_spec
from krohn.cli.app import run
from krohn.paper.barrington import BarringtonProgram, barrington, program_length
from krohn.paper.formulas import parse_formula
from krohn.paper.word_problem import alphabet

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


def assignments(program: BarringtonProgram) -> Iterator[dict[str, bool]]:
    names = program.formula.variables()
    for values in itertools.product((False, True), repeat=len(names)):
        yield dict(zip(names, values, strict=True))


@every("text", FORMULAS)
def test_the_word_has_the_value_of_the_formula_under_every_assignment(text) -> None:
    program = barrington(text)
    for given in assignments(program):
        wanted = FORMULAS[text](*given.values())
        assert program.formula.value(given) == wanted
        assert program.accepts(given) == wanted
        automaton = parse_spec("A5:all")
        assert automaton.state_names[automaton.run(program.word(given))[-1]] == (
            "12340" if wanted else "01234"
        )


# Five points; the group acting on itself; a group inside a monoid; SL(2,5), which is perfect but not simple;
# A5 beside a flip-flop; a start from which a letter must lead to the group first.
def special_linear() -> Semiautomaton:
    vectors = [(x, y) for x in range(5) for y in range(5) if x or y]
    moves = [lambda x, y: (x, (x + y) % 5), lambda x, y: ((-y) % 5, x)]
    return Semiautomaton.from_letters([[vectors.index(move(*v)) for v in vectors] for move in moves])


def behind_a_door() -> Semiautomaton:
    cycle, swap = (1, 2, 3, 4, 0), (1, 0, 2, 3, 4)
    return Semiautomaton.from_letters([(*cycle, 5), (*swap, 0)], start=5)


AUTOMATA = {
    "A5": lambda: parse_spec("A5"),
    "S5": lambda: parse_spec("S5"),
    "T5": lambda: parse_spec("T5"),
    "A6": lambda: parse_spec("A6"),
    "SL(2,5)": special_linear,
    "A5 and a flip-flop": lambda: parse_spec("A5xFlipFlop"),
    "behind a door": behind_a_door,
}


@every("name", AUTOMATA)
@every("text", ["x", "!x", "x & !y", "x ^ y", "a & b | !c & d"])
def test_any_automaton_that_is_not_solvable_evaluates_formulas(name, text) -> None:
    given = AUTOMATA[name]()
    program = barrington(text, given)
    for values in assignments(program):
        final = given.run(program.word(values))[-1]
        automaton = program.alphabet.automaton
        ends = {True: program.alphabet.true_state, False: program.alphabet.false_state}
        assert given.state_names[final] == automaton.state_names[ends[program.formula.value(values)]]
    for instruction in program.instructions:
        assert bool(instruction.variable) == (instruction.if_true != instruction.if_false)


@pytest.mark.parametrize("name", AUTOMATA)
def test_elements_are_commutators_of_each_other_and_words_act_as_they_say(name) -> None:
    letters = alphabet(AUTOMATA[name]())
    place = {state: index for index, state in enumerate(letters.states)}
    assert letters.accept in letters.factors
    assert letters.one not in letters.factors
    for c, (a, b) in letters.factors.items():
        assert {a, b, inverse(c)} <= letters.factors.keys()
        assert compose(compose(a, b), compose(inverse(a), inverse(b))) == c
    for element, word in letters.spell(letters.words).items():
        assert len(word) == max(map(len, letters.words.values()))
        assert tuple(place[letters.automaton.run(word, s)[-1]] for s in letters.states) == element


@pytest.mark.parametrize("spec", ["A5", "T5"])
def test_formula_automaton_and_network_agree_in_one_command(spec, capsys) -> None:
    assert run(["barrington", "x & !y", "--automaton", spec, "--run", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)["run"]
    assert [row["network"] for row in result["rows"]] == [False, False, True, False]
    assert result["agree"]


def test_one_assignment_can_be_chosen(capsys) -> None:
    assert run(["barrington", "x & !y", "--run", "--assign", "x=1,y=1"]) == 0
    assert "all three agree on 1 assignment" in capsys.readouterr().out


def test_a_wrong_network_is_reported(capsys, monkeypatch) -> None:
    monkeypatch.setattr("krohn.paper.barrington.run_network", lambda network, words: 0 * words)
    assert run(["barrington", "x", "--run"]) == 1
    assert "they differ on 2 assignments" in capsys.readouterr().out


def test_what_is_too_long_to_run_is_refused_in_one_line(capsys) -> None:
    assert run(["barrington", " & ".join("abcdefghijk"), "--run"]) == 2
    assert "at most 10 variables; got 11; choose one with --assign" in capsys.readouterr().err
    assert run(["barrington", "0", "--run"]) == 2
    assert "1 to 4096 letters" in capsys.readouterr().err


def test_the_length_is_four_to_the_depth_at_most_and_known_beforehand() -> None:
    for text, length in {"x": 1, "!x": 1, "x & y": 4, "a & b & c & d": 16, "x | y | z": 10}.items():
        assert len(barrington(text).instructions) == program_length(parse_formula(text)) == length


def test_constants_need_at_most_one_letter() -> None:
    assert barrington("x & 0").instructions == ()
    assert not barrington("0").accepts({})
    assert barrington("1 | x").accepts({})
    assert len(barrington("x | !0").instructions) == 1


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
