"""Exact weights of a looped block: they run, are stored and proved; and what is not right is refused."""

import inspect
import json
from pathlib import Path
from random import Random

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import krohn
from every import every
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import parse_spec
from krohn.errors import InvalidFile, Unsupported
from krohn.recurrent import looped_weights
from krohn.recurrent.looped_network import LoopedNetwork
from krohn.recurrent.looped_weights import fewest_points, maps_of

SPECS = (
    "C2",
    "C6",
    "S3",
    "S4",
    "FlipFlop",
    "Grid4",
    "abab",
    "T3",
    "regex:(ab)*",
    "C2xC2",
    "Parity",
    "Counter5",
)


def compiled(spec: str | Semiautomaton) -> LoopedNetwork:
    network = krohn.compile(spec, architecture="looped")
    assert isinstance(network, LoopedNetwork)
    return network


def random_automaton(seed: int) -> Semiautomaton:
    dice = Random(seed)
    states, letters = dice.randint(1, 4), dice.randint(1, 3)
    table = [[dice.randrange(states) for _ in range(letters)] for _ in range(states)]
    return Semiautomaton(np.array(table), dice.randrange(states))


def words_for(automaton: Semiautomaton, count: int, length: int) -> np.ndarray:
    return np.random.default_rng(0).integers(automaton.num_letters, size=(count, length))


@every("automaton", [*map(parse_spec, SPECS), *map(random_automaton, range(25))])
def test_every_state_of_long_words_is_right_in_loops_and_letter_by_letter(automaton: Semiautomaton) -> None:
    network = compiled(automaton)
    for length in (1, 2, 3, 5, 64, 100):
        words = words_for(automaton, 8, length)
        wanted = np.array([automaton.run(word) for word in words])
        assert (network.forward(words) == wanted).all()
    step = network.online()
    assert [step(int(letter)) for letter in words[0]] == wanted[0].tolist()


@every("automaton", [*map(parse_spec, SPECS), *map(random_automaton, range(25))])
def test_it_is_proved_for_words_of_every_length(automaton: Semiautomaton) -> None:
    verdict = krohn.verify(compiled(automaton), automaton=automaton)
    assert verdict.certified, verdict.reason
    assert verdict.length is None
    assert verdict.dtype == "float32"
    assert verdict.to_json()["proof"]["letter_by_letter"]


@every("spec", ["S3", "A4", "D8", "C6", "Q8", "T3"])
def test_points_tell_apart_all_maps(spec: str) -> None:
    automaton = parse_spec(spec)
    maps = maps_of(automaton)
    assert len({tuple(row) for row in maps.images.tolist()}) == len(maps.images)
    assert maps.images.shape[1] == {"S3": 3, "A4": 4, "D8": 4, "C6": 5, "Q8": 8, "T3": 3}[spec]
    # Composition on the points is composition of the words' maps.
    rows = [automaton.run(word) for word in words_for(automaton, 3, 7)]
    for row, word in zip(rows, words_for(automaton, 3, 7), strict=True):
        images = np.arange(maps.images.shape[1])
        for letter in word:
            images = maps.images[maps.letters[letter]][images]
        (number,) = np.flatnonzero((maps.images == images).all(axis=1))
        assert maps.states[number] == row[-1]


def test_congruences_that_lose_a_map_are_not_chosen() -> None:
    automaton = parse_spec("S3")
    found = fewest_points(automaton, maps_of(automaton).images)  # rows on three points are not the states'
    assert found
    sign = tuple(int(q in (0, 3, 4)) for q in range(6))
    rows = np.asarray(list(automaton.table.T))
    assert looped_weights.told_apart(rows, [sign]) < len({tuple(row) for row in rows.tolist()})


def test_a_folder_is_read_as_it_was_written(tmp_path: Path) -> None:
    krohn.compile("S3", architecture="looped", out=tmp_path / "s3")
    network = krohn.load(tmp_path / "s3")
    assert isinstance(network, LoopedNetwork)
    states = parse_spec("S3").simulate("102 120")
    assert network("102 120") == [parse_spec("S3").state_names[state] for state in states]
    fresh = compiled("S3")
    assert network.net.digest == fresh.net.digest
    assert krohn.verify(tmp_path / "s3", automaton="S3").certified
    for name, tensor in load_file(tmp_path / "s3" / "model.safetensors").items():
        assert np.array_equal(tensor, fresh.tensors[name])


@every(
    ("field", "value"),
    [("krohn", 2), ("model", {}), ("model", None), ("model", "codes"), ("digest", "0"), ("more", 1)],
)
def test_a_damaged_description_is_refused(tmp_path: Path, field: str, value: object) -> None:
    krohn.compile("C2", architecture="looped", out=tmp_path)
    payload = json.loads((tmp_path / "looped.json").read_text())
    (tmp_path / "looped.json").write_text(json.dumps({**payload, field: value}))
    with pytest.raises(InvalidFile, match="not a looped network"):
        krohn.load(tmp_path)


def test_damaged_tensors_are_refused_and_wrong_ones_are_not_proved(tmp_path: Path) -> None:
    krohn.compile("S3", architecture="looped", out=tmp_path)
    file = tmp_path / "model.safetensors"
    tensors = load_file(file)
    save_file({name: tensor for name, tensor in tensors.items() if name != "none"}, file)
    with pytest.raises(InvalidFile, match="not a looped network: the tensors must be"):
        krohn.load(tmp_path)
    # All units, the far letter's share, a code, the read-out: each is needed. One unit alone is not: two of
    # three points are right without it, and the snap decides.
    for name, place, needed in (
        ("h.0.mlp.c_proj.weight", slice(None), True),
        ("h.0.mlp.c_proj.weight", slice(1), False),
        ("h.0.attn.slot", slice(1, 2), True),
        ("codes", slice(3, 4), True),
        ("head.weight", slice(None), True),
    ):
        bent = {key: tensor.copy() for key, tensor in tensors.items()}
        bent[name][place] = 0
        save_file(bent, file)
        verdict = krohn.verify(tmp_path, automaton="S3")
        network = krohn.load(tmp_path)
        words = words_for(network.automaton, 300, 9)
        wrong = bool((network.forward(words) != network.automaton.simulate(words)).any())
        assert (verdict.certified, wrong) == (not needed, needed)


def test_another_automaton_is_not_proved() -> None:
    verdict = krohn.verify(compiled("C3"), automaton="regex:(a|b|c)*")
    assert not verdict.certified
    swapped = parse_spec("S3").table.copy()
    swapped[[1, 2], 0] = swapped[[2, 1], 0]
    verdict = krohn.verify(compiled("S3"), automaton=Semiautomaton(swapped, 0))
    assert not verdict.certified


@every("spec", ["Dyck4,2", "Rubik"])
def test_a_monoid_that_does_not_fit_is_refused_in_a_line(spec: str) -> None:
    with pytest.raises(Unsupported, match=r"a looped block (for Dyck4,2 )?needs .* compile deltaproduct"):
        compiled(spec)


def test_memory_letter_by_letter_grows_with_the_logarithm() -> None:
    network = compiled("S3")
    step = network.online()
    state = network.automaton.start
    for letter in Random(0).choices(range(5), k=3000):
        state = int(network.automaton.table[state, letter])
        assert step(letter) == state
    windows = inspect.getclosurevars(step).nonlocals["windows"]
    assert len(windows) == (3000).bit_count()
