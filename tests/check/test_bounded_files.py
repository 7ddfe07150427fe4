"""Files whose shapes or names took all memory, or ended in a traceback; what they are made of is right."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

import krohn
from krohn.check import __main__ as program
from krohn.check.certificate import Certificate, read_certificate
from krohn.check.claim import Claim, claim_from
from krohn.check.rules import check_certificate, read_net
from krohn.check.transformer.words import is_causal

LONG = 1 << 31
Shapes = dict[str, tuple[str, list[int]]]


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export") / "net"
    krohn.export(krohn.compile("C2", 8), "hf", folder)
    return folder


def reshaped(source: Path, folder: Path, shapes: Shapes) -> Path:
    """The same folder with tensors of other types and shapes: zeros, in as many bytes as they need."""
    folder.mkdir()
    for file in source.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    held = {
        name: ("F32", [*t.shape], t.tobytes()) for name, t in load_file(source / "model.safetensors").items()
    }
    for name, (kind, shape) in shapes.items():
        held[name] = kind, shape, bytes(4 * int(np.prod(shape, dtype=object)))
    header, body = {}, b""
    for name, (kind, shape, data) in held.items():
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + body)
    return folder


def test_a_table_of_positions_without_axes_is_no_traceback(
    export: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its status was that of a no."""
    net = reshaped(export, tmp_path / "net", {"transformer.wpe.weight": ("F32", [])})
    assert program.main([str(net), str(export / "certificate.json")]) == 1
    assert "no: the claim is about other tensors" in capsys.readouterr().out
    assert program.main([str(export), str(export / "certificate.json")]) == 0


def test_whatever_happens_is_no_verdict(
    export: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*given: object) -> None:
        raise TypeError("unsized")

    monkeypatch.setattr(program, "read_net", broken)
    assert program.main([str(export), str(export / "certificate.json")]) == 2
    assert capsys.readouterr().err == "error: TypeError('unsized')\n"


@pytest.mark.parametrize(
    "shapes",
    [
        {"transformer.wte.weight": ("F32", [LONG, 0]), "lm_head.weight": ("F32", [LONG, 0])},
        {"transformer.h.0.mlp.c_fc.weight": ("F32", [LONG, 0])},
        {"transformer.h.0.attn.bias": ("U8", [1, 1, 0, LONG])},
        {"transformer.h.0.attn.bias": ("U8", [0, LONG])},
    ],
)
def test_an_empty_tensor_with_a_long_axis_is_refused_unread(
    shapes: Shapes, export: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of 0 bytes; a set of its rows, or a vector as long as they are many, took 16 gigabytes and more."""
    net = reshaped(export, tmp_path / "net", shapes)
    for _ in range(2):
        assert program.main([str(net), str(export / "certificate.json")]) == 2
        assert "axes, in the file" in capsys.readouterr().err
        (net / "export.json").unlink(missing_ok=True)  # then it is read as what transformers saved


def test_an_empty_mask_is_none() -> None:
    assert is_causal(np.tri(3)[None, None])
    assert not any(
        is_causal(np.zeros(shape)) for shape in [(), (3,), (1, 1, 0, 3), (1, 1, 3, 2), (2, 1, 3, 3)]
    )


def claim_of(export: Path, **change: Any) -> dict[str, Any]:
    payload = read_certificate(export / "certificate.json").claim.to_json()
    return {**payload, "automaton": {**payload["automaton"], **change}}


def test_long_names_make_no_long_sentence(export: Path) -> None:
    """A name of 30 million characters in 400 transitions took all memory, before the verdict."""
    name = "q" * 9_990
    names = [f"{name}{number}" for number in range(30)]
    claim = claim_from(claim_of(export, states=names, next=[[0, 1]] * 30))
    assert len(claim.sentence()) < 40_000
    assert f'"{name[:200]}"… (9,991 characters)' in claim.sentence()
    assert list(claim.states) == names
    many = claim_from(claim_of(export, states=names, letters=[*names], next=[[0] * 30] * 30))
    assert "900 of the 900 transitions" in many.sentence()
    assert len(many.sentence()) < 2_000
    for change in ({"states": ["q" * 10_001, "r"]}, {"letters": ["q" * 10_001, "r"]}):
        with pytest.raises(krohn.errors.InvalidFile, match="of at most 10,000 characters"):
            claim_from(claim_of(export, **change))
    for field, value in (("kind", "q" * 201), ("order", "q" * 201), ("assumptions", [""] * 3_000)):
        with pytest.raises(krohn.errors.InvalidFile, match=f"claim: {field} must be"):
            claim_from({**claim_of(export), field: value})


def test_tokens_that_are_no_state_compete(export: Path, tmp_path: Path) -> None:
    """A token that no state has, with a logit above all others: refused, as it was."""
    honest = read_certificate(export / "certificate.json")
    tensors = {name: t.copy() for name, t in load_file(export / "model.safetensors").items()}
    net = read_net(export)
    assert check_certificate(net, honest).certified
    tensors["lm_head.weight"][0] = 2 * tensors["lm_head.weight"][3] + tensors["lm_head.weight"][4]
    other = replace(net, tensors=tensors)
    claim: Claim = replace(honest.claim, network=other.digest)
    refused = check_certificate(other, Certificate(claim, honest.rules, honest.version, honest.witness))
    assert "read-out" in refused.reason
