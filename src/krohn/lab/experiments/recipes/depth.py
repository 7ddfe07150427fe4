"""The depth map: accuracy by task and number of layers (the paper's Figure 3a, Figures 7 and 8).

One recipe for every cell of a sheet, so that only depth changes along a row. A word depends on seed,
replicate and step alone, so all cells of a row read the same words. The first sheet is the headline: whole
words from the first step, with Muon. The others are AdamW variants: whole words, and a loss window that grows
with the solved prefix (curriculum).
"""

from collections.abc import Sequence
from typing import Any

from krohn.lab.experiments.experiment import Experiment, PlannedRun, ResultCell, Row
from krohn.lab.experiments.names import Scale
from krohn.lab.experiments.settings import SOLVED_STOP, TASKS, gpt, run
from krohn.lab.experiments.summary import SOLVED, marks_of, note_on, summary
from krohn.lab.figures.charts import HeatMap, heat_map
from krohn.lab.figures.style import Figure
from krohn.lab.tasks.task_config import TaskConfig
from krohn.lab.training.config import CurriculumConfig, HalvingConfig, RunConfig

MEMORIES = ("Grid4", "Grid9", "Dyck4,2")
NON_ABELIAN = ("D6", "D8", "Q8", "A4", "S4", "A5", "S5")
DEPTHS = {Scale.SMOKE: (1, 2), Scale.SMALL: (1, 2, 3, 4, 6, 8, 12, 16), Scale.PAPER: tuple(range(1, 17))}
LENGTH = {Scale.SMOKE: 8, Scale.SMALL: 100, Scale.PAPER: 100}
BATCH = {Scale.SMOKE: 8, Scale.SMALL: 64, Scale.PAPER: 64}

MUON, WHOLE, CURRICULUM = "Muon", "whole words", "curriculum"
SHEETS = {
    MUON: "whole words, by Muon",
    WHOLE: "whole words, by AdamW",
    CURRICULUM: "a window of the loss that grows with what is solved, by AdamW",
}

COLUMN = {MUON: "Muon", WHOLE: "AdamW", CURRICULUM: "AdamW,\ncurriculum"}

# With Muon. Chosen at 8 layers on seeds 901 to 906, which are in no result, after 1,000 to 3,500 steps: of
# the initial embedding deviations .02, .1, .3 and 1, .3 was best or tied for D6, S4, S5, Q8 and A4; batch 32
# had lower token accuracy after as many steps. No halving; a replicate stops at 99.9% token accuracy.
MUON_STEPS = {Scale.SMOKE: 12, Scale.SMALL: 16_000}
MUON_REPLICATES = {Scale.SMOKE: 2, Scale.SMALL: 6}
MUON_RATES = {Scale.SMOKE: (3e-3, 1e-3), Scale.SMALL: (8e-4, 1.2e-3)}
MUON_BETAS, MUON_EMBEDDING_STD, MUON_DONE = (0.95, 0.98), 0.3, 0.999

# With AdamW.
STEPS = {Scale.SMOKE: 12, Scale.SMALL: 24_000}
REPLICATES = {Scale.SMOKE: 2, Scale.SMALL: 6, Scale.PAPER: 20}
RATES = {Scale.SMOKE: (3e-3, 1e-3), Scale.SMALL: (2e-4, 3e-4, 4e-4)}
STOP_AT = {Scale.SMOKE: 0.999, Scale.SMALL: 0.995, Scale.PAPER: 0.999}
# Steps between halvings; two replicates train to the end.
HALVING = {Scale.SMOKE: 6, Scale.SMALL: 4000}
SURVIVORS = 2
# The same recipe at other lengths: one memory, one stack and one group.
OTHER_LENGTHS = {"50 letters": 50, "200 letters": 200}
OTHER_TASKS, OTHER_DEPTH = ("Grid9", "Dyck4,2", "C2"), 2
# Does the depth that training needs grow with the length, for groups that a constant depth can track too?
# The headline's recipe; the map has the cells at T = 100 but for 5 and 7 layers. With 7, the depth of the
# doubling, every automaton is trained, to stand beside the taught ones.
GROWTH = {"25 letters, Muon": 25, "50 letters, Muon": 50}
GROWTH_TASKS, GROWTH_DEPTHS, DOUBLING_DEPTH = ("D8", "A4", "S4", "S5"), tuple(range(2, 9)), 7
# Twice as long for groups still improving when the learning rate had decayed to zero.
TWICE, TWICE_TASKS, TWICE_DEPTH = "twice the steps", ("Q8", "A4"), 8
# Is it the optimiser or the rest of its recipe? Muon's recipe with AdamW in its place: replicates 0, 1, 4
# and 5 differ from the map's in nothing else, 2 and 3 have rates of the AdamW sheets. One cell where AdamW's
# own recipe passes and Muon's does not (C5), the others the other way round.
SWAPPED, SWAPPED_RATES = "Muon's recipe with AdamW", (8e-4, 1.2e-3, 3e-4, 4e-4)
SWAPPED_CELLS = (("C5", 1), ("C2xC2xC2", 2), ("A4", 8), ("D8", 8))
# Is D6 hard as a group or by its letters? Muon's recipe on the same group with the paper's letters for S3,
# which are all elements but the neutral one, and with two reflections, not a rotation and a reflection.
LETTERS, LETTERS_TASKS, LETTERS_DEPTH = "D6 by other letters", ("S3", "S3:adjacent"), 8
FEWER_REPLICATES = 4  # with 8 layers, in the two sheets above
DEEPER_REPLICATES = 3  # in cells of the map deeper than one that passes
QUESTIONS = (SWAPPED, LETTERS)  # no part of the map
# Older results, each with its own settings.
OWN = "settings of its own"
ORDER = (*SHEETS, *GROWTH, *QUESTIONS, TWICE, *OTHER_LENGTHS, OWN)


def plan(scale: Scale) -> list[PlannedRun]:
    """The headline first, shallow networks first: cheap runs come early."""
    sheets = (WHOLE,) if scale is Scale.PAPER else tuple(SHEETS)
    cells = [
        planned(scale, task, layers, sheet)
        for sheet in sheets
        for layers in DEPTHS[scale]
        for task in (("Grid4", "S5") if scale is Scale.SMOKE and sheet != MUON else TASKS)
    ]
    if scale is Scale.SMALL:
        cells += [planned(scale, task, DOUBLING_DEPTH, MUON) for task in TASKS]
        cells += [planned(scale, task, 5, MUON) for task in GROWTH_TASKS]
        cells += [
            planned(scale, task, layers, name)
            for name in GROWTH
            for layers in GROWTH_DEPTHS
            for task in GROWTH_TASKS
        ]
        cells += [planned(scale, task, OTHER_DEPTH, name) for name in OTHER_LENGTHS for task in OTHER_TASKS]
        cells += [planned(scale, task, TWICE_DEPTH, TWICE) for task in TWICE_TASKS]
        cells += [planned(scale, task, layers, SWAPPED) for task, layers in SWAPPED_CELLS]
        cells += [planned(scale, task, LETTERS_DEPTH, LETTERS) for task in LETTERS_TASKS]
    return cells


def planned(scale: Scale, task: str, layers: int, sheet: str) -> PlannedRun:
    """One cell; only the task, the depth and the sheet differ between cells."""
    if sheet in (MUON, *GROWTH, *QUESTIONS):
        changes: dict[str, Any] = {}
        if sheet in QUESTIONS and layers == LETTERS_DEPTH:
            changes |= {"replicates": FEWER_REPLICATES}
        if scale is Scale.SMALL and sheet == MUON and passing_depth(task) < layers != DOUBLING_DEPTH:
            changes |= {"replicates": DEEPER_REPLICATES}
        if sheet == SWAPPED:
            changes |= {"method": "adamw", "lr": SWAPPED_RATES}
        words = TaskConfig(spec=task, length=GROWTH.get(sheet, LENGTH[scale]))
        config = by_muon(scale, words, layers, **changes)
    else:
        config = by_adamw(scale, task, layers, sheet)
    return PlannedRun(config=config, label={"task": task, "depth": layers, "sheet": sheet})


def passing_depth(task: str) -> int:
    """The layers of the cell by Muon that passes 99%, as known before any deeper one was run."""
    return 8 if task in NON_ABELIAN else 1 if task == "Grid4" else 2


def by_muon(scale: Scale, task: TaskConfig, layers: int, **changes: Any) -> RunConfig:
    """The recipe of the headline, here and in other experiments; ``changes`` are departures from it."""
    settings: dict[str, Any] = {
        "sequences": MUON_STEPS[scale] * BATCH[scale],
        "replicates": MUON_REPLICATES[scale],
        "stop_at": MUON_DONE,
        "evaluations": 32 if scale is not Scale.SMOKE else None,
        "method": "muon",
        "lr": MUON_RATES[scale],
        "betas": MUON_BETAS,
        "batch": BATCH[scale],
        "schedule": "cosine",
    }
    return run(scale, task, gpt(scale, layers, embedding_std=MUON_EMBEDDING_STD), **settings | changes)


def by_adamw(scale: Scale, task: str, layers: int, sheet: str) -> RunConfig:
    """The variants; at scale paper the paper's own settings."""
    words = TaskConfig(spec=task, length=OTHER_LENGTHS.get(sheet, LENGTH[scale]))
    settings: dict[str, Any] = {"replicates": REPLICATES[scale], "stop_at": STOP_AT[scale]}
    if scale is Scale.PAPER:
        return run(scale, words, gpt(scale, layers), sequences=paper_sequences(task), **settings)
    times = 2 if sheet == TWICE else 1
    return run(
        scale,
        words,
        gpt(scale, layers),
        sequences=times * STEPS[scale] * BATCH[scale],
        evaluations=48 * times if scale is not Scale.SMOKE else None,
        lr=RATES[scale],
        batch=BATCH[scale],
        schedule="cosine",
        curriculum=CurriculumConfig() if sheet == CURRICULUM else None,
        halving=HalvingConfig(every=HALVING[scale], least=min(SURVIVORS, REPLICATES[scale])),
        **settings,
    )


def paper_sequences(task: str) -> int:
    """Training words of one replicate; the paper gives the range 600k–5,000k, not one for each task."""
    if task in MEMORIES:
        return 600_000
    return 5_000_000 if task in ("A4", "S4", "A5", "S5", "Q8") else 2_000_000


def sheet_of(cell: ResultCell) -> str:
    """The sheet of a cell; older results have none."""
    return str(cell.label.get("sheet", OWN))


def table(cells: Sequence[ResultCell]) -> list[Row]:
    """One row for each task, depth and sheet; the usual columns and the length of the solved prefix."""
    rows = []
    for cell in cells:
        row = {"task": cell.label["task"], "depth": cell.label["depth"], "sheet": sheet_of(cell)}
        row |= {**summary(cell), "solved_letters": max(map(solved_letters, positions(cell)))}
        rows.append(row | {"solved": row["max_accuracy"] >= SOLVED, "paper": "> 99% at some depth"})
    tasks = (*TASKS, *LETTERS_TASKS)
    return sorted(rows, key=lambda row: (ORDER.index(row["sheet"]), tasks.index(row["task"]), row["depth"]))


def positions(cell: ResultCell) -> list[Sequence[float]]:
    """Each replicate's accuracy by position."""
    return [record.metrics["test"].get("by_position", ()) for record in cell.records]


def solved_letters(by_position: Sequence[float]) -> int:
    """The length of the longest prefix with 99% accuracy at every position."""
    return next((place for place, share in enumerate(by_position) if share < SOLVED), len(by_position))


def draw(cells: Sequence[ResultCell], caption: str) -> dict[str, Figure]:
    """Heat maps of all sheets at the common length: the best replicate, and the median of whole runs."""
    rows = [row for row in table(cells) if row["sheet"] in SHEETS]
    if len(rows) < 2:
        return {}
    caption = f"{caption.rpartition(', T = ')[0] or caption}, T\u00a0=\u00a0{rows[0]['length']}"
    note = f"{note_on(caption, rows)}\n· not run"
    result = {"depth": heat_map(_map("best replicate, % of letters", rows, "max_accuracy", note))}
    whole = [row for row in rows if not row["halved"] and not row["partial"]]
    if whole:
        note = f"{caption}\ncells whose replicates were all trained to the end or until solved; · others"
        result["depth-median"] = heat_map(
            _map("median replicate, % of letters", whole, "median_accuracy", note), _share(whole)
        )
    return result


def _share(rows: Sequence[Row]) -> HeatMap:
    places = [((row["task"], column(row)), row) for row in rows]
    return HeatMap(
        title="replicates that reach 99%",
        rows=[task for task in TASKS if any(row["task"] == task for row in rows)],
        columns=list(dict.fromkeys(column(row) for row in sorted(rows, key=_of_column))),
        values={place: row["reached"] / row["replicates"] for place, row in places},
        texts={place: f"{row['reached']}/{row['replicates']}" for place, row in places},
        column_axis="layers",
        strong_from=0.5,
    )


def _of_column(row: Row) -> tuple[int, int]:
    return ORDER.index(row["sheet"]), int(row["depth"])


def _map(title: str, rows: Sequence[Row], value: str, note: str) -> HeatMap:
    places = [((row["task"], column(row)), row) for row in rows]
    return HeatMap(
        title=title,
        rows=[task for task in TASKS if any(row["task"] == task for row in rows)],
        columns=list(dict.fromkeys(column(row) for row in sorted(rows, key=_of_column))),
        values={place: row[value] for place, row in places},
        marks={place: marks_of(row) for place, row in places},
        row_axis="task",
        column_axis="layers",
        note=note,
        by_mistakes=True,
    )


def column(row: Row) -> str:
    """The number of layers, with the optimiser."""
    return f"{row['depth']}\n{COLUMN[row['sheet']]}"


EXPERIMENT = Experiment(
    name="depth",
    title="Accuracy by task and number of layers, one recipe for all",
    claim="all 19 automata pass 99% at some depth; non-abelian groups need more layers, S5 the most",
    plan=plan,
    table=table,
    draw=draw,
    departures={
        Scale.SMALL: (
            "batch 64, cosine schedule. Muon: 16,000 steps, learning rates 8e-4 and 1.2e-3 for three "
            "replicates each, betas (.95, .98), token embeddings start at 0.3; replicates stop at 99.9%; "
            "three replicates, not six, where fewer layers pass (but six with 7). "
            "AdamW: 24,000 steps, 2, 3 and 4e-4 for two replicates each, by halves every 4,000 steps to two; "
            f"{SOLVED_STOP} at 99.5% and end the run"
        ),
        Scale.PAPER: f"{SOLVED_STOP} at 99.9%",
    },
)
