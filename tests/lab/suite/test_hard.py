"""The harder tier: more registers than channels, noise within the proved margin, oblique swaps."""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

import krohn
from krohn.construct import compiling
from krohn.lab.suite.building import READS, files_of
from krohn.lab.suite.catalogue import Entry
from krohn.lab.suite.hard import harden, noisy, prove_every_word
from krohn.network.gpt2.decoder import write_files
from krohn.network.gpt2.reference import logits
from krohn.proving.word_search import all_words


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    entry = Entry("Q8", "cascade", "superposed-noisy", 2, {"method": "cascade"}, "hard")
    out = tmp_path_factory.mktemp("hard") / entry.name
    write_files(out, files_of(entry)[0])
    return out


def facts_of(folder: Path) -> dict:
    return json.loads((folder / "suite.json").read_text())


def test_there_are_more_registers_than_channels_and_noise(folder: Path) -> None:
    facts = facts_of(folder)
    assert facts["registers"] > facts["channels"]
    assert facts["noise"] > 0.0


def test_anyone_can_check_the_certificate_and_other_weights_fail_it(folder: Path, tmp_path: Path) -> None:
    asked = {"automaton": folder / "automaton.json", "tokens": folder / "tokens.json"}
    assert krohn.verify(folder, certificate=folder / "certificate.json", **asked).certified
    weights = bytearray((folder / "model.safetensors").read_bytes())
    weights[-8] ^= 1
    (tmp_path / "model.safetensors").write_bytes(weights)
    (tmp_path / "config.json").write_bytes((folder / "config.json").read_bytes())
    assert not krohn.verify(tmp_path, certificate=folder / "certificate.json", **asked).certified


def test_true_variables_need_their_readers(folder: Path, tmp_path: Path) -> None:
    """Swaps along the directions follow the causal model; orthogonal swaps of them do not always."""
    spaces = load_file(folder / "subspaces.safetensors")
    asked = [
        {
            "variable": one["name"],
            "place": one["place"],
            "basis": spaces[f"{one['name']} @ {one['place']}"].tolist(),
            "reads": spaces[f"{one['name']} @ {one['place']}{READS}"].tolist(),
        }
        for one in facts_of(folder)["variables"]
    ]
    file = tmp_path / "true.json"
    file.write_text(json.dumps(asked))
    assert min(score.interchange for score in krohn.suite.score(folder, subspace=file)) == 1.0
    file.write_text(json.dumps([{k: v for k, v in one.items() if k != "reads"} for one in asked]))
    assert min(score.interchange for score in krohn.suite.score(folder, subspace=file)) < 1.0


def test_the_true_circuit_scores_one(folder: Path) -> None:
    assert krohn.suite.score(folder, circuit=folder / "circuit.json").auroc == 1.0


def test_much_noise_is_not_proved() -> None:
    network = compiling.build(compiling.make_request("Q8", 2, method="cascade"))
    plain = harden(network, "superposed", 1).decoder
    words = all_words(4, 2)
    right = np.array(plain.vocabulary.states)[network.automaton.right_outputs(words)]
    assert (logits(plain, words).argmax(-1) == right).all()
    assert prove_every_word(plain, network.automaton) is not None
    assert prove_every_word(noisy(plain, 0.3, 1), network.automaton) is None
