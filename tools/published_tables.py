"""Writes the generated tables of README.md and docs/, and the picture of the README.

Run: python tools/published_tables.py [--check]
"""

import argparse
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from statistics import fmean
from unittest.mock import patch

from claims import ABOUT, claims_by_verdict, claims_table, judged, verdict_of
from click.testing import CliRunner
from held_out import blocks as held_out
from learned_depth import blocks
from size_table import read_sizes
from take_offs import table as take_offs
from two_optimisers import swapped
from two_optimisers import table as optimisers

import krohn
from krohn.cli.reproduce import command as reproduce
from krohn.lab.experiments.all_experiments import EXPERIMENTS
from krohn.lab.experiments.experiment import Row, cells_of
from krohn.lab.experiments.names import Scale
from krohn.lab.experiments.recipes.depth import (
    COLUMN,
    CURRICULUM,
    DEEP,
    DEPTHS,
    DOUBLING_DEPTH,
    MUON,
    QUESTIONS,
    SHEETS,
    WHOLE,
)
from krohn.lab.experiments.record import Record
from krohn.lab.experiments.settings import DEPARTURES, TASKS
from krohn.lab.experiments.store import Store
from krohn.lab.experiments.summary import best_of, marks_of, success_text
from krohn.lab.models.architectures.gpt import GptConfig
from krohn.network.plain_words import register_words
from krohn.network.word_picture import word_picture

ROOT = Path(__file__).parents[1]
SHOWN = ("C2", "D8", "Q8", "A4", "S4", "Grid9", "Dyck4,2", "A5", "S5")


def markdown(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


PAPER = "the paper's best"


def sizes() -> str:
    """For some automata: the size built, that of the paper's best, and the proof (results/tables)."""
    built = read_sizes()
    rows = []
    for name in SHOWN:
        own = built[name]
        rows.append(
            [
                name,
                own["blocks"],
                own["width"],
                own["parameters"],
                own["layers"],
                own["proved"],
                theirs(own),
            ]
        )
    ours = ["blocks of GPT-2", "width", "parameters", "layers", "proved in"]
    return markdown(["automaton", *ours, "the paper's best"], rows)


def layers(number: str) -> str:
    return f"{number} layer" + "s" * (number != "1")


def theirs(row: dict[str, str]) -> str:
    """The paper's best construction in words."""
    blocks = f"{row['its blocks']} block" + "s" * (row["its blocks"] != "1")
    return f"{blocks}, width {row['its width']}, {layers(row['its layers'])}: {row[PAPER]}"


def blocks_of(row: dict[str, str]) -> str:
    return f"{row['blocks']} block" + "s" * (row["blocks"] != "1")


def size_of_s4() -> str:
    """The network of the first example, in words."""
    row = read_sizes()["S4"]
    return f"{layers(row['layers'])} ({blocks_of(row)}) and {row['width']} dimensions"


@cache
def published() -> Store:
    """All published results."""
    return Store(ROOT / "results", writable=False)


@cache
def depth_rows() -> list[Row]:
    """All cells of the map at 100 letters."""
    rows = EXPERIMENTS["depth"].table(cells_of(published(), "depth", Scale.SMALL))
    return [row for row in rows if row["length"] == 100 and row["sheet"] not in QUESTIONS]


def learned() -> str:
    """How many of the paper's automata were learned on whole words, and by which optimiser."""
    rows = [row for row in depth_rows() if not by_window(row)]
    least: dict[str, dict[str, int]] = {
        name: {
            task: min(depths)
            for task in TASKS
            if (depths := [row["depth"] for row in own if row["task"] == task and row["solved"]])
        }
        for name, sheets in (
            ("Muon", [MUON]),
            ("AdamW", [DEEP, *(sheet for sheet in SHEETS if sheet != MUON)]),
        )
        if (own := [row for row in rows if row["sheet"] in sheets])
    }
    learned_ones = {task for own in least.values() for task in own}
    text = f"{len(learned_ones)} of the paper's 19 automata are learned:\n\n"
    text += markdown(
        ["fewest layers that passed, of those tried"]
        + [f"by the recipe with {name} ({len(own)})" for name, own in least.items()],
        [
            [str(depth)] + [", ".join(task for task in own if own[task] == depth) for own in least.values()]
            for depth in sorted({depth for own in least.values() for depth in own.values()})
        ],
    )
    tried = {row["task"] for row in rows}
    rest = [task for task in TASKS if task not in learned_ones and task in tried]
    text += f"\n\nNot learned with 8 layers: {', '.join(rest)}." if rest else ""
    missing = [task for task in TASKS if task not in tried]
    return text + (f"\n\nNot tried: {', '.join(missing)}." if missing else "")


def depths() -> str:
    """For every task the fewest layers that pass 99% of the test letters, on whole words and by curriculum.

    Tie-breaker: the run that read fewer words.
    """
    rows = depth_rows()
    header = ["task", "whole words: layers", "letters", "words", "reach 99%", "words read"]
    header += ["curriculum: layers", "letters", "words", "words read"]
    lines = []
    for task in TASKS:
        whole, window = (
            best_row([row for row in rows if row["task"] == task and by_window(row) == window])
            for window in (False, True)
        )
        shares = [] if whole is None else [success_text(whole)]
        first = row_cells(whole)
        lines.append([task, *first[:3], *(shares or [""]), first[3], *row_cells(window)])
    return markdown(header, lines)


def ways() -> str:
    """Cells that were run both on whole words and by curriculum, with AdamW; all else is equal."""
    return side_by_side(WHOLE, CURRICULUM)


def side_by_side(*sheets: str) -> str:
    rows = {(row["task"], row["depth"], row["sheet"]): row for row in depth_rows()}
    parts = ("letters", "words", "reach 99%", "words read")
    header = ["task", "layers", *(f"{COLUMN[sheet]}: {part}" for sheet in sheets for part in parts)]
    header = [name.replace("\n", " ") for name in header]
    pairs = [
        [rows[task, depth, sheet] for sheet in sheets]
        for task in TASKS
        for depth in DEPTHS[Scale.SMALL]
        if all((task, depth, sheet) in rows for sheet in sheets)
    ]
    lines = []
    for pair in pairs:
        lines.append([pair[0]["task"], str(pair[0]["depth"])])
        for row in pair:
            _, letters, words, read = row_cells(row)
            lines[-1] += [letters, words, success_text(row), read]
    return markdown(header, lines)


def recipes() -> str:
    """For each task and recipe, the shallowest solved cell on whole words, and its cost."""
    header = ["automaton", "optimiser", "layers", "letters", "words", "words read", "reach 99%"]
    solved = [row for row in depth_rows() if row["solved"]]
    chosen = [
        row
        for task in TASKS
        for sheet in (MUON, WHOLE)
        if (row := best_row([row for row in solved if (row["task"], row["sheet"]) == (task, sheet)]))
    ]
    return markdown(
        header, [[row["task"], COLUMN[row["sheet"]], *row_cells(row), success_text(row)] for row in chosen]
    )


def filled_cells() -> str:
    """How many cells of each sheet are filled, for example ``100 of 152 whole words, by Muon; …``."""
    filled = [row["sheet"] for row in depth_rows() if row["depth"] in DEPTHS[Scale.SMALL]]
    total = len(TASKS) * len(DEPTHS[Scale.SMALL])
    return "; ".join(f"{filled.count(sheet)} of {total} on {text}" for sheet, text in SHEETS.items())


def cells() -> str:
    """How many cells of each sheet are filled, and why cells on whole words are blank."""
    rows = depth_rows()
    return (
        f"Cells that are filled: {filled_cells()}. "
        "The blank ones on whole words, by number of layers "
        "(with 7, as the taught networks have, by Muon alone):\n\n"
        + markdown(
            ["layers", *(f"{COLUMN[sheet]}: {why}" for sheet in (MUON, WHOLE) for why in BLANK)],
            [
                [
                    str(depth),
                    *(", ".join(blank(rows, sheet, depth, why)) for sheet in (MUON, WHOLE) for why in BLANK),
                ]
                for depth in sorted({*DEPTHS[Scale.SMALL], DOUBLING_DEPTH})
            ],
        )
    )


BLANK = (
    "shallower than a depth that fails",
    "could decide the least depth; no GPU time",
    "deeper than a depth that passes",
)
"""Why a cell of the map is blank."""


def blank(rows: list[Row], sheet: str, depth: int, why: str) -> list[str]:
    """The tasks without a cell of this depth for the reason ``why``."""
    own = [row for row in rows if row["sheet"] == sheet]
    tasks = []
    for task in TASKS if sheet == MUON or depth != DOUBLING_DEPTH else ():
        depths = {row["depth"]: row["solved"] for row in own if row["task"] == task}
        fails = any(not solved and other > depth for other, solved in depths.items())
        passes = any(solved and other < depth for other, solved in depths.items())
        if depth not in depths and why == BLANK[2 if passes else 0 if fails else 1]:
            tasks.append(task)
    return tasks


def by_window(row: Row) -> bool:
    return bool(row.get("curriculum") or row.get("sheet") == "curriculum")


def best_row(rows: list[Row]) -> Row | None:
    """The shallowest solved row; fallback: the most accurate one."""
    solved = [row for row in rows if row["solved"]]
    if solved:
        return min(solved, key=lambda row: (row["depth"], row["sequences"]))
    return max(rows, key=lambda row: float(row["max_accuracy"]), default=None)


def row_cells(row: Row | None) -> list[str]:
    """Layers (in brackets if unsolved), token and word accuracy, training words."""
    if row is None:
        return ["", "", "", ""]
    layers = str(row["depth"]) if row["solved"] else f"({row['depth']})"
    words = row["word_accuracy"]
    shown = "" if words is None else f"{100 * words:.1f}%"
    return [layers, f"{100 * row['max_accuracy']:.2f}%", shown, f"{row['sequences']:,}{marks_of(row)}"]


def tables(names: Iterable[str]) -> Mapping[str, str]:
    """Tables as `krohn reproduce NAME --scale small --show --markdown` prints them."""
    return {name: shown(name) for name in names}


def shown(name: str) -> str:
    options = ["--scale", "small", "--show", "--markdown", "--store", str(ROOT / "results")]
    undrawn = replace(EXPERIMENTS[name], draw=lambda cells, caption: {})  # only the table is needed
    with tempfile.TemporaryDirectory() as figures, patch.dict(EXPERIMENTS, {name: undrawn}):
        done = CliRunner().invoke(reproduce, [name, *options, "--figures", figures])
    assert done.exit_code == 0, done.output
    return done.stdout.strip()


def picture() -> str:
    """The network of README.md reading one word, with the labels of the explorer."""
    network = krohn.compile("abab", length=12, method="features")
    seen, words = krohn.explain(network, "abababbaabab"), register_words(network)
    stored = (shown for shown in seen.registers if shown.after != "not stored")
    rows = ((shown.layer, words[shown.name], shown.values) for shown in stored)
    return word_picture(seen.positions, seen.states, rows, seen.heads)


def how_flattered(store: Store) -> str:
    """The selection bias: validation minus test accuracy of the selected replicates."""
    runs: dict[str, list[Record]] = {}
    for record in store.records():
        runs.setdefault(record.run_id, []).append(record)
    best = [best_of(records) for records in runs.values()]
    gaps = [100 * (float(record.metrics["accuracy"]) - record.accuracy) for record in best]
    text = f"How optimistic is validation accuracy? Over all {len(gaps)} published runs the chosen replicate "
    text += f"has {fmean(gaps):.2f} points\nmore on the validation set than on the test set on average, "
    return text + f"and at most {max(gaps):.1f}."


def findings() -> Mapping[str, str]:
    """The table of every experiment of the paper, and each claim with its verdict."""
    store = published()
    return {
        "claims": claims_table(store),
        "flattered": how_flattered(store),
        "departures": departures(),
        "cells": cells(),
        "depths": depths(),
        "ways": ways(),
        "optimisers": optimisers(),
        "swapped": swapped(),
        "take-offs": take_offs(),
        **tables(name for name in EXPERIMENTS if store.members(name, Scale.SMALL)),
    }


def departures() -> str:
    """How each of the paper's nine experiments here differs from the paper's scale, in one table."""
    header, rows = scales()
    rows = [[*row, EXPERIMENTS[row[0]].departures.get(Scale.SMALL, "")] for row in rows]
    note = f"Published here / in the paper. In all: {DEPARTURES[Scale.SMALL]}."
    return f"{markdown([*header, 'what else differs'], rows)}\n\n{note}"


def scales() -> tuple[list[str], list[list[str]]]:
    """The numbers of that table: those of the published runs, and where they differ the paper's."""
    rows, verdicts = [], judged(published())
    for name in ABOUT:
        here, paper = (EXPERIMENTS[name].plan(scale) for scale in (Scale.SMALL, Scale.PAPER))
        run = [one for one in here if published().of_run(one.config.run_id)]
        plans = [[one.config for one in plan] for plan in (run, paper)]
        pairs = [
            [
                span(config.model.layers for config in plan if isinstance(config.model, GptConfig))
                for plan in plans
            ],
            [span(config.task.length for config in plan) for plan in plans],
            [span(config.replicates for config in plan) for plan in plans],
            [span(config.steps * config.optimizer.batch for config in plan) for plan in plans],
            [span(config.optimizer.batch for config in plan) for plan in plans],
        ]
        same = [ours if ours == theirs else f"{ours} / {theirs}" for ours, theirs in pairs]
        rows.append([name, verdict_of(name, verdicts), f"{len(run)} of {len(here)}", *same])
    header = [
        "experiment",
        "claims of the paper",
        "runs, of those planned",
        "layers of GPT",
        "letters",
        "replicates",
    ]
    return [*header, "words of a replicate, at most", "batch"], rows


def span(values: Iterable[int]) -> str:
    low, *_, high = sorted([*(seen := list(values)), max(seen)])
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"


PAGES: Mapping[str, Callable[[], Mapping[str, str]]] = {
    "README.md": lambda: {"s4": size_of_s4()},
    "docs/compiler.md": lambda: {"sizes": sizes()},
    "docs/index.md": lambda: {"s4": size_of_s4()},
    "docs/tour.md": lambda: {"s4": size_of_s4()},
    "docs/recipes.md": lambda: {"recipes": recipes()},
    "docs/findings.md": lambda: {
        "verdicts": claims_by_verdict(published()),
        "learned": learned(),
        "filled": filled_cells(),
        "scales": markdown(*scales()),
    },
    "results/findings.md": findings,
    "results/learned-depth.md": lambda: {**blocks(), **held_out()},
}


PICTURES: Mapping[str, Callable[[], str]] = {"docs/abab.svg": picture}


def filled(page: str, text: str) -> str:
    for name, table in PAGES[page]().items():
        gap = "\n" if "\n" in table else ""  # a value of one line stands inside a sentence
        block = f"<!-- {name} -->{gap}{table}{gap}<!-- end -->"
        text, count = re.subn(rf"<!-- {name} -->.*?<!-- end -->", lambda _, b=block: b, text, flags=re.DOTALL)
        assert count == 1, f"{page} must have one place for {name}"
    return text


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit 1 if a page would change")
    options = parser.parse_args(arguments)
    stale = 0
    for page in [*PAGES, *PICTURES]:
        before = (ROOT / page).read_text() if (ROOT / page).exists() else ""
        after = filled(page, before) if page in PAGES else PICTURES[page]()
        if options.check:
            print(f"{page} is {'up to date' if before == after else 'out of date'}")
            stale += before != after
        else:
            (ROOT / page).write_text(after)
    return int(stale > 0)


if __name__ == "__main__":
    sys.exit(main())
