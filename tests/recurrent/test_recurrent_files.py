"""Witnesses as files: the same bytes, the same answers, and one line for what does not fit."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

import krohn
from every import every
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import parse_spec
from krohn.errors import InvalidFile, InvalidInput
from krohn.network.transformer_file import MODEL
from krohn.proving.recurrent import run_all
from krohn.recurrent.recurrent_network import RecurrentNetwork, load, save
from krohn.recurrent.recurrent_weights import WEIGHTS

KINDS = sorted(WEIGHTS)


def witness(kind: str, spec: str = "C2") -> RecurrentNetwork:
    automaton = parse_spec(spec)
    return RecurrentNetwork(WEIGHTS[kind](automaton), automaton)


@pytest.mark.parametrize("kind", KINDS)
def test_a_witness_comes_back_with_its_answers_and_its_bytes(kind: str, tmp_path: Path) -> None:
    result = witness(kind, "FlipFlop")
    for place in ("one", "two"):
        save(result, tmp_path / place)
    outcome = load(tmp_path / "one")
    save(outcome, tmp_path / "three")
    for name in (MODEL, "recurrent.json"):
        assert len({(tmp_path / place / name).read_bytes() for place in ("one", "two", "three")}) == 1
    words = np.array(list(itertools.product(range(result.automaton.num_letters), repeat=4)))
    truth = [result.automaton.run(word) for word in words.tolist()]
    assert outcome.run(words).tolist() == [list(states) for states in truth]


@every("words", [[[-1]], [[2]], [[0, 1], [1, 7]], [[1.7]], [[[0, 1]]], [[True, False]]])
@every("kind", ["deltanet", "gru"])
def test_an_invalid_word_is_refused(kind: str, words: list[list[int]]) -> None:
    with pytest.raises(InvalidInput, match=r"letters must lie in|words must be|every letter must"):
        witness(kind).run(np.array(words))


def changed(path: Path, change: dict[str, object]) -> None:
    payload = json.loads(path.read_text())
    payload["options"] = {**payload["options"], **change}
    path.write_text(json.dumps(payload))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("layers", True), ("layers", 1.0), ("layers", 2), ("layers", "1"), ("layers", None)],
        *[("gate", 1), ("gate", False), ("mlp", False), ("heads", 2.0), ("norm", "layer"), ("colour", 1)],
    ],
)
def test_options_are_those_of_the_tensors_and_of_their_types(
    name: str, value: object, tmp_path: Path
) -> None:
    save(witness("deltanet"), tmp_path)
    load(tmp_path)
    changed(tmp_path / "recurrent.json", {name: value})
    with pytest.raises(InvalidFile) as refused:
        load(tmp_path)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) <= 300


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("damage", ["missing", "more", "flat", "nan", "double", "cut"])
def test_tensors_that_make_no_cell_are_refused(kind: str, damage: str, tmp_path: Path) -> None:
    save(witness(kind), tmp_path)
    path = tmp_path / MODEL
    tensors = load_tensors(path.read_bytes())
    name = max(tensors, key=lambda one: tensors[one].size)
    if damage == "missing":
        del tensors[name]
    elif damage == "more":
        tensors["more"] = tensors[name]
    elif damage == "flat":
        tensors[name] = tensors[name].reshape(-1)
    elif damage == "nan":
        tensors[name] = np.full_like(tensors[name], np.nan)
    elif damage == "double":
        tensors[name] = tensors[name].astype(np.float64)
    data = save_tensors(tensors)
    path.write_bytes(data[: len(data) // 2] if damage == "cut" else data)
    with pytest.raises(InvalidFile, match="not a recurrent network") as refused:
        load(tmp_path)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("letters", "most", "length"),
    [([(1, 0)], 5_000, 1), ([(1, 0), (0, 0)], 8, 3), ([(1, 0), (0, 0)], 9, 3), ([(1, 0), (0, 0)], 1, 1)],
)
def test_all_words_of_the_longest_length_that_is_cheap(
    letters: list[tuple[int, ...]], most: int, length: int
) -> None:
    automaton = Semiautomaton.from_letters(letters)
    right = WEIGHTS["gru"](automaton)
    counts, _ = run_all(right, automaton, most)
    assert (counts.length, counts.words, counts.wrong) == (length, len(letters) ** length, 0)


def test_every_wrong_word_is_counted() -> None:
    """A witness of parity judged as one of the automaton that never moves: right if no letter is 1."""
    still = Semiautomaton.from_letters([(0, 1), (0, 1)])
    toggles = Semiautomaton.from_letters([(0, 1), (1, 0)])
    counts, _ = run_all(WEIGHTS["gru"](toggles), still, 32)
    assert (counts.length, counts.words, counts.wrong) == (5, 32, 31)


def test_a_folder_with_other_weights_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / MODEL).write_bytes(b"of someone else")
    with pytest.raises(InvalidInput, match="choose another directory"):
        save(witness("gru"), tmp_path)
    assert (tmp_path / MODEL).read_bytes() == b"of someone else"
    assert not (tmp_path / "recurrent.json").exists()


def test_the_public_functions_save_and_load_recurrent_networks(tmp_path: Path) -> None:
    network = krohn.compile("C3", architecture="lstm")
    krohn.save(network, tmp_path / "one")
    network.save(tmp_path / "two")
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "two").iterdir())
    again = krohn.load(tmp_path / "one")
    assert krohn.verify(again).certified
    assert "lstm" in repr(again)
    assert repr(again).count("\n") == 0


def test_a_name_that_is_too_long_for_a_file_is_left_out(tmp_path: Path) -> None:
    long = Semiautomaton.from_letters([(1, 0), (0, 0)], name="a" * 300)
    save(RecurrentNetwork(WEIGHTS["gru"](long), long), tmp_path)
    assert (load(tmp_path).automaton, load(tmp_path).automaton.name) == (long, "")
