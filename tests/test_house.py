"""The script that measures the house counts what it says, on sources small enough to count by hand."""

import json

import house
import pytest
import reachable
import ten_changes

SOURCES = {
    "krohn.front": "from krohn.back import used\n\n\ndef enter():\n    return used()\n",
    "krohn.back": "def used():\n    return LIMIT\n\n\ndef unused():\n    return 2\n\n\nLIMIT = 3\n",
    "krohn.alone": "def nobody():\n    return 1\n",
    "krohn.registry": "PLACES = {'way': 'krohn.named:thing'}\n\n\ndef look():\n    return PLACES\n",
    "krohn.named": "def thing():\n    return 1\n",
}


def test_only_used_definitions_are_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reachable, "entrances", lambda: {("krohn.front", "enter")})
    reached = reachable.reached(SOURCES)
    assert {("krohn.front", "enter"), ("krohn.back", "used"), ("krohn.back", "LIMIT")} <= reached
    assert ("krohn.back", "unused") not in reached
    assert not any(module == "krohn.alone" for module, _ in reached)


def test_names_in_a_registry_count_as_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reachable, "entrances", lambda: {("krohn.registry", "look")})
    assert ("krohn.named", "thing") in reachable.reached(SOURCES)


def test_imports_are_arrows() -> None:
    arrows = house.graph(SOURCES)
    assert arrows["krohn.front"] == {"krohn.back"}
    assert arrows["krohn.alone"] == set()


def test_a_module_with_one_importer_says_what_concept_it_is() -> None:
    sources = {house.module_name(path): path.read_text() for path in house.PACKAGE.rglob("*.py")}
    arrows = house.graph(sources)
    first_lines = {name: text.removeprefix('"""').split("\n")[0] for name, text in sources.items()}
    for name, text in sources.items():
        importers = [other for other, targets in arrows.items() if name in targets]
        if len(importers) == 1 and house.lines(text) > 1:
            assert len(first_lines[name].split()) >= 5, f"{name} does not say what it is"
            assert list(first_lines.values()).count(first_lines[name]) == 1, (
                f"{name} is described like another"
            )
            assert house.lines(text) >= 20, f"{name} is too small to stand alone: put it into {importers[0]}"


def test_lines_are_counted_by_room() -> None:
    counted = house.by_folder({"krohn": "a\n", "krohn.alone": "d\n", "krohn.one.two": "a\nb\n"})
    assert counted == {"krohn": 2, "one": 2}


def test_class_names_that_two_modules_define_are_listed() -> None:
    sources = {
        "krohn.a": "class Same:\n    class Inner: ...\n",
        "krohn.b": "class Same: ...\nclass Inner: ...",
    }
    assert house.clashes(sources) == {"Same": ["krohn.a", "krohn.b"]}


def test_comment_lines_hold_nothing_else() -> None:
    assert house.comment_lines("# one\nx = 1  # beside code\n    # two\n") == 2


def test_what_is_written_has_every_aim_and_the_rooms_of_today() -> None:
    page = json.loads(house.PAGE.read_text())
    assert set(house.AIMS) <= set(page["numbers"])
    sources = {house.module_name(path): path.read_text() for path in house.PACKAGE.rglob("*.py")}
    assert set(page["rooms"]) == set(house.by_folder(sources))


def test_ten_changes_can_be_made_and_each_touched_the_room_it_names() -> None:
    kept = json.loads(ten_changes.PAGE.read_text())
    assert [row["wanted"] for row in kept] == [change.wanted for change in ten_changes.CHANGES]
    for row, change in zip(kept, ten_changes.CHANGES, strict=True):
        assert row["rooms"] == [change.room]
        assert row["files"] == sorted({name for name, _, _ in change.edits})
        for name, old, _ in change.edits:
            assert (house.PACKAGE / name).read_text().count(old) == 1, name


def test_a_trace_counts_files_whose_functions_ran() -> None:
    files = house.traced("import krohn; krohn.zoo('C2').run('101')")
    assert "automata/semiautomaton.py" in files
    assert "automata/zoo.py" in files
    assert "network/transformer.py" not in files


def test_participles_are_whole_names_of_functions_and_no_properties() -> None:
    text = """
def _joined(): ...
def joined_up(): ...
def need(): ...
class A:
    def stored(self): ...
    @property
    def closed(self): ...
"""
    assert house.participles(text) == ["_joined", "stored"]


def test_lines_of_code_leave_out_docstrings_comments_and_blank_lines() -> None:
    assert house.code_lines('"""A\nb."""\n\n# c\nx = 1  # d\n"""About x."""\ny = "e"\n') == 2
