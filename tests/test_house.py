"""The script that measures the house counts what it says, on sources small enough to count by hand."""

import house
import pytest

SOURCES = {
    "krohn.front": "from krohn.back import used\n\n\ndef enter():\n    return used()\n",
    "krohn.back": "def used():\n    return LIMIT\n\n\ndef unused():\n    return 2\n\n\nLIMIT = 3\n",
    "krohn.alone": "def nobody():\n    return 1\n",
    "krohn.registry": "PLACES = {'way': 'krohn.named:thing'}\n\n\ndef look():\n    return PLACES\n",
    "krohn.named": "def thing():\n    return 1\n",
}


def test_what_is_used_is_reached_and_what_is_not_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(house, "entrances", lambda: {("krohn.front", "enter")})
    reached = house.reached(SOURCES)
    assert {("krohn.front", "enter"), ("krohn.back", "used"), ("krohn.back", "LIMIT")} <= reached
    assert ("krohn.back", "unused") not in reached
    assert not any(module == "krohn.alone" for module, _ in reached)


def test_names_in_a_registry_count_as_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(house, "entrances", lambda: {("krohn.registry", "look")})
    assert ("krohn.named", "thing") in house.reached(SOURCES)


def test_imports_are_arrows() -> None:
    arrows = house.graph(SOURCES)
    assert arrows["krohn.front"] == {"krohn.back"}
    assert arrows["krohn.alone"] == set()


def test_lines_are_counted_by_folder() -> None:
    counted = house.by_folder({"krohn": "a\n", "krohn.one.two": "a\nb\n", "krohn.one.three": "c\n"})
    assert counted == {"krohn": 1, "one": 3}


def test_a_trace_counts_files_whose_functions_ran() -> None:
    files = house.traced("import krohn; krohn.zoo('C2').run('101')")
    assert "automata/semiautomaton.py" in files
    assert "automata/zoo.py" in files
    assert "network/forward.py" not in files
