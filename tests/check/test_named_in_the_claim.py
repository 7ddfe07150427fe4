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
from krohn.check.arithmetic.format import ASSUMPTIONS
from krohn.check.certificate import Certificate, read_certificate
from krohn.check.claim import ANY, CHUNK, CHUNKS, LEFT
from krohn.check.rules import read_net
from krohn.cli.app import run
from krohn.lab.models.kernels.delta_scan import CHUNK as TRAINED_CHUNK
from krohn.lab.models.kernels.plain import one_hot
from krohn.lab.training.trained_network import read_run
from recurrent.judge import stack_logits

PROVED = Path(__file__).parents[2] / "results" / "networks" / "c2-lstm-proved"


def forged(folder: Path, honest: Certificate) -> str:
    """The same certificate with a claim about the tensors of this folder."""
    claim = replace(honest.claim, network=read_net(folder).digest)
    (folder / "forged.json").write_text(json.dumps(replace(honest, claim=claim).to_json()))
    return str(folder / "forged.json")


# ------------------------------------------------------------------ padding of trained networks


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


# ------------------------------------------------------------------ exports


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


# ------------------------------------------------------------------ sentences


def test_the_size_of_a_chunk_is_part_of_the_claim() -> None:
    assert CHUNK == TRAINED_CHUNK
    certificate = krohn.verify(krohn.compile("S3", architecture="deltaproduct")).certificate
    assert certificate is not None
    assert certificate.claim.order == CHUNKS
    assert f"in chunks of at most {CHUNK} steps" in certificate.claim.sentence()


@pytest.mark.parametrize(("steps", "order"), [(CHUNK, CHUNKS), (CHUNK + 1, ANY)])
def test_a_letter_of_more_steps_than_a_chunk_has_none(steps: int, order: str) -> None:
    """The training architecture never splits a letter: its chunk would be larger than the claim says."""
    network = krohn.compile("C2", architecture="deltaproduct")
    heads, _, keys, values = network.cell.sizes_of_heads
    tensors = dict(network.cell.tensors)
    for name, width in (("key", keys), ("value", values), ("beta.weight", 1), ("beta.bias", 1)):
        held = tensors[f"h.0.mix.{name}"].reshape(-1, heads, width)
        more = np.full((len(held), heads, (steps - 1) * width), -200.0 if name == "beta.bias" else 0.0)
        wider = np.concatenate([held, more.astype(np.float32)], axis=2)
        tensors[f"h.0.mix.{name}"] = (
            wider.reshape(-1) if name == "beta.bias" else wider.reshape(len(held), -1)
        )
    report = krohn.verify(replace(network, cell=replace(network.cell, tensors=tensors)))
    assert report.certified
    assert report.claim.order == order
    used = []
    solve = torch.linalg.solve_triangular
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            torch.linalg, "solve_triangular", lambda a, b, **k: used.append(a.shape[-1]) or solve(a, b, **k)
        )
        stack_logits(replace(network.cell, tensors=tensors), [0, 1, 1], chunks=True)
    assert (max(used) <= CHUNK) == (order == CHUNKS)


def test_a_certificate_from_before_is_refused_with_the_command_that_renews_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    krohn.save(krohn.compile("C2", architecture="deltaproduct"), tmp_path / "net")
    file = tmp_path / "own.json"
    assert run(["verify", str(tmp_path / "net"), "--out", str(file)]) == 0
    payload = json.loads(file.read_text())
    order = "in any order, a letter at a time or in chunks"
    file.write_text(json.dumps({**payload, "version": 1, "claim": {**payload["claim"], "order": order}}))
    capsys.readouterr()
    assert main([str(tmp_path / "net"), str(file)]) == 1
    assert "renew it: krohn verify NETWORK --out CERTIFICATE" in capsys.readouterr().out
    assert run(["verify", str(tmp_path / "net"), "--out", str(file)]) == 0
    assert main([str(tmp_path / "net"), str(file)]) == 0


def test_names_cannot_be_read_as_transitions() -> None:
    claim = krohn.verify(krohn.compile("C2", length=3), second_opinion=False).claim
    assert claim is not None
    plain = claim.sentence()
    assert plain.endswith("starts in 0: 0 -0-> 0, 0 -1-> 1, 1 -0-> 1, 1 -1-> 0.")
    tricky = replace(claim, states=("0", "0, 0 -1-> 0")).sentence()
    assert tricky.endswith(
        '0 -0-> 0, 0 -1-> "0, 0 -1-> 0", "0, 0 -1-> 0" -0-> "0, 0 -1-> 0", "0, 0 -1-> 0" -1-> 0.'
    )


def test_the_order_of_names_is_in_the_sentence_of_a_run(tmp_path: Path) -> None:
    """No file of a run holds names: with others the claim is about another automaton, and must read so."""
    certificate = read_certificate(PROVED / "certificate.json")
    assert "its first 2 logits (for 0, 1; letters are numbered 0, 1)" in certificate.claim.sentence()
    swapped = replace(certificate, claim=replace(certificate.claim, states=("1", "0")))
    (tmp_path / "swapped.json").write_text(json.dumps(swapped.to_json()))
    assert "its first 2 logits (for 1, 0; letters are numbered 0, 1)" in swapped.claim.sentence()
    assert main([str(PROVED), str(tmp_path / "swapped.json")]) == 0
    assert run(["verify", str(PROVED), "--recheck", str(tmp_path / "swapped.json")]) == 1


def test_a_claim_of_very_many_outputs_is_said_in_short(tmp_path: Path) -> None:
    """A run may output observations; a certificate of a few lines may have more of them than memory holds."""
    payload = read_certificate(PROVED / "certificate.json").to_json()
    automaton = payload["claim"]["automaton"] | {"observe": [0, 4999]}
    payload["claim"] |= {"target": "observation", "automaton": automaton}
    (tmp_path / "many.json").write_text(json.dumps(payload))
    assert "first 5000 logits, after" in read_certificate(tmp_path / "many.json").claim.sentence()
    assert main([str(PROVED), str(tmp_path / "many.json")]) == 1


def test_an_order_says_where_a_bias_stands() -> None:
    claim = krohn.verify(krohn.compile("C3", architecture="diagonal")).claim
    assert claim is not None
    assert claim.order == LEFT
    assert "left" in claim.assumptions
    assert "bias" in ASSUMPTIONS["left"]


def test_a_claim_about_fewer_words_says_so() -> None:
    """A claim about no word at all is true of every network; its sentence must not hide that."""
    claim = read_certificate(PROVED / "certificate.json").claim
    assert claim.sentence().startswith("On every word of every length")
    for few in ([[0], []], [[], []], "none", None, ["all"]):
        assert replace(claim, words=few).sentence().startswith("On some words")


def test_observations_are_in_the_sentence() -> None:
    network = krohn.compile("regex:(a|b)*b", length=3, target="observation")
    claim = krohn.verify(network, second_opinion=False).claim
    assert claim is not None
    assert {
        f"{state} shows {n}" for state, n in zip(claim.states, claim.automaton.shows, strict=True)
    } <= set(claim.sentence().rstrip(".").split(", "))
