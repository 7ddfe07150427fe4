"""Everything besides the tensors that decides the answer is in the claim, an assumption, or refused.

Each of these was certified by an earlier version while the network, opened as its folder says, answers
wrongly, or while the sentence of the claim could be read as another one.
"""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file
from transformers import AutoModelForCausalLM

import krohn
from krohn.check.__main__ import main
from krohn.check.certificate import Certificate, read_certificate
from krohn.check.rules import read_net
from krohn.cli.app import run
from krohn.lab.models.kernels.plain import one_hot
from krohn.lab.training.trained_network import read_run

PROVED = Path(__file__).parents[2] / "results" / "networks" / "c2-lstm-proved"


def forged(folder: Path, honest: Certificate) -> str:
    """The same certificate with a claim about the tensors of this folder."""
    claim = replace(honest.claim, network=read_net(folder).digest)
    (folder / "forged.json").write_text(json.dumps(replace(honest, claim=claim).to_json()))
    return str(folder / "forged.json")


@pytest.mark.parametrize("value", [np.nan, np.inf, 1.0])
@pytest.mark.parametrize(
    ("name", "place"), [("wte", (0, 10, 0)), ("head.weight", (0, 0, 9)), ("head.bias", (0, 9))]
)
def test_padding_that_is_not_zero_is_refused(
    name: str, place: tuple[int, ...], value: float, tmp_path: Path
) -> None:
    """A letter's row is read by a product with a one-hot vector: 0 times infinity is no number."""
    folder = Path(shutil.copytree(PROVED, tmp_path / "run"))
    held = {key: tensor.copy() for key, tensor in load_file(folder / "weights.safetensors").items()}
    held[name][place] = value
    save_file(held, folder / "weights.safetensors")
    assert main([str(folder), forged(folder, read_certificate(PROVED / "certificate.json"))]) == 1
    if name == "wte" and not np.isfinite(value):
        table = torch.tensor(held["wte"])
        letter = one_hot(torch.zeros(1, 1, dtype=torch.long), table.shape[1], table.dtype) @ table
        assert not letter.isfinite().all()


def test_the_replicate_is_the_one_that_runs(tmp_path: Path) -> None:
    """Replicate 0 is proved; result.json selects replicate 1, which is wrong."""
    folder = Path(shutil.copytree(PROVED, tmp_path / "run"))
    held = load_file(folder / "weights.safetensors")
    save_file(
        {name: np.concatenate([tensor, -tensor]) for name, tensor in held.items()},
        folder / "weights.safetensors",
    )
    own = str(PROVED / "certificate.json")
    result = json.loads((folder / "result.json").read_text())
    for scores, best in (((1.0, 0.5), 0), ((0.5, 1.0), 1)):
        result["replicates"] = [{**result["replicates"][0], "accuracy": score} for score in scores]
        (folder / "result.json").write_text(json.dumps(result))
        right = read_run(folder).run([[1, 0, 1]]).tolist() == [[1, 1, 0]]
        assert right == (best == 0)
        assert run(["verify", str(folder), "--recheck", own]) == best
    assert "(replicate 0)" in read_certificate(own).claim.sentence()


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export") / "grid"
    krohn.export(krohn.compile("Grid4", length=10), "hf", folder)
    return folder


def right_as_opened(folder: Path) -> bool:
    """Whether ``transformers`` is right when it loads the folder with defaults."""
    facts = json.loads((folder / "export.json").read_text())["tokens"]
    automaton = krohn.zoo("Grid4")
    words = np.random.default_rng(0).integers(automaton.num_letters, size=(500, 10))
    prompt = np.broadcast_to(np.array(facts["prompt"], dtype=np.int64), (len(words), len(facts["prompt"])))
    ids = np.concatenate([prompt, np.array(facts["letters"])[words]], axis=1)
    with torch.no_grad():
        shown = AutoModelForCausalLM.from_pretrained(folder).eval()(torch.from_numpy(ids)).logits.argmax(-1)
    wanted = np.array(facts["states"])[krohn.simulate(automaton, words)]
    return bool((shown.numpy()[:, len(facts["prompt"]) :] == wanted).all())


def test_an_export_is_proved_in_the_type_in_which_it_is_loaded(
    export: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Float32 is still proved on demand; the claim then says that the configuration names another type."""
    folder = Path(shutil.copytree(export, tmp_path / "half"))
    config = json.loads((folder / "config.json").read_text())
    config |= {"dtype": None, "torch_dtype": "float16"}
    (folder / "config.json").write_text(json.dumps(config))
    assert right_as_opened(export)
    assert not right_as_opened(folder)
    assert run(["verify", str(export)]) == 0
    assert run(["verify", str(folder)]) == 1
    assert run(["verify", str(folder), "--dtype", "float32", "--out", str(tmp_path / "own.json")]) == 0
    capsys.readouterr()
    assert main([str(folder), str(tmp_path / "own.json")]) == 0
    assert "assumed (loaded): the network is loaded in the claim's float type" in capsys.readouterr().out
    assert "loaded" not in read_certificate(export / "certificate.json").claim.assumptions


def test_no_tokenizer_is_part_of_the_claim(
    export: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Letters of another tokenizer are other tokens: the claim says that it is about token numbers."""
    folder = Path(shutil.copytree(export, tmp_path / "swapped"))
    text = (folder / "tokenizer.json").read_text()
    (folder / "tokenizer.json").write_text(text.replace('"L"', '"_"').replace('"R"', '"L"'))
    capsys.readouterr()
    assert main([str(folder), str(folder / "certificate.json")]) == 0
    assert "no tokenizer is covered" in capsys.readouterr().out


def test_a_bias_of_zeros_must_have_its_length(tmp_path: Path) -> None:
    """No reader loads it; what is proved is a network that can be opened."""
    krohn.export(krohn.compile("C2", length=3), "hf", tmp_path / "net")
    held = load_file(tmp_path / "net" / "model.safetensors")
    for name in ("transformer.h.0.attn.c_attn.bias", "transformer.ln_f.bias"):
        folder = Path(shutil.copytree(tmp_path / "net", tmp_path / name))
        save_file({**held, name: held[name][:-1].copy()}, folder / "model.safetensors", {"format": "pt"})
        assert run(["verify", str(folder)]) == 1


@pytest.mark.parametrize("value", [None, "x", [], 1.5])
def test_an_invalid_number_of_layers_is_one_line(
    value: object, export: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Path(shutil.copytree(export, tmp_path / "odd"))
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "n_layer": value}))
    assert run(["verify", str(folder)]) == 1
    assert "internal error" not in capsys.readouterr().err
