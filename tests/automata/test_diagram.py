"""State diagrams: every state, every pair or a note, one start arrow, double circles only for acceptance."""

import itertools
import math
import re
from functools import cache
from xml.etree import ElementTree

import numpy as np
import pytest

from every import every
from krohn.automata.diagram import MAX_DRAWN, diagram
from krohn.automata.regular import from_regex
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import zoo, zoo_names
from krohn.base.svg import text_width

SVG = "{http://www.w3.org/2000/svg}"
SMALL = [name for name in zoo_names() if zoo(name).num_states <= MAX_DRAWN]
BY_SIZE = [
    pytest.param([name for name in SMALL if zoo(name).num_states <= 32], id="to 32 states"),
    pytest.param([name for name in SMALL if zoo(name).num_states > 32], id="more", marks=pytest.mark.slow),
]
"""Two seconds go into the layout of each diagram of more states."""


@cache
def diagram_of(automaton: Semiautomaton) -> ElementTree.Element:
    return ElementTree.fromstring(diagram(automaton))


def of_class(picture: ElementTree.Element, tag: str, name: str) -> list[ElementTree.Element]:
    return [element for element in picture.findall(f"{SVG}{tag}") if element.get("class") == name]


def notes(picture: ElementTree.Element) -> str:
    return "\n".join(element.text or "" for element in of_class(picture, "text", "note"))


@pytest.mark.slow
@every("name", SMALL)
def test_a_diagram_shows_every_state_and_every_joined_pair(name: str) -> None:
    automaton = zoo(name)
    picture = diagram_of(automaton)
    titles = [element.findtext(f"{SVG}title") for element in of_class(picture, "circle", "state")]
    assert titles == [f"state {state}" for state in automaton.state_names]
    edges = [element.findtext(f"{SVG}title") for element in of_class(picture, "path", "edge")]
    states = range(automaton.num_states)
    sinks = [q for q in states if set(automaton.table[q].tolist()) == {q}]
    if (left_out := re.search("letters not drawn: (.*)", notes(picture))) or "both ways" in notes(picture):
        missing = left_out.group(1).split(", ") if left_out else []
        for index, letter in enumerate(automaton.letter_names):
            images = automaton.table[:, index].tolist()
            swapped = sum(images[images[q]] == q != images[q] for q in states)
            assert edges.count(letter) == (0 if letter in missing else len(images) - swapped // 2)
        return
    pairs = {(q, automaton.step(q, a)) for q in states for a in range(automaton.num_letters)}
    if automaton.num_states > 12 and len(sinks) == 1:
        pairs = {(source, target) for source, target in pairs if target != sinks[0]}
        assert f"moves that are not drawn lead to {automaton.state_names[sinks[0]]}" in notes(picture)
    assert len(edges) >= len(pairs)


@pytest.mark.parametrize("names", BY_SIZE)
def test_one_arrow_points_at_the_start_and_no_text_leaves_its_circle_or_the_picture(names: list[str]) -> None:
    for name in names:
        check_start_and_texts(zoo(name))


def check_start_and_texts(automaton: Semiautomaton) -> None:
    picture = diagram_of(automaton)
    (arrow,) = of_class(picture, "polygon", "start")
    tip = tuple(float(number) for number in arrow.attrib["points"].split()[0].split(","))
    circles = of_class(picture, "circle", "state")
    gaps = [math.dist(tip, (float(c.attrib["cx"]), float(c.attrib["cy"]))) for c in circles]
    assert gaps.index(min(gaps)) == automaton.start
    for circle, name_shown in zip(circles, of_class(picture, "text", "name"), strict=True):
        width = text_width(name_shown.text or "", float(name_shown.attrib["font-size"]))
        assert width <= 2 * float(circle.attrib["r"])
    left, top, wide, high = (float(number) for number in picture.attrib["viewBox"].split())
    for text in picture.iter(f"{SVG}text"):
        width = text_width(text.text or "", float(text.attrib["font-size"]))
        x = float(text.attrib["x"]) - (0 if text.attrib["text-anchor"] == "start" else width / 2)
        assert left <= x
        assert x + width <= left + wide
        assert top <= float(text.attrib["y"]) <= top + high


@pytest.mark.parametrize("names", BY_SIZE)
def test_only_what_every_program_shows_is_used(names: list[str]) -> None:
    for name in names:
        text = ElementTree.tostring(diagram_of(zoo(name)), encoding="unicode")
        assert not re.search("marker|paint-order|context-stroke|dominant-baseline|<style|filter", text)


def test_two_circles_mean_acceptance_and_nothing_else() -> None:
    assert not of_class(diagram_of(zoo("abab")), "circle", "accept")  # no observation, nothing accepts
    assert not of_class(
        diagram_of(zoo("Dyck4,2@top")), "circle", "accept"
    )  # observations that are not yes or no
    picture = diagram_of(zoo("abab@accept"))
    (ring,) = of_class(picture, "circle", "accept")
    state = of_class(picture, "circle", "state")[3]
    assert (ring.get("cx"), ring.get("cy")) == (state.get("cx"), state.get("cy"))
    assert state.findtext(f"{SVG}title") == "state 3, accepts"


@pytest.mark.parametrize("names", BY_SIZE)
def test_no_two_states_lie_on_one_another(names: list[str]) -> None:
    cut_off = Semiautomaton.from_letters(
        [[0, *range(2, 14), 0, 15, 15], [15] * 16], start=1
    )  # 0 is a dead end
    for automaton in (*(zoo(name) for name in names), cut_off):
        circles = of_class(diagram_of(automaton), "circle", "state")
        assert len(circles) == automaton.num_states
        places = [(float(c.attrib["cx"]), float(c.attrib["cy"])) for c in circles]
        radius = float(circles[0].attrib["r"])
        gaps = [math.dist(one, two) for one, two in itertools.combinations(places, 2)]
        assert min(gaps, default=math.inf) > 2 * radius


def test_a_cayley_diagram_draws_letters_that_generate_and_lists_the_others() -> None:
    picture = diagram_of(zoo("S4"))
    inks = {path.attrib["stroke"] for path in of_class(picture, "path", "edge")}
    assert len(inks) == 2  # a swap and a cycle generate S4
    assert notes(picture) == ("1023 (both ways)\n1230\nletters not drawn: 0132, 0213, 0231, 0312, 0321, 1032")


def test_arrows_say_which_states_they_join() -> None:
    automaton = zoo("abab")
    edges = of_class(diagram_of(automaton), "path", "edge")
    joined = {(int(edge.attrib["data-from"]), int(edge.attrib["data-to"])) for edge in edges}
    assert joined == {(q, target) for q, row in enumerate(automaton.table.tolist()) for target in row}


def test_a_grid_is_drawn_as_a_grid() -> None:
    circles = of_class(diagram_of(zoo("Grid3x4")), "circle", "state")
    assert len({c.get("cx") for c in circles}) == 3
    assert len({c.get("cy") for c in circles}) == 4
    assert len({c.get("cy") for c in of_class(diagram_of(zoo("Grid9")), "circle", "state")}) == 1


def test_arrows_carry_the_letters() -> None:
    texts = {element.text for element in diagram_of(zoo("FlipFlop")).iter(f"{SVG}text")}
    assert texts == {"1", "2", "read, 1", "read, 2"}


def test_colours_tell_observations_apart() -> None:
    fills = [c.get("fill") for c in of_class(diagram_of(zoo("S4@first")), "circle", "state")]
    assert len(set(fills)) == 4
    assert len(set(fills[:6])) == 1


def test_a_notebook_shows_small_automata_and_prints_large_ones() -> None:
    assert zoo("D6")._repr_svg_() == diagram(zoo("D6"))
    assert zoo("S5")._repr_svg_() is None


def points_on(path: str) -> list[tuple[float, float]]:
    """Points along a path of one line or Bézier curve."""
    letter = re.search("[LQC]", path)
    assert letter
    numbers = [float(n) for n in re.findall(r"-?\d+(?:\.\d+)?", path)]
    ends = [(numbers[i], numbers[i + 1]) for i in range(0, len(numbers), 2)]
    shares = {"L": (1, 1), "Q": (1, 2, 1), "C": (1, 3, 3, 1)}[letter[0]]
    result = []
    for step in range(41):
        t, last = step / 40, len(ends) - 1
        weights = [n * (1 - t) ** (last - i) * t**i for i, n in enumerate(shares)]
        result.append(
            (
                sum(w * p[0] for w, p in zip(weights, ends, strict=True)),
                sum(w * p[1] for w, p in zip(weights, ends, strict=True)),
            )
        )
    return result


def collisions(automaton: Semiautomaton) -> list[str]:
    """Arrows over states that they do not join, and letters over states."""
    picture = diagram_of(automaton)
    circles = [
        (float(c.attrib["cx"]), float(c.attrib["cy"]), float(c.attrib["r"]))
        for c in of_class(picture, "circle", "state")
    ]
    result = []
    for edge in of_class(picture, "path", "edge"):
        joined = {int(edge.attrib["data-from"]), int(edge.attrib["data-to"])}
        for state, (x, y, r) in enumerate(circles):
            if state not in joined and min(math.dist(p, (x, y)) for p in points_on(edge.attrib["d"])) < r:
                result.append(f"arrow {joined} over {state}")
    for text in of_class(picture, "text", "letter"):
        x, y = float(text.attrib["x"]), float(text.attrib["y"])
        half = text_width(text.text or "", float(text.attrib["font-size"])) / 2
        for state, (cx, cy, r) in enumerate(circles):
            if math.hypot(max(0.0, abs(x - cx) - half), max(0.0, abs(y - cy) - 5)) < r:
                result.append(f"letter {text.text} over {state}")
    return result


def random_automaton(seed: int) -> Semiautomaton:
    rng = np.random.default_rng(seed)
    states, letters = int(rng.integers(2, 9)), int(rng.integers(1, 4))
    return Semiautomaton(rng.integers(states, size=(states, letters)), letter_names=tuple("abc"[:letters]))


PATTERNS = ["(a|b)*abb", "(ab)*", "a*b*c*", "(a|b)*a(a|b)", "a{3}", "(a|b)*abba", "(aa|b)*c"]


def test_no_arrow_and_no_letter_lies_on_a_state() -> None:
    zoo_ones = [zoo(name) for name in SMALL if zoo(name).num_states <= 12]
    patterns = [from_regex(pattern) for pattern in PATTERNS]
    chance = [random_automaton(seed) for seed in range(30)]
    bad = {
        f"{number} {a.name} {a.table.tolist()}": result
        for number, a in enumerate([*zoo_ones, *patterns, *chance])
        if (result := collisions(a))
    }
    assert bad == {}
