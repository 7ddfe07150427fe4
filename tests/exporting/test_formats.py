"""Each format is read back by code that is not ours, or by a plain rewriting of what its readers do."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
import transformers
from onnx.reference import ReferenceEvaluator
from safetensors import safe_open

import krohn
from exporting.unproved import without_proof
from krohn.errors import InvalidInput
from krohn.exporting.formats import FORMATS
from krohn.exporting.from_compiled import decoder_of_compiled
from krohn.exporting.ground_truth import meaning_of
from krohn.exporting.hugging_face import hugging_face_files
from krohn.exporting.network_files import export_compiled
from krohn.exporting.onnx_graph import onnx_files
from krohn.exporting.standard_blocks import twinned_channels
from krohn.network.gpt2.decoder import Decoder, tensor_file, write_files
from krohn.network.gpt2.reference import logits
from krohn.network.gpt2.vocabulary import tokenizer_files, vocabulary_of

LENGTH = 12


def decoder(name: str, *, normalized: bool) -> Decoder:
    return decoder_of_compiled(
        krohn.compile(krohn.zoo(name), length=LENGTH, unproved=True), normalized=normalized
    )


def words_of(name: str, count: int = 6) -> np.ndarray:
    return np.random.default_rng(0).integers(krohn.zoo(name).num_letters, size=(count, LENGTH))


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("name", ["D6", "Grid4"])
def test_the_onnx_graph_computes_the_decoder(name: str, normalized: bool) -> None:
    actual = decoder(name, normalized=normalized)
    model = onnx.load_from_string(onnx_files(actual, {})["model.onnx"])
    reader = ReferenceEvaluator(model)
    words = words_of(name)
    for length in (1, 5, LENGTH):
        result, states = reader.run(None, {"letters": words[:, :length]})
        wanted = logits(actual, words[:, :length])[..., list(actual.vocabulary.states)]
        np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-4 * np.abs(wanted).max())
        np.testing.assert_array_equal(states, krohn.simulate(krohn.zoo(name), words[:, :length]))


def test_onnx_names_are_in_the_order_of_the_numbers() -> None:
    names = json.loads(onnx_files(decoder("D6", normalized=False), {})["names.json"])
    automaton = krohn.zoo("D6")
    assert names == {
        "letters": list(automaton.letter_names),
        "states": list(automaton.state_names),
        "length": LENGTH,
    }


def test_the_tokenizer_reads_letters_puts_the_prompt_first_and_marks_other_names(tmp_path: Path) -> None:
    model = decoder("Grid9", normalized=True)
    files = tokenizer_files(model.vocabulary, model.context)
    for name, payload in files.items():
        (tmp_path / name).write_text(json.dumps(payload))
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    ids = tokenizer("L  R R").input_ids
    assert tokenizer.convert_ids_to_tokens(ids)[-3:] == ["L", "R", "R"]
    assert ids[:-3] == list(model.vocabulary.prompt)
    assert tokenizer.model_max_length == model.context == len(model.vocabulary.prompt) + LENGTH
    assert tokenizer.decode(ids, skip_special_tokens=True) == " L R R"  # can be put behind a word
    assert tokenizer.convert_ids_to_tokens(tokenizer("L X").input_ids)[-2:] == ["L", "<unk>"]


def test_a_name_that_is_letter_and_state_is_one_token() -> None:
    result = vocabulary_of(["a", "b"], ["b", "c"], 2)
    assert result.tokens == ("<bos>", "<bos2>", "<pad>", "<unk>", "a", "b", "c")
    assert (result.letters, result.states, result.prompt) == ((4, 5), (5, 6), (0, 1))
    assert (result.pad, result.unknown, result.foreign) == (2, 3, (2, 3, 6))
    assert vocabulary_of(["a"], ["b"], 0).tokens == ("<pad>", "<unk>", "a", "b")


@pytest.mark.parametrize(("letters", "match"), [(["<bos>", "a"], "<bos>"), (["a b"], "no spaces")])
def test_names_that_a_tokenizer_cannot_have_are_refused(letters: list[str], match: str) -> None:
    with pytest.raises(InvalidInput, match=match):
        vocabulary_of(letters, ["p"], 1)


def streams_of(folder: Path, ids: np.ndarray) -> dict[str, np.ndarray]:
    """The stream in the middle and at the end of every block, as ``transformers`` computes it."""
    model, held = transformers.GPT2LMHeadModel.from_pretrained(folder).eval(), {}
    for number, block in enumerate(model.transformer.h):
        block.ln_2.register_forward_pre_hook(
            lambda _, given, number=number: held.update({f"{number} middle": given[0].numpy()})
        )
        block.register_forward_hook(
            lambda _, given, out, number=number: held.update(
                {f"{number} end": (out[0] if isinstance(out, tuple) else out).numpy()}
            )
        )
    with torch.no_grad():
        model(torch.tensor(ids))
    return held


@pytest.mark.parametrize(
    ("name", "options"),
    [("S4", {}), ("Grid4", {"dtype": "float64"}), ("Dyck2,2", {})],
    ids=str,
)
def test_meaning_is_what_the_exported_stream_holds(
    name: str, options: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every register it names has, in the exported stream, the value the network itself gives it."""
    without_proof(monkeypatch)
    network = krohn.compile(krohn.zoo(name), length=LENGTH, **options, unproved=True)
    exported = export_compiled(network, ["hf"])[0]
    write_files(tmp_path, exported.files)
    meaning = json.loads((tmp_path / "meaning.json").read_text())
    word = words_of(name, 1)
    streams = streams_of(tmp_path, exported.decoder.token_ids(word))
    own = krohn.explain(network, word[0])
    assert [number for layer in meaning["layers"] for number in layer["blocks"]] == list(
        range(exported.decoder.layers)
    )
    compared = 0
    for index, layer in enumerate(meaning["layers"]):
        assert layer["heads"] == [head.text for head in network.layout.heads[index]]
        first, last = layer["blocks"][0], layer["blocks"][-1]
        for moment, key, hook in (
            (2 * index + 1, "after_attention", f"{first} middle"),
            (2 * index + 2, "after_mlp", f"{last} end"),
        ):
            assert set(own.moments[moment]) <= {entry["name"] for entry in layer[key]}
            for entry in layer[key]:
                if entry["name"] in own.moments[moment]:
                    wanted = entry["scale"] * own.moments[moment][entry["name"]]
                    actual = streams[hook][0][:, entry["channel"]]
                    np.testing.assert_allclose(actual, wanted, atol=1e-4 * max(1.0, np.abs(wanted).max()))
                    compared += 1
        # After a layer its scratch and its twins are empty again.
        places = [*map(int, meaning["twins"]), *range(*meaning["scratch"])]
        assert (np.abs(streams[f"{last} end"][..., places]) < 1e-2).all()
    assert compared > 4
    dim = network.transformer.dim
    assert list(map(int, meaning["twins"])) == list(range(dim, dim + len(meaning["twins"])))
    assert meaning["scratch"][0] == dim + len(meaning["twins"])
    assert set(meaning["twins"].values()) == {
        channel for layer in network.transformer.layers for channel in twinned_channels(layer)
    }
    assert [(e["name"], e["scale"]) for e in meaning["embedding"]] == [
        (channel.name, channel.scale) for channel in network.layout.moments[0]
    ]


def test_the_config_of_gpt2_describes_the_decoder() -> None:
    """Readers that find no such key take a default of their own, which differs little on most words."""
    model = decoder("D6", normalized=True)
    for one in (model, replace(model, activation="gelu_new")):
        stock = json.loads(hugging_face_files(one, {})["config.json"])
        assert (stock["activation_function"], stock["layer_norm_epsilon"]) == (one.activation, 1e-5)
        assert (stock["bos_token_id"], stock["n_positions"]) == (0, one.context)
        assert stock["pad_token_id"] == one.vocabulary.pad != 0  # else <bos> would be taken for filling


def test_the_onnx_graph_of_gelu_is_that_of_gpt2() -> None:
    """GPT-2's approximation, which differs from the exact function by up to 5e-4."""
    noise = np.random.default_rng(5)
    actual = replace(decoder("D6", normalized=True), activation="gelu_new")
    tensors = {name: noise.normal(size=t.shape).astype(np.float32) for name, t in actual.tensors.items()}
    actual = replace(actual, tensors=tensors)
    model = onnx.load_from_string(onnx_files(actual, {})["model.onnx"])
    assert [a.s for node in model.graph.node if node.op_type == "Gelu" for a in node.attribute] == [
        b"tanh"
    ] * actual.layers
    words = words_of("D6")
    result = ReferenceEvaluator(model).run(None, {"letters": words})[0]
    wanted = logits(actual, words)[..., list(actual.vocabulary.states)]
    np.testing.assert_allclose(result, wanted, atol=1e-5 * np.abs(wanted).max())


@pytest.mark.parametrize("to", sorted(FORMATS))
def test_every_format_brings_the_automaton_and_a_page(to: str) -> None:
    exported = export_compiled(krohn.compile(krohn.zoo("C4"), length=5, unproved=True), [to])[0]
    payload = json.loads(exported.files["automaton.json"])
    assert (payload["krohn"], len(payload["states"])) == (1, 4)
    assert "simulate C4" in exported.files["README.md"].decode()


def test_the_same_tensors_are_the_same_bytes(tmp_path: Path) -> None:
    about = dict.fromkeys("fbeacd", "ä")
    (file,) = {tensor_file({"w": np.arange(3, dtype=np.float32)}, about) for _ in range(8)}
    (tmp_path / "file").write_bytes(file)
    with safe_open(tmp_path / "file", framework="np") as read:
        assert read.metadata() == {**about, "format": "pt"}
        assert read.get_tensor("w").tolist() == [0.0, 1.0, 2.0]


def test_the_page_loads_the_model_whatever_the_letters_are_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    automaton = krohn.Semiautomaton.from_letters(
        [[1, 0], [0, 0]], letter_names=('"', "\\n'{x}"), state_names=("p", "q"), name="odd"
    )
    krohn.export(krohn.compile(automaton, length=6), "hf", tmp_path)
    page = (tmp_path / "README.md").read_text()
    code = page.split("```python\n")[1].split("```")[0]
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out.endswith("['q', 'p', 'q', 'p']\n")


def test_meaning_gives_the_scale_of_a_channel() -> None:
    network = krohn.compile(krohn.zoo("C3"), length=5, unproved=True)
    moments = list(network.layout.moments)
    last = list(moments[-1])
    last[0] = replace(last[0], scale=0.25)
    moments[-1] = tuple(last)
    scaled = replace(network, layout=replace(network.layout, moments=tuple(moments)))
    decoder = decoder_of_compiled(scaled, normalized=True)
    assert meaning_of(scaled, decoder)["layers"][-1]["after_mlp"][0]["scale"] == 0.25


@pytest.mark.parametrize("name", ["S4", "Dyck2,2"])
@pytest.mark.parametrize("normalized", [True, False])
def test_meaning_says_what_units_and_outer_channels_do(name: str, normalized: bool) -> None:
    network = krohn.compile(krohn.zoo(name), length=LENGTH, unproved=True)
    model = decoder_of_compiled(network, normalized=normalized)
    meaning = meaning_of(network, model)
    runs = [run for layer in meaning["layers"] for run in layer["units"]]
    for block in range(model.layers):
        here = [run["units"] for run in runs if run["block"] == block]
        assert [first for first, _ in here] == [0, *(end for _, end in here[:-1])]
        used = model.tensors[f"transformer.h.{block}.mlp.c_proj.weight"].any(axis=1)
        assert not used[here[-1][1] :].any()
    for layer in meaning["layers"]:
        written = {name for run in layer["units"] if run["role"] == "map" for name in run["writes"]}
        fresh = {c["name"] for c in layer["after_mlp"]} - {c["name"] for c in layer["after_attention"]}
        assert fresh - {"free"} <= written
    # A stream of one word holds what the outer channels are said to hold, at every position.
    outer, table = meaning["outer"], model.tensors["transformer.wpe.weight"]
    wanted = {"plus", "minus", "zero", "foreign", "gain"} if normalized else {"one", "foreign"}
    assert set(outer) == wanted
    for part in wanted - {"foreign", "gain"}:
        assert (table[:, outer[part]["channel"]] == outer[part]["value"]).all()
    tokens = model.tensors["transformer.wte.weight"][:, outer["foreign"]["channel"]]
    assert set(np.flatnonzero(tokens)) == set(model.vocabulary.foreign)


def test_a_tokenizer_reads_characters_by_their_class(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    from transformers import AutoTokenizer

    automaton = krohn.parse_spec(r"regex:\d+(-[a-f]+)? ?")
    network = krohn.compile(automaton, 8, target="observation")
    krohn.export(network, "hf", tmp_path / "hf")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "hf")
    for word in ("17-ab", "٣9-f ", "1-é!", "0", "🙂", "\U000f0001"):
        names = tokenizer.convert_ids_to_tokens(tokenizer(word)["input_ids"])[-len(word) :]
        assert names == [automaton.letter_names[letter] for letter in automaton.numbers(word)], word
