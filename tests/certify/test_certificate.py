"""The certificate as a value, a file that can be checked again, and a readable argument."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import krohn
from certify.built_networks import compiled
from krohn.certify.argument import explain
from krohn.certify.certificate import network_hash
from krohn.certify.recheck import recheck
from krohn.certify.verification import verify
from krohn.cli.app import run
from krohn.errors import InvalidFile, InvalidInput
from krohn.network.storage import save


def test_verify_is_public_and_takes_networks_and_directories(tmp_path: Path) -> None:
    network = compiled("Parity", 16)
    save(network, tmp_path)
    made, loaded = krohn.verify(network), krohn.verify(tmp_path)
    assert made.certified
    assert loaded.certified
    assert made.network == loaded.network == network_hash(network.transformer)
    assert made.to_json() == loaded.to_json()


def test_the_second_opinion_runs_every_short_word() -> None:
    certificate = verify(compiled("Parity", 16))
    assert certificate.second_opinion is not None
    opinion = certificate.second_opinion
    assert (opinion.words, opinion.wrong) == (2**opinion.length, 0)
    assert opinion.length >= 10


def test_a_dtype_that_cannot_hold_the_length_names_the_largest_that_can() -> None:
    certificate = verify(compiled("C3", 64, "cascade"), "bfloat16")
    assert not certificate.certified
    assert certificate.reason
    if certificate.counterexample is None:
        assert certificate.largest < 64
        assert verify(compiled("C3", 64, "cascade"), "bfloat16", max(certificate.largest, 1)).certified == (
            certificate.largest > 0
        )


def test_a_length_beyond_the_network_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"the length must lie in 1\.\.16"):
        verify(compiled("Parity", 16), length=17)


def test_a_certificate_file_can_be_checked_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save(compiled("Grid4", 16, "scan"), tmp_path / "net")
    claim = tmp_path / "certificate.json"
    assert run(["verify", str(tmp_path / "net"), "--dtype", "float32", "--out", str(claim)]) == 0
    assert recheck(claim, tmp_path / "net")[1] == []
    assert run(["verify", str(tmp_path / "net"), "--recheck", str(claim)]) == 0
    capsys.readouterr()


@pytest.mark.parametrize(
    "key",
    ["network", "automaton", "certified", "margin", "counterexample", "witness", "steps", "proof"],
)
def test_a_forged_certificate_is_noticed(key: str, tmp_path: Path) -> None:
    save(compiled("Parity", 16), tmp_path / "net")
    claim = tmp_path / "certificate.json"
    verify(tmp_path / "net").save(claim)
    payload = json.loads(claim.read_text())
    changes: dict[str, Callable[[], object]] = {
        "margin": lambda: payload.update(margin=payload["margin"] + 1),
        "counterexample": lambda: payload.update(counterexample={"word": [0]}),
        "witness": lambda: payload.update(witness=None),
        "steps": lambda: payload["witness"]["steps"].clear(),
    }
    if key in changes:
        changes[key]()
    else:
        payload[key] = not payload[key] if key == "certified" else "0" * 64
    claim.write_text(json.dumps(payload))
    assert recheck(claim, tmp_path / "net")[1]
    assert run(["verify", str(tmp_path / "net"), "--recheck", str(claim)]) == 1


def test_something_else_is_not_a_certificate(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(InvalidFile, match="must be a certificate"):
        recheck(tmp_path / "x.json", tmp_path)


@pytest.mark.parametrize(("spec", "method"), [("D6", "cascade"), ("Grid4", "scan"), ("abab", "paper")])
def test_the_argument_names_every_layer_and_its_lemmas(spec: str, method: str) -> None:
    certificate = verify(compiled(spec, 16, method))
    text = explain(certificate)
    assert "for every word of length ≤ 16" in text
    assert "Simulation." in text
    assert text.rstrip().endswith("∎")
    assert all(
        f"Layer {layer}" in text
        for layer in {check.layer for check in certificate.checks if 0 < check.layer <= certificate.depth}
    )
    assert "The read-out" in text


def test_a_refusal_explains_itself(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    save(compiled("C3", 64, "cascade"), tmp_path)
    assert run(["verify", str(tmp_path), "--dtype", "bfloat16", "--explain"]) == 1
    assert "✗" in capsys.readouterr().out


def test_the_hash_depends_on_every_tensor_and_the_mask() -> None:
    network = compiled("Parity", 16).transformer
    hashes = {network_hash(network)}
    for name in ("embedding", "padding", "positions", "readout", "readout_bias"):
        changed = {name: np.array(getattr(network, name)) + 1e-12}
        hashes.add(network_hash(type(network)(**{**vars(network), **changed})))
    hashes.add(network_hash(type(network)(**{**vars(network), "mask": "strict"})))
    assert len(hashes) == 7
