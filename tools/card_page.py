"""The page with the table of stock layers: expressivity, learning and length generalisation."""

import json
from pathlib import Path
from statistics import mean
from typing import Any

from card_plan import LAYERS, TASKS, Cell, Rows, can, merged, wanted

NOT_RUN = {
    "Mamba-3 with its own kernels": "flash-linear-attention 0.6.0 has no reference form of it, and its layer "
    "refuses to run without the package `mamba_ssm` (`krohn card fla:Mamba3` says so in one line); the row "
    "is the recurrence of its authors, with one input and output a head, on the library's scalar-gated "
    "reference",
    "xLSTM": "not in flash-linear-attention 0.6.0; the row mLSTM is its matrix memory by the library's "
    "recurrence with one gate a head, with a normaliser and the input gate cut off at e⁵",
}
"""Layers that are not in the table, and why."""

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results" / "cards" / "cards.jsonl"
KERNELS = ROOT / "results" / "cards" / "kernels.jsonl"
DOCS = ROOT / "results" / "tables" / "card-table.md"

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
"""Cells that are compared with published numbers."""

PAGE = """# Cards of stock layers

Written by `python tools/card_table.py page` from `results/cards/cards.jsonl`; [the card of a
layer](../../docs/can-my-layer.md#the-card-of-a-layer) says what the columns mean.
One block of width 32 with an MLP (GPT: two), T = 16, 1,000 steps on 64 words each; {networks} networks in
all, on CPUs and a GPU, several at once (`settings` in the file says where, and which torch). The plan:
three seeds with AdamW; three with Muon where none of these passes at 4T and no theorem forbids it; ten with
AdamW where three disagree, at T or at 4T. Muon trains the matrices, AdamW the rest, both at AdamW's rate
(0.003, falling linearly; Muon's steps are scaled to the same root mean square). Layers of
flash-linear-attention 0.6.0 run in its reference form (`fla.ops.*.naive`, in float32) with the projections,
gates and convolutions of its layers rewritten at this size (`tools/stock_layers.py`): a table of recurrences,
not of kernels, and of short training, not of what a layer can learn at best. {cells} of {all_cells} cells
have at least one finished network.
{left}

## In short

Layers of which most seeds pass at T and at 4T, by AdamW, and those of which some do.

{short}

On Dyck4,2 passing says little: uniform words soon reach the sink, where every later answer is the same. A
network can pass with 99% of the letters and be wrong as soon as one bracket is repeated: the first wrong
letter is under [holds](#holds).

## Can, and learned

*can*: by theorem, for words of every length, under the assumptions of [its
row](../../docs/layer-families.md); a *no* does not exclude words as short as T, and that of a GPT with
positions supposes TC⁰ ≠ NC¹. Mamba-3's *no*
for counters comes from a floor on its decay (turning by π takes a factor of e^−0.0001 at least); without the
floor C2 and C3 would be *yes*. Then the seeds that pass at T and at 4T, of those trained; after *Muon* the
same for networks trained by it. *plan*: met, or what of it was not finished for this layer.

{learned}

{conflicts}

## Holds

Letters before the first wrong one, for each seed that passes at T; ≥ where no tested letter was wrong
(100,000 letters; GPT 4,096, PaTH and log-linear 2,048). *Proved n*: right on every word of up to n letters,
for networks trained since cards have it.

{held}

{muon}

## Two published comparisons

Grazzi et al. (2411.12537) report that parity is learned with eigenvalues in [−1, 1] and not in [0, 1];
Siems et al. (2502.10297) that DeltaProduct with four steps learns S5 where Mamba does not.

{published}

{outcomes}

Parity with 40 letters and S5 with all its letters, on words of 128 and for 5,000 steps, are among
[the larger runs](../expressivity.md#larger-128-letters-on-an-h200).

## With the library's own layers and kernels

`python tools/card_kernels.py`: `krohn card fla:CLASS,…` on an H200 (torch 2.11, Triton 3.6), one seed, width
64, 400 steps; kernels take the first of their configurations, where the library would search for the fastest.
The row `deltaproduct` is ours by the library's kernel; the library itself warns that its RWKV-7 may have
faults. Where a layer did not run, the last column has its message.

{kernels}

## Not run

{not_run}
"""


def page_text() -> str:
    """The whole page: what each layer can express, what it learned, and up to which length."""
    rows = merged([RESULTS])
    verdicts = {(layer, task): can(layer, task) for layer in LAYERS for task in TASKS}
    learned = [
        [
            LAYERS[layer],
            *(_learned(verdicts[layer, task], rows, Cell(layer, task)) for task in TASKS),
            plan_of(rows, layer),
        ]
        for layer in LAYERS
    ]
    held = [[LAYERS[layer], *(_held(rows.get(Cell(layer, task))) for task in TASKS)] for layer in LAYERS]
    return PAGE.format(
        networks=sum(row["seeds"] for row in rows.values()),
        cells=len({cell[:2] for cell in rows if cell.task in TASKS}),
        all_cells=len(LAYERS) * len(TASKS),
        left=_left(rows),
        short=_markdown(("automaton", "most", "some"), [[task, *passing(rows, task)] for task in TASKS]),
        learned=_markdown(("layer", *TASKS, "plan"), learned),
        held=_markdown(("layer", *TASKS), held),
        conflicts=_conflicts(rows),
        muon=_muon(rows),
        published=_published(rows),
        outcomes="\n\n".join((parity(rows), s5(rows))),
        kernels=kernels(KERNELS),
        not_run="\n".join(f"- **{name}**: {why}." for name, why in NOT_RUN.items()),
    )


def passing(rows: Rows, task: str) -> list[str]:
    """The layers of which most networks pass at both lengths, and those of which fewer do, but some."""
    most, some = list[str](), list[str]()
    for layer, title in LAYERS.items():
        row = rows.get(Cell(layer, task))
        if row is not None:
            pairs = zip(*(row["accuracy"][length] for length in ("T", "4T")), strict=True)
            count = sum(min(pair) >= 0.99 for pair in pairs)
            (most if 2 * count > row["seeds"] else some).extend([title] if count else [])
    return ["; ".join(names) or "none" for names in (most, some)]


def _left(rows: Rows) -> str:
    """The planned networks that were not trained."""
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


def plan_of(rows: Rows, layer: str) -> str:
    """Which parts of the plan are not finished for a layer, and on which automata."""
    left: dict[str, dict[str, None]] = {}
    for cell, seed in wanted(rows):
        if cell.layer == layer:
            part = "ten seeds" if seed >= 3 else "three seeds" if cell.optimizer == "adamw" else "Muon"
            left.setdefault(part, {})[cell.task] = None
    return "; ".join(f"{part} not finished: {', '.join(tasks)}" for part, tasks in left.items()) or "met"


def _conflicts(rows: Rows) -> str:
    cells = [f"{_named(cell)}: {row['conflict']}" for cell, row in rows.items() if row["conflict"]]
    return f"Conflicts: {'; '.join(cells)}." if cells else "There is no conflict in this table."


def _named(cell: Cell) -> str:
    return f"{LAYERS[cell.layer]} on {cell.task}" + (" with Muon" if cell.optimizer == "muon" else "")


def _muon(rows: Rows) -> str:
    """The lengths up to which networks trained by Muon are right."""
    tried = [cell for cell in rows if cell.optimizer == "muon"]
    if not tried:
        return "No network has been trained by Muon yet."
    mended = [f"{LAYERS[cell.layer]} on {cell.task}" for cell in tried if rows[cell]["learned"]["4T"]]
    count = (
        f"Muon was tried in {len(tried)} cells in which AdamW fails at 4T; in {len(mended)} of them a seed "
        f"passes there{': ' if mended else ''}{'; '.join(mended)}. "
    )
    shown = [
        [LAYERS[cell.layer], cell.task, _passed(row), _held(row)]
        for cell, row in rows.items()
        if cell.optimizer == "muon" and row["learned"]["T"]
    ]
    if not shown:
        return f"{count}No network trained by Muon passes at T."
    return f"{count}Where a network passes at T:\n\n" + _markdown(
        ("layer", "automaton", "pass at T, 4T", "holds"), shown
    )


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


def kernels(path: Path) -> str:
    """A row for each layer and automaton that was run, or tried, with the library's own kernels."""
    shown = []
    for card in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
        for row in card.get("rows", [card]):
            ran = bool(row.get("seeds"))
            why = card.get("error") or card.get("stopped", "")
            shares = [f"{row['accuracy'][length][0]:.1%}" for length in ("T", "4T")] if ran else ["–", "–"]
            name = f"`{card['layer']}`"
            shown.append([name, row["task"], *shares, _held(row) if ran else "–", " ".join(why.split())])
    header = ("layer", "automaton", "letters right at T", "at 4T", "holds", "why not")
    return _markdown(header, sorted(shown))


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


def parity(rows: Rows) -> str:
    """Whether most seeds with negative eigenvalues pass, and none without them."""
    without, with_, gated_without, gated_with = (rows[Cell(*pair)] for pair in PAIRS[:4])
    pairs = ((without, with_), (gated_without, gated_with))
    same = all(_most(two, "T") and not one["learned"]["T"] for one, two in pairs)
    counts = [
        f"{_count(with_, length)} (diagonal) and {_count(gated_with, length)} (Gated DeltaNet) pass with "
        f"[−1, 1], {_count(without, length)} and {_count(gated_without, length)} with [0, 1]"
        for length in ("T", "4T")
    ]
    verdict = "reproduced" if same else "not reproduced"
    return f"**Parity: {verdict}** at T. There {counts[0]}; at 4T {counts[1]}."


def s5(rows: Rows) -> str:
    """Whether most seeds with four steps pass, and none of Mamba-2."""
    cells = [rows[Cell(*pair)] for pair in PAIRS[4:]]
    mamba, product = cells[0], cells[-1]
    same = _most(product, "T") and not mamba["learned"]["T"]
    shares = [mean(row["accuracy"]["T"]) for row in cells]
    order = "in the order of the rows" if shares == sorted(shares) else "in another order than the rows"
    verdict = "reproduced" if same else "not reproduced at this size"
    return (
        f"**S5 by its two generators (`S5:minimal`): {verdict}.** With four steps "
        f"{_count(product, 'T')} pass at T and {_count(product, '4T')} at 4T, of Mamba-2 "
        f"{_count(mamba, 'T')} and {_count(mamba, '4T')}; the mean shares at T grow {order}. Trained on 16 "
        "letters for 1,000 steps, where the paper has 128 letters and up to 100 epochs of 100,000 words."
    )


def _most(row: dict[str, Any], length: str) -> bool:
    return bool(2 * row["learned"][length] > row["seeds"])


def _count(row: dict[str, Any], length: str) -> str:
    return f"{row['learned'][length]} of {row['seeds']}"


def _markdown(header: tuple[str, ...], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
