"""Evidence for verdicts on claims: records, least depths, gains, and how the parts of a claim combine."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from math import atan, comb, cos, gamma, pi, sqrt
from statistics import fmean

from krohn.lab.experiments.all_experiments import EXPERIMENTS
from krohn.lab.experiments.experiment import ResultCell, Row, cells_of
from krohn.lab.experiments.names import Scale
from krohn.lab.experiments.recipes import attention, stability
from krohn.lab.experiments.recipes.depth import COLUMN, CURRICULUM, MUON, QUESTIONS, WHOLE
from krohn.lab.experiments.settings import TASKS
from krohn.lab.experiments.store import Store
from krohn.lab.experiments.summary import SOLVED, mean_and_error, series_at
from krohn.lab.figures.charts import percent
from krohn.lab.interpret.attention import HeadScore

REPRODUCED, PARTLY, CONTRADICTED, NOT_REACHED = "reproduced", "partly", "contradicted", "not reached"
ABELIAN = tuple(task for task in TASKS if task.startswith("C"))
MEMORIES = ("Dyck4,2", "Grid9")
SHEETS = (MUON, WHOLE)  # recipes with one setting for all cells, on whole words
Verdict = tuple[str, str]
"""One of these words, and a sentence with the numbers that decide it."""


class Missing(Exception):
    """A run that a claim depends on is not among the records."""


@dataclass
class Records:
    """The published records, as the rows and cells of the experiments."""

    store: Store
    _cells: dict[tuple[str, Scale], list[ResultCell]] = field(default_factory=dict)

    def rows(self, name: str, scale: Scale = Scale.SMALL) -> list[Row]:
        return EXPERIMENTS[name].table(self.cells(name, scale))

    def cells(self, name: str, scale: Scale = Scale.SMALL) -> list[ResultCell]:
        if (name, scale) not in self._cells:
            self._cells[name, scale] = cells_of(self.store, name, scale)
        return self._cells[name, scale]

    def row(self, name: str, **where: object) -> Row:
        for row in self.rows(name):
            if all(row.get(key) == value for key, value in where.items()):
                return row
        raise Missing(f"{name} {where}")

    def by_ones(self, model: str) -> dict[float, list[float]]:
        """By the number of ones in the words: the accuracy of each replicate that solves C2."""
        (cell,) = [one for one in self.cells("ood") if one.label["model"] == model] or [None]
        if cell is None:
            raise Missing(f"ood {model}")
        places, rows = series_at(cell, "ones")
        able = [row for row, one in zip(rows, cell.records, strict=True) if one.accuracy >= SOLVED]
        return dict(zip(places, map(list, zip(*able, strict=True)), strict=True)) if able else {}

    def heads(self) -> list[list[HeadScore]]:
        """The scores of all heads of each network that has learned Grid9."""
        scored = attention.read_scores(self.cells("attention"))
        return [scores for record, _, scores in scored if record.accuracy >= SOLVED]

    @cached_property
    def maps(self) -> list[Row]:
        """Cells of the depth map at 100 letters, on whole words."""
        others = (CURRICULUM, *QUESTIONS)
        return [row for row in self.rows("depth") if row["length"] == 100 and row["sheet"] not in others]

    def gain(self, task: str, factor: str, value: float | str) -> "Gain":
        """The paired gain, in points, from a factor of `stability`."""
        by_label = {(cell.label["task"], cell.label["factor"], cell.label["value"]): cell for cell in
                    self.cells("stability")}  # fmt: skip
        try:
            cell, without = by_label[task, factor, value], by_label[task, factor, stability.OFF[factor]]
        except KeyError as error:
            raise Missing(f"stability {error}") from None
        points = stability.gains(cell, without)
        mean, error = mean_and_error(points)
        best = max(float(record.accuracy) for one in (cell, without) for record in one.records)
        return Gain(task, mean, error, sum(one > 0 for one in points), len(points), best)


# Gains that verdicts are drawn from: twice two of dropout, three for each decay of EMA, three of patience.
COMPARISONS = 2 + 2 + 3 * len(stability.EMA) + 3
LEVEL = 0.05


@dataclass(frozen=True)
class Gain:
    """A paired difference; it is shown if Student's test, corrected for all comparisons, rejects zero.

    ``best`` is the highest accuracy of a replicate, with or without the factor: below 99% the task was not
    learned.
    """

    task: str
    mean: float
    error: float
    better: int
    count: int
    best: float

    def __str__(self) -> str:
        digits = 1 if abs(self.mean) >= 1 else 2
        size = f"{self.mean:+.{digits}f} ± {self.error:.{digits}f}".replace("-", "−")
        untested = "" if self.learned else f"; untested, for the best has {per_cent(self.best)}"
        return f"{self.task} {size} ({self.better} of {self.count} gain{untested})"

    @property
    def learned(self) -> bool:
        return self.best >= SOLVED

    @property
    def chance(self) -> float:
        """How often the mean of a paired difference without effect is this far from zero (Student)."""
        if self.error == 0.0:
            return 0.0 if self.mean else 1.0
        return student(abs(self.mean) / self.error, self.count - 1)

    @property
    def helps(self) -> bool | None:
        """Shown to help; False if shown to hurt, None if neither or if the task was not learned."""
        if not self.learned or self.chance > LEVEL / COMPARISONS:
            return None
        return self.mean > 0

    @property
    def hurts(self) -> bool | None:
        """The same the other way round."""
        return None if self.helps is None else not self.helps


def student(t: float, freedom: int) -> float:
    """Two-sided tail of Student's distribution beyond t, by Simpson's rule in the angle: t = √ν·tan θ."""
    begin, steps = atan(t / sqrt(freedom)), 2000
    width = (pi / 2 - begin) / steps
    values = [cos(begin + index * width) ** (freedom - 1) for index in range(steps + 1)]
    area = width / 3 * (values[0] + values[-1] + 4 * sum(values[1:-1:2]) + 2 * sum(values[2:-1:2]))
    return 2 * area * gamma((freedom + 1) / 2) / (sqrt(pi) * gamma(freedom / 2))


def fisher(passed: tuple[int, int], failed: tuple[int, int]) -> float:
    """One-sided exact test: how often the first of two groups (passing, all) would do so well by luck."""
    (one, many), (other, rest) = passed, failed
    total = one + other
    ways = comb(many + rest, total)
    return sum(comb(many, k) * comb(rest, total - k) for k in range(one, min(many, total) + 1)) / ways


def clearly(gain: float, margin: float) -> bool | None:
    """Whether a gain is above the margin; False if it is a loss of more than that, None between."""
    return None if abs(gain) <= margin else gain > 0


def luck(one: Sequence[float], other: Sequence[float]) -> float:
    """One-sided exact test: the share of splits of all values that give the first group as high a mean."""
    splits = combinations([*one, *other], len(one))
    return fmean(sum(split) >= sum(one) - 1e-12 for split in splits)


def per_cent(share: float) -> str:
    return f"{percent(share, 2 if share > 0.99 else 1)}%"


def among(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def weigh(parts: Iterable[bool | None]) -> str:
    """The verdict on a claim of several parts, each of which holds, fails, or was not tested (None)."""
    known = list(parts)
    if all(part is True for part in known):
        return REPRODUCED
    if any(part is True for part in known):
        return PARTLY
    return CONTRADICTED if all(part is False for part in known) else NOT_REACHED


@dataclass(frozen=True)
class Least:
    """Bounds on a task's least depth, from the depth map; ``deepest`` is None if no depth was enough.

    Depths between those of the map count: if 4 layers fail and 6 pass, 5 may be enough.
    """

    shallowest: int
    deepest: int | None


def least(rows: Iterable[Row], task: str) -> Least:
    own = {int(row["depth"]): bool(row["solved"]) for row in rows if row["task"] == task}
    solved = min((depth for depth, passed in own.items() if passed), default=None)
    failed = max((depth for depth in own if solved is None or depth < solved), default=0)
    return Least(failed + 1, solved)


def needs_more(rows: Sequence[Row], one: str, other: str) -> bool | None:
    """Whether one task needs more layers than another by the same recipe; None if undecided.

    It is undecided, too, if luck may explain the replicates: those of both tasks with the depths that only
    the easier one passes, where both were run, by Fisher's exact test.
    """
    here, there = least(rows, one), least(rows, other)
    if here.deepest is None or there.deepest is None:
        return None
    if here.shallowest > there.deepest:
        easier, harder, between = other, one, range(there.deepest, here.deepest)
    elif here.deepest <= there.shallowest:
        easier, harder, between = one, other, range(here.deepest, there.deepest)
    else:
        return None
    runs = [
        {row["depth"]: row for row in rows if row["task"] == task and row["depth"] in between}
        for task in (easier, harder)
    ]
    common = runs[0].keys() & runs[1].keys()
    passing, failing = (
        tuple(sum(int(run[depth][key]) for depth in common) for key in ("reached", "replicates"))
        for run in runs
    )
    return None if common and fisher(passing, failing) > LEVEL else easier == other


def by_recipe(
    records: Records, judge: Callable[[Sequence[Row]], bool | None], sheets: Sequence[str] = SHEETS
) -> bool | None:
    """The answer of the recipes of the map that decide the question; None if none does or they disagree."""
    answers = {judge([row for row in records.maps if row.get("sheet") == sheet]) for sheet in sheets}
    decided = answers - {None}
    return decided.pop() if len(decided) == 1 else None


def depths_of(records: Records, tasks: Iterable[str]) -> str:
    """For example ``D6 6 (Muon, 3 of 6, not 4, nor 16)``: the replicates that pass, and where none does."""
    words = []
    for task in tasks:
        for sheet in SHEETS:
            rows = [row for row in records.maps if (row["task"], row.get("sheet")) == (task, sheet)]
            place = least(rows, task)
            if rows:
                below = place.shallowest - 1
                failed = f", not {below}" if below else ""
                above = [str(row["depth"]) for row in rows if row["depth"] > below and not row["solved"]]
                failed += f", nor {among(above)}" if above else ""
                passed = "no depth" if place.deepest is None else str(place.deepest)
                least_row = next((row for row in rows if row["depth"] == place.deepest), {})
                few = (
                    f", {least_row['reached']} of {least_row['replicates']}" if "reached" in least_row else ""
                )
                words.append(f"{task} {passed} ({COLUMN[sheet]}{few}{failed})")
    return "; ".join(words) or "not tried"
