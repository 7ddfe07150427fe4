"""Learned against compiled depth: the tables and rank correlations of docs/learned-depth.md.

`python benchmarks/published_tables.py` writes them there.
"""

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from size_table import LEAST

from krohn.algebra.analysis import analyze
from krohn.algebra.permgroup import PermutationGroup
from krohn.automata.zoo import parse_spec
from krohn.cascade.holonomy import holonomy_cascade
from krohn.experiments.all_experiments import EXPERIMENTS
from krohn.experiments.experiment import Row, cells_of
from krohn.experiments.recipes.sample import COUNT, specs
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
    lower: int
    non_abelian: int
    unsolved: bool


def compiled_depths() -> dict[str, tuple[int, int]]:
    """Layers and lower bound of the paper's automata."""
    rows = [line for line in (ROOT / "docs" / "sizes.md").read_text().splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    place, bound = cells[0].index("layers"), cells[0].index(LEAST)
    found: dict[str, tuple[int, int]] = {}
    for row in cells[2:]:
        if row[0] in TASKS and row[0] not in found:
            found[row[0]] = int(row[place]), int(row[bound].split()[0])
    return found


def rows_of(name: str) -> list[Row]:
    """An experiment's published cells: whole runs on whole words."""
    file = ROOT / "results" / f"{name}-small.jsonl"
    if not file.is_file():
        return []
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "results.sqlite") as store:
        import_text(store, file)
        rows = EXPERIMENTS[name].table(cells_of(store, name, Scale.SMALL))
    return [row for row in rows if row.get("sheet", "whole words") == "whole words" and not row["partial"]]


def atlas_depths() -> dict[str, tuple[int, int]]:
    """Layers and lower bound of the sample's automata, by their tables."""
    atlas = json.loads((ROOT / "docs" / "atlas.json").read_text())
    return {
        "table:" + ".".join("".join(map(str, row)) for row in one["table"]): (one["depth"], one["lower"])
        for part in atlas.values()
        for one in part
    }


def line_of(task: str, rows: list[Row], compiled: int, lower: int) -> Line:
    automaton = parse_spec(task)
    found = analyze(automaton)
    lengths = [derived_length(subgroup.group) for subgroup in found.groups]
    own = sorted((row for row in rows if row["task"] == task), key=lambda row: int(row["depth"]))
    solved = next((row for row in own if row["solved"]), None)
    learned, shown, half, steps = None, "not tried", "", ""
    if solved is not None:
        learned, shown = float(solved["depth"]), str(solved["depth"])
        shallow = [row for row in own if 2 * row["depth"] <= solved["depth"]]
        half = f"{shallow[-1].get('solved_letters', '')} (L = {shallow[-1]['depth']})" if shallow else ""
        steps = f"{solved['sequences'] // 64:,}"
    elif own:
        learned, shown = own[-1]["depth"] + 0.5, f"more than {own[-1]['depth']}"
    return Line(
        task=task,
        compiled=compiled,
        derived_length=max(lengths, default=0.0),
        levels=holonomy_cascade(automaton).num_levels,
        order=int(found.semigroup_size or 0),
        verdict=VERDICTS.index(found.complexity),
        learned=learned,
        shown=shown,
        half=half,
        steps=steps,
        lower=lower,
        non_abelian=int(any(length >= 2 for length in lengths)),
        unsolved=solved is None,
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
    if len(first) < 2 or first.std() == 0 or second.std() == 0:
        return float("nan"), 1.0
    found = float(np.corrcoef(first, second)[0, 1])
    rng = np.random.default_rng(0)
    shuffled = rng.permuted(np.tile(first - first.mean(), (SHUFFLES, 1)), axis=1)
    chance = shuffled @ (second - second.mean()) / (len(first) * first.std() * second.std())
    return found, float(np.mean(np.abs(chance) >= abs(found) - 1e-12))


def concordance(lines: list[Line], name: str) -> str:
    """Of the pairs whose order is known, the share that a property orders alike; equal values count half.

    A task that no depth solved lies beyond those solved at a depth where it was tried; the order of two such
    tasks is not known (Harrell's index for censored times).
    """
    found = [
        (getattr(one, name), getattr(other, name))
        for one in lines
        for other in lines
        if one.learned is not None and other.learned is not None
        if not one.unsolved and one.learned < other.learned
    ]
    if not found:
        return "–"
    return f"{sum((low < high) + 0.5 * (low == high) for low, high in found) / len(found):.2f} ({len(found)})"


PROPERTIES = ("compiled", "derived_length", "non_abelian", "levels", "order", "verdict")


def blocks() -> dict[str, str]:
    """The tables by the name of their place in the page."""
    rows, depths = rows_of("depth"), compiled_depths()
    lines = [line_of(task, rows, *depths[task]) for task in TASKS]
    found = {"learned": table(lines), "learned-ranks": correlations(lines)}
    small, atlas = rows_of("sample"), atlas_depths()
    drawn = [line_of(spec, small, *atlas[spec]) for spec in specs()[: COUNT[Scale.SMALL]]]
    return found | {"sample": sample_table(drawn), "sample-ranks": correlations(drawn)}


def correlations(lines: list[Line]) -> str:
    """Rank correlations with learned depth, over all and without the non-solvable ones."""
    known = [line for line in lines if line.learned is not None]
    solvable = [line for line in known if line.verdict < 2]
    text = f"Rank correlation with learned depth ({len(known)} automata; p by {SHUFFLES:,} shuffles):\n\n"
    body = []
    for name in PROPERTIES:
        cells = []
        for chosen in (known, solvable):
            value, chance = spearman(
                [float(getattr(line, name)) for line in chosen], [float(line.learned or 0) for line in chosen]
            )
            told = f"{chance:.3f}" if chance >= 0.001 else "< 0.001"
            cells += ["–", "–"] if value != value else [f"{value:.2f}", told]
        groups = [line for line in known if line.non_abelian]
        cells += [concordance(known, name), concordance(groups, name)]
        body.append([name.replace("_", "-" if name == "non_abelian" else " "), *cells])
    header = ["property", "all", "p", "solvable only", "p", "known pairs", "known pairs of non-abelian ones"]
    return text + markdown(header, body)


def sample_table(lines: list[Line]) -> str:
    header = ["table", "verdict", "derived length", "levels", "order", LEAST, "compiled"]
    header += ["learned", "steps"]
    body = [
        [
            line.task.removeprefix("table:"),
            VERDICTS[line.verdict],
            infinite(line.derived_length),
            f"{line.levels}",
            f"{line.order:,}",
            f"{line.lower}",
            f"{line.compiled}",
            line.shown,
            line.steps,
        ]
        for line in lines
    ]
    return markdown(header, body)


def infinite(length: float) -> str:
    return "∞" if length == float("inf") else f"{length:.0f}"


def markdown(header: list[str], body: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, ["---"] * len(header), *body])


def table(lines: list[Line]) -> str:
    header = ["automaton", "verdict", "derived length", "levels", "order", LEAST, "compiled"]
    header += ["learned", "solved letters at half", "steps"]
    body = [
        [
            line.task,
            VERDICTS[line.verdict],
            infinite(line.derived_length),
            f"{line.levels}",
            f"{line.order:,}",
            f"{line.lower}",
            f"{line.compiled}",
            line.shown,
            line.half,
            line.steps,
        ]
        for line in lines
    ]
    return markdown(header, body)


if __name__ == "__main__":
    print("\n\n".join(blocks().values()))
