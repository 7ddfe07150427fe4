"""Proofs of exports: the twin has the numbers of the files, and what is wrong is not proved."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

import krohn
from exporting.unproved import without_proof
from krohn.certify.certificate import network_hash
from krohn.exporting.compiled import decoder_of_compiled
from krohn.exporting.proof import prove, twin
from krohn.exporting.reference import logits
from krohn.network.forward import logits as paper_logits

LENGTH = 12


@pytest.mark.parametrize("name", ["S4", "Grid4", "Dyck4,2", "A5"])
def test_the_twin_computes_what_the_decoder_does(name: str) -> None:
    network = krohn.compile(krohn.zoo(name), length=LENGTH)
    decoder = decoder_of_compiled(network, normalized=False)
    words = np.random.default_rng(0).integers(network.automaton.num_letters, size=(20, LENGTH))
    wanted = logits(decoder, words, np.float64)
    found = paper_logits(twin(decoder, network).transformer, words)
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9 * np.abs(wanted).max())


def test_the_twin_has_the_numbers_of_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_proof(monkeypatch)
    network = krohn.compile(krohn.zoo("Dyck2,2"), length=LENGTH)
    exported = krohn.export(network, tmp_path, to="transformer-lens")
    stored = {
        name: tensor.astype(np.float64) for name, tensor in load_file(tmp_path / "model.safetensors").items()
    }
    config = json.loads((tmp_path / "config.json").read_text())
    other = twin(exported.decoder, network).transformer
    width = config["d_head"]
    assert math.log2(math.sqrt(width)).is_integer()
    np.testing.assert_array_equal(other.positions, stored["pos_embed.weight"])
    np.testing.assert_array_equal(other.readout, stored["unembed.weight"].T)
    for index, layer in enumerate(other.layers):
        block = f"blocks.{index}"
        for number, head in enumerate(layer.heads):
            rows = slice(number * width, (number + 1) * width)
            np.testing.assert_array_equal(
                head.query * math.sqrt(width), stored[f"{block}.attn.q.weight"][rows].T
            )
            np.testing.assert_array_equal(head.key, stored[f"{block}.attn.k.weight"][rows].T)
            np.testing.assert_array_equal(head.value, stored[f"{block}.attn.v.weight"][rows].T)
            np.testing.assert_array_equal(head.output, stored[f"{block}.attn.o.weight"].T[rows])
        units = len(layer.mlp.biases[0])
        np.testing.assert_array_equal(layer.mlp.weights[0], stored[f"{block}.mlp.in.weight"].T[:, :units])
        np.testing.assert_array_equal(layer.mlp.weights[1], stored[f"{block}.mlp.out.weight"].T[:units])
        assert not stored[f"{block}.mlp.out.weight"].T[units:].any()


def test_the_certificate_is_written_beside_the_export_and_names_its_weights(tmp_path: Path) -> None:
    network = krohn.compile(krohn.zoo("FlipFlop"), length=64)
    exported = krohn.export(network, tmp_path, to="onnx")
    said = json.loads((tmp_path / "export.json").read_text())
    certificate = json.loads((tmp_path / "certificate.json").read_text())
    assert said["proof"] == "proved in float32"
    assert (certificate["certified"], certificate["dtype"], certificate["length"]) == (True, "float32", 64)
    assert certificate["network"] == network_hash(twin(exported.decoder, network).transformer)
    assert "**Proved** in float32" in (tmp_path / "README.md").read_text()


def test_with_layer_norm_it_is_tested_not_proved(tmp_path: Path) -> None:
    network = krohn.compile(krohn.zoo("FlipFlop"), length=8)
    krohn.export(network, tmp_path, to="onnx")
    krohn.export(network, tmp_path, to="hf")
    assert not (tmp_path / "certificate.json").exists()  # that of the other export goes
    page = (tmp_path / "README.md").read_text()
    assert "**Tested, not proved.**" in page
    assert "the checker has no rule for LayerNorm" in page


@pytest.mark.parametrize("change", ["letters", "units", "head", "special"])
def test_a_decoder_that_is_wrong_is_not_proved(change: str) -> None:
    network = krohn.compile(krohn.zoo("FlipFlop"), length=8)
    decoder = decoder_of_compiled(network, normalized=False)
    assert prove(decoder, network).certified
    tensors = {name: tensor.copy() for name, tensor in decoder.tensors.items()}
    names = decoder.vocabulary
    if change == "letters":
        rows = list(names.letters)
        tensors["transformer.wte.weight"][rows] = np.roll(tensors["transformer.wte.weight"][rows], 1, axis=0)
    elif change == "units":
        tensors["transformer.h.0.mlp.c_proj.weight"] *= -1
    elif change == "head":
        tensors["transformer.h.0.attn.c_attn.weight"] *= 0
    else:  # a token that is no state gets the greatest logit
        tensors["lm_head.weight"][names.pad] = tensors["lm_head.weight"][list(names.states)].max(axis=0) + 100
    assert not prove(replace(decoder, tensors=tensors), network).certified


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ("bias", "no biases"),
        ("gelu", "must be ReLU"),
        ("width", "power of two"),
        ("sum", "one term from each"),
    ],
)
def test_a_decoder_without_a_twin_is_not_proved(change: str, match: str) -> None:
    network = krohn.compile(krohn.zoo("Grid4"), length=8)
    decoder = decoder_of_compiled(network, normalized=False)
    tensors = {name: tensor.copy() for name, tensor in decoder.tensors.items()}
    changed = replace(decoder, tensors=tensors)
    if change == "bias":
        tensors["transformer.h.0.attn.c_proj.bias"][0] = 1
    elif change == "gelu":
        changed = replace(decoder, activation="gelu_new")
    elif change == "width":
        blocks = [name for name in tensors if ".attn." in name and "c_proj.bias" not in name]
        for name in blocks:  # one head as wide as two columns
            axes = [(0, 0)] * tensors[name].ndim
            axes[0 if "c_proj" in name else -1] = (0, -tensors[name].shape[0 if "c_proj" in name else -1] % 6)
            tensors[name] = np.pad(tensors[name], axes)
        changed = replace(decoder, tensors=tensors, heads=decoder.heads * 2, width=decoder.width // 2)
    else:
        tensors["transformer.h.0.attn.c_proj.weight"][:] = 1
    assert match in prove(changed, network).reason
