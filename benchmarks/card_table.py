"""The table of stock layers: a card for each, cell by cell, several processes at once; then a page of all.

Run: python benchmarks/card_table.py run --out FOLDER [--workers 15] [--seconds 500] [--known FILE.jsonl]
     python benchmarks/card_table.py page results/cards.jsonl --out docs/card-table.md

`run` appends a line to FOLDER/cards.jsonl for every cell (layer, automaton, optimiser) as soon as it is done;
what --known holds is not run again. First every cell with AdamW; then, with Muon, cells that no seed learned
although no theorem is against it; then ten seeds where three disagree. Layers of flash-linear-attention are
those of `stock_layers.py`, so its package must be on the path.
"""

import argparse
import json
import multiprocessing as mp
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

LAYERS = {
    "gpt": "GPT, 2 layers, sinusoidal positions",
    "gpt,positions=none": "GPT, 2 layers, no positions",
    "lstm": "LSTM",
    "gru": "GRU",
    "stock_layers:mamba2": "Mamba-2",
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
"""By the name that ``krohn card`` takes."""

NOT_RUN = {
    "Mamba-3": "flash-linear-attention 0.6.0 has kernels of it and no reference form",
}
"""Layers of the library that have no row, and why."""

TASKS = ("C2", "S3", "S5:adjacent", "FlipFlop", "C3", "A5", "Grid4", "Dyck4,2")
PUBLISHED = ("mamba2", "gated_deltanet_negative", "gated_deltaproduct2", "gated_deltaproduct4")
"""Layers that are also trained on S5 with the two letters of its least generating set."""


class Cell(NamedTuple):
    """One run of ``krohn card``."""

    layer: str
    task: str
    optimizer: str = "adamw"
    seeds: int = 3


def first_cells() -> Iterator[Cell]:
    """All with AdamW, the automata that tell most first."""
    for task in TASKS[:2]:
        yield from (Cell(layer, task) for layer in LAYERS)
    yield from (Cell(f"stock_layers:{name}", "S5:minimal") for name in PUBLISHED)
    for task in TASKS[2:]:
        yield from (Cell(layer, task) for layer in LAYERS)


def next_cell(row: dict[str, Any]) -> Cell | None:
    """What a finished cell asks for: ten seeds where three disagree, Muon where AdamW failed."""
    cell = Cell(row["layer"], row["task"], row["optimizer"])
    passed, seeds = row["learned"]["4T"], row["seeds"]
    if 0 < passed < seeds == 3:
        return cell._replace(seeds=10)
    if not passed and row["can"] != "no" and row["optimizer"] == "adamw" and seeds == 3:
        return cell._replace(optimizer="muon")
    return None


def work(task: tuple[Cell, dict[str, Any]]) -> dict[str, Any]:
    """The row of a cell; an error is one line in it."""
    import torch

    from krohn.evaluate.card import card

    torch.set_num_threads(1)
    sys.path.insert(0, str(Path(__file__).parent))
    cell, options = task
    begin = time.monotonic()
    kept = cell._asdict()
    try:
        found = card(cell.layer, [cell.task], seeds=cell.seeds, optimizer=cell.optimizer, **options)
    except Exception as error:
        return kept | {"error": f"{type(error).__name__}: {error}"[:300]}
    whole = {"remark": found.remark, "stopped": found.stopped, "wall": round(time.monotonic() - begin, 1)}
    return kept | dict(found.rows[0]) | whole | {"settings": dict(found.settings), "task": cell.task}


def run(arguments: argparse.Namespace) -> None:
    end = time.monotonic() + arguments.seconds
    known = {}
    for path in arguments.known:
        known |= {key_of(row): row for row in read(path)}
    out = Path(arguments.out)
    out.mkdir(parents=True, exist_ok=True)
    waiting = [cell for cell in first_cells() if cell not in known]
    later: list[Cell] = [more for row in known.values() if (more := next_cell(row)) and more not in known]
    if arguments.only:
        waiting = [cell for cell in waiting if cell.layer in arguments.only and cell.task in arguments.tasks]
    context, running = mp.get_context("spawn"), []
    with context.Pool(arguments.workers) as pool, open(out / "cards.jsonl", "a") as stream:
        while (waiting or later or running) and time.monotonic() < end:
            while len(running) < arguments.workers and (waiting or later):
                cell = waiting.pop(0) if waiting else later.pop(0)
                left = (end - time.monotonic()) / 60
                options = {"steps": arguments.steps, "minutes": max(0.01, left - 0.1)}
                running.append(pool.apply_async(work, ((cell, options),)))
            for done in [each for each in running if each.ready()]:
                running.remove(done)
                row = done.get()
                stream.write(json.dumps(row) + "\n")
                stream.flush()
                print(f"{row['layer']} {row['task']} {row.get('learned', row.get('error'))}", flush=True)
                if "error" not in row and not row["stopped"] and (more := next_cell(row)):
                    later.append(more)
            time.sleep(0.05)
        pool.terminate()


def read(path: Path) -> list[dict[str, Any]]:
    """The rows of a file that are whole."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return [row for row in rows if "error" in row or (row["seeds"] and not row["stopped"])]


def key_of(row: dict[str, Any]) -> Cell:
    return Cell(row["layer"], row["task"], row["optimizer"], row["seeds"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    runner = commands.add_parser("run")
    runner.add_argument("--out", required=True)
    runner.add_argument("--workers", type=int, default=2)
    runner.add_argument("--seconds", type=float, default=3600)
    runner.add_argument("--steps", type=int, default=1000)
    runner.add_argument("--known", type=Path, nargs="*", default=[])
    runner.add_argument("--only", nargs="*", help="these layers")
    runner.add_argument("--tasks", nargs="*", default=list(TASKS))
    runner.set_defaults(do=run)
    arguments = parser.parse_args()
    arguments.do(arguments)


if __name__ == "__main__":
    main()
