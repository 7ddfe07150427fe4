"""State diagrams: one circle per state, one arrow per joined pair, for every automaton small enough."""

from xml.etree import ElementTree

import pytest

from krohn.automata.diagram import MAX_DRAWN, diagram
from krohn.automata.zoo import zoo, zoo_names
from krohn.errors import LimitExceeded

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("name", [name for name in zoo_names() if zoo(name).num_states <= MAX_DRAWN])
def test_a_diagram_shows_every_state_and_every_joined_pair(name: str) -> None:
    automaton = zoo(name)
    picture = ElementTree.fromstring(diagram(automaton))
    titles = [element.text for element in picture.iter(f"{SVG}title")]
    assert titles == [f"state {state}" for state in automaton.state_names]
    pairs = {
        (q, automaton.step(q, a)) for q in range(automaton.num_states) for a in range(automaton.num_letters)
    }
    assert len(picture.findall(f"{SVG}path")) == len(pairs)
    assert len(picture.findall(f"{SVG}circle")) == automaton.num_states + 1  # the start has a second ring


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
