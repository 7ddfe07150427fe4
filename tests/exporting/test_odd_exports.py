"""Exports at their edges: names with odd characters, leads a hair below a number, broken files, one state."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

import krohn
from every import every
from exporting.unproved import without_proof
from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import InvalidFile, InvalidInput
from krohn.exporting.driver import check_target
from krohn.exporting.from_compiled import decoder_of_compiled
from krohn.exporting.model_card import outcome
from krohn.network.gpt2.reading import read_export
from krohn.network.gpt2.reference import logits
from krohn.network.gpt2.vocabulary import tokenizer_files, vocabulary_of

SPACES = [" ", "\t", "\n", "\u00a0", "\u2003", "\u2028", "\x85", "\u3000"]


@every("space", SPACES)
@every("form", ["{}a", "a{}", "a{}b", "{}"])
def test_a_space_anywhere_in_a_name_is_refused(form: str, space: str) -> None:
    """A tokenizer cuts there, and what it finds is no token."""
    with pytest.raises(InvalidInput, match="no spaces"):
        vocabulary_of([form.format(space), "b"], ["x"], 1)
    with pytest.raises(InvalidInput, match="no spaces"):
        vocabulary_of(["b"], ["x", form.format(space)], 1)


@pytest.mark.parametrize("prompt", [0, 1, 3])
def test_names_that_are_accepted_are_read_as_they_are(prompt: int) -> None:
    """Parts of one another, quotes, marks of other scripts: each name is one token, at every place."""
    letters = ["a", "aa", "a,b", '"', "\\", "<", "é", "e\u0301", "北", "🙂", "\u200b", "##a", "Ġa", "▁"]
    states = ["aa", "q", "<s>"]
    names = vocabulary_of(letters, states, prompt)
    tokenizer = Tokenizer.from_str(json.dumps(tokenizer_files(names, 50)["tokenizer.json"]))
    for pair in itertools.permutations(range(len(letters)), 2):
        ids = tokenizer.encode(" ".join(letters[letter] for letter in pair)).ids
        assert ids == [*names.prompt, *(names.letters[letter] for letter in pair)]
    assert tokenizer.encode("a nobody a").ids[prompt:] == [names.letters[0], names.unknown, names.letters[0]]
    assert names.letters[letters.index("aa")] == names.states[0]
    assert len(set(names.tokens)) == len(names.tokens)
    assert {*names.foreign} | {*names.prompt, *names.letters} == set(range(len(names.tokens)))


def test_a_run_on_words_is_described() -> None:
    right = "0 wrong; the right observation leads by 19.0 or more"
    assert outcome({"wrong": 0, "least_lead": 19.0}, "observation") == right
    assert outcome({"wrong": 1234, "least_lead": -1.0}, "state") == "1,234 wrong"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("export")
    with pytest.MonkeyPatch.context() as patch:
        without_proof(patch)
        krohn.export(krohn.compile(krohn.zoo("C3"), length=5), "hf", base)
    return base


def copied(folder: Path, place: Path) -> Path:
    for path in folder.iterdir():
        (place / path.name).write_bytes(path.read_bytes())
    return place


def test_what_is_read_back_computes_what_was_written(folder: Path) -> None:
    network = krohn.compile(krohn.zoo("C3"), length=5)
    result = read_export(folder)
    words = np.array(list(itertools.product(range(2), repeat=5)))
    written = decoder_of_compiled(network, normalized=True)
    np.testing.assert_array_equal(logits(result.decoder, words), logits(written, words))
    assert (result.automaton, result.automaton.target) == (network.automaton, "state")


BROKEN = {
    "a key twice": ("export.json", lambda text: text.replace("{", '{"length": 5,', 1)),
    "a number that is none": ("export.json", lambda text: text.replace("{", '{"more": NaN,', 1)),
    "a length that is true": ("export.json", lambda text: text.replace('"length": 5', '"length": true')),
    "another target": ("export.json", lambda text: text.replace('"target": "state"', '"target": "letter"')),
    "more layers": ("config.json", lambda text: text.replace('"n_layer": ', '"n_layer": 1')),
    "half a layer": ("config.json", lambda text: text.replace('"n_layer": ', '"n_layer": 0.')),
    "another activation": ("config.json", lambda text: text.replace('"relu"', '"tanh"')),
    "another family": ("config.json", lambda text: text.replace('"gpt2"', '"llama"')),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_export_is_one_line(name: str, folder: Path, tmp_path: Path) -> None:
    file, change = BROKEN[name]
    path = copied(folder, tmp_path) / file
    text = path.read_text()
    assert change(text) != text
    path.write_text(change(text))
    with pytest.raises(InvalidFile) as refused:
        read_export(tmp_path)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "[]", "{}", "", '{"krohn": 1, "krohn": 1}', "\ufffe"], ids=len
)
def test_a_folder_whose_automaton_is_not_ours_is_left_alone(text: str, tmp_path: Path) -> None:
    (tmp_path / "automaton.json").write_text(text)
    with pytest.raises(InvalidInput, match="choose another directory"):
        check_target(tmp_path)


@pytest.mark.parametrize("to", ["hf", "onnx"])
def test_an_automaton_that_never_moves_is_exported(to: str, tmp_path: Path) -> None:
    still = Semiautomaton(np.zeros((1, 2), dtype=np.int64), state_names=("here",))
    krohn.export(krohn.compile(still, length=3), to, tmp_path)
    page = (tmp_path / "README.md").read_text()
    assert "0 wrong" in page
    assert json.loads((tmp_path / "export.json").read_text())["length"] == 3
