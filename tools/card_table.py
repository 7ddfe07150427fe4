"""The table of stock layers: a card for each, cell by cell, several processes at once; then a page of all.

Run: python tools/card_table.py run --out FOLDER [--workers 15] [--seconds 500] [--known FILE.jsonl]
     python tools/card_table.py gather FILE.jsonl ...
     python tools/card_table.py page

`run` appends a line to FOLDER/cards.jsonl for every cell (layer, automaton, optimiser) as soon as it is done;
what --known holds is not run again. First every cell with AdamW; then, with Muon, cells that no seed learned
although no theorem is against it; then ten seeds where three disagree. Layers of flash-linear-attention are
those of `stock_layers.py`, so its package must be on the path. `gather` keeps of each cell the line with the
most seeds, in results/cards/cards.jsonl; `page` writes docs/generated/card-table.md from it.
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
    "Mamba-3": "flash-linear-attention 0.6.0 has no reference form of it, and its layer refuses to run "
    "without the kernels of the package `mamba_ssm` (`krohn card fla:Mamba3` says so in one line)",
    "xLSTM": "not in flash-linear-attention 0.6.0; the row mLSTM is its matrix memory by the library's "
    "recurrence with one gate a head, with a normaliser and the input gate cut off at e⁵",
    "The library's layers with their own kernels (`krohn card fla:GatedDeltaNet` and others)": "tried on an "
    "H200 beside other work, 70 seconds each. Compiling and tuning their Triton kernels took longer, so "
    "nothing is known from it",
}
"""What has no row, and why."""

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results" / "cards" / "cards.jsonl"
DOCS = ROOT / "docs" / "generated" / "card-table.md"

TASKS = ("C2", "S3", "S5:adjacent", "FlipFlop", "C3", "A5", "Grid4", "Dyck4,2")
PUBLISHED = ("mamba2", "gated_deltanet_negative", "gated_deltaproduct2", "gated_deltaproduct4")
"""Layers that are also trained on S5 with the two letters of its least generating set."""


_DELTA = "stock_layers:gated_delta"
PAIRS = (
    ("diagonal,gate=unit", "C2"),
    ("diagonal,gate=signed", "C2"),
    (f"{_DELTA}net", "C2"),
    (f"{_DELTA}net_negative", "C2"),
    ("stock_layers:mamba2", "S5:minimal"),
    (f"{_DELTA}net_negative", "S5:minimal"),
    (f"{_DELTA}product2", "S5:minimal"),
    (f"{_DELTA}product4", "S5:minimal"),
)
"""Cells that published numbers are compared with."""

PAGE = """# Cards of stock layers

Written by `python tools/card_table.py page` from `results/cards/cards.jsonl`; [the card of a
layer](../can-my-layer.md#the-card-of-a-layer) says what the columns mean.
One block of width 32 with an MLP (GPT: two), T = 16, 1,000
steps of AdamW on 64 words each, 3 seeds; {networks} networks in all, on CPUs: most
on 14 cores of one machine at once, {here} cells on another (`settings` in the file says which torch). Layers
of flash-linear-attention 0.6.0 run in the library's reference form (`fla.ops.*.naive`, in float32, on a
CPU) with the projections, gates and convolutions of its layers rewritten at this size
(`tools/stock_layers.py`): a table of recurrences, not of kernels, and of short training, not of what a
layer can learn at best. {cells} of {all_cells} cells have at least one finished network; Muon and ten seeds
where three disagree were planned and not reached.

## Can, and learned

*can*: by theorem, for words of every length, under the assumptions of [its row](../can-my-layer.md#can-it); a
*no* does not exclude words as short as T, and that of a GPT with positions supposes TC⁰ ≠ NC¹. Then the
seeds that pass at T and at 4T, of those trained.

{learned}

{conflicts}

## Holds

Letters before the first wrong one, for each seed that passes at T; ≥ where no tested letter was wrong
(100,000 letters; GPT 4,096, PaTH and log-linear 2,048).

{held}

On Dyck4,2 uniform words soon reach the sink, where every later answer is the same: a network can pass
with 99% of the letters and be wrong as soon as one bracket is repeated, which *holds* shows here.

## Two published comparisons

Grazzi et al. (2411.12537) report that parity is learned with eigenvalues in [−1, 1] and not in [0, 1];
Siems et al. (2502.10297) that DeltaProduct with four steps learns S5 where Mamba does not.

{published}

Parity comes out as published at T, for the diagonal layers at 4T too; the gated layers with β ≤ 2 pass at
4T for one seed of three or none. For S5 by its two generators (`S5:minimal`) the order is as published, and
the result is not: one seed of three passes at T with four steps, none at 4T (trained on 16 letters for
1,000 steps, where the paper has 128 letters and up to 100 epochs of 100,000 words).

## Not run

{not_run}
"""


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

    from krohn.study.card import card

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
    """The cells of a file that are whole: all seeds were trained."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return [row for row in rows if "error" in row or row["seeds"] == row["settings"]["seeds"]]


def key_of(row: dict[str, Any]) -> Cell:
    return Cell(row["layer"], row["task"], row["optimizer"], row["seeds"])


def gather(arguments: argparse.Namespace) -> None:
    """Of each cell the line with the most seeds; cells of which no network was finished are left out."""
    best: dict[Cell, dict[str, Any]] = {}
    for path in (RESULTS, *arguments.files):
        for line in path.read_text().splitlines() if path.exists() else ():
            row = json.loads(line)
            key = Cell(row["layer"], row["task"], row["optimizer"])
            if (
                row.get("seeds")
                and "error" not in row
                and row["seeds"] > best.get(key, {"seeds": 0})["seeds"]
            ):
                best[key] = row
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(best[key], ensure_ascii=False) + "\n" for key in sorted(best)]
    RESULTS.write_text("".join(lines), encoding="utf-8")


def page_text() -> str:
    """The page: what each layer can and learned, and how far that holds."""
    rows = {
        (row["layer"], row["task"]): row
        for row in map(json.loads, RESULTS.read_text(encoding="utf-8").splitlines())
        if row["optimizer"] == "adamw"
    }
    verdicts = {(layer, task): can(layer, task) for layer in LAYERS for task in TASKS}
    learned = [
        [LAYERS[layer], *(_learned(verdicts[layer, task], rows.get((layer, task))) for task in TASKS)]
        for layer in LAYERS
    ]
    held = [[LAYERS[layer], *(_held(rows.get((layer, task))) for task in TASKS)] for layer in LAYERS]
    conflicts = [
        f"{LAYERS[layer]} on {task}"
        for (layer, task), row in rows.items()
        if row["learned"]["4T"] and verdicts.get((layer, task)) == "no"
    ]
    networks = sum(row["seeds"] for row in rows.values())
    return PAGE.format(
        networks=networks,
        here=sum(row["settings"]["torch"].endswith("+cpu") for row in rows.values()),
        cells=len([key for key in rows if key[1] in TASKS]),
        all_cells=len(LAYERS) * len(TASKS),
        learned=_markdown(("layer", *TASKS), learned),
        held=_markdown(("layer", *TASKS), held),
        conflicts=f"Conflicts: {'; '.join(conflicts)}."
        if conflicts
        else "There is no conflict in this table.",
        published=_published(rows),
        not_run="\n".join(f"- **{name}**: {why}." for name, why in NOT_RUN.items()),
    )


def _conflicts(cells: list[str]) -> str:
    if not cells:
        return "No layer that cannot, by theorem, passes at 4T."
    return f"Layers that cannot, by theorem, and pass at 4T: {'; '.join(cells)}."


def can(layer: str, task: str) -> str:
    """What the theorems say, as of now."""
    from krohn.automata.zoo import parse_spec
    from krohn.study.card import theorem
    from krohn.study.layers import find_layer

    sys.path.insert(0, str(Path(__file__).parent))
    return str(theorem(parse_spec(task), find_layer(layer, 32))["can"])


def _learned(verdict: str, row: dict[str, Any] | None) -> str:
    if row is None:
        return f"{verdict}; not run"
    return f"{verdict}; {row['learned']['T']}, {row['learned']['4T']} of {row['seeds']}"


def _held(row: dict[str, Any] | None) -> str:
    if row is None:
        return "not run"
    far = [
        f"{'' if held['first_wrong'] else '≥ '}{held['letters']:,}"
        for held in row["holds"]
        if held is not None
    ]
    return ", ".join(far) or "–"


def _published(rows: dict[tuple[str, str], dict[str, Any]]) -> str:
    shown = []
    for name, task in PAIRS:
        row = rows[name, task]
        best = ", ".join(f"{share:.1%}" for share in row["accuracy"]["T"])
        wide = ", ".join(f"{share:.1%}" for share in row["accuracy"]["4T"])
        shown.append([LAYERS[name], task, best, wide])
    return _markdown(("layer", "automaton", "letters right at T, each seed", "at 4T"), shown)


def _markdown(header: tuple[str, ...], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


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
    runner.add_argument("--known", type=Path, nargs="*", default=[])
    runner.add_argument("--only", nargs="*", help="these layers")
    runner.add_argument("--tasks", nargs="*", default=list(TASKS))
    runner.set_defaults(do=run)
    gatherer = commands.add_parser("gather")
    gatherer.add_argument("files", type=Path, nargs="+")
    gatherer.set_defaults(do=gather)
    commands.add_parser("page").set_defaults(do=page)
    arguments = parser.parse_args()
    arguments.do(arguments)


if __name__ == "__main__":
    main()
