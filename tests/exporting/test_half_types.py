"""Half types: the pass written out here says what transformers says when it loads the network so."""

from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

import krohn
from krohn.errors import UnknownName, Unsupported
from krohn.exporting.from_compiled import check_types, decoder_of_compiled
from krohn.exporting.hugging_face import hugging_face_files
from krohn.network.gpt2.decoder import write_files
from krohn.network.gpt2.reference import logits


# A processor without bfloat16 computes it by other means, and torch says so.
@pytest.mark.filterwarnings("ignore:mkldnn_matmul failed:UserWarning")
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", ["FlipFlop", "D6"])
def test_the_states_are_those_of_eager_attention(name: str, dtype: str, tmp_path: Path) -> None:
    network = krohn.compile(krohn.zoo(name), length=8)
    decoder = decoder_of_compiled(network, normalized=True)
    write_files(tmp_path, hugging_face_files(decoder, {}))
    model = transformers.AutoModelForCausalLM.from_pretrained(
        tmp_path, dtype=dtype, attn_implementation="eager"
    ).eval()
    words = np.random.default_rng(0).integers(network.automaton.num_letters, size=(20, 8))
    with torch.no_grad():
        theirs = model(torch.tensor(decoder.token_ids(words))).logits.float().numpy()
    theirs = theirs[:, len(decoder.vocabulary.prompt) :]
    ours = logits(decoder, words, dtype)
    assert (np.isfinite(ours) == np.isfinite(theirs)).all()
    same = ours.argmax(-1) == theirs.argmax(-1)
    assert same.mean() > 0.8  # sums in other orders: where the network is wrong, so is the comparison


@pytest.mark.parametrize("normalized", [True, False])
def test_a_type_is_right_if_no_word_is_wrong_in_it(normalized: bool) -> None:
    network = krohn.compile(krohn.zoo("S4"), length=16)
    result = check_types(decoder_of_compiled(network, normalized=normalized), network)
    assert set(result) == {"float64", "bfloat16", "float16"}
    assert result["float64"].wrong == 0
    assert result["bfloat16"].wrong == 0
    assert (result["float16"].wrong > 0) == normalized  # 65504 is less than the pair that steadies LayerNorm
    counter = krohn.compile(krohn.zoo("C8"), length=64)
    result = check_types(decoder_of_compiled(counter, normalized=normalized), counter)
    assert result["float64"].wrong == 0
    assert result["bfloat16"].wrong > 0


# A processor without bfloat16 computes it by other means, and torch says so.
@pytest.mark.filterwarnings("ignore:mkldnn_matmul failed:UserWarning")
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_an_export_for_a_half_type_is_right_in_it(dtype: str, tmp_path: Path) -> None:
    network = krohn.compile(krohn.zoo("D6"), length=12)
    exported = krohn.export(network, "hf", tmp_path, dtype=dtype)
    assert exported.findings["types"][dtype]["wrong"] == 0
    decoder = exported.decoder
    gain = float(decoder.tensors["transformer.h.0.ln_1.weight"][0])
    assert np.frexp(gain)[0] == 0.5  # a power of two
    model = transformers.AutoModelForCausalLM.from_pretrained(tmp_path, attn_implementation="eager").eval()
    assert str(model.dtype) == f"torch.{dtype}"
    words = np.random.default_rng(0).integers(network.automaton.num_letters, size=(40, 12))
    with torch.no_grad():
        out = model(torch.tensor(decoder.token_ids(words))).logits.argmax(-1).numpy()
    right = np.array(decoder.vocabulary.states)[krohn.simulate(network.automaton, words)]
    np.testing.assert_array_equal(out[:, len(decoder.vocabulary.prompt) :], right)


def test_an_export_that_is_wrong_in_its_type_is_refused(tmp_path: Path) -> None:
    network = krohn.compile(krohn.zoo("C8"), length=64)
    with pytest.raises(Unsupported, match="in bfloat16; after"):
        krohn.export(network, "hf", tmp_path / "out", dtype="bfloat16", unchecked=True, proof=False)
    assert not (tmp_path / "out").exists()
    with pytest.raises(UnknownName, match="must be one of float32, bfloat16, float16; got 'int8'"):
        krohn.export(network, "hf", tmp_path / "out", dtype="int8")
