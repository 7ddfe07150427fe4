"""The plan of the table of stock layers, and the networks trained so far.

Three seeds of every cell (layer, automaton) with AdamW; three with Muon where none of these passes at 4T
although no theorem forbids it; ten with AdamW where three disagree, at T or at 4T.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

LAYERS = {
    "gpt": "GPT, 2 layers, sinusoidal positions",
    "gpt,positions=none": "GPT, 2 layers, no positions",
    "lstm": "LSTM",
    "gru": "GRU",
    "stock_layers:mamba2": "Mamba-2",
    "stock_layers:mamba3": "Mamba-3",
    "stock_layers:gla": "GLA",
    "stock_layers:hgrn2": "HGRN2",
    "stock_layers:mlstm": "mLSTM",
    "stock_layers:log_linear": "log-linear Mamba-2",
    "stock_layers:gated_deltanet": "Gated DeltaNet, β ≤ 1",
    "stock_layers:gated_deltanet_negative": "Gated DeltaNet, β ≤ 2",
    "stock_layers:gated_deltaproduct2": "Gated DeltaProduct, 2 steps",
    "stock_layers:gated_deltaproduct4": "Gated DeltaProduct, 4 steps",
    "stock_layers:kda": "KDA",
    "stock_layers:rwkv7": "RWKV-7",
    "stock_layers:path": "PaTH attention",
    "diagonal,gate=unit": "diagonal, gates in [0, 1]",
    "diagonal,gate=signed": "diagonal, gates in [−1, 1]",
    "diagonal,gate=complex": "diagonal, complex gates",
}
"""Titles of the layers, by the names that ``krohn card`` takes."""

TASKS = ("C2", "S3", "S5:adjacent", "FlipFlop", "C3", "A5", "Grid4", "Dyck4,2")
PUBLISHED = ("mamba2", "gated_deltanet_negative", "gated_deltaproduct2", "gated_deltaproduct4")
"""Layers that are also trained on S5 with the two letters of its least generating set."""


class Cell(NamedTuple):
    """A layer, an automaton and an optimiser: a line of the results."""

    layer: str
    task: str
    optimizer: str = "adamw"


Rows = dict[Cell, dict[str, Any]]


def cells() -> Iterator[Cell]:
    """All cells with AdamW, the most informative automata first."""
    for task in TASKS[:2]:
        yield from (Cell(layer, task) for layer in LAYERS)
    yield from (Cell(f"stock_layers:{name}", "S5:minimal") for name in PUBLISHED)
    for task in TASKS[2:]:
        yield from (Cell(layer, task) for layer in LAYERS)


def wanted(rows: Rows) -> Iterator[tuple[Cell, int]]:
    """The missing networks as (cell, seed), in order of priority.

    Three seeds of every cell with AdamW; three with Muon where none of these passes at 4T and no theorem
    forbids it, first where a theorem says that the layer can; ten with AdamW where three disagree, at T
    or at 4T.
    """
    failed = [cell for cell in cells() if asks_for_muon(cell, rows.get(cell))]
    failed.sort(key=lambda cell: can(cell.layer, cell.task) != "yes")
    yield from first_seeds(rows, list(cells()))
    yield from first_seeds(rows, [cell._replace(optimizer="muon") for cell in failed])
    for cell in filter(rows.get, cells()):
        if disagree(rows[cell]):
            yield from ((cell, seed) for seed in range(rows[cell]["seeds"], 10))


def first_seeds(rows: Rows, asked: list[Cell]) -> Iterator[tuple[Cell, int]]:
    """The missing networks of the first three seeds: seed 0 of every cell, then seed 1, then seed 2."""
    for seed in range(3):
        yield from ((cell, seed) for cell in asked if trained_seeds(rows, cell) <= seed)


def trained_seeds(rows: Rows, cell: Cell) -> int:
    return int(rows[cell]["seeds"]) if cell in rows else 0


def asks_for_muon(cell: Cell, row: dict[str, Any] | None) -> bool:
    """Whether AdamW was tried with three seeds and failed at 4T where no theorem says that it must."""
    if row is None or row["seeds"] < 3 or any(share >= 0.99 for share in row["accuracy"]["4T"][:3]):
        return False
    return can(cell.layer, cell.task) != "no"


def disagree(row: dict[str, Any]) -> bool:
    """Whether some but not all of the first three seeds pass, at T or at 4T."""
    shares = (row["accuracy"][length][:3] for length in ("T", "4T"))
    return row["seeds"] >= 3 and any(0 < sum(one >= 0.99 for one in three) < 3 for three in shares)


def trained_networks(paths: Sequence[Path]) -> dict[tuple[Cell, int], dict[str, Any]]:
    """All networks in the files, by cell and seed; the last one wins."""
    result = {}
    for path in paths:
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            cell = Cell(row["layer"], row["task"], row["optimizer"])
            for seed, network in enumerate(() if "error" in row else split(row), row.get("seed", 0)):
                result[cell, seed] = network
    return result


def merged(paths: Sequence[Path]) -> Rows:
    """One row per cell, from its seeds 0, 1, … up to the first missing one."""
    networks, result = trained_networks(paths), {}
    for cell in sorted({cell for cell, _ in networks}):
        count = next(seed for seed in range(len(networks) + 1) if (cell, seed) not in networks)
        if count:
            result[cell] = joined([networks[cell, seed] for seed in range(count)])
    return result


def split(row: dict[str, Any]) -> list[dict[str, Any]]:
    """A row for each network; training and wall times are only known for all of them together."""
    count = row["seeds"]
    plain = {key: value for key, value in row.items() if key not in ("seed", "stopped")}
    plain |= {"seeds": 1, "wall": row["wall"] / count if count else 0}
    return [
        plain
        | {"holds": [row["holds"][at]], "first_step": [row["first_step"][at]]}
        | {"diverged": [row.get("diverged", [None] * count)[at]]}
        | {"accuracy": {length: [row["accuracy"][length][at]] for length in ("T", "4T")}}
        for at in range(count)
    ]


def joined(networks: list[dict[str, Any]]) -> dict[str, Any]:
    """Merges the rows of a cell's networks into one."""
    accuracy = {length: [one["accuracy"][length][0] for one in networks] for length in ("T", "4T")}
    places = {
        key: ", ".join(sorted({name for one in networks for name in one["settings"][key].split(", ")}))
        for key in ("torch", "device")
    }
    return networks[0] | {
        "seeds": len(networks),
        "learned": {length: sum(one >= 0.99 for one in shares) for length, shares in accuracy.items()},
        "holds": [one["holds"][0] for one in networks],
        "accuracy": accuracy,
        "first_step": [one["first_step"][0] for one in networks],
        "diverged": [one["diverged"][0] for one in networks],
        "seconds": median(one["seconds"] for one in networks),
        "wall": round(sum(one["wall"] for one in networks), 1),
        "settings": networks[0]["settings"] | {"seeds": len(networks)} | places,
    }


@cache
def can(layer: str, task: str) -> str:
    """The verdict of the theorems: yes, no or open."""
    from krohn.automata.zoo import parse_spec
    from krohn.lab.cards.card import theorem
    from krohn.lab.cards.layers import find_layer

    sys.path.insert(0, str(Path(__file__).parent))
    return str(theorem(parse_spec(task), find_layer(layer, 32))["can"])
