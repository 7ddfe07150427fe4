"""State diagrams: one circle per state, one arrow per joined pair, for every automaton small enough."""

import itertools
import math
from xml.etree import ElementTree

import pytest

from krohn.automata.diagram import MAX_DRAWN, diagram
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import zoo, zoo_names
from krohn.errors import LimitExceeded

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("name", [name for name in zoo_names() if zoo(name).num_states <= MAX_DRAWN])
def test_a_diagram_shows_every_state_and_every_joined_pair(name: str) -> None:
    automaton = zoo(name)
    picture = ElementTree.fromstring(diagram(automaton))
    titles = [element.findtext(f"{SVG}title") for element in picture.findall(f"{SVG}circle")]
    titles = [title for title in titles if title]
    assert titles == [f"state {state}" for state in automaton.state_names]
    pairs = {
        (q, automaton.step(q, a)) for q in range(automaton.num_states) for a in range(automaton.num_letters)
    }
    sinks = [q for q in range(automaton.num_states) if set(automaton.table[q].tolist()) == {q}]
    if automaton.num_states > 12 and len(sinks) == 1:
        pairs = {(source, target) for source, target in pairs if target != sinks[0]}
        texts = {element.text for element in picture.iter(f"{SVG}text")}
        assert f"moves that are not drawn lead to {automaton.state_names[sinks[0]]}" in texts
    assert len(picture.findall(f"{SVG}path")) == len(pairs)
    assert len(picture.findall(f"{SVG}circle")) == automaton.num_states + 1  # the start has a second ring


def test_no_two_states_lie_on_one_another() -> None:
    cut_off = Semiautomaton.from_letters(
        [[0, *range(2, 14), 0, 15, 15], [15] * 16], start=1
    )  # 0 is a dead end
    for automaton in (zoo("Dyck3,2"), zoo("Dyck4,2"), zoo("S4"), cut_off):
        picture = ElementTree.fromstring(diagram(automaton))
        circles = [c for c in picture.findall(f"{SVG}circle") if c.findtext(f"{SVG}title")]
        assert len(circles) == automaton.num_states
        places = [(float(c.attrib["cx"]), float(c.attrib["cy"])) for c in circles]
        radius = float(circles[0].attrib["r"])
        gaps = [math.dist(one, two) for one, two in itertools.combinations(places, 2)]
        assert min(gaps) > 2 * radius


def test_many_arrows_tell_their_letters_by_colours() -> None:
    automaton = zoo("S4")
    picture = ElementTree.fromstring(diagram(automaton))
    inks = {path.attrib["stroke"] for path in picture.findall(f"{SVG}path")}
    assert len(inks) == len({tuple(letter) for letter in automaton.letters})
    texts = [element.text for element in picture.iter(f"{SVG}text")]
    assert texts[: automaton.num_letters] == list(automaton.letter_names)


def test_arrows_carry_the_letters() -> None:
    texts = {element.text for element in ElementTree.fromstring(diagram(zoo("FlipFlop"))).iter(f"{SVG}text")}
    assert texts == {"1", "2", "read, 1", "read, 2"}


def test_colours_tell_observations_apart() -> None:
    picture = ElementTree.fromstring(diagram(zoo("abab@accept")))
    fills = [c.get("fill") for c in picture.findall(f"{SVG}circle") if c.get("fill") != "none"]
    assert len(set(fills[:3])) == 1
    assert fills[3] != fills[0]


def test_a_notebook_shows_small_automata_and_prints_large_ones() -> None:
    assert zoo("D6")._repr_svg_() == diagram(zoo("D6"))
    assert zoo("S5")._repr_svg_() is None
    with pytest.raises(LimitExceeded, match=f"at most {MAX_DRAWN} states; got 120"):
        diagram(zoo("S5"))
