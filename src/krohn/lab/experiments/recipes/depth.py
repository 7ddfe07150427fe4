"""The depth map: accuracy by task and number of layers (the paper's Figure 3a, Figures 7 and 8).

One recipe for every cell of a sheet, so that only depth changes along a row. A word depends on seed,
replicate and step alone, so all cells of a row read the same words. The first sheet is the headline: whole
words from the first step, with Muon. The others are AdamW variants: whole words, and a loss window that grows
with the solved prefix (curriculum).
"""

from collections.abc import Sequence
from dataclasses import replace

from krohn.lab.experiments import settings
from krohn.lab.experiments.experiment import Experiment, Figures, Label, PlannedRun, ResultCell, Row
from krohn.lab.experiments.names import Scale
from krohn.lab.experiments.settings import SOLVED_STOP, TASKS, Settings, by_scale
from krohn.lab.experiments.summary import SOLVED, caption_of, marks_of, note_on, summary
from krohn.lab.figures.charts import HeatMap, heat_map

MEMORIES = ("Grid4", "Grid9", "Dyck4,2")
NON_ABELIAN = ("D6", "D8", "Q8", "A4", "S4", "A5", "S5")
DEPTHS = by_scale((1, 2), (1, 2, 3, 4, 6, 8, 12, 16), tuple(range(1, 17)))
LENGTH = by_scale(8, 100, 100)

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
BY_MUON: Settings = {
    "sequences": by_scale(12 * 8, 16_000 * 64, None),
    "replicates": by_scale(2, 6, None),
    "stop_at": 0.999,
    "evaluations": by_scale(2, 32, None),
    "optimizer": "muon",
    "lr": by_scale((3e-3, 1e-3), (8e-4, 1.2e-3), None),
    "betas": (0.95, 0.98),
    "batch": by_scale(8, 64, None),
    "schedule": "cosine",
    "embedding_std": 0.3,
}
# With AdamW; two replicates train to the end.
BY_ADAMW: Settings = {
    "sequences": by_scale(12 * 8, 24_000 * 64, None),
    "replicates": by_scale(2, 6, None),
    "stop_at": by_scale(0.999, 0.995, None),
    "evaluations": by_scale(2, 48, None),
    "lr": by_scale((3e-3, 1e-3), (2e-4, 3e-4, 4e-4), None),
    "batch": by_scale(8, 64, None),
    "schedule": "cosine",
    "halving": by_scale(6, 4000, None),
    "halving_least": 2,
}
# The same recipe at other lengths: one memory, one stack and one group.
OTHER_LENGTHS = {"50 letters": 50, "200 letters": 200}
OTHER_TASKS = ("Grid9", "Dyck4,2", "C2")
# Does the depth that training needs grow with the length, for groups that a constant depth can track too?
# The headline's recipe; the map has the cells at T = 100 but for 5 and 7 layers. With 7, the depth of the
# doubling, every automaton is trained, to stand beside the taught ones.
GROWTH = {"25 letters, Muon": 25, "50 letters, Muon": 50}
GROWTH_TASKS, GROWTH_DEPTHS = ("D8", "A4", "S4", "S5"), tuple(range(2, 9))
DOUBLING_DEPTH: int = 7
# Twice as long for groups still improving when the learning rate had decayed to zero.
TWICE, TWICE_TASKS = "twice the steps", ("Q8", "A4")
# Is it the optimiser or the rest of its recipe? Muon's recipe with AdamW in its place: replicates 0, 1, 4
# and 5 differ from the map's in nothing else, 2 and 3 have rates of the AdamW sheets. One cell where AdamW's
# own recipe passes and Muon's does not (C5), the others the other way round.
SWAPPED, SWAPPED_RATES = "Muon's recipe with AdamW", (8e-4, 1.2e-3, 3e-4, 4e-4)
# Is D6 hard as a group or by its letters? Muon's recipe on the same group with the paper's letters for S3,
# which are all elements but the neutral one, and with two reflections, not a rotation and a reflection.
LETTERS, LETTERS_TASKS = "D6 by other letters", ("S3", "S3:adjacent")
# The depths where the paper finds the groups that AdamW misses above: the paper's rates and weight decay,
# four replicates a rate. The worse half is given up every 1,000 steps until one is left.
DEEP, DEEP_TASKS, DEEP_DEPTHS = "AdamW, deep", ("D6", "A4", "S4", "Q8", "S5", "D8", "A5"), (16, 12)
DEEP_REPLICATES = 12
# Does A5 need no more layers than A4 because its sixty labels say more? Both recipes of the map on A5 with
# twelve labels, the cosets of a subgroup of order 5, equally often: the entropy of A4's twelve states.
FEWER_LABELS, FEWER_LABELS_ADAMW = "A5 by twelve labels", "A5 by twelve labels, AdamW"
TWELVE = "A5@relative"
QUESTIONS = (SWAPPED, LETTERS, FEWER_LABELS, FEWER_LABELS_ADAMW)  # no part of the map
FEWER_REPLICATES = 4  # with 8 layers, in the two sheets above
DEEPER_REPLICATES = 3  # in cells of the map deeper than one that passes
# Older results, each with its own settings.
OWN = "settings of its own"
ORDER = (*SHEETS, *GROWTH, DEEP, *QUESTIONS, TWICE, *OTHER_LENGTHS, OWN)

# The recipe of each sheet, and beside the map the cells of the others at scale small: depths and tasks.
RECIPES: dict[str, Settings] = {
    MUON: BY_MUON,
    WHOLE: BY_ADAMW,
    CURRICULUM: BY_ADAMW | {"curriculum": True},
    **{sheet: BY_MUON | {"length": length} for sheet, length in GROWTH.items()},
    **{sheet: BY_ADAMW | {"length": length} for sheet, length in OTHER_LENGTHS.items()},
    TWICE: BY_ADAMW | {"sequences": 2 * 24_000 * 64, "evaluations": 2 * 48},
    SWAPPED: BY_MUON | {"optimizer": "adamw", "lr": SWAPPED_RATES},
    LETTERS: BY_MUON,
    DEEP: BY_ADAMW
    | {"replicates": DEEP_REPLICATES, "lr": (3e-4, 1e-4, 3e-5), "halving": 1000, "halving_least": 1},
    FEWER_LABELS: BY_MUON | {"target": "observation"},
    FEWER_LABELS_ADAMW: BY_ADAMW | {"target": "observation"},
}
BESIDE: tuple[tuple[str, tuple[int, ...], tuple[str, ...]], ...] = (
    (MUON, (DOUBLING_DEPTH,), TASKS),
    (MUON, (5,), GROWTH_TASKS),
    *((sheet, GROWTH_DEPTHS, GROWTH_TASKS) for sheet in GROWTH),
    *((sheet, (2,), OTHER_TASKS) for sheet in OTHER_LENGTHS),
    (TWICE, (8,), TWICE_TASKS),
    (SWAPPED, (1,), ("C5",)),
    (SWAPPED, (2,), ("C2xC2xC2",)),
    (SWAPPED, (8,), ("A4", "D8")),
    (LETTERS, (8,), LETTERS_TASKS),
    (DEEP, DEEP_DEPTHS, DEEP_TASKS),
    (FEWER_LABELS, (4, 6, 8), (TWELVE,)),
    (FEWER_LABELS_ADAMW, (8,), (TWELVE,)),
)


def plan(scale: Scale) -> list[PlannedRun]:
    """The headline first, shallow networks first: cheap runs come early."""
    few = ("Grid4", "S5") if scale is Scale.SMOKE else TASKS
    sheets = (WHOLE,) if scale is Scale.PAPER else tuple(SHEETS)
    cells = [(sheet, DEPTHS[scale], TASKS if sheet == MUON else few) for sheet in sheets]
    return [
        plan_cell(scale, task, layers, sheet)
        for sheet, depths, tasks in (*cells, *(BESIDE if scale is Scale.SMALL else ()))
        for layers in depths
        for task in tasks
    ]


def plan_cell(scale: Scale, task: str, layers: int, sheet: str, label: Label | None = None) -> PlannedRun:
    """One cell; only the task, the depth and the sheet differ between cells. At scale paper: the paper's.

    ``label``: what it is called in another experiment.
    """
    recipe = RECIPES[sheet]
    if scale is Scale.PAPER:
        recipe = {"sequences": paper_sequences(task), "replicates": 20, "stop_at": 0.999}
    if sheet in (SWAPPED, LETTERS) and layers == 8:
        recipe = recipe | {"replicates": FEWER_REPLICATES}
    if scale is Scale.SMALL and sheet == MUON and passing_depth(task) < layers != DOUBLING_DEPTH:
        recipe = recipe | {"replicates": DEEPER_REPLICATES}
    label = label or {"task": task, "depth": layers, "sheet": sheet}
    return settings.plan_run(scale, label, spec=task, layers=layers, **{"length": LENGTH} | recipe)


def passing_depth(task: str) -> int:
    """The layers of the cell by Muon that passes 99%, as known before any deeper one was run."""
    return 8 if task in NON_ABELIAN else 1 if task == "Grid4" else 2


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
    tasks = (*TASKS, *LETTERS_TASKS, TWELVE)
    return sorted(rows, key=lambda row: (ORDER.index(row["sheet"]), tasks.index(row["task"]), row["depth"]))


def positions(cell: ResultCell) -> list[Sequence[float]]:
    """Each replicate's accuracy by position."""
    return [record.metrics["test"].get("by_position", ()) for record in cell.records]


def solved_letters(by_position: Sequence[float]) -> int:
    """The length of the longest prefix with 99% accuracy at every position."""
    return next((place for place, share in enumerate(by_position) if share < SOLVED), len(by_position))


def draw(cells: Sequence[ResultCell], scale: Scale) -> Figures:
    """Heat maps of all sheets at the common length: the best replicate, and the median of whole runs."""
    drawn = [cell for cell in cells if sheet_of(cell) in SHEETS]
    if len(drawn) < 2:
        return {}
    rows = table(drawn)
    best = _map("best replicate, % of letters", rows, "max_accuracy", f"{note_on(drawn, scale)}\n· not run")
    whole = [row for row in rows if not row["halved"] and not row["partial"]]
    if not whole:
        return {"depth": heat_map(best)}
    note = f"{caption_of(drawn, scale)}\ncells whose replicates were all trained to the end or until solved; "
    median = _map("median replicate, % of letters", whole, "median_accuracy", f"{note}· others")
    reach = replace(
        median,
        title="replicates that reach 99%",
        values={place(row): row["reached"] / row["replicates"] for row in whole},
        texts={place(row): f"{row['reached']}/{row['replicates']}" for row in whole},
        by_mistakes=False,
        row_axis="",
        note="",
        strong_from=0.5,
    )
    return {"depth": heat_map(best), "depth-median": heat_map(median, reach)}


def _map(title: str, rows: Sequence[Row], value: str, note: str) -> HeatMap:
    in_columns = sorted(rows, key=lambda row: (ORDER.index(row["sheet"]), int(row["depth"])))
    return HeatMap(
        title=title,
        rows=[task for task in TASKS if any(row["task"] == task for row in rows)],
        columns=list(dict.fromkeys(place(row)[1] for row in in_columns)),
        values={place(row): row[value] for row in rows},
        marks={place(row): marks_of(row) for row in rows},
        row_axis="task",
        column_axis="layers",
        note=note,
        by_mistakes=True,
    )


def place(row: Row) -> tuple[str, str]:
    """The task, and the number of layers with the optimiser."""
    return row["task"], f"{row['depth']}\n{COLUMN[row['sheet']]}"


EXPERIMENT: Experiment = Experiment(
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
