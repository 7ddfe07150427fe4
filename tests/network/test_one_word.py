"""One word through random networks: positions, files and picture, with odd names and no letters."""

import json
import re
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pyarrow.parquet
import pytest

import krohn
from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import InvalidInput
from krohn.network.compiled import CompiledNetwork
from krohn.network.explanation import LONGEST
from krohn.network.forward import logits
from krohn.network.meaning import meaning

ODD = ("<a>", "b&c", '"', "北")
LENGTH = 5


@cache
def compiled(seed: int) -> CompiledNetwork:
    """Of a random automaton on three states whose letters and states have names that XML must escape."""
    dice = np.random.default_rng(seed)
    return krohn.compile(
        Semiautomaton(
            dice.integers(3, size=(3, 2)),
            start=int(dice.integers(3)),
            letter_names=tuple(dice.permutation(ODD)[:2].tolist()),
            state_names=("x<y", "&amp;", "'"),
        ),
        length=LENGTH,
        unproved=True,
    )


@pytest.mark.parametrize("seed", range(3))
def test_positions_tell_letters_states_and_where_heads_look(seed: int) -> None:
    network, automaton = compiled(seed), compiled(seed).automaton
    word = np.random.default_rng(seed).integers(2, size=LENGTH).tolist()
    places = krohn.explain(network, word).to_json()["positions"]
    prompt = len(places) - LENGTH
    assert prompt == network.transformer.num_padding
    assert [place["position"] for place in places] == list(range(len(places)))
    assert [place["letter"] for place in places] == [None] * prompt + [
        automaton.letter_names[a] for a in word
    ]
    states = [automaton.state_names[q] for q in automaton.run(word)]
    assert [place["state"] for place in places] == [None] * prompt + states
    seen: dict[str, np.ndarray] = {}
    logits(network.transformer, np.array([word]), observe=lambda name, value: seen.update({name: value[0]}))
    for place in places:
        for head in place["heads"]:
            row = seen[f"layer.{head['layer'] - 1}.head.{head['head'] - 1}.weights"][place["position"]]
            assert head["weights"] == [[to, row[to]] for to in range(len(row)) if row[to] > 1e-6]
            assert all(to <= place["position"] for to, _ in head["weights"])


@pytest.mark.parametrize("word", [[], [1], [0, 1, 1, 0, 1]], ids=len)
def test_files_are_the_same_each_time_and_say_the_same(word: list[int], tmp_path: Path) -> None:
    view = krohn.explain(compiled(2), word)
    for suffix in ("json", "svg", "parquet"):
        for name in ("one", "two"):
            view.save(tmp_path / f"{name}.{suffix}")
        assert (tmp_path / f"one.{suffix}").read_bytes() == (tmp_path / f"two.{suffix}").read_bytes()
    payload = json.loads((tmp_path / "one.json").read_text())
    assert payload == {"krohn": 1, **json.loads(json.dumps(view.to_json()))}
    rows = pyarrow.parquet.read_table(tmp_path / "one.parquet").to_pylist()
    counted = sum(
        len(place["registers"]) + sum(len(head["weights"]) for head in place["heads"])
        for place in payload["positions"]
    )
    assert len(rows) == counted + len(word)
    assert [row["letter"] for row in rows if row["kind"] == "output"] == [
        compiled(2).automaton.letter_names[letter] for letter in word
    ]
    texts = [part.text or "" for part in ElementTree.parse(tmp_path / "one.svg").iter()]
    for state in view.states:
        assert state in texts


def test_the_empty_word_has_a_prompt_and_nothing_else() -> None:
    network = compiled(2)
    view = krohn.explain(network, [])
    assert view.states == ()
    assert len(view.to_json()["positions"]) == network.transformer.num_padding
    assert "the empty word" in repr(view)


@pytest.mark.parametrize("word", [[2], [-1], [0.5], ["nobody"], [0] * (LENGTH + 1)], ids=str)
def test_an_invalid_word_is_one_line(word: list[object]) -> None:
    with pytest.raises(InvalidInput) as refused:
        krohn.explain(compiled(2), word)  # type: ignore[arg-type]
    assert "\n" not in str(refused.value)


def test_words_that_fill_a_screen_are_enough() -> None:
    network = krohn.compile(krohn.zoo("FlipFlop"), length=LONGEST + 5)
    name = network.automaton.letter_names[0]
    assert len(krohn.explain(network, " ".join([name] * LONGEST)).states) == LONGEST
    with pytest.raises(InvalidInput, match=f"at most {LONGEST} letters; got {LONGEST + 1}"):
        krohn.explain(network, " ".join([name] * (LONGEST + 1)))


@pytest.mark.parametrize("seed", range(3))
def test_registers_are_whole_numbers_and_those_of_the_read_out_are_the_code_of_the_state(seed: int) -> None:
    network, word = compiled(seed), [1, 0, 0, 1]
    view = krohn.explain(network, word)
    by_name = {shown.name: shown for shown in view.registers}
    assert len(by_name) == len(view.registers)
    assert {entry["name"] for entry in meaning(network)["registers"]} == set(by_name)
    for shown in view.registers:
        assert len(shown.values) == len(view.positions)
        assert all(isinstance(value, int) for value in shown.values), shown
    assert network.program is not None
    readout, prompt = network.program.readout, network.transformer.num_padding
    held = [by_name[name].values[prompt:] for name in readout.registers]
    assert [*zip(*held, strict=True)] == [readout.codes[state] for state in network.automaton.run(word)]


@pytest.mark.parametrize("name", ["word", "word.txt", "word.JSON", ".json", "word.svg.gz"])
def test_a_file_of_another_form_is_refused_before_anything_is_written(name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=re.escape(".parquet, .json, .svg")):
        krohn.explain(compiled(2), [0]).save(tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["net.svg", "net.parquet"])
def test_a_picture_or_a_table_of_no_word_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="need a word"):
        krohn.explain(compiled(2)).save(tmp_path / name)
    assert not list(tmp_path.iterdir())
