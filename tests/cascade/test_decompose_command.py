"""`krohn decompose` from the outside: its JSON, its files, its refusals, and the pictures in Python."""

import json
import re
from pathlib import Path
from random import Random
from xml.etree import ElementTree

import numpy as np
import pytest
from click.testing import CliRunner, Result

import krohn
from every import every
from krohn.automata.graph import sink_states
from krohn.automata.zoo import parse_spec, zoo, zoo_names
from krohn.base.svg import text_width
from krohn.cascade.picture import cascade_picture
from krohn.cli.app import app, run

SVG = "{http://www.w3.org/2000/svg}"


def invoke(*arguments: str) -> Result:
    result = CliRunner().invoke(app, ["decompose", *arguments], catch_exceptions=False)
    assert result.exit_code == 0
    return result


def payload(*arguments: str) -> dict[str, object]:
    report = json.loads(invoke(*arguments, "--json").stdout)
    assert isinstance(report, dict)
    return report


def test_json_has_the_promised_keys() -> None:
    result = payload("T3", "--plain")
    assert result["levels"] == 2
    assert result["covering_checked"] is True
    parts = result["components"]
    assert isinstance(parts, list)
    assert [(part["level"], part["tiles"], part["group_order"]) for part in parts] == [(0, 3, 6), (1, 2, 2)]
    assert parts[0]["group"] == "S3"
    assert all(len(states) == 1 for states in parts[1]["tile_states"])
    assert (parts[0]["counters"], parts[0]["memory"]) == ([[2], [3]], 3)
    assert all("word" in generator for generator in parts[0]["generators"])


def test_fewer_levels_than_plain_and_the_saving_explained() -> None:
    plain, short = payload("Dyck2,2", "--plain"), payload("abab", "--explain")
    assert plain["levels"] == 3
    passes = short["passes"]
    assert isinstance(passes, list)
    assert {report["name"] for report in passes} >= {"reachable", "merge", "serial", "error bit"}
    text = invoke("Grid4", "--explain").stdout
    assert "levels saved" in text
    assert "clamped counter" in text


def test_the_picture_is_written(tmp_path: Path) -> None:
    svg = tmp_path / "c.svg"
    invoke("T3", "--plain", "--svg", str(svg))
    assert "C2" in "".join(ElementTree.parse(svg).getroot().itertext())


def test_too_many_sets_end_with_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["decompose", "T3", "--plain", "--effort", "2.5e-5"]) == 2
    error = capfd.readouterr().err
    assert error.startswith("error: the family of image sets must have at most 5 members")
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("pattern", "most"),
    [
        ("(ab)*", 3),
        ("((aa)*b)*", 4),
        ("(mon|tue|wed|thu|fri)", 4),
        ("(www\\.)?[a-z]+\\.(com|org)", 6),
        ("https?://[a-z.]+(/[a-z]*)*", 6),
    ],
)
def test_plans_of_patterns_are_shallow_with_little_work_and_match_as_re_does(pattern: str, most: int) -> None:
    result = krohn.decompose(f"regex:{pattern}", effort=0.1)
    assert result.layers is not None
    assert result.layers <= most
    automaton, random = result.automaton, Random(0)
    observe, letters = automaton.observe, range(automaton.num_letters)
    assert observe is not None
    dead = sink_states(automaton.table)
    for _ in range(60):
        state, word = automaton.start, ""
        for _ in range(25):  # mostly letters that keep the word alive
            alive = [letter for letter in letters if automaton.step(state, letter) not in dead]
            letter = random.choice(alive if alive and random.random() < 0.97 else letters)
            state, word = automaton.step(state, letter), word + automaton.letter_names[letter]
        matched = [int(bool(re.fullmatch(pattern, word[:end]))) for end in range(1, len(word) + 1)]
        assert [observe[q] for q in result.simulate(word).tolist()] == matched


def test_notebooks_show_the_picture() -> None:
    result = krohn.decompose(krohn.zoo("T3"))
    root = ElementTree.fromstring(result._repr_svg_())
    assert "T3: 2 levels" in "".join(root.itertext())


def test_names_with_markup_do_not_break_pictures() -> None:
    automaton = krohn.Semiautomaton.from_letters([(0, 0), (1, 1)], state_names=("<a>", '"&"'))
    ElementTree.fromstring(cascade_picture(krohn.decompose(automaton).plan))


@pytest.mark.parametrize("spec", ["C2", "C1", "Memory5", "PermReset4", "Rubik", "Grid9:noop", "C2xFlipFlop"])
def test_zoo_automata_decompose(spec: str) -> None:
    result = payload(spec)
    assert result["covering_checked"] is True


@every("name", [name for name in zoo_names() if zoo(name).num_states < 150])
def test_every_listed_automaton_is_simulated_by_its_plain_cascade_and_by_its_plan(name: str) -> None:
    automaton = zoo(name)
    words = np.random.default_rng(0).integers(0, automaton.num_letters, (3, 40))
    expected = [automaton.run(word.tolist()) for word in words]
    plain, short = krohn.decompose(automaton, plain=True), krohn.decompose(automaton, effort=0.3)
    assert plain.simulate(words).tolist() == expected
    assert short.simulate(words).tolist() == expected
    assert short.levels <= plain.levels


def test_a_group_is_drawn_with_its_simple_factors_from_the_top(tmp_path: Path) -> None:
    assert run(["decompose", "S4", "--svg", str(tmp_path / "s4.svg")]) == 0
    texts = [element.text for element in ElementTree.parse(tmp_path / "s4.svg").getroot().iter(f"{SVG}text")]
    assert [text for text in texts if text in {"C2", "C3"}] == ["C2", "C3", "C2", "C2"]


@pytest.mark.parametrize("spec", ["S4", "Dyck4,2", "T4", "regex:(a|b)*abb(ab)*"])
def test_no_text_leaves_its_box(spec: str) -> None:
    automaton = parse_spec(spec)
    for picture in [ElementTree.fromstring(cascade_picture(krohn.decompose(automaton).plan))]:
        boxes = [
            tuple(float(box.attrib[key]) for key in ("x", "y", "width", "height"))
            for box in picture.findall(f"{SVG}rect")
        ]
        for text in picture.iter(f"{SVG}text"):
            width = text_width(text.text or "", float(text.attrib["font-size"]))
            x, y = float(text.attrib["x"]), float(text.attrib["y"])
            left = x if text.attrib["text-anchor"] == "start" else x - width / 2
            inside = [
                box for box in boxes if box[0] <= x <= box[0] + box[2] and box[1] <= y <= box[1] + box[3]
            ]
            assert all(box[0] <= left and left + width <= box[0] + box[2] for box in inside)
