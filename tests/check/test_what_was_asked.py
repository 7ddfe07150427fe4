"""``certified`` is the answer to the question: the float type, the length and the files that were asked for.

Each of these was answered with *certified* by an earlier version, about something else.
"""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

import krohn
from krohn.check.__main__ import main
from krohn.check.certificate import Certificate, read_certificate
from krohn.check.rules import check_certificate, read_net
from krohn.cli.app import run
from krohn.errors import InvalidFile, InvalidInput
from krohn.lab.provable import trained as proving

PROVED = Path(__file__).parents[2] / "results" / "networks" / "c2-lstm-proved"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """C24 counts up to 16 letters; in bfloat16 it is wrong."""
    base = tmp_path_factory.mktemp("asked")
    krohn.save(krohn.compile("C24", length=16), base / "net")
    krohn.verify(base / "net", "float64", second_opinion=False).save(base / "all.json")
    krohn.verify(base / "net", "float64", length=5, second_opinion=False).save(base / "short.json")
    return base


@pytest.mark.parametrize(
    ("certificate", "options", "status"),
    [
        ("all", ["--dtype", "float64", "--length", "16"], 0),
        ("all", ["--length", "5"], 0),
        ("all", ["--dtype", "float32"], 1),
        ("all", ["--dtype", "bfloat16"], 1),
        ("short", [], 1),
        ("short", ["--as-claimed"], 0),
        ("short", ["--length", "5"], 0),
        ("short", ["--length", "6"], 1),
    ],
)
def test_a_certificate_about_another_question_is_no_answer(
    certificate: str, options: list[str], status: int, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    file = str(folder / f"{certificate}.json")
    assert run(["verify", str(folder / "net"), "--recheck", file, *options]) == status
    assert ("not certified: question: the certificate is about" in capsys.readouterr().out) == (status == 1)
    if set(options) <= {"--as-claimed"}:  # the small program has no other option
        assert main([str(folder / "net"), file, *options]) == status


def test_the_network_is_wrong_in_the_type_that_was_asked_for(folder: Path) -> None:
    words = np.ones((1, 16), dtype=np.int64)
    network, wanted = krohn.load(folder / "net"), krohn.simulate(krohn.zoo("C24"), words)
    assert (network.run(words, "float64") == wanted).all()
    network = replace(network, proved="float64")
    with pytest.warns(UserWarning, match="proved in float64 and runs in bfloat16, where"):
        assert (network.to_torch(dtype="bfloat16").states(torch.from_numpy(words)).numpy() != wanted).any()
    with pytest.warns(UserWarning, match="proved in float64 and runs in float16"):
        network.to_torch().half().states(torch.from_numpy(words))
    assert (network.to_torch().states(torch.from_numpy(words)).numpy() == wanted).all()
    asked = krohn.verify(network, "bfloat16", certificate=folder / "all.json")
    assert not asked.certified
    assert not asked


def test_a_network_that_is_loaded_says_when_it_was_proved(tmp_path: Path) -> None:
    """The file of a network says so, and its weights may be others since: reading it proves nothing."""
    krohn.compile("C2", length=3).save(tmp_path)
    held = load_file(tmp_path / "model.safetensors")
    save_file({**held, "readout": -held["readout"]}, tmp_path / "model.safetensors")
    network = krohn.load(tmp_path)
    assert not krohn.verify(network)
    assert repr(network).endswith("proved in float32 when compiled>")
    assert "<td>float32, when compiled</td>" in network._repr_html_()


def test_an_assertion_about_the_verdict_can_fail(folder: Path) -> None:
    """``assert krohn.verify(network)`` is easily written, and every object is true by default."""
    assert krohn.verify(folder / "net", length=3)
    assert not krohn.verify(folder / "net", "bfloat16", largest=False)


@pytest.mark.parametrize("length", [2.5, True, "3", 0, -1, float("nan")])
def test_a_length_is_a_whole_number(length: object, folder: Path) -> None:
    for given in ({}, {"certificate": folder / "all.json"}):
        with pytest.raises(InvalidInput, match="the length must be a whole number from 1 on"):
            krohn.verify(folder / "net", length=length, **given)


def test_a_length_may_be_a_number_of_numpy(folder: Path) -> None:
    assert krohn.verify(folder / "net", length=np.int64(3)).certified


def test_an_unknown_type_is_refused_beside_a_certificate(folder: Path) -> None:
    with pytest.raises(InvalidInput, match="dtype must be one of"):
        krohn.verify(folder / "net", "tf32", certificate=folder / "all.json")


@pytest.mark.parametrize("spec", ["C2", "regex:(a|b)*b"])
def test_an_explanation_names_the_words_and_the_target(
    spec: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    regex = spec != "C2"
    network = (
        krohn.compile(spec, length=3, target="observation")
        if regex
        else krohn.compile(spec, architecture="deltaproduct")
    )
    krohn.save(network, tmp_path / "net")
    capsys.readouterr()
    assert run(["verify", str(tmp_path / "net"), "--explain"]) == 0
    text = capsys.readouterr().out
    assert ("every word of length ≤ 3" if regex else "words of every length") in text
    assert ("outputs at every position the observation of" if regex else "the state of") in text


def test_a_run_that_changes_while_it_is_verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The proof was about the tensors read first, the claim about those read last."""
    folder = Path(shutil.copytree(PROVED, tmp_path / "run"))
    examine = proving.examine_run

    def meanwhile(*given: object, **named: object) -> object:
        held = load_file(folder / "weights.safetensors")
        save_file({name: -tensor for name, tensor in held.items()}, folder / "weights.safetensors")
        return examine(*given, **named)  # type: ignore[arg-type]

    before = read_net(folder).digest
    monkeypatch.setattr(proving, "examine_run", meanwhile)
    with pytest.raises(InvalidFile, match="must not change while it is verified"):
        krohn.verify(folder, effort=0.01)
    assert read_net(folder).digest != before


@pytest.fixture(scope="module")
def one_order(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """C3 whose rotations are rounded: proved from left to right alone."""
    base = tmp_path_factory.mktemp("order")
    krohn.save(krohn.compile("C3", architecture="diagonal"), base / "net")
    krohn.verify(base / "net").save(base / "own.json")
    return str(base / "net"), str(base / "own.json")


def test_an_order_of_sums_is_in_the_verdict(
    one_order: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Proved from left to right alone: so said the first verdict, and not that of a recheck."""
    net, file = one_order
    for options in (["--out", str(tmp_path / "own.json")], ["--recheck", file, "--order", "left"]):
        capsys.readouterr()
        assert run(["verify", net, *options]) == 0
        said = capsys.readouterr()
        assert "sums added from left to right, not fused" in said.out.splitlines()[0]
        assert ("own.json; --recheck needs --order left" in said.err) == ("--out" in options)


@pytest.mark.parametrize("options", [[], ["--as-claimed"]])
def test_a_claim_in_one_order_answers_only_who_names_it(
    options: list[str], one_order: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    net, file = one_order
    for asked, status in (
        (options, 1),
        (["--order", "left", *options], 0),
        ([*options, "--order", "left"], 0),
    ):
        capsys.readouterr()
        assert run(["verify", net, "--recheck", file, *asked]) == main([net, file, *asked]) == status
        assert capsys.readouterr().out.count("any order; --order left asks for that") == 2 * status


def test_a_claim_in_any_order_answers_who_names_one(folder: Path) -> None:
    net, file = str(folder / "net"), str(folder / "all.json")
    assert run(["verify", net, "--recheck", file, "--order", "left"]) == 0
    assert main([net, file, "--order", "left"]) == 0


def test_an_order_that_no_question_can_name_answers_none(one_order: tuple[str, str]) -> None:
    own = read_certificate(one_order[1])
    other = replace(own, claim=replace(own.claim, order="from right to left, not fused"))
    for asked in (None, "left"):
        verdict = krohn.verify(one_order[0], certificate=other, order=asked)
        assert not verdict
        assert "networks are not proved for sums from right to left" in verdict.reason


@pytest.mark.parametrize("wrong", [["--order"], ["--order", "right"], ["--effort", "0"], ["--effort", "no"]])
def test_an_order_is_one_of_those_that_are_known(
    wrong: list[str], one_order: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*one_order, *wrong]) == 2
    assert "[--order left] [--effort NUMBER]" in capsys.readouterr().err
    with pytest.raises(InvalidInput, match="order must be left; got 'right'"):
        krohn.verify(one_order[0], certificate=one_order[1], order="right")
    with pytest.raises(InvalidInput, match="--order needs --recheck"):
        krohn.verify(one_order[0], order="left")


def of_no_words(certificate: Certificate) -> Certificate:
    few = [[]] * len(certificate.claim.states)
    return replace(certificate, claim=replace(certificate.claim, words=few))


def of_some_words(certificate: Certificate) -> Certificate:
    """The second letter is never read."""
    few = [[0]] * len(certificate.claim.states)
    return replace(certificate, claim=replace(certificate.claim, words=few))


@pytest.mark.parametrize("narrowed", [of_no_words, of_some_words])
def test_a_certificate_about_fewer_words_or_none_is_not_a_yes(
    narrowed: Callable[[Certificate], Certificate], tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(PROVED, tmp_path / "run"))
    whole = read_certificate(folder / "certificate.json")
    assert run(["verify", str(folder), "--recheck", str(folder / "certificate.json")]) == 0
    (tmp_path / "few.json").write_text(json.dumps(narrowed(whole).to_json()))
    asked = ["verify", str(folder), "--recheck", str(tmp_path / "few.json")]
    assert run(asked) == main([str(folder), str(tmp_path / "few.json")]) == 1
    assert run([*asked, "--as-claimed"]) == 1
    assert main([str(folder), str(tmp_path / "few.json"), "--as-claimed"]) == 1


def test_a_network_that_is_wrong_everywhere_is_not_certified_on_no_words(tmp_path: Path) -> None:
    """Its logits are negated: no answer is right, and a claim about no words held of it."""
    folder = Path(shutil.copytree(PROVED, tmp_path / "run"))
    held = load_file(folder / "weights.safetensors")
    save_file({n: -t if n.startswith("head") else t for n, t in held.items()}, folder / "weights.safetensors")
    net, whole = read_net(folder), read_certificate(folder / "certificate.json")
    wrong = of_no_words(replace(whole, claim=replace(whole.claim, network=net.digest)))
    assert not krohn.verify(folder, certificate=wrong)
    assert not krohn.verify(folder, certificate=wrong, as_claimed=True)
    assert not check_certificate(net, wrong).certified


def test_a_run_says_its_own_float_type(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The run beside a proof of an export is in float32, whatever the claim is about."""
    krohn.export(krohn.compile("C2", length=4), "hf", tmp_path / "net")
    capsys.readouterr()
    assert run(["verify", str(tmp_path / "net"), "--dtype", "float64"]) == 0
    text = capsys.readouterr().out
    assert "float64" in text.splitlines()[0]
    assert "independently run in float32: all" in text
    assert krohn.verify(tmp_path / "net", "float64").to_json()["exhaustive"]["dtype"] == "float32"
