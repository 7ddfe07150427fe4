"""Accuracy by task and depth: the paper's main table (Figure 3a, Figures 7 and 8)."""

from collections.abc import Sequence

from krohn.experiments.experiment import Cell, Experiment, PlannedRun, Row
from krohn.experiments.scale import Scale
from krohn.experiments.settings import TASKS, gpt, run
from krohn.experiments.summary import summary
from krohn.figures.files import Figure
from krohn.figures.heat_map import HeatMap, heat_map
from krohn.tasks.config import TaskConfig

DEPTHS = {Scale.SMOKE: (1, 2), Scale.SMALL: (1, 2, 4, 8, 16), Scale.PAPER: tuple(range(1, 17))}
LENGTH = {Scale.SMOKE: 8, Scale.SMALL: 100, Scale.PAPER: 100}
REPLICATES = {Scale.SMOKE: 2, Scale.SMALL: 20, Scale.PAPER: 20}
SOLVED = 0.99


def plan(scale: Scale) -> list[PlannedRun]:
    """Shallow networks first, and among equals the tasks that are cheap to learn: S5 comes last."""
    return [
        PlannedRun(
            config=run(
                scale,
                TaskConfig(spec=task, length=LENGTH[scale]),
                gpt(scale, depth),
                sequences=sequences(scale, task, depth),
                replicates=REPLICATES[scale],
                stop_at=0.995 if scale is Scale.SMALL else 0.999,
            ),
            label={"task": task, "depth": depth},
        )
        for depth in DEPTHS[scale]
        for task in TASKS
    ]


def sequences(scale: Scale, task: str, depth: int) -> int:
    """Training words of one replicate; the paper gives the range 600k–5,000k, not which task had how many."""
    if scale is Scale.SMOKE:
        return 8 * 12
    if task in ("Grid4", "Grid9", "Dyck4,2"):
        return 600_000 if scale is Scale.PAPER else 240_000
    if scale is Scale.PAPER:
        return 5_000_000 if task in ("A4", "S4", "A5", "S5", "Q8") else 2_000_000
    # At 16 layers this is what ten minutes of one H200 allow for 20 replicates.
    return 400_000 if depth < 16 else 240_000


def table(cells: Sequence[Cell]) -> list[Row]:
    """One row for each task and depth; the paper's text says only that each task passes 99% somewhere."""
    rows = [{"task": cell.label["task"], "depth": cell.label["depth"], **summary(cell)} for cell in cells]
    for row in rows:
        row["paper"] = "> 99% at some depth"
        row["solved"] = row["max_accuracy"] >= SOLVED
    return sorted(rows, key=lambda row: (TASKS.index(row["task"]), row["depth"]))


def draw(cells: Sequence[Cell], caption: str) -> dict[str, Figure]:
    """Heat maps of the maximum and of the median over replicates."""
    rows = table(cells)
    tasks = [task for task in TASKS if any(row["task"] == task for row in rows)]
    depths = [str(depth) for depth in sorted({row["depth"] for row in rows})]
    marks = {(row["task"], str(row["depth"])): "*" for row in rows if row["partial"]}
    note = caption + ("\n* stopped before its last sequence" if marks else "")
    maps = [
        HeatMap(
            title=f"{title} accuracy, %",
            rows=tasks,
            columns=depths,
            values={(row["task"], str(row["depth"])): row[key] for row in rows},
            marks=marks,
            row_axis="task" if key == "max_accuracy" else "",
            column_axis="layers",
            note=note if key == "max_accuracy" else "",
        )
        for title, key in (("maximum", "max_accuracy"), ("median", "median_accuracy"))
    ]
    return {"depth": heat_map(*maps)}


EXPERIMENT = Experiment(
    name="depth",
    title="Accuracy by task and number of layers",
    claim="all 19 automata pass 99% at some depth; non-abelian groups need more layers, S5 the most",
    plan=plan,
    table=table,
    draw=draw,
    departures={Scale.SMALL: "depths 1, 2, 4, 8 and 16 only"},
)
