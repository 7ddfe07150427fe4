"""The rule sets of recurrent networks through certificates: what they prove, and every claim they do not."""

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import krohn
from krohn.check.__main__ import main
from krohn.check.arithmetic.format import ASSUMPTIONS
from krohn.check.certificate import Certificate, read_certificate
from krohn.check.claim import ANY, CHUNKS, LEFT
from krohn.check.files.folders import Net
from krohn.check.rules import RULES, check_certificate, read_net
from krohn.recurrent.recurrent_network import save

ARCHITECTURES = ["deltaproduct", "deltanet", "diagonal", "rankone", "lstm", "gru"]
PROVED = Path(__file__).parents[2] / "results" / "networks" / "grid9-gru-proved"


def written(name: str, architecture: str, folder: Path, **options: Any) -> tuple[Net, Certificate]:
    save(krohn.compile(name, architecture=architecture), folder)
    report = krohn.verify(folder, **options)
    assert report.certified, report.reason
    report.save(folder / "certificate.json")
    return read_net(folder), read_certificate(folder / "certificate.json")


def renamed(net: Net, certificate: Certificate, **change: Any) -> Certificate:
    """The certificate with another claim, which names the assumptions that this one must."""
    claim = replace(certificate.claim, **change)
    with suppress(Exception):  # then the claim is refused for what it is
        claim = replace(claim, assumptions=RULES[certificate.rules].assumptions(net, claim))
    return replace(certificate, claim=claim)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_program_proves_every_architecture(
    architecture: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    net, certificate = written("FlipFlop", architecture, tmp_path)
    assert (certificate.rules, certificate.claim.up_to, certificate.witness) == ("closure", None, None)
    assert set(certificate.claim.assumptions) <= set(ASSUMPTIONS)
    assert main([str(tmp_path), str(tmp_path / "certificate.json")]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("yes:")
    for change in (
        {"dtype": "float64"},
        {"dtype": "float16"},
        {"order": "backwards"},
        {"words": [[0], [0]]},
        {"target": "observation"},
        {"assumptions": ()},
    ):
        claim = replace(certificate.claim, **change)  # type: ignore[arg-type]
        assert not check_certificate(net, replace(certificate, claim=claim)).certified, change
    assert not check_certificate(net, replace(certificate, witness={})).certified
    other = replace(certificate.claim.automaton, table=certificate.claim.automaton.table[:, ::-1].copy())
    assert not check_certificate(net, renamed(net, certificate, automaton=other)).certified


def test_a_network_whose_memories_are_rounded_is_proved_in_its_order_alone(tmp_path: Path) -> None:
    net, certificate = written("A4", "diagonal", tmp_path)
    assert certificate.claim.order == LEFT
    for order in (ANY, CHUNKS):
        verdict = check_certificate(net, renamed(net, certificate, order=order))
        assert not verdict.certified
        assert "a memory is rounded" in verdict.reason
    assert not check_certificate(net, renamed(net, certificate, dtype="bfloat16")).certified


def test_an_exact_network_is_proved_in_chunks_too_and_one_that_has_none_is_not(tmp_path: Path) -> None:
    net, certificate = written("C2", "deltaproduct", tmp_path / "a")
    assert certificate.claim.order == CHUNKS
    assert check_certificate(net, renamed(net, certificate, order=ANY)).certified
    assert not check_certificate(net, renamed(net, certificate, order=LEFT)).certified
    net, certificate = written("C2", "gru", tmp_path / "b")
    assert not check_certificate(net, renamed(net, certificate, order=CHUNKS)).certified


def test_a_horizon_is_as_long_as_its_witness_says_and_no_longer(tmp_path: Path) -> None:
    net, certificate = written("C5", "diagonal", tmp_path, length=1000)
    assert (certificate.rules, certificate.claim.up_to) == ("balls", 1000)
    assert check_certificate(net, renamed(net, certificate, up_to=10_000)).certified
    refused = check_certificate(net, renamed(net, certificate, up_to=10_000_000))
    assert "letters only" in refused.reason
    assert not check_certificate(net, renamed(net, certificate, up_to=None)).certified
    assert not check_certificate(net, renamed(net, certificate, order=LEFT)).certified
    assert not check_certificate(net, replace(certificate, witness=None)).certified


def test_boxes_are_about_one_run_read_in_one_way() -> None:
    net, certificate = read_net(PROVED), read_certificate(PROVED / "certificate.json")
    assert check_certificate(net, certificate).certified
    for field, value in (("scratchpad", True), ("bos", True), ("target", "observation"), ("replicate", 1)):
        other = replace(net, configuration={**net.configuration, field: value})
        assert not check_certificate(other, certificate).certified
        mine = renamed(other, certificate, configuration=other.configuration, network=other.digest)
        assert check_certificate(other, mine).certified is (field == "replicate"), field
    model = {**net.configuration["model"], "layers": 2}
    other = replace(net, configuration={**net.configuration, "model": model})
    mine = renamed(other, certificate, configuration=other.configuration, network=other.digest)
    assert not check_certificate(other, mine).certified  # a field that the rules do not know
    for change in ({"up_to": 5}, {"order": LEFT}, {"dtype": "bfloat16"}):
        assert not check_certificate(net, renamed(net, certificate, **change)).certified
    witness = json.loads(json.dumps(certificate.witness))
    witness["follower"][3][0] = 5
    assert not check_certificate(net, replace(certificate, witness=witness)).certified
