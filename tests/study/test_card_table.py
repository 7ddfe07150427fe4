"""The table of stock layers: the page is what the script writes, and the numbers of a cell agree."""

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import card_table  # noqa: E402

ROWS = [json.loads(line) for line in card_table.RESULTS.read_text(encoding="utf-8").splitlines()]


def test_the_page_is_what_the_script_writes() -> None:
    assert card_table.DOCS.read_text(encoding="utf-8") == card_table.page_text()


def test_there_are_ten_stock_layers_and_the_plain_ones() -> None:
    run = {row["layer"] for row in ROWS}
    assert len([layer for layer in run if layer.startswith("stock_layers:")]) >= 10
    assert {"lstm", "gru", "gpt", "gpt,positions=none"} <= run


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['layer']} {row['task']} {row['optimizer']}")
def test_the_numbers_of_a_cell_agree(row) -> None:
    assert row["layer"] in card_table.LAYERS
    assert 1 <= row["seeds"] <= row["settings"]["seeds"]
    for length in ("T", "4T"):
        shares = row["accuracy"][length]
        assert len(shares) == row["seeds"] == len(row["holds"])
        assert row["learned"][length] == sum(share >= 0.99 for share in shares)
    for share, held in zip(row["accuracy"]["T"], row["holds"], strict=True):
        assert (held is not None) is (share >= 0.99)
        if held is not None and held["first_wrong"] is not None:
            assert held["letters"] == held["first_wrong"] - 1 < held["tested"]
        elif held is not None:
            assert held["letters"] == held["tested"] == row["settings"]["longest"]


def test_three_that_disagree_ask_for_ten_and_a_failure_asks_for_muon() -> None:
    row = {"layer": "lstm", "task": "C2", "optimizer": "adamw", "can": "yes", "seeds": 3}
    cell = card_table.Cell("lstm", "C2")
    assert card_table.next_cell(row | {"learned": {"4T": 2}}) == cell._replace(seeds=10)
    assert card_table.next_cell(row | {"learned": {"4T": 0}}) == cell._replace(optimizer="muon")
    assert card_table.next_cell(row | {"learned": {"4T": 3}}) is None
    assert card_table.next_cell(row | {"learned": {"4T": 0}, "can": "no"}) is None


@pytest.mark.parametrize("name", [name for name in card_table.LAYERS if name.startswith("stock_layers")])
def test_a_stock_layer_runs_and_is_causal(name: str) -> None:
    pytest.importorskip("fla.ops")
    import krohn

    (row,) = krohn.card(name, ["C2"], seeds=1, length=4, steps=1).rows
    assert row["parameters"] > 0
