"""One recipe for every cell of the depth map, so that depth is the only thing that changes along a row.

A word depends on seed, replicate and step alone, so all cells of a row read the same words. The map has two
sheets: whole words from the first step, and a window of the loss that grows with what is solved (curriculum).
"""

from collections.abc import Sequence

from krohn.experiments.experiment import Cell, Experiment, PlannedRun, Row
from krohn.experiments.recipes import depth
from krohn.experiments.scale import Scale
from krohn.experiments.settings import SOLVED_STOP, TASKS, gpt, run
from krohn.experiments.summary import SOLVED, marks_of, note_on, summary
from krohn.figures.heat_map import HeatMap, heat_map
from krohn.figures.saving import Figure
from krohn.tasks.task_config import TaskConfig
from krohn.training.config import CurriculumConfig, HalvingConfig

DEPTHS = {Scale.SMOKE: (1, 2), Scale.SMALL: (1, 2, 3, 4, 6, 8, 12, 16), Scale.PAPER: tuple(range(1, 17))}
STEPS = {Scale.SMOKE: 12, Scale.SMALL: 24_000, Scale.PAPER: 80_000}
REPLICATES = {Scale.SMOKE: 2, Scale.SMALL: 6, Scale.PAPER: 20}
RATES = {Scale.SMOKE: (3e-3, 1e-3), Scale.SMALL: (2e-4, 3e-4, 4e-4), Scale.PAPER: (1e-4, 2e-4, 3e-4, 4e-4)}
BATCH = {Scale.SMOKE: 8, Scale.SMALL: 64, Scale.PAPER: 64}
# Steps after which the worse half is given up; two replicates go on to the end.
HALVING = {Scale.SMOKE: 6, Scale.SMALL: 4000, Scale.PAPER: 16_000}
SURVIVORS = 2
SHEETS = ("whole words", "curriculum")
# The same recipe at other lengths, for one memory, one stack and one group.
OTHER_LENGTHS = {"50 letters": 50, "200 letters": 200}
OTHER_TASKS, OTHER_DEPTH = ("Grid9", "Dyck4,2", "C2"), 2
# Twice as long for groups that were still rising when the rate had fallen to nothing.
TWICE, TWICE_TASKS, TWICE_DEPTH = "twice the steps", ("Q8", "A4"), 8


def plan(scale: Scale) -> list[PlannedRun]:
    """Whole words first, shallow networks first: what is cheap comes early."""
    cells = [
        planned(scale, task, layers, sheet)
        for sheet in SHEETS
        for layers in DEPTHS[scale]
        for task in (("Grid4", "S5") if scale is Scale.SMOKE else TASKS)
    ]
    if scale is Scale.SMALL:
        cells += [planned(scale, task, OTHER_DEPTH, name) for name in OTHER_LENGTHS for task in OTHER_TASKS]
        cells += [planned(scale, task, TWICE_DEPTH, TWICE) for task in TWICE_TASKS]
    return cells


def planned(scale: Scale, task: str, layers: int, sheet: str) -> PlannedRun:
    """One cell; nothing but the task, the depth and the sheet differs between cells."""
    times = 2 if sheet == TWICE else 1
    config = run(
        scale,
        TaskConfig(spec=task, length=OTHER_LENGTHS.get(sheet, depth.LENGTH[scale])),
        gpt(scale, layers),
        sequences=times * STEPS[scale] * BATCH[scale],
        replicates=REPLICATES[scale],
        stop_at=depth.STOP_AT[scale],
        evaluations=48 * times if scale is not Scale.SMOKE else None,
        lr=RATES[scale],
        batch=BATCH[scale],
        schedule="cosine",
        curriculum=CurriculumConfig() if sheet == "curriculum" else None,
        halving=HalvingConfig(every=HALVING[scale], least=min(SURVIVORS, REPLICATES[scale])),
    )
    return PlannedRun(config=config, label={"task": task, "depth": layers, "sheet": sheet})


def table(cells: Sequence[Cell]) -> list[Row]:
    """One row for each task, depth and sheet; beside the usual numbers the solved beginning of the words."""
    rows = []
    for cell in cells:
        row = {**cell.label, **summary(cell), "solved_letters": max(map(solved_letters, positions(cell)))}
        rows.append(row | {"solved": row["max_accuracy"] >= SOLVED, "paper": "> 99% at some depth"})
    order = (*SHEETS, TWICE, *OTHER_LENGTHS)
    return sorted(rows, key=lambda row: (order.index(row["sheet"]), TASKS.index(row["task"]), row["depth"]))


def positions(cell: Cell) -> list[Sequence[float]]:
    """Each replicate's accuracy by position."""
    return [record.metrics.get("test", record.metrics).get("by_position", ()) for record in cell.records]


def solved_letters(by_position: Sequence[float]) -> int:
    """The length of the beginning of a word that is right at every position in 99% of the words."""
    return next((place for place, share in enumerate(by_position) if share < SOLVED), len(by_position))


def draw(cells: Sequence[Cell], caption: str) -> dict[str, Figure]:
    """One map of both sheets, the best replicate's accuracy at the common length: curriculum on the right."""
    rows = [row for row in table(cells) if row["sheet"] in SHEETS]
    if len(rows) < 2:
        return {}
    places = [((row["task"], column(row)), row) for row in rows]
    by_sheet = sorted(rows, key=lambda row: (SHEETS.index(row["sheet"]), row["depth"]))
    shown = HeatMap(
        title="best replicate, % of letters",
        rows=[task for task in TASKS if any(row["task"] == task for row in rows)],
        columns=list(dict.fromkeys(map(column, by_sheet))),
        values={place: row["max_accuracy"] for place, row in places},
        marks={place: marks_of(row).replace("†", "") for place, row in places},
        row_axis="task",
        column_axis="layers",
        note=note_on(f"{caption.rpartition(', T = ')[0]}, T\u00a0=\u00a0{rows[0]['length']}", rows),
        by_mistakes=True,
    )
    return {"uniform": heat_map(shown)}


def column(row: Row) -> str:
    """The number of layers, with the sheet's name unless it is the first."""
    return str(row["depth"]) if row["sheet"] == SHEETS[0] else f"{row['depth']}\n{row['sheet']}"


EXPERIMENT = Experiment(
    name="uniform",
    title="Accuracy by task and number of layers, one recipe for all",
    claim="all 19 automata pass 99% at some depth; non-abelian groups need more layers, S5 the most",
    plan=plan,
    table=table,
    draw=draw,
    departures={
        Scale.SMALL: (
            "batch 64, cosine schedule over 24,000 steps, learning rates 2, 3 and 4e-4 for two replicates "
            f"each, by halves every 4,000 steps to two; {SOLVED_STOP} at 99.5% and end the run"
        ),
        Scale.PAPER: f"batch 64, cosine schedule, by halves to two; {SOLVED_STOP} at 99.9% and end the run",
    },
)
