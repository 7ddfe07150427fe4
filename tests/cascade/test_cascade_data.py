"""Cascades as data, graphs and pictures: every set, tile, word and edge is read back and checked."""

import json
from math import prod
from xml.etree import ElementTree

import pytest

import krohn
from cascade.random_automata import golden, random_automaton
from every import every
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import parse_spec
from krohn.cascade.cascade_data import component_as_dict, plan_as_dict
from krohn.cascade.holonomy import holonomy_cascade
from krohn.cascade.picture import cascade_picture
from krohn.cascade.plan import HolonomyPlan
from krohn.construct.decomposing import Decomposition, decompose, pass_report

SVG = "{http://www.w3.org/2000/svg}"
SEEDS = range(20)


def plan_of(automaton: Semiautomaton) -> HolonomyPlan:
    return HolonomyPlan(automaton, holonomy_cascade(automaton))


def led(automaton: Semiautomaton, states: list[str], word: str) -> list[str]:
    """The states after a word, all by name; letters have names of one character."""
    letters = [automaton.letter_names.index(name) for name in word if word != "ε"]
    numbers = [automaton.state_names.index(name) for name in states]
    return [automaton.state_names[automaton.run(letters, q)[-1] if letters else q] for q in numbers]


@every("seed", SEEDS)
def test_the_words_in_the_data_do_what_the_data_says(seed: int) -> None:
    automaton = random_automaton(seed)
    plan = plan_of(automaton)
    data = json.loads(json.dumps(plan_as_dict(plan)))
    assert len(data["components"]) == len(plan.components)
    for entry, part in zip(data["components"], plan.cascade.components, strict=True):
        whole, tiles = entry["representative"], entry["tile_states"]
        assert set(whole) == {name for tile in tiles for name in tile}
        assert (entry["tiles"], entry["num_members"]) == (len(tiles), len(part.members))
        for generator in entry["generators"]:
            assert sorted(set(led(automaton, whole, generator["word"]))) == sorted(whole)
            for place, image in enumerate(generator["permutation"]):
                moved = led(automaton, tiles[place], generator["word"])
                assert sorted(set(moved)) == sorted(tiles[image])
        for transport in entry["transports"]:
            assert sorted(set(led(automaton, whole, transport["word"]))) == sorted(transport["states"])
        assert len(entry["transports"]) == len(part.members[:64]) - 1
        assert entry["memory"] == (entry["tiles"] if entry["has_resets"] else None)
        if entry["counters"] is not None:
            assert prod(m for section in entry["counters"] for m in section) == entry["group_order"]
        assert (entry["counters"] is None) == (not entry["is_solvable"])
    assert data["initial"] == list(plan.cascade.initial)
    assert data["num_sets"] == plan.cascade.skeleton.num_sets


def test_a_merged_component_has_no_words_and_a_large_group_no_counters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for seed in range(40):
        plan = decompose(random_automaton(seed, smallest=4, largest=7), effort=0.1).plan
        merged = [node for _, node in plan.walk() if "merged" in node.title]
        if merged and isinstance(merged[0], HolonomyPlan):
            break
    node = merged[0]
    assert isinstance(node, HolonomyPlan)
    for part in node.cascade.components:
        entry = component_as_dict(node.cascade, part)
        assert ("transports" in entry) == (not part.is_merged)
        assert all(("word" in generator) == (not part.is_merged) for generator in entry["generators"])
    monkeypatch.setattr("krohn.cascade.cascade_data.MAX_GROUP", 5)
    cascade = holonomy_cascade(golden("T3"))
    assert [component_as_dict(cascade, part)["counters"] for part in cascade.components] == [None, [[2]]]


@every("seed", SEEDS)
def test_counters_and_memories_multiply_to_the_component(seed: int) -> None:
    cascade = holonomy_cascade(random_automaton(seed))
    for part in cascade.components:
        entry = component_as_dict(cascade, part)
        assert entry["memory"] == (len(part.tiles) if cascade.is_reset[part.number] else None)
        if entry["counters"] is not None:
            assert prod(m for section in entry["counters"] for m in section) == part.group.order


@pytest.mark.parametrize("spec", ["Grid3x4", "Add", "abab", "C2xFlipFlop"])
def test_the_tree_of_a_plan_has_its_children(spec: str) -> None:
    plan = decompose(parse_spec(spec)).plan
    tree = plan_as_dict(plan)["tree"]
    assert (tree["node"], len(tree.get("children", []))) == (plan.title, len(plan.children))


@every("spec", ["S4", "T4", "Grid3x4", "Dyck3,2", "abab", "C40", "C1", "Memory3"])
def test_a_cascade_is_drawn_level_by_level(spec: str) -> None:
    plan = decompose(parse_spec(spec)).plan
    root = ElementTree.fromstring(cascade_picture(plan))
    boxes = [box for box in root.findall(f"{SVG}rect") if box.find(f"{SVG}title") is not None]
    assert len(boxes) == len(plan.components)
    tops: dict[int, set[str]] = {}
    for box, part in zip(boxes, sorted(plan.components, key=lambda part: part.level), strict=True):
        tops.setdefault(part.level, set()).add(box.get("y") or "")
        assert f"level {part.level}: {part.tiles} tiles" in (box.findtext(f"{SVG}title") or "")
    assert all(len(result) == 1 for result in tops.values())
    heights = [float(next(iter(tops[level]))) for level in sorted(tops)]
    assert heights == sorted(set(heights))
    texts = [text.text for text in root.iter(f"{SVG}text")]
    levels = f"{plan.levels} level{'s' * (plan.levels != 1)}"
    assert texts[0] == f"{plan.automaton.name or spec}: {levels}"
    assert texts[-3:] == ["group", "memory", "clamped counter"]
    assert root.findtext(f"{SVG}title") == f"Cascade of {plan.automaton.name}"


@pytest.mark.parametrize(
    ("spec", "dots", "more"), [("C5", 5, 0), ("C12", 12, 0), ("C13", 11, 1), ("C40", 11, 1)]
)
def test_states_are_dots_up_to_a_dozen_then_an_ellipsis(spec: str, dots: int, more: int) -> None:
    automaton = parse_spec(spec)
    root = ElementTree.fromstring(cascade_picture(plan_of(automaton)))
    top = min(float(circle.get("cy") or 0) for circle in root.iter(f"{SVG}circle"))
    assert sum(float(circle.get("cy") or 0) == top for circle in root.iter(f"{SVG}circle")) == dots
    assert (
        sum(text.text == "…" and float(text.get("y") or 0) == top for text in root.iter(f"{SVG}text")) == more
    )


def test_a_decomposition_says_what_it_is_in_a_line_and_as_data() -> None:
    small = krohn.decompose("C2")
    assert repr(small) == "<Decomposition of C2: 1 level, 1 component, 1 layer>"
    assert "no layers: not solvable" in repr(krohn.decompose("A5"))
    data = krohn.decompose("abab", explain=True).as_dict()
    assert json.loads(json.dumps(data)) == data
    assert (data["name"], data["plain_levels"], data["search_complete"]) == ("abab", 2, True)
    assert list(data["passes"][0]) == ["name", "levels", "layers", "levels_saved", "layers_saved"]


def test_letters_can_be_named() -> None:
    result: Decomposition = krohn.decompose("abab")
    names = result.automaton.letter_names
    for number, name in enumerate(names):
        assert result.step(result.initial, name) == result.step(result.initial, number)
    assert result.simulate(["abab"]).tolist() == [result.automaton.run("abab")]


def test_a_pass_that_makes_a_group_solvable_saves_no_number_of_layers() -> None:
    unsolvable, solvable = plan_of(golden("reg_A5")), plan_of(golden("T3"))
    report = pass_report("x", unsolvable, solvable)
    assert (report.levels, report.layers, report.levels_saved, report.layers_saved) == (2, 5, -1, 0)
    assert pass_report("x", solvable, unsolvable).layers is None
    assert pass_report("x", solvable, plan_of(golden("flipflop"))).layers_saved == 4
