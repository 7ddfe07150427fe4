"""A command and the function of its name say the same of every kind of folder."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import krohn
from krohn.cli.app import run

TRAIN = (
    "train C2 --length 6 --layers 1 --dim 16 --heads 2 --mlp 16 --steps 2 --eval-sequences 16 --device cpu"
)
CLOCKED = {"seconds", "words_per_second"}
"""What no two runs share."""


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("folders")
    krohn.compile("C2", 6, out=place / "compiled")
    krohn.compile("S3", architecture="lstm", out=place / "recurrent")
    krohn.export(place / "compiled", "hf", place / "export", proof=False)
    assert run([*TRAIN.split(), "--out", str(place / "trained"), "--json"]) == 0
    return {name: place / name for name in ("compiled", "recurrent", "export", "trained")}


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    status = run([*words, "--json"])
    return status, json.loads(capsys.readouterr().out)


def timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: timeless(each) for key, each in value.items() if key not in CLOCKED}
    return [timeless(each) for each in value] if isinstance(value, list | tuple) else value


@pytest.mark.parametrize("kind", ["compiled", "recurrent", "export", "trained"])
def test_verify_gives_one_answer(
    kind: str, folders: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    status, payload = said(capsys, "verify", str(folders[kind]), "--effort", "0.01")
    verdict = krohn.verify(folders[kind], effort=0.01)
    assert status == (not verdict.certified)
    assert timeless(payload) == timeless(json.loads(json.dumps(verdict.to_json())))
    assert payload["claim"]["kind"] == {"export": "gpt2"}.get(kind, kind)


@pytest.mark.parametrize(("short", "name"), [("bf16", "bfloat16"), ("fp32", "float32"), ("half", "float16")])
def test_a_short_name_of_a_type_is_taken_by_both(
    short: str, name: str, folders: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    status, payload = said(capsys, "verify", str(folders["compiled"]), "--dtype", short)
    assert status == (not krohn.verify(folders["compiled"], short).certified)
    assert payload["dtype"] == name
    assert said(capsys, "compile", "C2", "--length", "3", "--dtype", short)[1]["proved"] == name


@pytest.mark.parametrize("kind", ["compiled", "recurrent", "export", "trained"])
def test_run_and_extract_give_one_answer(
    kind: str, folders: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    automaton = krohn.zoo("S3" if kind == "recurrent" else "C2")
    word = [0, 1, 1, 0, 1]
    status, payload = said(capsys, "run", str(folders[kind]), *(automaton.letter_names[x] for x in word))
    states = krohn.run(folders[kind], word).tolist()
    assert (status, payload["states"]) == (0, [[automaton.state_names[state] for state in states]])
    if kind != "trained":  # hardly trained
        assert states == automaton.run(word)
    network = krohn.load(folders[kind])
    assert network.automaton.digest == automaton.digest
    assert network.states(word).tolist() == states
    status, payload = said(capsys, "extract", str(folders[kind]), "--length", "3")
    assert status == 0
    assert payload == krohn.extract(network, 3).to_json()
    assert payload["task"]["equivalent"] == (kind != "trained")


def test_a_network_that_a_function_does_not_take_is_refused_by_its_type(folders: dict[str, Path]) -> None:
    recurrent, export = krohn.load(folders["recurrent"]), krohn.load(folders["export"])
    refused: list[tuple[str, Callable[[], Any]]] = [
        ("export needs a compiled network or .*; got Recur", lambda: krohn.export(recurrent, "hf", "none")),  # type: ignore[arg-type]
        ("circuit needs a compiled network; .*holds an export", lambda: krohn.circuit(folders["export"])),
        ("circuit needs a compiled network or .*; got RecurrentNetwork", lambda: krohn.circuit(recurrent)),  # type: ignore[arg-type]
        ("explain needs a compiled network.*; got Exported", lambda: krohn.explain(export, "0")),  # type: ignore[arg-type]
        ("run needs .*; got Semiautomaton", lambda: krohn.run(krohn.zoo("C2"), "0")),  # type: ignore[arg-type]
        ("load takes .*; got RecurrentNetwork", lambda: krohn.load(recurrent)),  # type: ignore[arg-type]
        ("save writes .*; got ExportedNetwork", lambda: krohn.save(export, "none")),  # type: ignore[arg-type]
        ("at most 6 letters; got 7", lambda: krohn.run(export, "0000000")),
    ]
    for message, call in refused:
        with pytest.raises(krohn.KrohnError, match=message):
            call()


def test_a_network_is_reported_as_it_is_compiled(capsys: pytest.CaptureFixture[str]) -> None:
    for words, network in (
        (["C2", "--length", "6"], krohn.compile("C2", 6)),
        (["S3", "--architecture", "lstm"], krohn.compile("S3", architecture="lstm")),
    ):
        assert run(["compile", *words]) == 0
        assert capsys.readouterr().out == f"{krohn.report(network).text()}\n"
        assert said(capsys, "compile", *words)[1] == json.loads(json.dumps(krohn.report(network).to_json()))


@pytest.mark.parametrize("kind", ["compiled", "recurrent"])
def test_verify_writes_one_certificate(
    kind: str, folders: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    by_command, by_function = tmp_path / "command.json", tmp_path / "function.json"
    status, _ = said(capsys, "verify", str(folders[kind]), "--out", str(by_command))
    assert (status, krohn.verify(folders[kind], out=by_function).certified) == (0, True)
    assert by_function.read_bytes() == by_command.read_bytes()
    assert krohn.verify(folders[kind], certificate=by_function).certified


def test_verify_refuses_an_option_that_would_change_nothing(
    folders: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    for kind in ("compiled", "export", "trained"):
        status, payload = said(capsys, "verify", str(folders[kind]), "--chunks")
        assert (status, "--chunks is for a recurrent network" in payload["error"]) == (2, True)
        with pytest.raises(krohn.KrohnError, match="--tokens is for a network that krohn did not write"):
            krohn.verify(folders[kind], tokens={})


def test_a_type_that_is_not_computed_in_is_refused(
    folders: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    for kind in ("recurrent", "export"):
        letter = krohn.load(folders[kind]).automaton.letter_names[0]
        status, payload = said(capsys, "run", str(folders[kind]), letter, "--dtype", "float16")
        assert (status, "only a compiled network" in payload["error"]) == (2, True)
        with pytest.raises(krohn.KrohnError, match="another type than float32; got float64"):
            krohn.run(folders[kind], [0], dtype="float64")
        assert (
            krohn.run(folders[kind], [0], dtype="float32").tolist() == krohn.run(folders[kind], [0]).tolist()
        )


def test_a_compiled_network_as_a_module_in_float64_is_refused(folders: dict[str, Path]) -> None:
    module = krohn.load(folders["compiled"]).to_torch()  # type: ignore[union-attr]
    with pytest.raises(krohn.KrohnError, match="computes in float64; graphs are read in float32"):
        krohn.verify(module, automaton="C2")


@pytest.mark.parametrize("kind", ["recurrent", "export", "trained"])
def test_a_circuit_is_of_a_compiled_network_alone(
    kind: str, folders: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    status, payload = said(capsys, "circuit", str(folders[kind]))
    assert (status, "circuit needs a compiled network" in payload["error"]) == (2, True)


def test_options_without_effect_are_refused(tmp_path, capsys) -> None:
    net = str(tmp_path / "net")
    assert run(["compile", "C2", "--length", "4", "--out", net]) == 0
    capsys.readouterr()
    for command, reason in (
        (
            f"verify {net} --device cuda",
            "--device is for the folder of a training run; this is a compiled network",
        ),
        (f"extract {net} --length 2 --device cuda", "--device is for the folder of a training run"),
    ):
        assert run(command.split()) == 2
        assert reason in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "given", "says"),
    [
        (f"--recheck {{net}}.json {option}", {"certificate": "{net}.json", **value}, "searches for nothing")
        for option, value in (
            ("--device cuda", {"device": "cuda"}),
            ("--largest", {"largest": True}),
        )
    ]
    + [
        (
            "--recheck {net}.json --effort 3",
            {"certificate": "{net}.json", "effort": 3.0},
            "--effort with --recheck is for",
        ),
        ("--kernel --largest", {"kernel": True, "largest": True}, "omit .*--largest"),
        ("--kernel --chunks", {"kernel": True, "chunks": True}, "omit .*--chunks"),
        ("--kernel --device cuda", {"kernel": True, "device": "cuda"}, "omit .*--device"),
        ("--as-claimed", {"as_claimed": True}, "--as-claimed needs --recheck CERTIFICATE"),
        ("--renamed", {"renamed": True}, "--renamed needs --automaton SPEC"),
        ("--effort 0", {"effort": 0.0}, "above 0|x>0"),
    ],
)
def test_verify_refuses_what_would_have_no_effect(
    options: str,
    given: dict[str, Any],
    says: str,
    folders: dict[str, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    net = str(folders["compiled"])
    certificate = tmp_path / "c.json"
    krohn.verify(net, out=certificate)
    status, payload = said(capsys, "verify", net, *options.replace("{net}.json", str(certificate)).split())
    assert status == 2
    assert re.search(says, payload["error"])
    if "certificate" in given:
        given = {**given, "certificate": certificate}
    with pytest.raises(krohn.KrohnError, match=says):
        krohn.verify(net, **given)
