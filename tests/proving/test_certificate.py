"""The certificate as a value, a file that can be checked again, and a readable argument."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import krohn
from krohn.check.__main__ import main
from krohn.check.rules import read_net
from krohn.cli.app import run
from krohn.errors import InvalidFile, InvalidInput
from krohn.network.compiled import save
from krohn.proving.compiled import claim_of
from krohn.proving.verification import verify
from proving.built_networks import compiled


def test_verify_is_public_and_takes_networks_and_directories(tmp_path: Path) -> None:
    network = compiled("Parity", 8)
    save(network, tmp_path)
    report, loaded = krohn.verify(network), krohn.verify(tmp_path)
    assert report.certified
    assert loaded.certified
    assert report.network == loaded.network == read_net(tmp_path).digest
    assert report.to_json() == loaded.to_json()


def test_the_second_opinion_runs_every_short_word() -> None:
    certificate = verify(compiled("Parity", 11))
    assert certificate.second_opinion is not None
    opinion = certificate.second_opinion
    assert (opinion.length, opinion.words, opinion.wrong) == (11, 2**11, 0)


def test_a_dtype_that_cannot_hold_the_length_names_the_largest_that_can() -> None:
    certificate = verify(compiled("C3", 64, "cascade"), "bfloat16", second_opinion=False, largest=True)
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
    save(compiled("Grid4", 8, "scan"), tmp_path / "net")
    claim = tmp_path / "certificate.json"
    assert run(["verify", str(tmp_path / "net"), "--dtype", "float32", "--out", str(claim)]) == 0
    assert verify(tmp_path / "net", certificate=claim).certified
    assert run(["verify", str(tmp_path / "net"), "--recheck", str(claim)]) == 0
    capsys.readouterr()


FORGERIES: dict[str, Callable[[dict[str, Any]], object]] = {
    "tensors of another network": lambda p: p["claim"].update(network="0" * 64),
    "another mask": lambda p: p["claim"]["configuration"].update(mask="strict"),
    "a field more": lambda p: p["claim"]["configuration"].update(scale=2),
    "a transition": lambda p: p["claim"]["automaton"]["next"][0].reverse(),
    "another start": lambda p: p["claim"]["automaton"].update(start=1),
    "letters in another order": lambda p: p["claim"]["automaton"]["letters"].reverse(),
    "longer words": lambda p: p["claim"]["lengths"].update(up_to=17),
    "every length": lambda p: p["claim"].update(lengths="every"),
    "a type in which it is not proved": lambda p: p["claim"].update(dtype="float8"),
    "one order of sums": lambda p: p["claim"].update(order="left to right"),
    "nothing assumed": lambda p: p["claim"].update(assumptions=[]),
    "some words": lambda p: p["claim"].update(words=[[0], [0]]),
    "another kind of network": lambda p: p["claim"].update(kind="gpt2"),
    "other rules": lambda p: p.update(rules="trust me"),
    "other version of the rules": lambda p: p.update(version=99),
    "no witness": lambda p: p.update(witness=None),
    "no steps": lambda p: p["witness"]["steps"].clear(),
}


@pytest.fixture(scope="module")
def proved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network with its certificate, which the checker accepts."""
    folder = tmp_path_factory.mktemp("proved")
    save(compiled("Parity", 16), folder / "net")
    verify(folder / "net", second_opinion=False).save(folder / "certificate.json")
    assert main([str(folder / "net"), str(folder / "certificate.json")]) == 0
    return folder


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_certificate_is_noticed(
    name: str, proved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each changes one thing that the claim rests on; both programs say no."""
    payload, claim = json.loads((proved / "certificate.json").read_text()), tmp_path / "certificate.json"
    FORGERIES[name](payload)
    claim.write_text(json.dumps(payload))
    capsys.readouterr()
    assert main([str(proved / "net"), str(claim)]) == 1
    assert "\nno: " in capsys.readouterr().out
    assert not verify(proved / "net", certificate=claim).certified
    assert run(["verify", str(proved / "net"), "--recheck", str(claim)]) == 1


def test_something_else_is_not_a_certificate(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    save(compiled("Parity", 16), tmp_path / "net")
    with pytest.raises(InvalidFile, match="must be a certificate"):
        verify(tmp_path / "net", certificate=tmp_path / "x.json")


@pytest.mark.parametrize(("spec", "method"), [("D6", "cascade"), ("Grid4", "scan"), ("abab", "paper")])
def test_the_argument_names_every_block_and_its_lemmas(spec: str, method: str) -> None:
    certificate = verify(compiled(spec, 16, method), second_opinion=False)
    text = certificate.argument()
    assert "for every word of length ≤ 16" in text
    assert "Simulation." in text
    assert text.rstrip().endswith("∎")
    assert all(
        f"Block {layer}" in text
        for layer in {check.layer for check in certificate.checks if 0 < check.layer <= certificate.depth}
    )
    assert "The read-out" in text


def test_a_refusal_explains_itself(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    save(compiled("C3", 64, "cascade"), tmp_path)
    assert run(["verify", str(tmp_path), "--dtype", "bfloat16", "--explain"]) == 1
    assert "✗" in capsys.readouterr().out


def test_the_digest_depends_on_every_tensor_the_mask_and_the_names() -> None:
    network = replace(compiled("Parity", 16), program=None)
    matrices, automaton = network.transformer, network.automaton

    def digest(**changed: Any) -> str:
        other = replace(network, transformer=replace(matrices, **changed))
        return claim_of(other, automaton, "float32", 16)[0].digest

    hashes = {digest()}
    for name in ("embedding", "padding", "positions", "readout", "readout_bias"):
        hashes.add(digest(**{name: np.array(getattr(matrices, name)) + 1e-12}))
    renamed = replace(automaton, letter_names=("x", "y"))
    hashes.add(claim_of(network, renamed, "float32", 16)[0].digest)
    assert len(hashes) == 7
