"""An export and its certificate, with one thing changed that decides the answer: judged by transformers.

Every change is refused by both programs. Those that transformers answers wrongly would have been certified by
a checker that does not read the field; the others change nothing today, or make the folder unreadable.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file
from transformers import AutoModelForCausalLM

import krohn
from krohn.certify.search import all_words
from krohn.check.__main__ import main
from krohn.cli.app import run

LENGTH = 6


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export") / "d6"
    krohn.export(krohn.compile("D6", length=LENGTH), folder, to="hf")
    return folder


def configured(**fields: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**config, **fields}))

    return change


def tensors(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    def changed(folder: Path) -> None:
        held = {name: tensor.copy() for name, tensor in load_file(folder / "model.safetensors").items()}
        change(held)
        save_file(held, folder / "model.safetensors", {"format": "pt"})

    return changed


def tokens(folder: Path) -> None:
    facts = json.loads((folder / "export.json").read_text())
    facts["tokens"]["letters"].reverse()
    (folder / "export.json").write_text(json.dumps(facts))


def names(folder: Path) -> None:
    automaton = json.loads((folder / "automaton.json").read_text())
    automaton["letters"].reverse()
    (folder / "automaton.json").write_text(json.dumps(automaton))


def nudged(held: dict[str, Any]) -> None:
    held["lm_head.weight"][0, 0] += 2.0**-20


CHANGES: dict[str, tuple[Callable[[Path], None], bool]] = {
    "layer_norm_epsilon": (configured(layer_norm_epsilon=1e15), True),
    "layer_norm_epsilon, a little": (configured(layer_norm_epsilon=1.1e-5), False),
    "scale_attn_weights": (configured(scale_attn_weights=False), True),
    "scale_attn_by_inverse_layer_idx": (configured(scale_attn_by_inverse_layer_idx=True), False),
    "reorder_and_upcast_attn": (configured(reorder_and_upcast_attn=True), False),
    "activation_function": (configured(activation_function="gelu_new"), True),
    "another name of n_layer": (configured(num_hidden_layers=1), True),
    "n_layer": (configured(n_layer=1), True),
    "tie_word_embeddings": (configured(tie_word_embeddings=True), False),
    "a field that is not known": (configured(rope_theta=10_000), False),
    "dtype": (configured(dtype="float16"), False),
    "one more tensor": (tensors(lambda held: held.update(extra=np.zeros(3, np.float32))), False),
    "one number of a tensor": (tensors(nudged), False),
    "an adapter": (lambda folder: (folder / "adapter_config.json").write_text("{}") and None, False),
    "tokens of letters": (tokens, False),
    "names of letters": (names, False),
}
"""What is changed, and whether transformers then answers some word wrongly."""


def wrong_in_transformers(folder: Path, facts: dict[str, Any]) -> bool:
    automaton = krohn.zoo("D6")
    words = all_words(automaton.num_letters, LENGTH)
    prompt = np.broadcast_to(np.array(facts["prompt"], dtype=np.int64), (len(words), len(facts["prompt"])))
    ids = np.concatenate([prompt, np.array(facts["letters"])[words]], axis=1)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    with torch.no_grad():
        shown = model(torch.from_numpy(ids)).logits.argmax(-1).numpy()[:, len(facts["prompt"]) :]
    return bool((shown != np.array(facts["states"])[krohn.simulate(automaton, words)]).any())


def test_the_export_itself_is_right_and_proved(export: Path) -> None:
    facts = json.loads((export / "export.json").read_text())["tokens"]
    assert not wrong_in_transformers(export, facts)
    assert main([str(export), str(export / "certificate.json")]) == 0
    assert run(["verify", str(export), "--recheck", str(export / "certificate.json")]) == 0


@pytest.mark.parametrize("name", CHANGES)
def test_one_change_is_refused(name: str, export: Path, tmp_path: Path) -> None:
    change, matters = CHANGES[name]
    folder = Path(shutil.copytree(export, tmp_path / "changed"))
    facts = json.loads((export / "export.json").read_text())["tokens"]
    change(folder)
    assert main([str(folder), str(folder / "certificate.json")]) in (1, 2)
    assert run(["verify", str(folder), "--recheck", str(folder / "certificate.json")]) in (1, 2)
    if matters:
        assert wrong_in_transformers(folder, facts)
        assert run(["verify", str(folder)]) in (1, 2)
