"""The table of stock layers: a card for each, cell by cell, several processes at once; then a page of all.

Run: python tools/card_table.py run --out FILE.jsonl [--workers 15] [--seconds 500] [--known FILE.jsonl …]
     python tools/card_table.py gather FILE.jsonl …
     python tools/card_table.py page

`run` appends a line to FILE.jsonl for every network as soon as it is done; what the results, --known or FILE
hold is not run again, so a run can be continued. First every cell (layer, automaton) with three seeds of
AdamW; then, with Muon, cells that no seed learned although no theorem is against it; then ten with AdamW
where three disagree. Layers of flash-linear-attention are those of `stock_layers.py`, so its package must be
on the path. `gather` adds networks to results/cards/cards.jsonl, a line for each cell and optimiser; `page`
writes results/tables/card-table.md from it.
"""

import argparse
import json
import multiprocessing as mp
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from card_page import DOCS, RESULTS, page_text
from card_plan import Cell, Rows, merged, trained_networks, wanted


def work(task: tuple[Cell, int, dict[str, Any]]) -> dict[str, Any]:
    """Trains one network and returns its row; an exception becomes one line in it."""
    import torch
    from recorded_steps import record_steps

    from krohn.lab.cards.card import card

    torch.set_num_threads(1)
    sys.path.insert(0, str(Path(__file__).parent))
    cell, seed, options = task
    if options["device"] != "cpu":
        record_steps()
    begin = time.monotonic()
    key = cell._asdict() | {"seed": seed}
    try:
        result = card(cell.layer, [cell.task], seeds=1, first_seed=seed, optimizer=cell.optimizer, **options)
    except Exception as error:
        return key | {"error": f"{type(error).__name__}: {error}"[:300]}
    whole = {"remark": result.remark, "wall": round(time.monotonic() - begin, 1)}
    return key | dict(result.rows[0]) | whole | {"settings": dict(result.settings), "task": cell.task}


def run(arguments: argparse.Namespace) -> None:
    end = time.monotonic() + arguments.seconds
    out = Path(arguments.out)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.touch()
    files = [*([] if arguments.afresh else [RESULTS]), *arguments.known, out]
    tried, running = set(trained_networks(files)), dict[tuple[Cell, int], Any]()
    context = mp.get_context("spawn")
    with context.Pool(arguments.workers) as pool, out.open("a", encoding="utf-8") as stream:
        while True:
            left = end - time.monotonic()
            for one in affordable(merged(files), left, arguments.only):
                if len(running) >= arguments.workers:
                    break
                if one not in tried:
                    options = {"steps": arguments.steps, "minutes": left / 60, "device": arguments.device}
                    tried.add(one)
                    running[one] = pool.apply_async(work, ((*one, options),))
            if not running or left < 0:
                break
            while not any(result.ready() for result in running.values()) and time.monotonic() < end:
                time.sleep(0.2)
            for one in [one for one, result in running.items() if result.ready()]:
                row = running.pop(one).get()
                if "error" in row or row["seeds"]:
                    stream.write(json.dumps(row, ensure_ascii=False) + "\n")
                    stream.flush()
                print(*one[0], one[1], row.get("accuracy", row.get("error")), flush=True)
        pool.terminate()


def affordable(rows: Rows, seconds: float, layers: list[str] | None) -> Iterator[tuple[Cell, int]]:
    """The missing networks that should finish in time, judging by the layer's other networks."""
    paces: dict[str, list[float]] = {}
    for cell, row in rows.items():
        paces.setdefault(cell.layer, []).append(row["wall"] / row["seeds"])
    for cell, seed in wanted(rows):
        asked = not layers or cell.layer.startswith(tuple(layers))
        if asked and median(paces.get(cell.layer, [0.0])) < seconds:
            yield cell, seed


def gather(arguments: argparse.Namespace) -> None:
    """Merges the files into the results, with the current verdicts of the theorems."""
    from krohn.automata.zoo import parse_spec
    from krohn.lab.cards.card import conflict, theorem
    from krohn.lab.cards.layers import find_layer

    sys.path.insert(0, str(Path(__file__).parent))
    lines = []
    for cell, row in merged([RESULTS, *arguments.files]).items():
        row |= theorem(parse_spec(cell.task), find_layer(cell.layer, 32))
        lines.append(json.dumps(row | {"conflict": conflict(row)}, ensure_ascii=False) + "\n")
    RESULTS.write_text("".join(lines), encoding="utf-8")


def page(arguments: argparse.Namespace) -> None:
    DOCS.write_text(page_text(), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    runner = commands.add_parser("run")
    runner.add_argument("--out", required=True)
    runner.add_argument("--workers", type=int, default=2)
    runner.add_argument("--seconds", type=float, default=3600)
    runner.add_argument("--steps", type=int, default=1000)
    runner.add_argument("--device", default="cpu", help="cpu or cuda")
    runner.add_argument("--known", type=Path, nargs="*", default=[])
    runner.add_argument("--only", nargs="*", help="layers whose name starts with this")
    runner.add_argument("--afresh", action="store_true", help="also train networks that are in the results")
    runner.set_defaults(do=run)
    gatherer = commands.add_parser("gather")
    gatherer.add_argument("files", type=Path, nargs="+")
    gatherer.set_defaults(do=gather)
    commands.add_parser("page").set_defaults(do=page)
    arguments = parser.parse_args()
    arguments.do(arguments)


if __name__ == "__main__":
    main()
