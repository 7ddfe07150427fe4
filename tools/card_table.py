"""The table of stock layers: a card for each, cell by cell, several processes at once; then a page of all.

Run: python tools/card_table.py run --out FILE.jsonl [--workers 15] [--seconds 500] [--known FILE.jsonl …]
     python tools/card_table.py gather FILE.jsonl …
     python tools/card_table.py page

`run` appends a line to FILE.jsonl for every network as soon as it is done; what the results, --known or FILE
hold is not run again, so a run can be continued. First every cell (layer, automaton) with three seeds of
AdamW; then, with Muon, cells that no seed learned although no theorem is against it; then ten seeds where
three disagree. Layers of flash-linear-attention are those of `stock_layers.py`, so its package must be on the
path. `gather` adds networks to results/cards/cards.jsonl, a line for each cell and optimiser; `page` writes
docs/generated/card-table.md from it.
"""

import argparse
import json
import multiprocessing as mp
import sys
import time
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
"""By the name that ``krohn card`` takes."""

NOT_RUN = {
    "Mamba-3 with its own kernels": "flash-linear-attention 0.6.0 has no reference form of it, and its layer "
    "refuses to run without the package `mamba_ssm` (`krohn card fla:Mamba3` says so in one line); the row "
    "is the recurrence of its authors, with one input and output a head, on the library's scalar-gated "
    "reference",
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
One block of width 32 with an MLP (GPT: two), T = 16, 1,000 steps on 64 words each; {networks} networks in
all, on CPUs, several at once on one machine or the other (`settings` in the file says which torch). The plan:
three seeds with AdamW; three with Muon where none of these passes at 4T and no theorem forbids it; ten seeds
where three disagree, at T or at 4T. Layers of flash-linear-attention 0.6.0 run in its reference form
(`fla.ops.*.naive`, in float32, on a CPU) with the projections, gates and convolutions of its layers rewritten
at this size (`tools/stock_layers.py`): a table of recurrences, not of kernels, and of short training, not of
what a layer can learn at best. {cells} of {all_cells} cells have at least one finished network.
{left}

## Can, and learned

*can*: by theorem, for words of every length, under the assumptions of [its row](../can-my-layer.md#can-it); a
*no* does not exclude words as short as T, and that of a GPT with positions supposes TC⁰ ≠ NC¹. Mamba-3's *no*
for counters comes from a floor on its decay (turning by π takes a factor of e^−0.0001 at least); without the
floor C2 and C3 would be *yes*. Then the seeds that pass at T and at 4T, of those trained.

{learned}

{conflicts}

## Holds

Letters before the first wrong one, for each seed that passes at T; ≥ where no tested letter was wrong
(100,000 letters; GPT 4,096, PaTH and log-linear 2,048). *Proved n*: right on every word of up to n letters,
for networks trained since cards have it.

{held}

On Dyck4,2 uniform words soon reach the sink, where every later answer is the same: a network can pass
with 99% of the letters and be wrong as soon as one bracket is repeated, which *holds* shows here.

{muon}

## Two published comparisons

Grazzi et al. (2411.12537) report that parity is learned with eigenvalues in [−1, 1] and not in [0, 1];
Siems et al. (2502.10297) that DeltaProduct with four steps learns S5 where Mamba does not.

{published}

Parity comes out as published at T, for the diagonal layers at 4T too; the gated layers with β ≤ 2 pass at
4T for one seed of three or none. For S5 by its two generators (`S5:minimal`) the order is as published, and
the result is not: one seed of three passes at T with four steps, none at 4T (trained on 16 letters for
1,000 steps, where the paper has 128 letters and up to 100 epochs of 100,000 words).
Parity with 40 letters and 5,000 steps, where all 20 replicates with negative eigenvalues pass and none other
keeps 95% beyond 64 letters, is among [the larger runs](../can-my-layer.md#larger-128-letters-on-an-h200).

## Not run

{not_run}
"""


class Cell(NamedTuple):
    """A layer, an automaton and an optimiser: a line of the results."""

    layer: str
    task: str
    optimizer: str = "adamw"


Rows = dict[Cell, dict[str, Any]]


def cells() -> Iterator[Cell]:
    """All with AdamW, the automata that tell most first."""
    for task in TASKS[:2]:
        yield from (Cell(layer, task) for layer in LAYERS)
    yield from (Cell(f"stock_layers:{name}", "S5:minimal") for name in PUBLISHED)
    for task in TASKS[2:]:
        yield from (Cell(layer, task) for layer in LAYERS)


def wanted(rows: Rows) -> Iterator[tuple[Cell, int]]:
    """The networks that are missing, most wanted first: a cell and a seed.

    Three seeds of every cell with AdamW; three with Muon where none of these passes at 4T although no theorem
    is against it; ten where three disagree, at T or at 4T.
    """
    failed = [cell._replace(optimizer="muon") for cell in cells() if asks_for_muon(cell, rows.get(cell))]
    for part in (list(cells()), failed):
        for seed in range(3):  # one network of every cell before the second of any
            yield from ((cell, seed) for cell in part if trained_seeds(rows, cell) <= seed)
    for cell, row in rows.items():
        if disagree(row):
            yield from ((cell, seed) for seed in range(row["seeds"], 10))


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


def work(task: tuple[Cell, int, dict[str, Any]]) -> dict[str, Any]:
    """The row of one network; an error is one line in it."""
    import torch

    from krohn.study.card import card

    torch.set_num_threads(1)
    sys.path.insert(0, str(Path(__file__).parent))
    cell, seed, options = task
    begin = time.monotonic()
    kept = cell._asdict() | {"seed": seed}
    try:
        result = card(cell.layer, [cell.task], seeds=1, first_seed=seed, optimizer=cell.optimizer, **options)
    except Exception as error:
        return kept | {"error": f"{type(error).__name__}: {error}"[:300]}
    whole = {"remark": result.remark, "wall": round(time.monotonic() - begin, 1)}
    return kept | dict(result.rows[0]) | whole | {"settings": dict(result.settings), "task": cell.task}


def run(arguments: argparse.Namespace) -> None:
    end = time.monotonic() + arguments.seconds
    out = Path(arguments.out)
    out.parent.mkdir(parents=True, exist_ok=True)
    files = [*([] if arguments.afresh else [RESULTS]), *arguments.known, out]
    out.touch()
    rows = merged(files)
    running: dict[tuple[Cell, int], Any] = {}
    tried: set[tuple[Cell, int]] = set()
    context = mp.get_context("spawn")
    with context.Pool(arguments.workers) as pool, out.open("a", encoding="utf-8") as stream:
        while time.monotonic() < end:
            for one in wanted(rows):
                if len(running) >= arguments.workers:
                    break
                if one not in tried and (
                    not arguments.only or one[0].layer.startswith(tuple(arguments.only))
                ):
                    options = {"steps": arguments.steps, "minutes": (end - time.monotonic()) / 60}
                    tried.add(one)
                    running[one] = pool.apply_async(work, ((*one, options),))
            if not running:
                break
            for one in [one for one, result in running.items() if result.ready()]:
                row = running.pop(one).get()
                if "error" in row or row["seeds"]:
                    stream.write(json.dumps(row, ensure_ascii=False) + "\n")
                    stream.flush()
                    rows = merged(files)
                print(*one[0], one[1], row.get("accuracy", row.get("error")), flush=True)
            time.sleep(0.2)
        pool.terminate()


def merged(paths: Sequence[Path]) -> Rows:
    """Of each cell the seeds 0, 1, … up to the first that is missing.

    Of a network that is there twice the last counts.
    """
    networks: dict[Cell, dict[int, dict[str, Any]]] = {}
    for path in paths:
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            cell = Cell(row["layer"], row["task"], row["optimizer"])
            for seed, network in enumerate(() if "error" in row else split(row), row.get("seed", 0)):
                networks.setdefault(cell, {})[seed] = network
    result = {}
    for cell, of_cell in sorted(networks.items()):
        count = next(seed for seed in range(len(of_cell) + 1) if seed not in of_cell)
        if count:
            result[cell] = joined([of_cell[seed] for seed in range(count)])
    return result


def split(row: dict[str, Any]) -> list[dict[str, Any]]:
    """A row for each network; seconds and wall time are known for all of them together only."""
    count = row["seeds"]
    plain = {key: value for key, value in row.items() if key not in ("seed", "stopped")}
    plain |= {"seeds": 1, "wall": row["wall"] / count if count else 0}
    return [
        plain
        | {"holds": [row["holds"][at]], "first_step": [row["first_step"][at]]}
        | {"accuracy": {length: [row["accuracy"][length][at]] for length in ("T", "4T")}}
        for at in range(count)
    ]


def joined(networks: list[dict[str, Any]]) -> dict[str, Any]:
    """The row of a cell from those of its networks."""
    accuracy = {length: [one["accuracy"][length][0] for one in networks] for length in ("T", "4T")}
    torches = sorted({one["settings"]["torch"] for one in networks})
    return networks[0] | {
        "seeds": len(networks),
        "learned": {length: sum(one >= 0.99 for one in shares) for length, shares in accuracy.items()},
        "holds": [one["holds"][0] for one in networks],
        "accuracy": accuracy,
        "first_step": [one["first_step"][0] for one in networks],
        "seconds": median(one["seconds"] for one in networks),
        "wall": round(sum(one["wall"] for one in networks), 1),
        "settings": networks[0]["settings"] | {"seeds": len(networks), "torch": ", ".join(torches)},
    }


def gather(arguments: argparse.Namespace) -> None:
    """All networks of the results and of the files, with the verdicts of today."""
    from krohn.automata.zoo import parse_spec
    from krohn.study.card import conflict, theorem
    from krohn.study.layers import find_layer

    sys.path.insert(0, str(Path(__file__).parent))
    lines = []
    for cell, row in merged([RESULTS, *arguments.files]).items():
        row |= theorem(parse_spec(cell.task), find_layer(cell.layer, 32))
        lines.append(json.dumps(row | {"conflict": conflict(row)}, ensure_ascii=False) + "\n")
    RESULTS.write_text("".join(lines), encoding="utf-8")


def page_text() -> str:
    """The page: what each layer can and learned, and how far that holds."""
    rows = merged([RESULTS])
    verdicts = {(layer, task): can(layer, task) for layer in LAYERS for task in TASKS}
    learned = [
        [LAYERS[layer], *(_learned(verdicts[layer, task], rows, Cell(layer, task)) for task in TASKS)]
        for layer in LAYERS
    ]
    held = [[LAYERS[layer], *(_held(rows.get(Cell(layer, task))) for task in TASKS)] for layer in LAYERS]
    return PAGE.format(
        networks=sum(row["seeds"] for row in rows.values()),
        cells=len({cell[:2] for cell in rows if cell.task in TASKS}),
        all_cells=len(LAYERS) * len(TASKS),
        left=_left(rows),
        learned=_markdown(("layer", *TASKS), learned),
        held=_markdown(("layer", *TASKS), held),
        conflicts=_conflicts(rows),
        muon=_muon(rows),
        published=_published(rows),
        not_run="\n".join(f"- **{name}**: {why}." for name, why in NOT_RUN.items()),
    )


def _left(rows: Rows) -> str:
    """What of the plan was not trained."""
    left = list(wanted(rows))
    if not left:
        return "The plan was trained whole."
    first = len([1 for cell, seed in left if cell.optimizer == "adamw" and seed < 3])
    muon = len([1 for cell, seed in left if cell.optimizer == "muon" and seed < 3])
    parts = {
        "of the first three seeds": first,
        "with Muon": muon,
        "of the seeds 3 to 9": len(left) - first - muon,
    }
    counts = ", ".join(f"{count} {which}" for which, count in parts.items() if count)
    return f"Not trained of the plan: {counts}."


def _conflicts(rows: Rows) -> str:
    cells = [f"{_named(cell)}: {row['conflict']}" for cell, row in rows.items() if row["conflict"]]
    return f"Conflicts: {'; '.join(cells)}." if cells else "There is no conflict in this table."


def _named(cell: Cell) -> str:
    return f"{LAYERS[cell.layer]} on {cell.task}" + (" with Muon" if cell.optimizer == "muon" else "")


def _muon(rows: Rows) -> str:
    """How far networks trained by Muon hold."""
    if not any(cell.optimizer == "muon" for cell in rows):
        return "No network has been trained by Muon yet."
    shown = [
        [LAYERS[cell.layer], cell.task, _passed(row), _held(row)]
        for cell, row in rows.items()
        if cell.optimizer == "muon" and row["learned"]["T"]
    ]
    if not shown:
        return "No network trained by Muon passes at T."
    return "Trained by Muon, where a network passes at T:\n\n" + _markdown(
        ("layer", "automaton", "pass at T, 4T", "holds"), shown
    )


@cache
def can(layer: str, task: str) -> str:
    """What the theorems say, as of now."""
    from krohn.automata.zoo import parse_spec
    from krohn.study.card import theorem
    from krohn.study.layers import find_layer

    sys.path.insert(0, str(Path(__file__).parent))
    return str(theorem(parse_spec(task), find_layer(layer, 32))["can"])


def _learned(verdict: str, rows: Rows, cell: Cell) -> str:
    if cell not in rows:
        return f"{verdict}; not run"
    muon = rows.get(cell._replace(optimizer="muon"))
    return f"{verdict}; {_passed(rows[cell])}" + (f"; Muon {_passed(muon)}" if muon else "")


def _passed(row: dict[str, Any]) -> str:
    return f"{row['learned']['T']}, {row['learned']['4T']} of {row['seeds']}"


def _held(row: dict[str, Any] | None) -> str:
    if row is None:
        return "not run"
    return ", ".join(_letters(held) for held in row["holds"] if held is not None) or "–"


def _letters(held: dict[str, Any]) -> str:
    letters = f"{'' if held['first_wrong'] else '≥ '}{held['letters']:,}"
    certified = held.get("certified")
    return letters if certified is None else f"{letters} (proved {certified})"


def _published(rows: Rows) -> str:
    shown = []
    for name, task in PAIRS:
        for optimizer, title in (("adamw", "AdamW"), ("muon", "Muon")):
            row = rows.get(Cell(name, task, optimizer))
            if row is not None:
                shares = [
                    ", ".join(f"{one:.1%}" for one in row["accuracy"][length]) for length in ("T", "4T")
                ]
                shown.append([LAYERS[name], task, title, *shares])
    return _markdown(("layer", "automaton", "by", "letters right at T, each seed", "at 4T"), shown)


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
    runner.add_argument("--only", nargs="*", help="layers that begin so")
    runner.add_argument("--afresh", action="store_true", help="train also what the results hold")
    runner.set_defaults(do=run)
    gatherer = commands.add_parser("gather")
    gatherer.add_argument("files", type=Path, nargs="+")
    gatherer.set_defaults(do=gather)
    commands.add_parser("page").set_defaults(do=page)
    arguments = parser.parse_args()
    arguments.do(arguments)


if __name__ == "__main__":
    main()
