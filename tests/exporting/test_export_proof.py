"""Proofs of exports: the checker has the numbers of the files, and what is wrong is not proved."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from safetensors.numpy import load_file, save_file

import krohn
from every import every
from exporting.unproved import without_proof
from krohn.check.__main__ import main
from krohn.check.files.reader import Network
from krohn.check.rules import read_net
from krohn.cli.app import run
from krohn.exporting.from_compiled import decoder_of_compiled
from krohn.network.gpt2.decoder import Decoder
from krohn.network.gpt2.reference import logits
from krohn.proving.evidence import Counterexample, SecondOpinion
from krohn.proving.export import checkable_decoder, prove

LENGTH = 12


def forward(network: Network, words: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """The decoder as the checker understands it, implemented again."""

    def norm(x: npt.NDArray[np.float64], gain: npt.NDArray[np.float64] | None) -> npt.NDArray[np.float64]:
        if gain is None:
            return x
        centred = x - x.mean(axis=-1, keepdims=True)
        deviation = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + network.epsilon)
        return np.asarray(centred / deviation * gain)

    pads = np.broadcast_to(network.padding, (len(words), *network.padding.shape))
    x = np.concatenate([pads, network.embedding[words]], axis=1)
    x = x + network.positions[: x.shape[1]]
    later = np.triu(np.ones((x.shape[1], x.shape[1]), dtype=bool), 1)
    for layer in network.layers:
        y, added = norm(x, layer.gain_attention), np.zeros_like(x)
        for head in layer.heads:
            scores = (y @ head.query) @ (y @ head.key).swapaxes(1, 2) / network.root
            scores = np.where(later, -np.inf, scores)
            weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
            added += weights / weights.sum(axis=-1, keepdims=True) @ (y @ head.value) @ head.output
        x = x + added
        hidden = np.maximum(norm(x, layer.gain_mlp) @ layer.weights[0] + layer.biases[0], 0)
        x = x + hidden @ layer.weights[1] + layer.biases[1]
    return np.asarray(norm(x[:, len(network.padding) :], network.gain) @ network.readout)


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("name", ["S4", "Grid4", "A5"])
def test_the_checker_reads_what_the_decoder_computes(name: str, normalized: bool) -> None:
    network = krohn.compile(krohn.zoo(name), length=LENGTH, unproved=True)
    decoder = decoder_of_compiled(network, normalized=normalized)
    words = np.random.default_rng(0).integers(network.automaton.num_letters, size=(20, LENGTH))
    wanted = logits(decoder, words, np.float64)
    actual = forward(checkable_decoder(decoder), words)
    np.testing.assert_allclose(actual, wanted, rtol=1e-9, atol=1e-9 * np.abs(wanted).max())


def test_the_checker_has_the_numbers_of_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_proof(monkeypatch)
    network = krohn.compile(krohn.zoo("Dyck2,2"), length=LENGTH, unproved=True)
    exported = krohn.export(network, "hf", tmp_path)
    stored, other = load_file(tmp_path / "model.safetensors"), checkable_decoder(exported.decoder)
    np.testing.assert_array_equal(other.positions, stored["transformer.wpe.weight"])
    np.testing.assert_array_equal(other.readout, stored["lm_head.weight"].T)
    for index, layer in enumerate(other.layers):
        block = f"transformer.h.{index}"
        parts = [[getattr(head, part) for head in layer.heads] for part in ("query", "key", "value")]
        together = np.concatenate([matrix for part in parts for matrix in part], axis=1)
        np.testing.assert_array_equal(together, stored[f"{block}.attn.c_attn.weight"])
        np.testing.assert_array_equal(layer.gain_mlp, stored[f"{block}.ln_2.weight"])
        np.testing.assert_array_equal(layer.weights[1], stored[f"{block}.mlp.c_proj.weight"])


def test_the_certificate_is_written_beside_the_export_and_names_its_weights(tmp_path: Path) -> None:
    network = krohn.compile(krohn.zoo("FlipFlop"), length=64)
    krohn.export(network, "hf", tmp_path)
    facts = json.loads((tmp_path / "export.json").read_text())
    claim = json.loads((tmp_path / "certificate.json").read_text())["claim"]
    assert facts["proof"] == "proved in float32"
    assert (claim["dtype"], claim["lengths"]) == ("float32", {"up_to": 64})
    assert claim["network"] == read_net(tmp_path).digest
    assert "**Proved** in float32" in (tmp_path / "README.md").read_text()
    assert rechecks(tmp_path)


def rechecks(folder: Path) -> bool:
    """The verdict of ``python -m krohn.check`` on an export and its certificate."""
    return main([str(folder), str(folder / "certificate.json")]) == 0


def test_a_proof_can_be_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    krohn.save(krohn.compile("C2", length=4), tmp_path / "net")
    asked = ["export", str(tmp_path / "net"), "--to", "hf", "--out", str(tmp_path / "gpt2")]
    assert run([*asked, "--no-proof", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)["certificate"]
    assert (report["certified"], report["reason"]) == (False, "no proof was asked for")
    assert not (tmp_path / "gpt2" / "certificate.json").exists()
    card = (tmp_path / "gpt2" / "README.md").read_text()
    assert "**Tested, not proved.**" in card
    assert "krohn verify" not in card  # nobody asked it: of some networks that are exported it proves nothing


def test_a_word_that_float32_runs_wrong_refutes_nothing_in_float64(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The words are run in float32, whatever is claimed."""
    krohn.export(krohn.compile("C2", length=6), "hf", tmp_path)
    wrong = Counterexample((0,), expected=0, got=1), SecondOpinion(6, 64, 63, "float32")
    monkeypatch.setattr("krohn.proving.export.run_every_word", lambda *given: wrong[::-1])
    single, double = (krohn.verify(tmp_path, dtype) for dtype in ("float32", "float64"))
    assert not single
    assert single.counterexample is wrong[0]
    assert double, double.reason
    assert double.counterexample is None
    assert double.second_opinion is wrong[1]


def test_with_layer_norm_the_files_of_gpt2_are_proved(tmp_path: Path) -> None:
    network = krohn.compile(krohn.zoo("FlipFlop"), length=16)
    krohn.export(network, "hf", tmp_path)
    claim = json.loads((tmp_path / "certificate.json").read_text())["claim"]
    assert claim["lengths"] == {"up_to": 16}
    assert "**Proved** in float32" in (tmp_path / "README.md").read_text()
    assert rechecks(tmp_path)
    stored = load_file(tmp_path / "model.safetensors")
    stored["lm_head.weight"] = np.roll(stored["lm_head.weight"], 1, axis=0).copy()
    save_file(stored, tmp_path / "model.safetensors")
    assert not rechecks(tmp_path)


def test_an_export_that_shows_observations_is_proved(tmp_path: Path) -> None:
    network = krohn.compile(krohn.zoo("Grid4@boundary"), length=6, target="observation")
    krohn.export(network, "hf", tmp_path)
    assert rechecks(tmp_path)
    stored = load_file(tmp_path / "model.safetensors")
    stored["lm_head.weight"] = np.roll(stored["lm_head.weight"], 1, axis=0).copy()
    save_file(stored, tmp_path / "model.safetensors")
    assert not rechecks(tmp_path)


def test_nan_weights_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    krohn.save(krohn.compile(krohn.zoo("C2"), length=4), tmp_path / "c2")
    stored = load_file(tmp_path / "c2" / "model.safetensors")
    stored["embedding"] = np.full_like(stored["embedding"], np.nan)
    save_file(stored, tmp_path / "c2" / "model.safetensors")
    assert run(["export", str(tmp_path / "c2"), "--to", "hf", "--out", str(tmp_path / "out")]) == 2
    text = capsys.readouterr().err
    assert text.startswith("error: ")
    assert "must be finite" in text
    assert text.count("\n") == 1
    assert not (tmp_path / "out").exists()


@every("normalized", [True, False])
def test_a_decoder_that_is_wrong_is_not_proved(normalized: bool) -> None:
    network = krohn.compile(krohn.zoo("FlipFlop"), length=4)
    decoder = decoder_of_compiled(network, normalized=normalized)
    assert prove(decoder, network).certified
    for change in ("letters", "units", "head", "special"):
        assert not prove(broken(decoder, change), network).certified, change


def broken(decoder: Decoder, change: str) -> Decoder:
    tensors = {name: tensor.copy() for name, tensor in decoder.tensors.items()}
    names = decoder.vocabulary
    if change == "letters":
        rows = list(names.letters)
        tensors["transformer.wte.weight"][rows] = np.roll(tensors["transformer.wte.weight"][rows], 1, axis=0)
    elif change == "units":
        tensors["transformer.h.0.mlp.c_proj.weight"] *= -1
    elif change == "head":
        tensors["transformer.h.0.attn.c_attn.weight"] *= 0
    else:  # a token that is not a state gets the greatest logit
        tensors["lm_head.weight"][names.pad] = tensors["lm_head.weight"][list(names.states)].max(axis=0) + 100
    return replace(decoder, tensors=tensors)


@pytest.mark.parametrize(
    ("change", "match"),
    [("bias", "must be 0"), ("gelu", "must be ReLU"), ("sum", "one term of each"), ("shift", "must be 0")],
)
def test_a_decoder_that_the_checker_does_not_read_is_not_proved(change: str, match: str) -> None:
    network = krohn.compile(krohn.zoo("Grid4"), length=8)
    decoder = decoder_of_compiled(network, normalized=True)
    tensors = {name: tensor.copy() for name, tensor in decoder.tensors.items()}
    changed = replace(decoder, tensors=tensors)
    if change == "bias":
        tensors["transformer.h.0.attn.c_proj.bias"][0] = 1
    elif change == "gelu":
        changed = replace(decoder, activation="gelu_new")
    elif change == "shift":
        tensors["transformer.ln_f.bias"][0] = 1
    else:
        tensors["transformer.h.0.attn.c_proj.weight"][:] = 1
    assert match in prove(changed, network).reason
