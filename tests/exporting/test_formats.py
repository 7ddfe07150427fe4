"""Each format is read back by code that is not ours, or by a plain rewriting of what its readers do."""

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
import transformers
from onnx.reference import ReferenceEvaluator

import krohn
from exporting.plain_transformer_lens import native_transformer_lens
from krohn.errors import InvalidInput
from krohn.exporting.compiled import decoder_of_compiled
from krohn.exporting.decoder import Decoder
from krohn.exporting.export import FORMATS, export_compiled
from krohn.exporting.files import write_files
from krohn.exporting.onnx_graph import onnx_files
from krohn.exporting.reference import logits
from krohn.exporting.tokenizer import tokenizer_files
from krohn.exporting.transformer_lens import transformer_lens_files
from krohn.exporting.vocabulary import vocabulary_of

LENGTH = 12


def decoder(name: str, *, normalized: bool) -> Decoder:
    return decoder_of_compiled(krohn.compile(krohn.zoo(name), length=LENGTH), normalized=normalized)


def words_of(name: str, count: int = 6) -> np.ndarray:
    return np.random.default_rng(0).integers(krohn.zoo(name).num_letters, size=(count, LENGTH))


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("name", ["S4", "Grid4"])
def test_the_onnx_graph_computes_the_decoder(name: str, normalized: bool) -> None:
    made = decoder(name, normalized=normalized)
    model = onnx.load_from_string(onnx_files(made)["model.onnx"])
    reader = ReferenceEvaluator(model)
    words = words_of(name)
    for length in (1, 5, LENGTH):
        found, states = reader.run(None, {"letters": words[:, :length]})
        wanted = logits(made, words[:, :length])[..., list(made.vocabulary.states)]
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4 * np.abs(wanted).max())
        np.testing.assert_array_equal(states, krohn.simulate(krohn.zoo(name), words[:, :length]))


def test_onnx_names_are_in_the_order_of_the_numbers() -> None:
    names = json.loads(onnx_files(decoder("D6", normalized=False))["names.json"])
    automaton = krohn.zoo("D6")
    assert names == {
        "letters": list(automaton.letter_names),
        "states": list(automaton.state_names),
        "length": LENGTH,
    }


@pytest.mark.parametrize("normalized", [True, False])
def test_the_files_for_transformer_lens_compute_the_decoder(normalized: bool, tmp_path: Path) -> None:
    made = decoder("Grid9", normalized=normalized)
    write_files(tmp_path, transformer_lens_files(made))
    words = words_of("Grid9")
    found = native_transformer_lens(tmp_path, made.token_ids(words))[:, len(made.vocabulary.prompt) :]
    wanted = logits(made, words)
    np.testing.assert_allclose(found, wanted, atol=1e-4 * np.abs(wanted).max())
    np.testing.assert_array_equal(
        found.argmax(-1), np.array(made.vocabulary.states)[krohn.simulate(krohn.zoo("Grid9"), words)]
    )


def test_the_tokenizer_reads_letters_puts_the_prompt_first_and_refuses_other_names(tmp_path: Path) -> None:
    made = decoder("Grid9", normalized=True)
    files = tokenizer_files(made.vocabulary, made.context)
    for name, payload in files.items():
        (tmp_path / name).write_text(json.dumps(payload))
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    ids = tokenizer("L  R R").input_ids
    assert tokenizer.convert_ids_to_tokens(ids)[-3:] == ["L", "R", "R"]
    assert ids[:-3] == list(made.vocabulary.prompt)
    assert tokenizer.decode(ids, skip_special_tokens=True) == "L R R"
    with pytest.raises(Exception, match="vocabulary"):
        tokenizer("L X")


def test_a_name_that_is_letter_and_state_is_one_token() -> None:
    found = vocabulary_of(["a", "b"], ["b", "c"], 2)
    assert found.tokens == ("<bos>", "<pad1>", "a", "b", "c")
    assert (found.letters, found.states, found.prompt) == ((2, 3), (3, 4), (0, 1))
    assert vocabulary_of(["a"], ["b"], 0).tokens == ("<pad>", "a", "b")


@pytest.mark.parametrize(("letters", "match"), [(["<bos>", "a"], "<bos>"), (["a b"], "no spaces")])
def test_names_that_a_tokenizer_cannot_have_are_refused(letters: list[str], match: str) -> None:
    with pytest.raises(InvalidInput, match=match):
        vocabulary_of(letters, ["p"], 1)


def test_meaning_names_the_channels_of_the_stream() -> None:
    """The registers it names are found, with their values, in the stream of the exported network."""
    network = krohn.compile(krohn.zoo("S4"), length=LENGTH)
    exported = export_compiled(network, "transformer-lens")
    meaning = json.loads(exported.files["meaning.json"])
    assert [len(layer["heads"]) for layer in meaning["layers"]] == [1, 1, 1]
    assert sum(len(layer["blocks"]) for layer in meaning["layers"]) == exported.decoder.layers
    last = network.explain([1, 2, 3]).moments[-1]
    names = [channel["name"] for channel in meaning["layers"][-1]["after_mlp"]]
    assert {name for name in names if name.startswith("level")} <= set(last)


@pytest.mark.parametrize("to", sorted(FORMATS))
def test_every_format_brings_the_automaton_and_a_page(to: str) -> None:
    exported = export_compiled(krohn.compile(krohn.zoo("C4"), length=5), to)
    payload = json.loads(exported.files["automaton.json"])
    assert (payload["krohn"], len(payload["states"])) == (1, 4)
    assert "simulate C4" in exported.files["README.md"].decode()
