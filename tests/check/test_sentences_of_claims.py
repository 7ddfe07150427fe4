"""The sentence of a claim says all that decides the answer, and cannot be read as another one."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import krohn
from krohn.check.__main__ import main
from krohn.check.arithmetic.format import ASSUMPTIONS
from krohn.check.certificate import read_certificate
from krohn.check.claim import ANY, CHUNK, CHUNKS, LEFT
from krohn.cli.app import run
from krohn.lab.models.kernels.delta_scan import CHUNK as TRAINED_CHUNK
from recurrent.judge import stack_logits

PROVED = Path(__file__).parents[2] / "results" / "networks" / "c2-lstm-proved"


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
