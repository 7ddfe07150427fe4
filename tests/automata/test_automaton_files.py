"""The JSON format: round trips, and an error for every defect."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from every import every
from krohn.automata.files import (
    MAX_BYTES,
    automaton_from_payload,
    automaton_payload,
    dump_automaton,
    load_automaton,
)
from krohn.automata.zoo import parse_spec, true_name, zoo, zoo_names
from krohn.errors import InvalidAutomaton, InvalidFile, KrohnError, LimitExceeded

# The example of the interface, verbatim.
EXAMPLE = (
    '{"krohn": 1, "letters": ["a","b"], "states": ["p","q"], "start": "p", "next": {"p": {"a":"q","b":"p"}, '
    '"q": {"a":"p","b":"q"}}, "observe": {"p": 0, "q": 1}}'
)


def test_the_published_example_is_read(tmp_path: Path) -> None:
    path = tmp_path / "example.json"
    path.write_text(EXAMPLE)
    automaton = parse_spec(str(path))
    assert automaton.table.tolist() == [[1, 0], [0, 1]]
    assert (automaton.start, automaton.observe, automaton.name) == (0, (0, 1), "example")


@pytest.mark.parametrize("name", [*zoo_names()[:-5], "abab@accept", "Dyck2,2@top"])
def test_what_is_written_is_read_back(name: str, tmp_path: Path) -> None:
    automaton = zoo(name)
    dump_automaton(automaton, tmp_path / "a.json")
    assert load_automaton(tmp_path / "a.json") == automaton


def broken(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    payload: dict[str, Any] = copy.deepcopy(json.loads(EXAMPLE))
    change(payload)
    return payload


@every(
    ("change", "complaint"),
    [
        (lambda p: p.pop("next"), "'next' is missing"),
        (lambda p: p.update(extra=1), "'extra' is not one of them"),
        (lambda p: p.update(krohn=2), "must be 1; got 2"),
        (lambda p: p.update(krohn=True), "must be 1; got True"),
        (lambda p: p.update(letters=[]), "at least one name"),
        (lambda p: p.update(states="pq"), "'states' must be a list"),
        (lambda p: p.update(letters=["a", "a"]), "letter names must be distinct; 'a' appears twice"),
        (lambda p: p.update(states=["p", "q", "q"]), "state names must be distinct; 'q' appears twice"),
        (lambda p: p.update(states=["p", 1]), "must be a printable string without spaces; got 1"),
        (lambda p: p.update(states=["p", ""]), "printable string"),
        (lambda p: p.update(letters=["a", "b c"]), "without spaces; got 'b c'"),
        (lambda p: p.update(letters=["a", "\n"]), "printable"),
        (lambda p: p.update(letters=["a", "\ud800"]), "printable"),
        (lambda p: p.update(start="r"), "'start' must be one of the states; got 'r'"),
        (lambda p: p.update(start=None), "'start' must be one of the states"),
        (lambda p: p.update(start=["p"]), "'start' must be one of the states"),
        (lambda p: p["next"].pop("q"), "'next' must have an entry for state 'q'"),
        (lambda p: p["next"]["q"].pop("b"), "'next' of state 'q' must have an entry for letter 'b'"),
        (lambda p: p["next"].update(r={}), "names state 'r', which is not in the list"),
        (lambda p: p["next"]["p"].update(c="p"), "'next' of state 'p' names letter 'c'"),
        (
            lambda p: p["next"]["p"].update(a="r"),
            "state 'p', letter 'a' must lead to one of the states; got 'r'",
        ),
        (lambda p: p["next"]["p"].update(a=["q"]), r"state 'p', letter 'a' must lead .* got \['q'\]"),
        (lambda p: p.update(next=[]), "'next' must be an object with one entry per state; got a list"),
        (lambda p: p["next"].update(p=3), "'next' of state 'p' must be an object .* got a number"),
        (lambda p: p["observe"].pop("q"), "'observe' must have an entry for state 'q'"),
        (lambda p: p["observe"].update(q=-1), "observation of state 'q' must be an integer"),
        (lambda p: p["observe"].update(q=1.5), "observation of state 'q' must be an integer"),
        (lambda p: p["observe"].update(q=True), "observation of state 'q' must be an integer"),
        (lambda p: p["observe"].update(q=2**40), "observation of state 'q' must be an integer"),
        (lambda p: p.update(observe=None), "'observe' must be an object .* got null"),
    ],
)
def test_every_defect_is_named(change: Callable[[dict[str, Any]], object], complaint: str) -> None:
    with pytest.raises(InvalidAutomaton, match=complaint) as caught:
        automaton_from_payload(broken(change))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "must be JSON"),
        ("[1, 2", "must be JSON"),
        ("[1]", "must be a JSON object; got a list"),
        ('{"krohn": NaN}', "must be finite"),
        ('{"krohn": 1, "krohn": 1}', "'krohn' appears twice"),
        (EXAMPLE.replace('"b":"p"', '"a":"p"'), "'a' appears twice"),
        ("[" * 100_000, "nested"),
        ("1" * 10_000, "must be JSON"),
        ("\x00", "must be JSON"),
    ],
)
def test_text_that_is_not_an_automaton_is_refused(text: str, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(KrohnError, match=complaint) as caught:
        load_automaton(path)
    assert "bad.json" in str(caught.value)


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    (tmp_path / "latin.json").write_bytes(b'{"krohn": "\xe9"}')
    for path in (
        tmp_path / "none.json",
        tmp_path,
        tmp_path / "latin.json",
        "nul\0.json",
        "x" * 5000 + ".json",
    ):
        with pytest.raises(InvalidFile, match="must"):
            load_automaton(path)


def test_a_huge_file_is_refused_by_its_size(tmp_path: Path) -> None:
    path = tmp_path / "huge.json"
    with path.open("wb") as stream:
        stream.truncate(100_000_000)  # sparse: 100 MB that take no disk
    with pytest.raises(LimitExceeded, match=f"at most {MAX_BYTES:,} bytes"):
        load_automaton(path)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(st.data())
@settings(max_examples=25)
def test_a_file_with_any_one_value_replaced_is_read_or_refused_by_our_error(data: st.DataObject) -> None:
    payload = json.loads(EXAMPLE)
    spot = payload
    while True:
        key = data.draw(st.sampled_from(sorted(spot) if isinstance(spot, dict) else range(len(spot))))
        deeper = isinstance(spot[key], dict | list) and len(spot[key]) > 0
        if not deeper or data.draw(st.booleans()):
            break
        spot = spot[key]
    spot[key] = data.draw(JSON)
    try:
        automaton = automaton_from_payload(payload)
    except KrohnError:
        return
    assert automaton_from_payload(automaton_payload(automaton)) == automaton


def test_a_table_can_be_typed_in_the_place_of_a_name() -> None:
    typed = parse_spec("table:12.00.33.33")
    assert typed.table.tolist() == [[1, 2], [0, 0], [3, 3], [3, 3]]
    assert parse_spec(typed.name) == typed
    assert true_name(typed) == typed.name
