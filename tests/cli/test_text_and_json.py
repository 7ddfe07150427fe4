"""Text and JSON of a command agree with each other and with the automaton."""

import io
import itertools
import json
import random
import re
from collections.abc import Callable
from typing import Any

import pytest

import krohn
from every import every
from krohn.automata.zoo import parse_spec, zoo_names
from krohn.cli.app import run

Capture = pytest.CaptureFixture[str]
SMALL = ("Parity", "C4", "D6", "FlipFlop", "Grid3", "Dyck2,1", "abab", "T3", "table:012.201.120")


def text_of(capsys: Capture, *arguments: str, status: int = 0) -> str:
    assert run(list(arguments)) == status
    return capsys.readouterr().out


def both(capsys: Capture, *arguments: str, status: int = 0) -> tuple[str, dict[str, Any]]:
    """The text for people and the object for machines of one command line."""
    text = text_of(capsys, *arguments, status=status)
    payload = json.loads(text_of(capsys, *arguments, "--json", status=status))
    assert isinstance(payload, dict)
    return text, payload


def cells(text: str) -> list[list[str]]:
    """The rows of the first table in a text: what follows its line of dashes."""
    lines = text.splitlines()
    begin = next(place for place, line in enumerate(lines) if re.fullmatch(r"-[- ]*", line)) + 1
    end = next((place for place in range(begin, len(lines)) if not lines[place].strip()), len(lines))
    return [line.split() for line in lines[begin:end]]


@every("spec", SMALL)
def test_zoo_shows_the_table_that_the_object_has(spec: str, capsys: Capture) -> None:
    text, payload = both(capsys, "zoo", spec)
    automaton = parse_spec(spec)
    assert payload["table"] == automaton.table.tolist()
    names = payload["states"]
    rows = [[names[state], *(names[q] for q in row)] for state, row in enumerate(payload["table"])]
    assert cells(text) == rows
    assert f"start {payload['start']}" in text
    assert text.splitlines()[2].split() == ["state", *payload["letters"]]


def test_zoo_counts_what_it_leaves_out(capsys: Capture) -> None:
    for spec, answer in (("Counter41", "1 more state "), ("Counter42", "2 more states "), ("Counter40", "")):
        text = text_of(capsys, "zoo", spec)
        assert len(cells(text)) == 40 + bool(answer)  # the remark stands below the last row
        assert answer in text
        assert ("more state" in text) == bool(answer)


def test_the_list_for_people_has_the_rows_of_the_list_for_machines(capsys: Capture) -> None:
    text, payload = both(capsys, "zoo")
    listed = [(row["name"], str(row["num_states"]), str(row["num_letters"])) for row in payload["automata"]]
    assert [tuple(row) for row in cells(text)] == listed
    assert [row["name"] for row in payload["automata"]] == list(zoo_names())


@every("spec", ["Parity", "D6", "Grid3", "abab", "Dyck2,1", "C2xFlipFlop"])
@every("options", [[], ["--plain"]])
def test_the_components_of_a_decomposition_are_printed(
    spec: str, options: list[str], capsys: Capture
) -> None:
    text, payload = both(capsys, "decompose", spec, *options)
    rows = cells(text)
    assert len(rows) == len(payload["components"])
    for row, part in zip(rows, payload["components"], strict=True):
        level, tiles, group, order, resets, *kind = row
        assert (int(level), int(tiles), int(order)) == (part["level"], part["tiles"], part["group_order"])
        assert (group, resets == "yes", " ".join(kind)) == (part["group"], part["has_resets"], part["kind"])
    levels = max((part["level"] for part in payload["components"]), default=-1) + 1
    assert payload["levels"] == levels
    assert re.search(rf"\b{levels} levels?\b", text.splitlines()[0])
    layers = payload["layers"]
    assert "--plain" in options or (
        any(f"{layers} layer" in line for line in text.splitlines()[1:4])
        if layers is not None
        else "not solvable" in text
    )


@pytest.mark.parametrize("spec", [*SMALL, "regex:(ab|b)*a"])
def test_simulate_writes_the_same_states_twice_and_they_are_those_of_the_table(
    spec: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    automaton = parse_spec(spec)
    dice = random.Random(spec)
    words = [dice.choices(range(automaton.num_letters), k=length) for length in (0, 1, 5, 5, 9)]
    typed = "".join(" ".join(automaton.letter_names[a] for a in word) + "\n" for word in words)
    expected = []
    for word in words:
        state, seen = automaton.start, []
        for letter in word:
            state = int(automaton.table[state, letter])
            seen.append(automaton.state_names[state])
        expected.append(seen)
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    assert text_of(capsys, "simulate", spec).split("\n")[:-1] == [" ".join(seen) for seen in expected]
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    assert json.loads(text_of(capsys, "simulate", spec, "--json"))["states"] == expected


FORMULAS: dict[str, Callable[..., bool]] = {
    "x": lambda x: x,
    "!x": lambda x: not x,
    "x & y": lambda x, y: x and y,
    "x | !y": lambda x, y: x or not y,
    "x ^ y": lambda x, y: x != y,
    "!(x & (y | !z))": lambda x, y, z: not (x and (y or not z)),
    "(x ^ y) & (y ^ z)": lambda x, y, z: x != y and y != z,
    "1 & x": lambda x: x,
    "x & !x": lambda x: False,
}


@every("formula", FORMULAS)
def test_the_word_of_a_formula_leads_where_its_truth_says(formula: str, capsys: Capture) -> None:
    payload = json.loads(text_of(capsys, "barrington", formula, "--json"))
    automaton = krohn.zoo(payload["automaton"])
    number = {name: letter for letter, name in enumerate(automaton.letter_names)}
    for bits in itertools.product((False, True), repeat=len(payload["variables"])):
        values = dict(zip(payload["variables"], bits, strict=True))
        letters = [
            step["true" if step["variable"] is None or values[step["variable"]] else "false"]
            for step in payload["word"]
        ]
        states = automaton.run([number[letter] for letter in letters])
        last = automaton.state_names[states[-1] if states else automaton.start]
        assert last == payload["accept" if FORMULAS[formula](**values) else "reject"]
        assigned = ",".join(f"{name}={int(value)}" for name, value in values.items())
        text, chosen = both(capsys, "barrington", formula, "--assign", assigned)
        assert text.split() == chosen["letters"] == letters
        assert chosen["value"] == FORMULAS[formula](**values)


def test_a_variable_with_two_values_is_refused_but_not_a_repeated_one(capsys: Capture) -> None:
    assert run(["barrington", "x & y", "--assign", "x=1,x=0,y=1"]) == 2
    assert "error: a variable must have one value; x is given two" in capsys.readouterr().err
    once = text_of(capsys, "barrington", "x & y", "--assign", "x=1,y=1")
    assert text_of(capsys, "barrington", "x & y", "--assign", "x=1,x=1,y=1") == once


@pytest.mark.parametrize("spec", ["Parity", "C3", "FlipFlop", "A4", "abab"])
def test_an_analysis_is_printed_with_the_numbers_of_its_json(spec: str, capsys: Capture) -> None:
    text, payload = both(capsys, "analyze", spec)
    assert payload["complexity"] in text
    assert f"{payload['semigroup_size']:,}" in text
    for group in payload["groups"]:
        assert group["name"] in text
        product = 1
        for factor in group["factors"]:
            product *= int(factor.removeprefix("C"))
        assert product == group["order"]  # all of these are solvable
