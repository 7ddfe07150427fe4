"""Networks that output observations: right on all short words, certified, with few heads."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from krohn.automata.observed import Observed, with_target
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import parse_spec
from krohn.check.transformer.checker import check
from krohn.errors import InvalidInput
from krohn.network.compiled import CompiledNetwork, load, save
from krohn.proving.attempts import arithmetic
from krohn.proving.verification import verify
from krohn.proving.witness.search import checkable
from krohn.proving.word_search import exhaustive
from unproved import compile

LENGTH = 12
CASES = {  # heads in the layer that has most of them
    "regex:(a|b)*a(a|b)(a|b)(a|b)": 1,
    "regex:(a|b)*(ab|ba)(a|b)": 2,
    "Grid9@boundary": 2,
    "Grid5@boundary": 2,
    "regex:a*b(a|b)*": 1,
    "regex:(ab)*": 2,
}


@pytest.fixture(scope="module")
def networks() -> dict[str, CompiledNetwork]:
    return {spec: compile(spec, LENGTH, target="observation") for spec in CASES}


@pytest.mark.parametrize("spec", CASES)
def test_it_outputs_the_observation_on_all_short_words_and_is_certified(
    spec: str, networks: dict[str, CompiledNetwork]
) -> None:
    network, automaton = networks[spec], parse_spec(spec)
    assert automaton.observe is not None
    words = np.array(list(product(range(automaton.num_letters), repeat=9)))
    wanted = [[automaton.observe[state] for state in automaton.run(list(word))] for word in words]
    assert (network.run(words) == wanted).all()
    assert verify(network, automaton=automaton, second_opinion=False).certified
    assert max(len(layer.heads) for layer in network.transformer.layers) == CASES[spec]


@pytest.mark.parametrize("spec", ["regex:(a|b)*a(a|b)(a|b)(a|b)", "Grid9@boundary"])
def test_states_need_more_heads(spec: str, networks: dict[str, CompiledNetwork]) -> None:
    states = compile(spec, LENGTH)
    assert states.transformer.heads > networks[spec].transformer.heads
    assert states.transformer.depth == networks[spec].transformer.depth


def test_another_observation_is_not_certified(networks: dict[str, CompiledNetwork]) -> None:
    """One state that shows something else, each in turn: the checker must refuse, and a run shows a word."""
    network = networks["Grid5@boundary"]
    observe = network.automaton.observe
    assert observe is not None
    witness = verify(network, second_opinion=False).witness
    matrices, right = checkable(network.transformer, network.automaton)
    assert check(matrices, right, "float64", LENGTH, witness).certified
    for state in range(network.automaton.num_states):
        shows = right.shows.copy()
        shows[state] = 1 - shows[state]
        assert not check(matrices, replace(right, shows=shows), "float64", LENGTH, witness).certified
    wrong = replace(network, automaton=replace(network.automaton, observe=(1, *observe[1:-1], 0)))
    assert exhaustive(network.transformer, wrong.automaton, arithmetic("float64"), 6)[1] is not None


def test_the_users_automaton_is_minimised_and_its_observation_counts(
    networks: dict[str, CompiledNetwork],
) -> None:
    network = networks["regex:a*b(a|b)*"]
    seen_b = network.automaton
    assert seen_b.observe is not None
    doubled = Semiautomaton(
        np.array([[2, 1], [1, 3], [0, 1], [3, 1]], dtype=np.int32),
        letter_names=("a", "b"),
        observe=(0, 1, 0, 1),
    )
    assert verify(network, automaton=doubled, renamed=True, second_opinion=False).certified
    never = replace(doubled, observe=(1, 0, 1, 0))
    assert not verify(network, automaton=never, renamed=True, second_opinion=False).certified


def test_files_keep_what_is_asked(tmp_path: Path, networks: dict[str, CompiledNetwork]) -> None:
    save(networks["Grid5@boundary"], tmp_path / "net")
    again = load(tmp_path / "net")
    assert again.automaton.target == "observation"
    assert verify(tmp_path / "net", "float32", second_opinion=False).certified
    text = (tmp_path / "net" / "krohn.json").read_text()
    (tmp_path / "net" / "krohn.json").write_text(text.replace('"target": "observation"', '"target": "state"'))
    with pytest.raises(InvalidInput, match="outputs"):
        load(tmp_path / "net")


def test_asking_changes_neither_names_nor_digest() -> None:
    automaton = parse_spec("Grid5@boundary")
    shown = with_target(automaton, "observation")
    assert isinstance(shown, Observed)
    assert shown == automaton
    assert with_target(shown, "state").outputs == tuple(range(5))
