"""Exact weights in the stock layer: the reference is right as far as guaranteed, and wrong when spoiled."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

import krohn
from krohn.automata.zoo import parse_spec
from krohn.cli.app import run
from krohn.lab.cards import control as module
from krohn.lab.cards.control import KERNELS, StockWeights, both_signs, control, first_wrong, guarantee


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_silu_gives_both_signs_to_the_last_bit(dtype: torch.dtype) -> None:
    above, below = (torch.nn.functional.silu(torch.tensor(x, dtype=dtype)) for x in both_signs(dtype))
    assert above == -below
    assert 0.2 < float(above) < 0.28


@pytest.mark.parametrize(("dtype", "kernel"), KERNELS)
@pytest.mark.parametrize("name", ["C2", "S3", "A5"])
def test_no_word_as_short_as_guaranteed_is_answered_wrongly(name: str, dtype: str, kernel: str) -> None:
    weights = StockWeights(parse_spec(name), dtype, kernel)
    known = guarantee(weights)
    assert known is None or known > 100
    ends = first_wrong(weights, min(known or 2000, 2000), words=16)
    assert ends == [None] * 16


def test_the_chunked_kernel_rounds_keys_to_one_half_and_every_length_is_right() -> None:
    weights = StockWeights(parse_spec("S3"), "bfloat16")
    assert set(np.unique(np.abs(weights.tables[1]))) == {0.0, 0.5}
    assert guarantee(weights) is None
    recurrent = StockWeights(parse_spec("S3"), "bfloat16", "fused_recurrent")
    assert 0.4999 < np.abs(recurrent.tables[1]).max() < 0.5
    assert guarantee(recurrent) is not None


@pytest.mark.parametrize("name", ["C2", "S3", "A5", "S5"])
def test_with_a_larger_epsilon_all_three_lengths_are_finite_and_in_order(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The layer adds 10⁻⁶ to the square of a key; with 10⁻³ it fails early, as estimated."""
    monkeypatch.setattr(module, "EPSILON", 1e-3)
    (row,) = control(automata=(name,), kernels=KERNELS[:1], longest=1000)
    assert row.guaranteed is not None
    assert row.measured is not None
    assert row.estimated is not None
    assert row.guaranteed < row.measured
    assert 0.5 < row.estimated / row.measured < 2


def test_a_spoiled_key_is_noticed() -> None:
    weights = StockWeights(parse_spec("S3"), "float32")
    weights.tables[1][:, 0] *= 0.9
    assert guarantee(weights) == 0
    assert any(end is not None and end < 30 for end in first_wrong(weights, 100))


def test_the_command_prints_the_three_lengths_and_writes_a_figure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "EPSILON", 1e-3)
    monkeypatch.setitem(module.control.__kwdefaults__, "longest", 3000)
    words = ["card", "fla:GatedDeltaProduct", "--control", "--tasks", "C2", "--out", str(tmp_path), "--json"]
    assert run(words) == 0
    shown = json.loads(capsys.readouterr().out)
    assert {"automaton", "guaranteed", "estimated", "measured"} <= set(shown["control"][0])
    assert json.loads((tmp_path / "control.json").read_text())["control"] == shown["control"]
    assert "guaranteed" in (tmp_path / "control.svg").read_text()
    assert run(["card", "lstm", "--control"]) == 2
    assert "exact weights are there for fla:GatedDeltaProduct" in capsys.readouterr().err


def test_a_card_runs_the_control_and_refuses_settings_of_training(tmp_path: Path) -> None:
    rows = krohn.card("fla:GatedDeltaProduct", "C2", control=True, out=tmp_path)
    assert {row.automaton for row in rows} == {"C2"}
    assert (tmp_path / "control.json").exists()
    with pytest.raises(krohn.KrohnError, match="trains nothing; leave out seeds"):
        krohn.card("fla:GatedDeltaProduct", "C2", control=True, seeds=1)
