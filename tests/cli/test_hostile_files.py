"""Malicious files: one clear line and exit status 2, in bounded time and memory."""

import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bounded_programs import survived, survived_each
from safetensors.numpy import load_file, save_file

import krohn
from check.test_forged import claim_about, forged, written
from krohn.check.__main__ import main
from krohn.check.files.witness import witness_from
from krohn.check.ground import Refused
from krohn.check.rules import read_net
from krohn.cli.app import run
from krohn.network.compiled import save
from krohn.network.transformer import Head, Layer, Transformer
from krohn.proving.attempts import attempt

Change = Callable[[dict[str, Any]], object]


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("honest")
    save(krohn.compile(krohn.zoo("Dyck1,2"), 8), folder)
    return folder


def copied(honest: Path, folder: Path) -> dict[str, Any]:
    (folder / "model.safetensors").write_bytes((honest / "model.safetensors").read_bytes())
    report: dict[str, Any] = json.loads((honest / "krohn.json").read_text())
    return report


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    status = run(arguments)
    captured = capsys.readouterr()
    assert status == 2, captured
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert "internal error" not in captured.err
    assert captured.err.count("\n") == 1
    assert len(captured.err) <= 301
    return captured.err


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda p: p.update(shape=[[10**9, 10**9]]), "it describes more"),
        (
            lambda p: p.update(shape=[[10**30, 1]]),
            "shape must be a list, each a list of 2, each an integer of at most 53 bits",
        ),
        (lambda p: p.update(shape=[[True, 2]]), "shape must be a list, each a list of 2, each an integer"),
        (lambda p: p.update(length=8.0), "length must be 8, as the positions say; got 8.0"),
        (lambda p: p.update(krohn=True), "must have version 1; got True"),
        (lambda p: p.update(krohn=1.0), "must have version 1; got 1.0"),
        (lambda p: p.update(mask=["causal"]), "mask must be one of causal"),
        (lambda p: p.update(method={}), "method must be a printable string"),
        (lambda p: p.update(program=[]), "program must be an object"),
        (lambda p: p["program"].update(registers=3), "registers must be a list"),
        (lambda p: p["program"]["registers"][0].update(low="0"), "Register.low must be an integer"),
        (lambda p: p["program"]["registers"][0].update(high=10**20), "Register.high must be an integer"),
        (
            lambda p: p["program"]["registers"][0].update(name="\u001b[2J"),
            "Register.name must be a printable",
        ),
        (lambda p: p["program"]["registers"][0].update(kind=None), "Register.kind must be one of"),
        (lambda p: p["program"]["registers"][0].pop("meaning"), "'meaning' is missing"),
        (
            lambda p: p["layout"]["heads"][0][0].__setitem__(1, [99]),
            "the layout names operations of heads that the program does not have",
        ),
        (
            lambda p: p["program"]["registers"][0]["meaning"].update(kind=[]),
            "kind must be a printable string",
        ),
        (
            lambda p: p["program"]["registers"][0].update(meaning={"kind": "height"}),
            "a register must have the name of its meaning, height",
        ),
        (
            lambda p: p["program"]["sources"][0].update(letters=["a"]),
            "Source.letters must be a list, each",
        ),
        (
            lambda p: p["program"]["readout"].update(codes=[[[0]]]),
            "Readout.codes must be a list, each a list",
        ),
        (
            lambda p: p["program"]["layers"][0].update(maps=[{"operation": ["Table"]}]),
            "operation must be one",
        ),
        (lambda p: p["layout"].update(moments=[3]), "moments must be a list, each a list; got 3"),
        (
            lambda p: p["layout"]["moments"][0].__setitem__(0, ["", "", "1", ""]),
            "Channel.scale must be a number",
        ),
        (lambda p: p["layout"]["moments"][0].__setitem__(0, [[], "", 1.0, ""]), "Channel.register must be"),
        (
            lambda p: p["layout"]["heads"].__setitem__(0, [["x", "0"]]),
            "HeadMeaning.operations must be a list",
        ),
        (lambda p: p["automaton"].update(observe=[]), "'observe' must be an object"),
    ],
)
def test_wrong_types_in_the_meaning(
    change: Change, complaint: str, honest: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    payload = copied(honest, tmp_path)
    change(payload)
    (tmp_path / "krohn.json").write_text(json.dumps(payload))
    assert complaint in refused(capsys, "verify", str(tmp_path))


def test_a_name_cannot_pass_for_a_line_of_the_checker(
    honest: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rules and tensors may be called anything; whoever reads the last lines must not read a yes."""
    trap, held = "x\n\x1b[2Jyes: proved", load_file(honest / "model.safetensors")
    assert run(["verify", str(honest), "--out", str(tmp_path / "own.json")]) == 0
    capsys.readouterr()
    (tmp_path / "krohn.json").write_bytes((honest / "krohn.json").read_bytes())
    save_file({**held, trap: np.zeros(1)}, tmp_path / "model.safetensors")
    payload = json.loads((tmp_path / "own.json").read_text())
    for folder, change in ((honest, {"rules": trap}), (tmp_path, {})):
        net = read_net(folder)
        claim = {**payload["claim"], "network": net.digest}
        (tmp_path / "trap.json").write_text(json.dumps({**payload, "claim": claim, **change}))
        assert main([str(folder), str(tmp_path / "trap.json")]) == 1
        lines = capsys.readouterr().out.splitlines()
        assert [line[:4] for line in lines if "yes" in line[:8]] == []
        assert all(line.isprintable() for line in lines)
        assert "x\\n\\x1b[2Jyes" in "".join(lines)


def test_what_the_system_cannot_read_is_bad_input(
    honest: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A name that is too long, and a file that opens and cannot be read: status 1 would be a verdict."""
    certificate = tmp_path / "certificate.json"
    assert run(["verify", str(honest), "--out", str(certificate)]) == 0
    assert main([str(honest), str(certificate)]) == 0
    unreadable = tmp_path / "krohn.json"
    unreadable.symlink_to("/proc/self/mem")
    capsys.readouterr()
    for folder in ("a" * 5000, tmp_path):
        assert main([str(folder), str(certificate)]) == 2
        captured = capsys.readouterr()
        assert (captured.out, captured.err[:7], captured.err.count("\n")) == ("", "error: ", 1)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[" * 200_000, "nested this deeply"),
        ('{"krohn": 1, "krohn": 1}', "'krohn' appears twice"),
        ('{"krohn": 1e999}', "numbers must be finite; got 1e999"),
        ('{"krohn": NaN}', "numbers must be finite; got NaN"),
        ('{"krohn": ' + "9" * 5000 + "}", "it must be JSON"),
        ("\udcff", "it must be JSON in UTF-8; byte 0 is not"),
    ],
)
def test_invalid_descriptions_are_refused(
    text: str, complaint: str, honest: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copied(honest, tmp_path)
    (tmp_path / "krohn.json").write_bytes(text.encode(errors="surrogateescape"))
    for command in ("verify", "run"):
        assert complaint in refused(capsys, command, str(tmp_path))
    certificate = tmp_path / "certificate.json"
    certificate.write_bytes(text.encode(errors="surrogateescape"))
    assert complaint in refused(capsys, "verify", str(honest), "--recheck", str(certificate))


def narrowed(tensors: dict[str, np.ndarray]) -> None:
    tensors["layers.0.heads.0.W_Q"] = np.zeros((len(tensors["layers.0.heads.0.W_Q"]), 0))
    tensors["layers.0.heads.0.W_K"] = np.zeros((len(tensors["layers.0.heads.0.W_K"]), 0))


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (narrowed, "a head must have inner dimensions of at least 1"),
        (lambda t: t.update(positions=t["positions"][:1]), "positions for a word"),
        (lambda t: t.update(embedding=t["embedding"].astype(np.float32)), "embedding must be float64"),
        (lambda t: t["readout"].__setitem__((0, 0), np.nan), "readout must be finite"),
    ],
)
def test_weights_that_fit_no_network(
    change: Change, complaint: str, honest: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "krohn.json").write_bytes((honest / "krohn.json").read_bytes())
    tensors = load_file(honest / "model.safetensors")
    change(tensors)
    save_file(tensors, tmp_path / "model.safetensors")
    assert complaint in refused(capsys, "verify", str(tmp_path))
    out = str(tmp_path / "out")
    assert complaint in refused(capsys, "export", str(tmp_path), "--to", "hf", "--out", out)


def test_a_network_without_padding_is_run_and_refused_by_the_proof(
    honest: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    payload = copied(honest, tmp_path)
    tensors = load_file(honest / "model.safetensors")
    tensors["positions"] = tensors["positions"][len(tensors["padding"]) :]
    tensors["padding"] = tensors["padding"][:0]
    save_file({name: np.ascontiguousarray(t) for name, t in tensors.items()}, tmp_path / "model.safetensors")
    (tmp_path / "krohn.json").write_text(json.dumps({**payload, "program": None}))
    assert run(["verify", str(tmp_path)]) == 1
    captured = capsys.readouterr()
    assert captured.err == ""
    assert captured.out.startswith("not certified")


def test_a_huge_shape_takes_no_memory(honest: Path, tmp_path: Path) -> None:
    payload = copied(honest, tmp_path)
    payload["shape"] = [[1_000_000_000, 1_000_000_000]]
    (tmp_path / "krohn.json").write_text(json.dumps(payload))

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
        resource.setrlimit(resource.RLIMIT_CPU, (20, 20))

    done = subprocess.run(
        [sys.executable, "-m", "krohn", "verify", str(tmp_path)],
        capture_output=True,
        text=True,
        preexec_fn=limited,
    )
    assert done.returncode == 2
    assert "it describes more" in done.stderr


def test_a_certificate_does_not_replace_the_network(
    honest: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    payload = copied(honest, tmp_path)
    (tmp_path / "krohn.json").write_text(json.dumps(payload))
    for name in ("krohn.json", "model.safetensors"):
        before = (tmp_path / name).read_bytes()
        assert "--out must not be a file of the network" in refused(
            capsys, "verify", str(tmp_path), "--out", str(tmp_path / name)
        )
        assert (tmp_path / name).read_bytes() == before


def test_exported_results_do_not_replace_their_store(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "store" / "one.jsonl"
    file.parent.mkdir()
    file.write_bytes((Path(__file__).parents[2] / "results" / "curves-small.jsonl").read_bytes())
    before = file.read_bytes()
    for store in (file, file.parent):
        assert "--out must not be a file of the store" in refused(
            capsys, "results", "export", "--store", str(store), "--out", str(file)
        )
    assert file.read_bytes() == before


RESULTS = Path(__file__).parents[2] / "results" / "networks"


def linked(folder: Path, honest: Path, name: str, target: str) -> None:
    """A copy of the network in which one file leads elsewhere."""
    for file in honest.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    (folder / name).unlink()
    (folder / name).symlink_to(target)


PROGRAMS = (("krohn", "verify", "net"), ("krohn", "run", "net"), ("krohn.check", "net", "certificate.json"))


@pytest.mark.parametrize("name", ["model.safetensors", "krohn.json"])
@pytest.mark.parametrize("target", ["/dev/zero", "pipe"])
def test_devices_and_pipes_in_the_place_of_a_file(
    name: str, target: str, honest: Path, tmp_path: Path
) -> None:
    krohn.verify(honest, second_opinion=False).save(tmp_path / "certificate.json")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "net").mkdir()
    linked(tmp_path / "net", honest, name, str(tmp_path / "pipe") if target == "pipe" else target)
    for line in survived_each(PROGRAMS, tmp_path):
        assert "it is a pipe or a device" in line


@pytest.mark.parametrize("target", ["/dev/zero", "pipe"])
def test_devices_and_pipes_in_the_place_of_a_certificate_a_store_or_an_automaton(
    target: str, honest: Path, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "x.json").symlink_to(target)
    commands = (
        ("krohn", "verify", str(honest), "--recheck", "x.json"),
        ("krohn.check", str(honest), "x.json"),
        ("krohn", "results", "list", "--store", "x.json"),
        ("krohn", "analyze", "./x.json"),
    )
    survived_each(commands, tmp_path)


def test_a_file_of_tensors_larger_than_its_header_says_is_refused_unread(
    honest: Path, tmp_path: Path
) -> None:
    linked(tmp_path, honest, "model.safetensors", "large")
    (tmp_path / "large").write_bytes((honest / "model.safetensors").read_bytes())
    os.truncate(tmp_path / "large", 1 << 30)
    assert "a file with holes, must take" in survived("krohn", "verify", str(tmp_path), folder=tmp_path)
    os.truncate(tmp_path / "large", 1 << 40)
    assert "must have at most" in survived("krohn", "verify", str(tmp_path), folder=tmp_path)


def test_a_header_of_many_empty_tensors_is_refused_unread(honest: Path, tmp_path: Path) -> None:
    """700,000 of them took 15 seconds of a processor, and in a run's weights 1.3 GB."""
    krohn.verify(honest, second_opinion=False).save(tmp_path / "certificate.json")
    entry = {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
    header = json.dumps(dict.fromkeys(map(str, range(700_000)), entry)).encode()
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "krohn.json").write_bytes((honest / "krohn.json").read_bytes())
    (tmp_path / "net" / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    run_folder = Path(shutil.copytree(RESULTS / "c2-lstm-proved", tmp_path / "run"))
    (run_folder / "weights.safetensors").write_bytes((tmp_path / "net" / "model.safetensors").read_bytes())
    commands = (*PROGRAMS, ("krohn.check", "run", "run/certificate.json"), ("krohn", "verify", "run"))
    for line in survived_each(commands, tmp_path):
        assert "its header must have at most" in line


def test_a_network_of_infinite_numbers_is_not_exported(honest: Path, tmp_path: Path) -> None:
    """Case 442 of the fuzz: NaN came out as a traceback of the ONNX export."""
    shutil.copytree(honest, tmp_path / "net")
    tensors = dict(load_file(honest / "model.safetensors"))
    tensors["readout"] = np.full_like(tensors["readout"], 1e308)
    save_file(tensors, tmp_path / "net" / "model.safetensors")
    words = ("krohn", "export", "net", "--to", "onnx", "--out", "new")
    assert "finite numbers on every word" in survived(*words, folder=tmp_path)
    assert not (tmp_path / "new").exists()


def test_a_witness_of_100000_steps_is_refused_unread(honest: Path, tmp_path: Path) -> None:
    """A network of three blocks takes some twenty; one of 120,000 was worked through for 15 seconds."""
    krohn.verify(honest, second_opinion=False).save(tmp_path / "certificate.json")
    document = json.loads((tmp_path / "certificate.json").read_text())
    document["witness"]["steps"] *= 100_000 // len(document["witness"]["steps"])
    with pytest.raises(Refused, match="a list of at most 10,000"):
        witness_from(document["witness"])


def test_json_that_lists_more_than_memory_holds_is_refused(honest: Path, tmp_path: Path) -> None:
    linked(tmp_path, honest, "krohn.json", "large")
    (tmp_path / "large").write_text("[" + "[]," * 20_000_000 + "[]]")
    assert "must list at most" in survived("krohn", "verify", str(tmp_path), folder=tmp_path)


def swollen(witness: dict[str, Any], letters: int, depth: int) -> dict[str, Any]:
    """The same witness with a first machine whose states also hold the last letters: valid, but large."""
    whole: dict[str, Any] = json.loads(json.dumps(witness))
    place = next(n for n, step in enumerate(whole["steps"]) if step["kind"] == "attention")
    step = whole["steps"][place]
    states: list[tuple[int, tuple[int, ...]]] = [(0, ())]
    number, follow = {states[0]: 0}, []
    for state, past in states:
        row = []
        for letter in range(letters):
            after = (step["follow"][state][letter], (*past, letter)[-depth:])
            if after not in number:
                number[after] = len(states)
                states.append(after)
            row.append(number[after])
        follow.append(row)
    old = [state for state, _ in states]
    step.update(follow=follow, base=[step["base"][s] for s in old], shown=[step["shown"][s] for s in old])
    for head in step["heads"]:
        head["held"] = [head["held"][s] for s in old]
        head["offset"]["shape"][0] = len(old)
    classes = list(range(1 + max(max(row) for row in step["shown"])))
    nothing = whole["steps"][0]
    merge = {"kind": "merge", "states": old, "classes": classes, "turn": nothing["turn"]}
    whole["steps"].insert(place + 1, {**merge, "wide": nothing["wide"]})
    return whole


def widened(network: Transformer, more: int) -> Transformer:
    """The same with idle channels: a file of a few megabytes."""

    def wider(matrix: Any) -> Any:
        return np.pad(matrix, ((0, 0), (0, more)))

    def taller(matrix: Any) -> Any:
        return np.pad(matrix, ((0, more), (0, 0)))

    def block(layer: Layer) -> Layer:
        heads = tuple(
            Head(*(taller(part) for part in (h.query, h.key, h.value)), wider(h.output)) for h in layer.heads
        )
        weights = (taller(layer.mlp.weights[0]), *layer.mlp.weights[1:])
        weights = (*weights[:-1], wider(weights[-1]))
        biases = (*layer.mlp.biases[:-1], np.pad(layer.mlp.biases[-1], (0, more)))
        keep = (
            np.pad(part, (0, more), constant_values=1.0) for part in (layer.keep_attention, layer.keep_mlp)
        )
        return Layer(heads, replace(layer.mlp, weights=weights, biases=biases), *keep)

    outer = (wider(part) for part in (network.embedding, network.padding, network.positions))
    layers = tuple(map(block, network.layers))
    return Transformer(*outer, layers, taller(network.readout), network.readout_bias)


def with_classes(witness: dict[str, Any], letters: int, depth: int) -> dict[str, Any]:
    """``swollen``, with a class of its own for each transition: boxes of as many rows, and all channels."""
    whole = swollen(witness, letters, depth)
    place = next(n for n, step in enumerate(whole["steps"]) if step["kind"] == "attention")
    classes = [shown for row in whole["steps"][place]["shown"] for shown in row]
    whole["steps"][place]["shown"] = np.arange(len(classes)).reshape(-1, letters).tolist()
    whole["steps"][place + 1]["classes"] = classes
    return whole


@pytest.mark.parametrize(("more", "depth"), [(300, 8), (1000, 9), (1000, 6)])
def test_a_witness_that_is_too_large_for_a_wide_network_is_refused(
    more: int, depth: int, tmp_path: Path
) -> None:
    """With 1,000 channels and 59,049 transitions it took 16 gigabytes and 67 seconds."""
    network = krohn.compile("FlipFlop", 16, method="cascade")
    wide = widened(network.transformer, more), network.automaton, network.length
    written(tmp_path / "net", wide)
    honest = attempt(*wide, "float32")[0].witness
    claim = claim_about(tmp_path / "net", wide, "float32")
    for swell, refused_ in ((2, False), (depth, True)):
        forged(tmp_path / "net", claim, with_classes(honest, 3, swell))
        if refused_:
            assert "numbers" in survived("krohn.check", "net", "net/forged.json", folder=tmp_path)
        else:
            assert main([str(tmp_path / "net"), str(tmp_path / "net" / "forged.json")]) == 0


def test_a_witness_of_88573_states_is_refused(tmp_path: Path) -> None:
    network = krohn.compile("FlipFlop", 16, method="cascade")
    krohn.save(network, tmp_path / "net")
    report = krohn.verify(network, "float32", second_opinion=False)
    assert report.certificate is not None
    for depth, refused_ in ((4, False), (10, True)):
        result = replace(report.certificate, witness=swollen(report.witness, 3, depth))
        (tmp_path / "certificate.json").write_text(json.dumps(result.to_json()))
        if refused_:
            for command in (
                ("krohn.check", "net", "certificate.json"),
                ("krohn", "verify", "net", "--recheck", "certificate.json"),
            ):
                assert "transitions; got 265,7" in survived(*command, folder=tmp_path)
        else:  # the same witness with fewer letters is a proof: it is the size that is refused
            assert krohn.verify(tmp_path / "net", certificate=tmp_path / "certificate.json").certified


def test_a_long_string_with_one_wide_character_is_refused(honest: Path, tmp_path: Path) -> None:
    """One emoji makes every character four bytes: 255 MB of text took 2.3 GB."""
    linked(tmp_path, honest, "krohn.json", "large")
    (tmp_path / "large").write_text('"' + "a" * 63_000_000 + '\U0001f600"')
    assert "bytes of memory" in survived("krohn", "verify", str(tmp_path), folder=tmp_path)
    (tmp_path / "large").write_text('"' + "a" * 255_000_000 + '\U0001f600"')
    assert "must have at most" in survived("krohn", "verify", str(tmp_path), folder=tmp_path)
