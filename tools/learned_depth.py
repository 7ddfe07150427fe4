"""Learned against compiled depth: the tables and rank correlations of results/learned-depth.md.

`python tools/published_tables.py` writes them there.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from statistics import median

import numpy as np
from numpy.typing import NDArray
from size_table import LEAST, read_sizes
from two_optimisers import published

from krohn.algebra.analysis import algebra_of
from krohn.algebra.permgroup import PermutationGroup
from krohn.automata.small import sample_automata
from krohn.automata.zoo import parse_spec
from krohn.cascade.holonomy import holonomy_cascade
from krohn.lab.experiments.all_experiments import EXPERIMENTS
from krohn.lab.experiments.experiment import Row, cells_of
from krohn.lab.experiments.names import Scale
from krohn.lab.experiments.recipes.depth import (
    DOUBLING_DEPTH,
    GROWTH,
    GROWTH_TASKS,
    MUON,
    WHOLE,
)
from krohn.lab.experiments.recipes.taught import DOUBLING, EQUAL, words_to_pass
from krohn.lab.experiments.settings import TASKS
from krohn.lab.experiments.store import Store
from krohn.lab.experiments.summary import SOLVED, summary

ROOT = Path(__file__).parents[1]
VERDICTS = ("AC0", "ACC0", "NC1-complete")
SHUFFLES = 10_000
FITTED = 24  # of the random automata: fits to these predicted the others before those were run


@dataclass(frozen=True)
class Line:
    """One automaton: its properties, its compiled depth and its learned depth."""

    task: str
    compiled: int
    blocks: int
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


def compiled_depths() -> dict[str, tuple[int, int, int]]:
    """Layers, lower bound and blocks of the paper's automata."""
    return {
        task: (int(row["layers"]), int(row[LEAST].split()[0]), int(row["blocks"]))
        for task, row in read_sizes().items()
        if task in TASKS
    }


@cache
def specs() -> tuple[str, ...]:
    """Small random automata by their tables: the atlas's sample of 4 states and 2 letters, seed 1."""
    drawn = sample_automata(4, 2, 40, 1)
    return tuple("table:" + ".".join("".join(map(str, row)) for row in one.table.tolist()) for one in drawn)


def rows_of(name: str, sheet: str = WHOLE) -> list[Row]:
    """An experiment's published rows, without partial runs; of one sheet, if it has sheets."""
    rows = rows_in(ROOT / "results" / f"{name}-small.jsonl", name)
    return [row for row in rows if row.get("sheet", sheet) == sheet and not row["partial"]]


@cache
def rows_in(file: Path, name: str) -> tuple[Row, ...]:
    """All rows of a file, which is read once: eighteen tables ask for those of two files."""
    if not file.is_file():
        return ()
    with Store(file, writable=False) as store:
        cells = cells_of(store, name, Scale.SMALL)
        known = name in EXPERIMENTS  # the random automata are not, any more
        rows = EXPERIMENTS[name].table(cells) if known else [{**one.label, **summary(one)} for one in cells]
    for row in rows:
        row.setdefault("solved", row["max_accuracy"] >= SOLVED)
    return tuple(rows)


def atlas_depths() -> dict[str, tuple[int, int]]:
    """Layers and lower bound of the sample's automata, by their tables."""
    atlas = json.loads((ROOT / "results" / "tables" / "atlas.json").read_text())
    return {
        "table:" + ".".join("".join(map(str, row)) for row in one["table"]): (one["depth"], one["lower"])
        for part in atlas.values()
        for one in part
    }


def line_of(task: str, rows: list[Row], compiled: int, lower: int, blocks: int = 0) -> Line:
    automaton = parse_spec(task)
    analysis = algebra_of(automaton)
    lengths = [derived_length(subgroup.group) for subgroup in analysis.groups]
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
        blocks=blocks,
        derived_length=max(lengths, default=0.0),
        levels=holonomy_cascade(automaton).num_levels,
        order=int(analysis.semigroup_size or 0),
        verdict=VERDICTS.index(analysis.complexity),
        learned=learned,
        shown=shown,
        half=half,
        steps=steps,
        lower=lower,
        non_abelian=int(any(length >= 2 for length in lengths)),
        unsolved=solved is None,
    )


def derived_length(group: PermutationGroup) -> float:
    """Steps of the derived series down to the trivial group; infinite if it does not reach that."""
    series = group.derived_series
    return len(series) - 1.0 if series[-1].is_trivial else float("inf")


def ranks(values: list[float]) -> NDArray[np.float64]:
    """Ranks from 0; ties get their mean rank."""
    array = np.array(values)
    return np.array([(array < one).sum() + ((array == one).sum() - 1) / 2 for one in array])


def spearman(one: list[float], other: list[float]) -> tuple[float, float]:
    """The rank correlation, and its p-value: the share of shuffles whose correlation is as large in size."""
    first, second = ranks(one), ranks(other)
    if len(first) < 2 or first.std() == 0 or second.std() == 0:
        return float("nan"), 1.0
    correlation = float(np.corrcoef(first, second)[0, 1])
    rng = np.random.default_rng(0)
    shuffled = rng.permuted(np.tile(first - first.mean(), (SHUFFLES, 1)), axis=1)
    chance = shuffled @ (second - second.mean()) / (len(first) * first.std() * second.std())
    return correlation, float(np.mean(np.abs(chance) >= abs(correlation) - 1e-12))


def concordance(lines: list[Line], name: str) -> str:
    """Among pairs of known order, the share that a property orders in the same way; ties count half.

    An unsolved task ranks above tasks solved at depths where it was tried; the order of two unsolved tasks is
    unknown (Harrell's concordance index for censored data).
    """
    pairs = [
        (getattr(one, name), getattr(other, name))
        for one in lines
        for other in lines
        if one.learned is not None and other.learned is not None
        if not one.unsolved and one.learned < other.learned
    ]
    if not pairs:
        return "–"
    return f"{sum((low < high) + 0.5 * (low == high) for low, high in pairs) / len(pairs):.2f} ({len(pairs)})"


PROPERTIES = ("blocks", "compiled", "derived_length", "non_abelian", "levels", "order", "verdict")


@dataclass(frozen=True)
class Interval:
    """Bounds on a task's least depth by one recipe: more than ``low``, at most ``high``."""

    task: str
    sheet: str
    low: float
    high: float

    def __str__(self) -> str:
        if self.high == math.inf:
            return f"more than {self.low:.0f}"
        if self.low == 0:
            return "1" if self.high == 1 else f"at most {self.high:.0f}"
        return f"{self.low:.0f} < L ≤ {self.high:.0f}"


def interval(task: str, sheet: str, rows: Sequence[Row]) -> Interval | None:
    """From the cells that were run: the shallowest that passes, and the deepest one below it."""
    own = [(float(row["depth"]), bool(row["solved"])) for row in rows if row["task"] == task]
    high = min((depth for depth, passed in own if passed), default=math.inf)
    low = max((depth for depth, _ in own if depth < high), default=0.0)
    return Interval(task, sheet, low, high) if own else None


def by_most(rows: Sequence[Row]) -> list[Row]:
    """The same cells; one passes where most replicates have 99% of the test letters."""
    return [row | {"solved": 2 * row["reached"] > row["replicates"]} for row in rows]


def growth() -> str:
    """The least depth by the length of the words, for groups of which three can do with a constant depth."""
    body = []
    for task, (sheet, length) in product(GROWTH_TASKS, {**GROWTH, MUON: 100}.items()):
        rows = [row for row in rows_of("depth", sheet) if row["task"] == task]
        cells = [f"{row['depth']}: {passing(row)}" for row in sorted(rows, key=lambda row: int(row["depth"]))]
        least = [str(interval(task, sheet, chosen)) for chosen in (rows, by_most(rows))]
        body.append([task, f"{length}", *least, "; ".join(cells)])
    header = [
        "group",
        "T",
        "least depth, best replicate",
        "least depth, most replicates",
        "layers: reach 99%",
    ]
    return markdown(header, body)


def passing(row: Row) -> str:
    """For example ``4 of 6 (99.9%)``: replicates that pass, and the best one's letters, never rounded up."""
    return f"{row['reached']} of {row['replicates']} ({math.floor(1000 * row['max_accuracy']) / 10:.1f}%)"


def seven_layers() -> str:
    """Seven layers, taught and untaught side by side."""
    by_map = {row["task"]: row for row in rows_of("depth", MUON) if row["depth"] == DOUBLING_DEPTH}
    lessons = {
        (row["task"], row["hints"]): row
        for row in rows_of("taught")
        if (row["length"], row["layers"]) == (100, DOUBLING_DEPTH)
    }
    body = []
    for task in TASKS:
        few = lessons.get((task, EQUAL))
        shown = (passing(lessons[task, DOUBLING]), passing(few) if few else "not run", passing(by_map[task]))
        body.append([task, *shown])
    return markdown(["automaton", "taught, 256,000 words", "untaught, as few", "untaught, 1,024,000"], body)


def words_by_depth() -> str:
    """Thousands of words to 99%, the median of the replicates that pass, for each cell of the map by Muon."""
    cells = {
        (cell.label["task"], cell.label["depth"]): cell
        for cell in published()
        if cell.label.get("sheet") == MUON and not any(one.status == "partial" for one in cell.records)
    }
    depths = sorted({depth for _, depth in cells})
    body = []
    for task in TASKS:
        line = [task]
        for depth in depths:
            records = cells[task, depth].records if (task, depth) in cells else ()
            passed = [words for words in map(words_to_pass, records) if words is not None]
            few = "" if len(passed) == len(records) else f" ({len(passed)} of {len(records)})"
            line.append(f"{median(passed) / 1000:.0f}{few}" if passed else "–" if records else "")
        body.append(line)
    return markdown(["automaton", *(f"L = {depth}" for depth in depths)], body)


CYCLIC = re.compile("C[2-8]")
ROUNDS = 4_000
CONVERGED = 1e-7
LEAST_SPREAD = 0.05


@dataclass(frozen=True)
class Fit:
    """y = places·slopes + normal noise of standard deviation ``spread``; log-likelihood of the data."""

    slopes: NDArray[np.float64]
    spread: float
    log_likelihood: float


def fit(
    places: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    weight: NDArray[np.float64] | None = None,
) -> Fit:
    """Maximum-likelihood fit of y = places·b + normal noise when only low < y ≤ high is known.

    Expectation–maximisation: mean and variance of y within its interval, then least squares. ``weight`` says
    how often each observation counts, once by default.
    """
    weight = np.ones(len(places)) if weight is None else weight
    root = np.sqrt(weight)
    beta = np.zeros(places.shape[1])
    spread = 2.0
    for _ in range(ROUNDS):
        mean = places @ beta
        share, first, second = _inside((low - mean) / spread, (high - mean) / spread)
        guess, former = mean + spread * first, (*beta, spread)
        beta = np.linalg.lstsq(places * root[:, None], guess * root, rcond=None)[0]
        rest = (guess - places @ beta) ** 2 + spread**2 * (second - first**2)
        spread = max(LEAST_SPREAD, float(np.sqrt(np.average(rest, weights=weight))))
        if np.abs(np.subtract(former, (*beta, spread))).max() < CONVERGED:
            break
    mean = places @ beta
    share, _, _ = _inside((low - mean) / spread, (high - mean) / spread)
    return Fit(beta, spread, float((weight * np.log(share)).sum()))


def _inside(
    low: NDArray[np.float64], high: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """A standard normal truncated to bounds: its probability, mean and mean square."""
    below = np.array([0.5 * math.erfc(-one / math.sqrt(2)) for one in low])
    above = np.array([0.5 * math.erfc(one / math.sqrt(2)) for one in high])
    share = np.maximum(1 - below - above, 1e-12)
    edges = [np.exp(-np.minimum(one**2, 1e4) / 2) / math.sqrt(2 * math.pi) for one in (low, high)]
    finite = [np.where(np.isfinite(one), one, 0.0) for one in (low, high)]
    first = (edges[0] - edges[1]) / share
    second = 1 + (finite[0] * edges[0] - finite[1] * edges[1]) / share
    return share, first, second


def censored(lines: list[Line], intervals: list[Interval]) -> str:
    """How well each property explains the logarithm of the least depth, given the recipe.

    The two recipes of one automaton are no independent observations, nor are the cyclic groups C2 to C8: an
    automaton counts once, and so do these seven together.
    """
    times = Counter(one.task for one in intervals)
    cyclic = sum(CYCLIC.fullmatch(task) is not None for task in times)
    weight = np.array(
        [1 / times[one.task] / (cyclic if CYCLIC.fullmatch(one.task) else 1) for one in intervals]
    )
    at = {line.task: place for place, line in enumerate(lines)}
    with np.errstate(divide="ignore"):
        low = np.log2([one.low for one in intervals])
        high = np.log2([one.high for one in intervals])
    base = np.stack([np.ones(len(intervals)), [float(one.sheet == MUON) for one in intervals]], axis=1)
    none = fit(base, low, high, weight).log_likelihood
    text = (
        f"Log-likelihood of the {len(intervals)} least depths that are known to lie between two depths "
        f"({sum(one.sheet == WHOLE for one in intervals)} by AdamW, "
        f"{sum(one.sheet == MUON for one in intervals)} by Muon), as normal in log₂ L with the recipe "
        f"as a factor. An automaton counts once, by both recipes together, and so do C2 to C8: "
        f"{weight.sum():.0f} observations in all; without a property {none:.1f}:\n\n"
    )
    body = []
    for name in PROPERTIES:
        order = ranks([float(getattr(line, name)) for line in lines])
        order = (order - order.mean()) / max(float(order.std()), 1e-12)
        places = np.column_stack([base, [order[at[one.task]] for one in intervals]])
        gain = fit(places, low, high, weight).log_likelihood - none
        chance = math.erfc(math.sqrt(max(gain, 0.0)))
        shown = f"{chance:.3f}" if chance >= 0.001 else "< 0.001"
        body.append([called(name), f"{none + gain:.1f}", f"{gain:+.1f}", shown])
    return text + markdown(["property (ranks)", "log-likelihood", "gain", "p (likelihood ratio)"], body)


def called(name: str) -> str:
    """A property in words."""
    return {"non_abelian": "non-abelian", "compiled": "compiled layers"}.get(name, name.replace("_", " "))


def blocks() -> dict[str, str]:
    """The tables, by the names of their markers in the page."""
    sheets = {sheet: rows_of("depth", sheet) for sheet in (WHOLE, MUON)}
    depths = compiled_depths()
    lines = [line_of(task, sheets[WHOLE], *depths[task]) for task in TASKS]
    known = {
        (task, sheet): one
        for sheet, rows in sheets.items()
        for task in TASKS
        if (one := interval(task, sheet, rows))
    }
    by_muon = {task: str(known.get((task, MUON), "not tried")) for task in TASKS}
    tables = {
        "learned": table(lines, by_muon),
        "learned-ranks": correlations(lines, PROPERTIES),
        "learned-censored": censored(lines, list(known.values())),
        "growth": growth(),
        "seven": seven_layers(),
        "words": words_by_depth(),
    }
    small, atlas = rows_of("sample"), atlas_depths()
    lines = [line_of(spec, small, *atlas[spec]) for spec in specs()[:FITTED]]
    return tables | {"sample": sample_table(lines), "sample-ranks": correlations(lines, PROPERTIES[1:])}


def correlations(lines: list[Line], properties: Sequence[str]) -> str:
    """Rank correlations with learned depth, over all automata and over the solvable ones."""
    known = [line for line in lines if line.learned is not None]
    solvable = [line for line in known if line.verdict < 2]
    text = f"Rank correlation with learned depth ({len(known)} automata; p by {SHUFFLES:,} shuffles):\n\n"
    body = []
    for name in properties:
        cells = []
        for chosen in (known, solvable):
            value, chance = spearman(
                [float(getattr(line, name)) for line in chosen], [float(line.learned or 0) for line in chosen]
            )
            shown = f"{chance:.3f}" if chance >= 0.001 else "< 0.001"
            cells += ["–", "–"] if value != value else [f"{value:.2f}", shown]
        groups = [line for line in known if line.non_abelian]
        cells += [concordance(known, name), concordance(groups, name)]
        body.append([called(name), *cells])
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


def table(lines: list[Line], by_muon: dict[str, str]) -> str:
    header = ["automaton", "verdict", "derived length", "levels", "order", LEAST, "compiled", "in blocks"]
    header += ["learned by AdamW", "by Muon", "solved letters at half, AdamW", "steps, AdamW"]
    body = [
        [
            line.task,
            VERDICTS[line.verdict],
            infinite(line.derived_length),
            f"{line.levels}",
            f"{line.order:,}",
            f"{line.lower}",
            f"{line.compiled}",
            f"{line.blocks}",
            line.shown,
            by_muon[line.task],
            line.half,
            line.steps,
        ]
        for line in lines
    ]
    return markdown(header, body)


if __name__ == "__main__":
    print("\n\n".join(blocks().values()))
