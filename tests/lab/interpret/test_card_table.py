"""The table of stock layers: the page is what the script writes, and the numbers of a cell agree."""

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "tools"))

import card_page  # noqa: E402
import card_plan  # noqa: E402
import card_table  # noqa: E402

ROWS = [json.loads(line) for line in card_page.RESULTS.read_text(encoding="utf-8").splitlines()]


def test_the_page_is_what_the_script_writes() -> None:
    assert card_page.DOCS.read_text(encoding="utf-8") == card_page.page_text()


def test_there_are_ten_stock_layers_and_the_plain_ones() -> None:
    run = {row["layer"] for row in ROWS}
    assert len([layer for layer in run if layer.startswith("stock_layers:")]) >= 10
    assert {"lstm", "gru", "gpt", "gpt,positions=none"} <= run


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['layer']} {row['task']} {row['optimizer']}")
def test_the_numbers_of_a_cell_agree(row) -> None:
    assert row["layer"] in card_plan.LAYERS
    assert 1 <= row["seeds"] == row["settings"]["seeds"]
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


def row_of(*shares: tuple[float, float], layer="lstm", task="C2", optimizer="adamw", seed=0) -> dict:
    """A row of networks with these shares at T and at 4T."""
    at_t, at_4t = ([share[n] for share in shares] for n in (0, 1))
    return {
        **{"layer": layer, "task": task, "optimizer": optimizer, "seed": seed, "seeds": len(shares)},
        **{"accuracy": {"T": at_t, "4T": at_4t}, "holds": [None] * len(shares), "seconds": 1.0, "wall": 2.0},
        **{
            "first_step": [None] * len(shares),
            "settings": {"torch": "2, 3", "device": "cpu", "seeds": len(shares)},
        },
    }


def written(path: Path, *rows: dict) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


CELL = card_plan.Cell("lstm", "C2")


@pytest.mark.parametrize(
    ("shares", "cell", "asked", "optimizer"),
    [
        ([(1, 1), (1, 0.5), (1, 1)], CELL, range(3, 10), "adamw"),  # disagree at 4T
        ([(1, 0.5), (0.5, 0.5), (1, 0.5)], CELL, range(3, 10), "adamw"),  # disagree at T
        ([(1, 1), (0.5, 0.5)], CELL, range(2, 3), "adamw"),  # not yet three
        ([(1, 1)] * 3, CELL, range(0), "adamw"),
        ([(1, 0.5)] * 3, CELL, range(3), "muon"),  # all fail at 4T, and none must
        ([(1, 0.5)] * 3, card_plan.Cell("gpt", "A5"), range(0), "muon"),  # a theorem is against it
    ],
)
def test_three_that_disagree_ask_for_ten_and_a_failure_asks_for_muon(
    shares, cell, asked, optimizer, tmp_path
) -> None:
    row = row_of(*shares, layer=cell.layer, task=cell.task)
    rows = card_plan.merged([written(tmp_path / "rows", row)])
    wanted = [(one, seed) for one, seed in card_plan.wanted(rows) if one[:2] == cell[:2]]
    expected = [(cell._replace(optimizer=optimizer), seed) for seed in asked]
    assert [one for one in wanted if one[0].optimizer == optimizer] == expected


def test_what_would_not_end_in_time_is_not_begun(tmp_path) -> None:
    rows = [row_of((1, 1), layer=layer) | {"wall": wall} for layer, wall in (("lstm", 100.0), ("gru", 10.0))]
    known = card_plan.merged([written(tmp_path / "rows", *rows)])
    begun = {cell.layer for cell, _ in card_table.affordable(known, 50.0, None)}
    assert "lstm" not in begun
    assert {"gru", "gpt"} <= begun  # the pace of gpt is not known yet
    assert {cell.layer for cell, _ in card_table.affordable(known, 200.0, ["l"])} == {"lstm"}


def published(tmp_path, shares: list[float], pairs) -> card_plan.Rows:
    """Cells that published numbers are compared with, all seeds of one with the same share."""
    rows = [
        row_of(*[(share, 0.5)] * 3, layer=layer, task=task)
        for share, (layer, task) in zip(shares, pairs, strict=True)
    ]
    return card_plan.merged([written(tmp_path / "rows", *rows)])


@pytest.mark.parametrize(
    ("shares", "verdict"),
    [
        ([0.9, 1, 0.9, 1], "**Parity: reproduced**"),
        ([0.9, 1, 0.9, 0.9], "**Parity: not reproduced**"),  # one that should pass does not
        ([1, 1, 0.9, 1], "**Parity: not reproduced**"),  # one that should not does
    ],
)
def test_parity_is_called_reproduced_where_it_is(shares, verdict, tmp_path) -> None:
    assert card_page.parity(published(tmp_path, shares, card_page.PAIRS[:4])).startswith(verdict)


@pytest.mark.parametrize(
    ("shares", "verdict", "order"),
    [
        ([0.5, 0.6, 0.7, 1], "reproduced.**", "in the order of the rows"),
        ([0.5, 0.7, 0.6, 1], "reproduced.**", "in another order than the rows"),
        ([0.5, 0.6, 0.7, 0.8], "not reproduced at this size.**", "in the order of the rows"),
        ([1, 0.6, 0.7, 1], "not reproduced at this size.**", "in another order than the rows"),
    ],
)
def test_s5_is_called_reproduced_where_it_is(shares, verdict, order, tmp_path) -> None:
    text = card_page.s5(published(tmp_path, shares, card_page.PAIRS[4:]))
    assert f": {verdict} With four steps" in text
    assert f"grow {order}." in text


def test_without_a_gpu_steps_are_not_recorded(monkeypatch) -> None:
    import recorded_steps

    import krohn
    from krohn.lab.cards import harness

    sizes = {"seeds": 1, "length": 4, "steps": 5, "width": 4}
    plain = krohn.card("gru", ["C2"], **sizes).rows[0]["accuracy"]
    monkeypatch.setattr(harness, "passes", harness.passes)  # is put back afterwards
    for _ in range(2):
        recorded_steps.record_steps()
    assert not isinstance(harness.passes.eager, recorded_steps.Recorded)
    assert krohn.card("gru", ["C2"], **sizes).rows[0]["accuracy"] == plain


def test_networks_are_joined_by_their_seeds(tmp_path) -> None:
    """One twice (the last counts), one behind a gap, one that failed."""
    first = written(tmp_path / "a", row_of((1, 0.5), (0.2, 0.1)))
    error = {"layer": "lstm", "task": "C2", "optimizer": "adamw", "seed": 3, "error": "no luck"}
    single = [row_of((0.1 * seed, 1), seed=seed) for seed in (4, 2, 1)]
    rows = card_plan.merged([first, written(tmp_path / "b", *single, error)])
    assert list(rows) == [CELL]
    assert rows[CELL]["accuracy"] == {"T": [1, 0.1, 0.2], "4T": [0.5, 1, 1]}
    assert (rows[CELL]["seeds"], rows[CELL]["learned"]) == (3, {"T": 1, "4T": 2})
    assert rows[CELL]["wall"] == 5.0
    assert rows[CELL]["settings"] == {"torch": "2, 3", "device": "cpu", "seeds": 3}


@pytest.mark.parametrize("name", [name for name in card_plan.LAYERS if name.startswith("stock_layers")])
def test_a_stock_layer_runs_and_is_causal(name: str) -> None:
    pytest.importorskip("fla.ops")
    import krohn

    (row,) = krohn.card(name, ["C2"], seeds=1, length=4, steps=1).rows
    assert row["parameters"] > 0


def test_mamba3_is_the_recurrence_of_its_authors() -> None:
    """Letter by letter with complex numbers: a = α·e^(iθ), half of a letter written with the next."""
    pytest.importorskip("fla.ops")
    import stock_layers
    import torch
    from torch.nn import functional

    torch.manual_seed(0)
    layer, x = stock_layers.Mamba3(32), torch.randn(3, 11, 32)
    torch.nn.init.normal_(layer.rate.weight, std=0.3)
    parts = [linear(x).unflatten(-1, (2, 16)) for linear in (layer.query, layer.key, layer.value)]
    q, k = (norm(part) + bias for norm, part, bias in zip(layer.norms, parts, layer.biases, strict=False))
    v, angle, memory = parts[2], torch.zeros(3, 2, 4), torch.zeros(3, 2, 16, 16)
    write = torch.zeros_like(memory)

    def turned(part: torch.Tensor) -> torch.Tensor:
        pairs = torch.view_as_complex(part[..., :8].unflatten(-1, (4, 2)).contiguous())
        return torch.cat([torch.view_as_real(pairs * torch.exp(1j * angle)).flatten(-2), part[..., 8:]], -1)

    for t in range(11):
        size = functional.softplus(layer.rate(x[:, t]))
        decay = torch.exp(-functional.softplus(layer.shrink(x[:, t])).clamp(min=1e-4) * size)
        angle = angle + torch.pi * torch.tanh(layer.turn(x[:, t]))[:, None] * size[..., None]
        now, old = layer.share(x[:, t]).sigmoid(), write
        write = turned(k[:, t])[..., :, None] * v[:, t, :, None]
        fresh, late = ((part * size)[..., None, None] for part in (now, 1 - now))
        memory = decay[..., None, None] * (memory + late * old) + fresh * write
        read = (turned(q[:, t])[..., None, :] @ memory)[..., 0, :] + layer.skip * v[:, t]
        gate = functional.silu(layer.gate(x[:, t])).unflatten(-1, (2, 16))
        wanted = layer.back((read * gate).flatten(1))
        assert torch.allclose(layer(x)[:, t], wanted, atol=1e-5)
