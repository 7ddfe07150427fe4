"""The script that measures the house counts what it says, on sources small enough to count by hand."""

from fnmatch import fnmatch

import house
import pytest
import reachable

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


def test_capabilities_are_counted_once_by_their_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(house, "LATER", {"folder": "one", "files": "two.a_*"})
    sources = {"krohn.one.x": "a\n", "krohn.one": "b\n", "krohn.onerous": "c\n", "krohn.two.a_b": "d\ne\n"}
    assert house.later_lines(sources) == {"folder": 2, "files": 2}
    monkeypatch.undo()
    real = {house.module_name(path) for path in house.PACKAGE.rglob("*.py")}
    for what, parts in house.LATER.items():
        for part in parts.split():
            result = [n for n in real if fnmatch(n, f"krohn.{part}") or n.startswith(f"krohn.{part}.")]
            assert result, f"{what}: there is no {part}"


def test_lines_are_counted_by_folder() -> None:
    counted = house.by_folder({"krohn": "a\n", "krohn.one.two": "a\nb\n", "krohn.one.three": "c\n"})
    assert counted == {"krohn": 1, "one": 3}


def test_tests_count_for_the_part_they_are_named_after() -> None:
    parts = ["__main__", "construct", "strict_json", "svg"]
    paths = {
        "construct/test_x.py": "construct",
        "construct_paper/deep/y.py": "construct",
        "test_strict_json.py": "strict_json",
        "test_svg.py": "svg",
        "test_svg_arrows.py": "svg",
        "test_main.py": "__main__",
        "test_docs.py": "docs",
    }
    assert {path: house.tested_part(path, parts) for path in paths} == paths


def test_a_trace_counts_files_whose_functions_ran() -> None:
    files = house.traced("import krohn; krohn.zoo('C2').run('101')")
    assert "automata/semiautomaton.py" in files
    assert "automata/zoo.py" in files
    assert "network/forward.py" not in files


def test_what_belongs_to_a_later_capability_is_a_module_or_what_lies_in_it() -> None:
    assert house.belongs("krohn.check.arithmetic.real", "check certify.proof")
    assert house.belongs("krohn.proving.witness.heads", "certify.witness_*")
    assert not house.belongs("krohn.checker", "check")
