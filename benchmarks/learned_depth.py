"""Learned against compiled depth: the table and the rank correlations of docs/learned-depth.md.

Run: python benchmarks/learned_depth.py
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from krohn.algebra.analysis import analyze
from krohn.algebra.permgroup import PermutationGroup
from krohn.automata.spec import parse_spec
from krohn.cascade.holonomy import decompose
from krohn.experiments.catalogue import EXPERIMENTS
from krohn.experiments.experiment import Row, cells_of
from krohn.experiments.scale import Scale
from krohn.experiments.settings import TASKS
from krohn.experiments.store import Store
from krohn.experiments.text_form import import_text

ROOT = Path(__file__).parents[1]
VERDICTS = ("AC0", "ACC0", "NC1-complete")
SHUFFLES = 10_000


@dataclass(frozen=True)
class Line:
    """One automaton: what it is, how deep it compiles, how deep it was learned."""

    task: str
    compiled: int
    derived_length: float
    levels: int
    order: int
    verdict: int
    learned: float | None
    shown: str
    half: str
    steps: str


def compiled_depths() -> dict[str, int]:
    rows = [line for line in (ROOT / "docs" / "sizes.md").read_text().splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    place = cells[0].index("layers")
    found: dict[str, int] = {}
    for row in cells[2:]:
        if row[0] in TASKS and row[0] not in found:
            found[row[0]] = int(row[place])
    return found


def map_rows() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "results.sqlite") as store:
        import_text(store, ROOT / "results" / "uniform-small.jsonl")
        rows = EXPERIMENTS["uniform"].table(cells_of(store, "uniform", Scale.SMALL))
    return [row for row in rows if row["sheet"] == "whole words" and not row["partial"]]


def line_of(task: str, rows: list[Row], compiled: int) -> Line:
    automaton = parse_spec(task)
    found = analyze(automaton)
    lengths = [derived_length(subgroup.group) for subgroup in found.groups]
    own = sorted((row for row in rows if row["task"] == task), key=lambda row: int(row["depth"]))
    solved = next((row for row in own if row["solved"]), None)
    learned, shown, half, steps = None, "not tried", "", ""
    if solved is not None:
        learned, shown = float(solved["depth"]), str(solved["depth"])
        shallow = [row for row in own if 2 * row["depth"] <= solved["depth"]]
        half = f"{shallow[-1]['solved_letters']} (L = {shallow[-1]['depth']})" if shallow else ""
        steps = f"{solved['sequences'] // 64:,}"
    elif own:
        learned, shown = own[-1]["depth"] + 0.5, f"more than {own[-1]['depth']}"
    return Line(
        task=task,
        compiled=compiled,
        derived_length=max(lengths, default=0.0),
        levels=decompose(automaton).num_levels,
        order=int(found.semigroup_size or 0),
        verdict=VERDICTS.index(found.complexity),
        learned=learned,
        shown=shown,
        half=half,
        steps=steps,
    )


def derived_length(group: PermutationGroup) -> float:
    """Steps of the derived series down to the trivial group; infinite if it ends before."""
    series = group.derived_series()
    return len(series) - 1.0 if series[-1].is_trivial else float("inf")


def ranks(values: list[float]) -> NDArray[np.float64]:
    """Ranks from 0, ties by their mean."""
    array = np.array(values)
    return np.array([(array < one).sum() + ((array == one).sum() - 1) / 2 for one in array])


def spearman(one: list[float], other: list[float]) -> tuple[float, float]:
    """The correlation of the ranks, and the share of shuffles with one as large."""
    first, second = ranks(one), ranks(other)
    if first.std() == 0 or second.std() == 0:
        return float("nan"), 1.0
    found = float(np.corrcoef(first, second)[0, 1])
    rng = np.random.default_rng(0)
    chance = [np.corrcoef(rng.permutation(first), second)[0, 1] for _ in range(SHUFFLES)]
    return found, float(np.mean(np.abs(chance) >= abs(found) - 1e-12))


def main() -> None:
    rows, depths = map_rows(), compiled_depths()
    lines = [line_of(task, rows, depths[task]) for task in TASKS]
    print(table(lines))
    known = [line for line in lines if line.learned is not None]
    solvable = [line for line in known if line.verdict < 2]
    print(f"\nRank correlation with learned depth ({len(known)} automata; p by {SHUFFLES:,} shuffles):\n")
    print("| property | all | p | solvable only | p |\n| --- | --- | --- | --- | --- |")
    for name in ("compiled", "derived_length", "levels", "order", "verdict"):
        cells = []
        for chosen in (known, solvable):
            value, chance = spearman(
                [float(getattr(line, name)) for line in chosen], [float(line.learned or 0) for line in chosen]
            )
            cells += [f"{value:.2f}", f"{chance:.3f}"]
        print(f"| {name.replace('_', ' ')} | {' | '.join(cells)} |")


def table(lines: list[Line]) -> str:
    header = ["automaton", "verdict", "derived length", "levels", "order", "compiled", "learned"]
    header += ["solved letters at half", "steps"]
    body = [
        [
            line.task,
            VERDICTS[line.verdict],
            "∞" if line.derived_length == float("inf") else f"{line.derived_length:.0f}",
            f"{line.levels}",
            f"{line.order:,}",
            f"{line.compiled}",
            line.shown,
            line.half,
            line.steps,
        ]
        for line in lines
    ]
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, ["---"] * len(header), *body])


if __name__ == "__main__":
    main()
