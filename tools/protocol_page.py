"""The page of the protocol that papers use, and the figure of the controls, from stored runs.

Run: python tools/protocol_page.py   (reads results/cards/protocol.jsonl and control.jsonl)
"""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

from krohn.automata.zoo import parse_spec
from krohn.lab.cards.card import theorem
from krohn.lab.cards.control import KERNELS, Control, StockWeights, control_figure, guarantee
from krohn.lab.cards.layers import CardLayer

ROOT = Path(__file__).parents[1]
RUNS = ROOT / "results" / "cards" / "protocol.jsonl"
CONTROLS = ROOT / "results" / "cards" / "control.jsonl"
FIGURE = ROOT / "results" / "cards" / "control.svg"
PAGE = ROOT / "results" / "tables" / "stock-protocol.md"
TASKS = {"C2": "C2", "S3:all": "S3", "A5:all": "A5", "S5:all": "S5"}
LAYERS = {
    "DeltaProduct, 1 step (DeltaNet)": 1,
    "DeltaProduct, 2 steps": 2,
    "DeltaProduct, 4 steps": 4,
    "RWKV-7": None,
}
"""Steps of reflections for a letter; none where no theorem is applied."""
PASSES = 0.99
Runs = list[dict[str, Any]]

TEXT = """# Trained on 128 letters, tested on 512

{verdict}

Written by `python tools/protocol_page.py` from `results/cards/protocol.jsonl` and `control.jsonl`. The runs
are `python benchmarks/stock_protocol.py` on one H200 (torch 2.11, Triton 3.6, flash-linear-attention 0.6.0):
the library's unmodified models, one block each, in bfloat16 by its chunked kernels. Every element of a group
is a letter.

{learned}

*can*: by theorem, one layer, words of every length. Then the seeds of three with at least 99% of the letters
right on 2,048 fresh words of 128 and of 512 letters; then these shares, the median of the seeds. {a5}

## How far beyond

For each seed that passes on 128 letters: words right from the first letter to the last at 512; the letter by
which half of 64 random words have been answered wrongly once; and the first wrong letter of twenty words of
up to 100,000 letters, among them one letter repeated and two in turn. In float32 letters are read one after
the other, since the chunked kernels refuse it.

{beyond}

Random words of 512 letters flatter these networks: {flattered} of the {passing} that pass there are wrong
within 128 letters of a word that repeats one letter or two, which random training words hardly ever do.

## Cannot, did not learn, or the kernel rounds

Exact weights for the same groups in the unmodified layer, on random words of 100,000 letters
(`krohn card fla:GatedDeltaProduct --control --device cuda`). *guaranteed*: every word of that length is
right, in the arithmetic of the layer read letter by letter; *estimated*: the first wrong letter with random
rounding; *measured*: the first wrong letter by the layer's kernel.

![guaranteed, estimated and measured lengths](../cards/control.svg)

{controls}

{same}
With these steps S3, A5 and S5 are not beyond this layer, and its kernels do not lose them at 512 letters:
where *can* says yes above and no seed passes, training did not find them. The chunked kernel rounds normed
keys to bfloat16, where they are exactly ±1/2, so that every swap is exact; the recurrent one keeps them in
float32, where the 10⁻⁶ that the layer adds to |k|² brings states together. In float32 the chunked kernel
says `{refused}`

## Beside DeltaProduct's figures

{published}

Published: the commands and figure 1 (read off) of [the repository](https://github.com/automl/DeltaProduct) of
[2502.10297](https://arxiv.org/abs/2502.10297). Ours are its settings (width 128, 8 heads of 32, no
convolution, no gates, AdamW at 10⁻³ with a cosine, weight decay 10⁻⁶) but for: fresh words, two million in
batches of 512 (there 99,000 words up to 100 times in batches of 2,048, and the best epoch on words of 512
letters kept); weights in float32; 100 steps of warm-up; clipping at 1; no first token. {own}

Not run: {not_run}. RWKV-7 gets two layers,
of which the first is kept, since the library divides by their number less one; the library itself warns about
its RWKV. Each kernel uses one of its own configurations, untuned. Training is not deterministic: {repeated}
networks that a time limit cut off were trained again from the same seed, and differ.
"""


def read(file: Path) -> Runs:
    """The lines of a file of results."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def whole(runs: Runs) -> Runs:
    """The networks of the table: those that read all their two million words."""
    return [run for run in runs if run.get("ended") == "all words read"]


def of(runs: Runs, layer: str, task: str) -> Runs:
    """The seeds of one cell."""
    return [run for run in runs if (run["layer"], run["task"]) == (layer, task)]


def letters(run: dict[str, Any], length: int, dtype: str = "bfloat16") -> float:
    """The share of letters right."""
    return float(run[dtype][str(length)]["letters"])


def passing(runs: Runs, length: int) -> Runs:
    """Those with enough letters right."""
    return [run for run in runs if letters(run, length) >= PASSES]


def percent(share: float) -> str:
    """A share for people; never rounded up to all."""
    return f"{100 * share:.0f}%" if share in (0, 1) else f"{min(100 * share, 99.9):.1f}%"


def can(layer: str, task: str) -> str:
    """The verdict of the theorems about one layer."""
    steps = LAYERS[layer]
    if steps is None:
        return "open"
    family = CardLayer(layer, lambda width: None, "DeltaProduct", 1, steps)
    return str(theorem(parse_spec(task), family)["can"])


def table(rows: list[list[str]]) -> str:
    """A table of Markdown; the first row is its head."""
    lines = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    return "\n".join("| " + " | ".join(row) + " |" for row in lines)


def learned(runs: Runs) -> str:
    """A row for each layer."""

    def cell(layer: str, task: str) -> str:
        own = of(runs, layer, task)
        counts = ", ".join(str(len(passing(own, length))) for length in (128, 512))
        shares = ", ".join(percent(median(letters(run, length) for run in own)) for length in (128, 512))
        return f"{can(layer, task)}; {counts} of {len(own)}; {shares}"

    rows = [[layer, *(cell(layer, task) for task in TASKS)] for layer in LAYERS]
    return table([["layer", *TASKS.values()], *rows])


def beyond(runs: Runs) -> str:
    """A row for each cell of which a seed passes."""

    def every(own: Runs, part: Callable[[dict[str, Any]], str]) -> str:
        return ", ".join(map(part, own))

    def half(dtype: str) -> Callable[[dict[str, Any]], str]:
        return lambda run: f"{n:,}" if (n := run[dtype]["median_first_wrong"]) else "> 16,384"

    def first(dtype: str) -> Callable[[dict[str, Any]], str]:
        return lambda run: f"{n:,}" if (n := run[dtype]["first_wrong"]["letter"]) else "> 100,000"

    head = ["layer", "automaton", "words right at 512", "half wrong by letter, bfloat16", "float32"]
    rows = [
        [
            *(layer, TASKS[task], every(own, lambda run: percent(run["bfloat16"]["512"]["words"]))),
            *(every(own, half("bfloat16")), every(own, half("float32"))),
            *(every(own, first("bfloat16")), every(own, first("float32"))),
        ]
        for layer in LAYERS
        for task in TASKS
        if (own := passing(of(runs, layer, task), 128))
    ]
    return table([[*head, "first wrong letter, bfloat16", "float32"], *rows])


def flattered(runs: Runs) -> tuple[int, int]:
    """Networks that pass at 512 and are wrong within 128 letters of a regular word, and all that pass."""
    good = passing(runs, 512)
    far = [run["bfloat16"]["first_wrong"] for run in good]
    early = [one for one in far if one["letter"] and one["letter"] <= 128 and "random" not in one["word"]]
    return len(early), len(good)


def controls(rows: Runs) -> str:
    """A row for each automaton, a column for each type and kernel."""

    def length(number: int | None, none: str) -> str:
        return none if number is None else f"{number:,}"

    def cell(automaton: str, dtype: str, kernel: str) -> str:
        own = ("automaton", "dtype", "kernel")
        (row,) = (row for row in rows if tuple(row[part] for part in own) == (automaton, dtype, kernel))
        beyond = f"> {row['tested']:,}"
        shown = [length(row["guaranteed"], "every length")]
        shown += [length(row[part], beyond) for part in ("estimated", "measured")]
        return ", ".join(shown)

    names = {row["automaton"]: row for row in rows}
    lines = [
        [
            *(name, str(row["steps"])),
            *(cell(name, *kernel) for kernel in KERNELS),
        ]
        for name, row in names.items()
    ]
    first = "float32, recurrent kernel: guaranteed, estimated, measured"
    return table([["letters", "steps", first, "bfloat16, recurrent", "bfloat16, chunked"], *lines])


def verdict(runs: Runs) -> str:
    """One sentence first."""
    best = {
        name: max(len(passing(of(runs, layer, task), 512)) for layer in LAYERS)
        for task, name in TASKS.items()
    }
    yes = [name for name, count in best.items() if count]
    no = [name for name, count in best.items() if not count]
    return (
        f"**After two million words, {' and '.join(yes)} are learned to 512 letters, "
        f"{' and '.join(no)} by none of four layers,\nalthough exact weights run in the same layer for "
        "tens of thousands of letters: not learned is not cannot.**"
    )


def published(runs: Runs) -> str:
    """What the authors of DeltaProduct say, and what was seen here."""

    def here(layer: str, task: str) -> str:
        own = of(runs, layer, task)
        counts = " and ".join(f"{len(passing(own, n))} of {len(own)} on {n}" for n in (128, 512))
        words = max(run["bfloat16"]["512"]["words"] for run in own)
        return f"{counts} letters; at best {percent(words)} of the words of 512"

    one, two, four, _ = LAYERS
    return table(
        [
            ["", "published", "here, two million words"],
            ["S3, 1 step", "not expected to converge", here(one, "S3:all")],
            ["S3, 2 steps", "expected to train", here(two, "S3:all")],
            ["S5, 2 steps", "no word right after a few letters", here(two, "S5:all")],
            [
                "S5, 4 steps",
                "all words right at 128, half at about 330, hardly one at 512",
                here(four, "S5:all"),
            ],
        ]
    )


def own_protocol(runs: Runs) -> str:
    """The run with DeltaProduct's own number and size of batches."""
    (run,) = (run for run in runs if run.get("settings", {}).get("words", 0) > 2_000_000)
    read_words, batch = run["steps"] * run["settings"]["batch"], run["settings"]["batch"]
    return (
        f"With batches of {batch:,}, S5 with 4 steps was cut off by time after {read_words:,} of "
        f"{run['settings']['words']:,}\nfresh words: {percent(letters(run, 128))} of the letters of 128, "
        f"the loss flat at {run['curve'][-1][2]:.2f}."
    )


def a5(runs: Runs) -> str:
    """When the best network on A5 began to learn."""
    run = max(of(runs, "DeltaProduct, 4 steps", "A5:all"), key=lambda run: letters(run, 128))
    step = next(step for step, share, _ in run["curve"] if share > 0.3)
    return (
        f"One network of twelve\non A5 took off, before {step * run['settings']['batch']:,} words, and was "
        f"still rising ({percent(letters(run, 128))} of the letters of 128); the others\nstay near chance, "
        "and so do all on S5."
    )


@cache
def same_letters() -> str:
    """Guarantees with every element a letter, as trained."""
    shown = []
    for task, name in list(TASKS.items())[1:]:
        weights = StockWeights(parse_spec(task), "bfloat16", "chunk")
        length = guarantee(weights)
        shown.append(f"{name} {'every length' if length is None else f'{length:,}'} ({weights.steps} steps)")
    return (
        f"With every element a letter, as trained above, guaranteed in bfloat16, chunked: {', '.join(shown)}."
    )


def page_text() -> str:
    """The page."""
    every, rows = read(RUNS), read(CONTROLS)
    runs, run_rows = whole(every), [row for row in rows if "error" not in row]
    refused = {row["error"] for row in rows if "error" in row}
    early, good = flattered(runs)
    failed = [run for run in every if "error" in run]
    return TEXT.format(
        verdict=verdict(runs),
        learned=learned(runs),
        a5=a5(runs),
        beyond=beyond(runs),
        flattered=early,
        passing=good,
        controls=controls(run_rows),
        same=same_letters(),
        refused="; ".join(sorted(refused)),
        published=published(runs),
        own=own_protocol(every),
        not_run="; ".join(f"{run['layer']} (`{run['error'].replace('`', '')}`)" for run in failed),
        repeated=len([run for run in every if run.get("ended") == "out of time"]) - 1,
    )


def figure_text() -> str:
    """The figure of the controls that a GPU measured."""
    rows = [row for row in read(CONTROLS) if "error" not in row]
    return control_figure([Control(**row) for row in rows])


def main() -> None:
    """Writes both."""
    PAGE.write_text(page_text(), encoding="utf-8")
    FIGURE.write_text(figure_text(), encoding="utf-8")


if __name__ == "__main__":
    main()
