"""Exports in third-party readers: transformers, TransformerLens and onnxruntime load the files."""

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch
import transformers
from safetensors import safe_open

import krohn
from exporting.unproved import without_proof

LENGTH = 14
NAMES = ["S4", "Dyck2,2"]
FORMATS = ("hf", "onnx")


@pytest.fixture(scope="module")
def lens() -> Any:
    """TransformerLens is imported by the one worker that needs it: with what it loads it takes seconds."""
    with warnings.catch_warnings():
        # Its dependencies use what Python and torch have since given up; nothing of ours is imported here.
        warnings.simplefilter("ignore")
        from transformer_lens.model_bridge import TransformerBridge
    return TransformerBridge


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every automaton in every format."""
    from krohn.exporting import from_compiled
    from krohn.exporting.driver import write
    from krohn.exporting.network_files import export_compiled

    base = tmp_path_factory.mktemp("exports")
    with pytest.MonkeyPatch.context() as patch:
        for amount in ("WORK", "ROUNDING_WORK", "SHORT_WORDS"):  # what they check is tested elsewhere
            patch.setattr(from_compiled, amount, 1 << 8)
        without_proof(patch)
        for name in NAMES:
            network = krohn.compile(krohn.zoo(name), length=LENGTH)
            for to in FORMATS:
                write(export_compiled(network, [to])[0], base / name / to)
    return base


def words_of(name: str, count: int = 30) -> np.ndarray:
    return np.random.default_rng(0).integers(krohn.zoo(name).num_letters, size=(count, LENGTH))


def lines_of(name: str, words: np.ndarray) -> list[str]:
    return [" ".join(krohn.zoo(name).letter_names[letter] for letter in word) for word in words]


def states_of(name: str, words: np.ndarray) -> list[list[str]]:
    automaton = krohn.zoo(name)
    return [[automaton.state_names[state] for state in row] for row in krohn.simulate(automaton, words)]


@pytest.mark.parametrize("name", NAMES)
def test_transformer_lens_opens_the_gpt2_as_it_is(name: str, folder: Path, lens: Any) -> None:
    bridge = lens.boot_transformers(str(folder / name / "hf"), device="cpu")
    words = words_of(name)
    ids = bridge.tokenizer(lines_of(name, words), return_tensors="pt").input_ids
    prompt = len(json.loads((folder / name / "hf" / "export.json").read_text())["tokens"]["prompt"])
    with torch.no_grad():
        out, cache = bridge.run_with_cache(ids)
    got = [bridge.tokenizer.convert_ids_to_tokens(row) for row in out.argmax(-1)[:, prompt:]]
    assert got == states_of(name, words)
    assert cache["blocks.0.attn.hook_pattern"].shape[-1] == ids.shape[1]


@pytest.mark.parametrize("name", NAMES)
def test_onnxruntime_runs_the_graph_on_words_of_every_length(name: str, folder: Path) -> None:
    session = onnxruntime.InferenceSession(folder / name / "onnx" / "model.onnx")
    for length in (1, 5, LENGTH):
        words = words_of(name)[:, :length]
        _, states = session.run(None, {"letters": words})
        np.testing.assert_array_equal(states, krohn.simulate(krohn.zoo(name), words))


@pytest.mark.parametrize("bad", [-1, -8, 8, 2**40])
def test_onnxruntime_refuses_numbers_that_are_no_letters(bad: int, folder: Path) -> None:
    session = onnxruntime.InferenceSession(folder / "S4" / "onnx" / "model.onnx")
    word = np.zeros((1, 5), dtype=np.int64)
    session.run(None, {"letters": word})
    word[0, 3] = bad
    with pytest.raises(Exception, match="out of data bounds"):
        session.run(None, {"letters": word})


def test_onnxruntime_refuses_words_that_are_too_long(folder: Path) -> None:
    session = onnxruntime.InferenceSession(folder / "S4" / "onnx" / "model.onnx")
    with pytest.raises(Exception, match=r"out of data bounds|broadcast"):
        session.run(None, {"letters": np.zeros((1, LENGTH + 1), dtype=np.int64)})


@pytest.mark.parametrize("name", NAMES)
def test_what_a_pipeline_writes_can_be_read_again(name: str, folder: Path) -> None:
    here = str(folder / name / "hf")
    generate = transformers.pipeline("text-generation", here, device="cpu")
    words = words_of(name, 4)
    for line, states in zip(lines_of(name, words), states_of(name, words), strict=True):
        text = generate(line)[0]["generated_text"]
        assert text == f"{line} {states[-1]}"
        ids = generate.tokenizer(text).input_ids
        assert generate.tokenizer.convert_ids_to_tokens(ids)[-1] == states[-1]
        assert generate(line, return_full_text=False)[0]["generated_text"].strip() == states[-1]


def test_generating_without_options_appends_one_state(folder: Path) -> None:
    here = folder / "S4" / "hf"
    tokenizer = transformers.AutoTokenizer.from_pretrained(here)
    model = transformers.AutoModelForCausalLM.from_pretrained(here).eval()
    words = words_of("S4", 5)
    ids = tokenizer(lines_of("S4", words), return_tensors="pt").input_ids
    out = model.generate(ids)  # no attention mask: <bos> must not be taken for filling
    assert out.shape[1] == ids.shape[1] + 1
    assert tokenizer.convert_ids_to_tokens(out[:, -1]) == [row[-1] for row in states_of("S4", words)]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_is_not_a_letter_gives_unknown(name: str, folder: Path) -> None:
    here = folder / name / "hf"
    tokenizer = transformers.AutoTokenizer.from_pretrained(here)
    model = transformers.AutoModelForCausalLM.from_pretrained(here).eval()
    words = words_of(name, 3)
    ids = tokenizer(lines_of(name, words), return_tensors="pt").input_ids
    strange = [tokenizer.unk_token_id, tokenizer.pad_token_id]
    automaton = krohn.zoo(name)
    only_states = [state for state in automaton.state_names if state not in automaton.letter_names]
    strange += tokenizer.convert_tokens_to_ids(only_states[:3])
    assert tokenizer("no-such-letter").input_ids[-1] == tokenizer.unk_token_id
    for token in strange:
        for place in (-LENGTH, -4, -1):
            changed = ids.clone()
            changed[:, place] = token
            with torch.no_grad():
                out = model(changed).logits.argmax(-1)
            assert (out[:, place] == tokenizer.unk_token_id).all()
    with torch.no_grad():
        assert (model(ids).logits.argmax(-1)[:, -LENGTH:] != tokenizer.unk_token_id).all()


# A processor without bfloat16 computes it by other means, and torch says so.
@pytest.mark.filterwarnings("ignore:mkldnn_matmul failed:UserWarning")
def test_the_page_warns_who_loads_it_in_a_type_that_is_wrong(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder / "S4" / "hf")
    code = Path("README.md").read_text().split("```python\n")[1].split("```")[0]
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out.startswith("['")
    halved = code.replace('from_pretrained(".").eval()', 'from_pretrained(".", dtype="float16").eval()')
    assert halved != code
    with pytest.warns(
        UserWarning, match=r"right in \['float32', 'float64', 'bfloat16'\]; it was loaded in torch.float16"
    ):
        exec(compile(halved, "README.md", "exec"), {})


def test_files_say_where_they_come_from_and_in_which_types_they_are_right(folder: Path) -> None:
    digest = krohn.zoo("S4").digest
    with safe_open(folder / "S4" / "hf" / "model.safetensors", "np") as file:
        assert file.metadata()["digest"] == digest
        assert file.metadata()["format"] == "pt"
    config = transformers.AutoConfig.from_pretrained(folder / "S4" / "hf")
    assert config.krohn["right_in"] == "float32 float64 bfloat16"
    assert config.krohn["proof"] == "tested, not proved"
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder / "S4" / "hf")
    assert config.id2label == dict(enumerate(tokenizer.convert_ids_to_tokens(range(config.vocab_size))))
    session = onnxruntime.InferenceSession(folder / "S4" / "onnx" / "model.onnx")
    assert session.get_modelmeta().custom_metadata_map["digest"] == digest


def test_the_card_is_one_that_others_can_read(folder: Path) -> None:
    from huggingface_hub import ModelCard

    card = ModelCard.load(folder / "S4" / "hf" / "README.md")
    assert (card.data.license, card.data.library_name) == ("mit", "transformers")
    assert "Tested, not proved" in card.text
    assert "| bfloat16 |" in card.text
