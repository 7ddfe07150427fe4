"""Taught shortcuts: the doubling of Theorem 1 as a lesson, block by block, with ⌈log₂ T⌉ layers.

The recipe is that of the depth map's headline; hints after the blocks are added, and far fewer words are
read. Beside the taught runs stand the map's own for the same task, and runs that ask what makes it work.
"""

from collections.abc import Sequence
from statistics import median
from typing import Any

from krohn.lab.experiments.experiment import Experiment, Figures, Label, PlannedRun, ResultCell, Row
from krohn.lab.experiments.names import Scale
from krohn.lab.experiments.recipes import depth
from krohn.lab.experiments.record import Record
from krohn.lab.experiments.settings import SOLVED_STOP, TASKS, Settings, by_scale, plan_run
from krohn.lab.experiments.summary import SOLVED, mean_series, series_at, summary
from krohn.lab.figures.charts import Bar, bar_chart
from krohn.lab.interpret.evaluation import AccuracyAlong

DOUBLING, CASCADE, UNTAUGHT, EQUAL = "doubling", "cascade", "none", "none, as few words"
LENGTH = by_scale(4, 100, 100)
SEQUENCES = by_scale(12 * 8, 4_000 * 64, 16_000 * 64)
REPLICATES = by_scale(2, 6, 20)
JUDGED = by_scale(16, 512, 512)
MAP_WORDS = depth.BY_MUON["sequences"][Scale.SMALL]
BEYOND = (1.0, 1.2, 1.5, 2.0)  # lengths of test words, in trained lengths

# Longer words, with one layer more for each doubling of the length: settings by layers and length.
LONGER_TASKS = ("S5", "D6", "A5", "Grid9", "Dyck4,2")
LONGER: dict[tuple[int, int], Settings] = {
    (8, 256): {"sequences": 5_000 * 32, "batch": 32, "replicates": 2},
    (9, 512): {"sequences": 5_000 * 32, "batch": 32, "replicates": 1},
    (10, 1024): {"sequences": 6_000 * 16, "batch": 16, "replicates": 1},
}
LONGER_ALIKE = {"lr": (1.2e-3,), "eval_sequences": 512}
S5_GOES_ON = {"stop_at": 0.9999}  # so that whole words are right too

# What makes it work, on the words of the main table: three replicates each.
ASKED_REPLICATES = 3
ASKED: dict[tuple[str, str, int], Settings] = {
    ("S5", "doubling:2,4,8", 7): {},
    ("S5", "doubling:2,4,8,16,32", 7): {},
    ("S5", "doubling:4,16,64", 7): {},
    ("S5", "doubling:32,64,128", 7): {},
    ("S5", "doubling until solved", 7): {"teach_until": "solved"},
    ("S5", "doubling until 2000", 7): {"teach_until": 2_000},
    ("S5", "doubling, AdamW", 7): {"optimizer": "adamw", "lr": (3e-4, 6e-4, 1e-3), "betas": (0.9, 0.98)},
    ("S5", "doubling:1=4,2=8,3=16,4=32,5=64,6=128", 6): {"sequences": 6_000 * 64},
    **{(task, EQUAL, 7): {} for task in ("S5", "S4", "D6")},
    **{(task, CASCADE, 7): {} for task in ("D6", "S4")},
    # Its one hint is a parity, which takes more words than the others read: as many as the map's.
    ("D6", f"{CASCADE}, as many words as the map", 7): {"sequences": MAP_WORDS},
    ("D6", f"{CASCADE}, two layers a level", 4): {"sequences": MAP_WORDS},
    ("D6", f"{CASCADE}, two layers a level, MLP 2048", 4): {"sequences": MAP_WORDS, "mlp": 2048},
}

# Does a taught shortcut keep its accuracy when letters come with other shares, where a learned one loses
# its own (the paper's B.2.3)? By two letters, so that one share says it all: C6 by staying and turning.
TWO_LETTERS = {"C2": "C2", "C6": "S5:01234,12043", "S5": "S5:10234,12340"}
SHARES = tuple(round(0.05 * n, 2) for n in range(1, 20))
SHIFTED: dict[str, Settings] = {
    "doubling, other shares": {},
    "none, other shares": {},
    "doubling, other shares, 3% of the labels": {"reveal": 0.03},
}


def main_cells(scale: Scale) -> tuple[int, int]:
    """The letters of the 19 tasks' words, and as many layers as doubling needs for them."""
    return LENGTH[scale], (LENGTH[scale] - 1).bit_length()


def plan(scale: Scale) -> list[PlannedRun]:
    """The 19 tasks, longer words, the questions, and the map's cells with as many layers to compare with."""
    length, layers = main_cells(scale)
    few: Settings = {"sequences": SEQUENCES[scale], "replicates": REPLICATES[scale]}
    at = tuple(round(length * factor) for factor in BEYOND)
    main = few | {"measured": (AccuracyAlong(name="length", at=at, sequences=JUDGED[scale]),)}
    tasks = ("Grid4", "D6") if scale is Scale.SMOKE else TASKS
    cells: dict[tuple[str, str, int, int], Settings]
    cells = {(task, DOUBLING, layers, length): main for task in tasks}
    if scale is not Scale.SMALL:
        return [taught(scale, *cell, **own) for cell, own in cells.items()]
    for at_length, own in LONGER.items():
        cells |= {(task, DOUBLING, *at_length): own | LONGER_ALIKE for task in LONGER_TASKS}
        cells["S5", DOUBLING, *at_length] |= S5_GOES_ON
    cells |= {(*cell, length): few | {"replicates": ASKED_REPLICATES} | own for cell, own in ASKED.items()}
    shares = {"measured": (AccuracyAlong(name="probability", at=SHARES, sequences=JUDGED[scale]),)}
    for task, spec in TWO_LETTERS.items():
        for hints, own in SHIFTED.items():
            cells[task, hints, layers, length] = (
                few | {"replicates": ASKED_REPLICATES, "spec": spec} | shares | own
            )
    return [
        *(taught(scale, *cell, **own) for cell, own in cells.items()),
        *(
            depth.plan_cell(scale, task, layers, depth.MUON, label_of(task, layers, length, UNTAUGHT))
            for task in TASKS
        ),
    ]


def taught(scale: Scale, task: str, hints: str, layers: int, length: int, **changes: Any) -> PlannedRun:
    """A cell by the recipe of the depth map's headline, with hints unless its label says none."""
    if hints != EQUAL:
        changes["teach"] = hints.partition(" ")[0].strip(",")
    recipe = Scale.SMALL if scale is Scale.PAPER else scale  # the paper has none
    label = label_of(task, layers, length, hints)
    given = {"spec": task, "length": length, "layers": layers} | depth.BY_MUON | changes
    return plan_run(recipe, label, **given)


def label_of(task: str, layers: int, length: int, hints: str) -> Label:
    """The parts of a cell's label."""
    return {"task": task, "layers": layers, "length": length, "hints": hints}


def words_to_pass(record: Record) -> int | None:
    """Words read at the first evaluation with 99% of the validation letters; ``None`` if there was none."""
    curve, batch = record.metrics["curve"], int(record.config["optimizer"]["batch"])
    steps = zip(curve["step"], curve["accuracy"], strict=True)
    return next((int(step) * batch for step, accuracy in steps if accuracy >= SOLVED), None)


def table(cells: Sequence[ResultCell]) -> list[Row]:
    """One row a cell: how many replicates reach 99%, and the words that the median one of them had read.

    ``hint_accuracy``: what the median replicate reads of the hint it reads worst. ``accuracy_at_2T``: the
    mean on words of twice the length. ``worst_share``: the median of the replicates at the share of letters
    where it is least.
    """
    rows = []
    for cell in cells:
        numbers = summary(cell)
        passed = [words for words in map(words_to_pass, cell.records) if words is not None]
        row = {key: cell.label[key] for key in ("task", "layers", "length", "hints")}
        row |= {"reach": numbers["reached"], "words_read": round(median(passed)) if passed else None}
        rows.append(row | numbers | {"hint_accuracy": _weakest_hint(cell), "accuracy_at_2T": _at_twice(cell)})
    order = list(dict.fromkeys((DOUBLING, *(hints for _, hints, _ in ASKED), *SHIFTED, UNTAUGHT)))
    return sorted(rows, key=lambda row: (order.index(row["hints"]), row["length"], TASKS.index(row["task"])))


def _weakest_hint(cell: ResultCell) -> float | None:
    hints = [[hint["accuracy"] for hint in record.metrics.get("hints", ())] for record in cell.records]
    return round(median(map(min, hints)), 4) if all(hints) else None


def _at_worst_share(cell: ResultCell) -> float | None:
    places, rows = series_at(cell, "probability")
    return (
        round(min(median(row[index] for row in rows) for index in range(len(places))), 4) if places else None
    )


def _at_twice(cell: ResultCell) -> float | None:
    places, means, _ = mean_series(cell, "length")
    return round(means[-1], 4) if places else None


def draw(cells: Sequence[ResultCell], scale: Scale) -> Figures:
    """Words read to 99%, taught and untaught with as many layers, by task."""
    length, layers = main_cells(scale)
    main = [cell for cell in cells if (cell.label["length"], cell.label["layers"]) == (length, layers)]
    shown = {(row["task"], row["hints"]): row for row in table(main)}
    series = {DOUBLING: f"taught, {layers} layers", UNTAUGHT: f"untaught, {layers} layers (the depth map)"}
    bars = [
        Bar(task, name, (row["words_read"] or 0) / MAP_WORDS, text=_passing(row))
        for task in TASKS
        for hints, name in series.items()
        if (row := shown.get((task, hints)))
    ]
    if not any(bar.value for bar in bars):
        return {}
    title, axis = "Words read to 99% of the letters", f"of the map's {MAP_WORDS:,} words"
    note = f"T = {length}; the median of the replicates that get there, judged every 8,000 words "
    note += "(taught) or 32,000 (untaught)"
    return {"taught": bar_chart(bars, title=title, y_axis=axis, note=note)}


def _passing(row: Row) -> str:
    """For example ``172k, 6 of 6``."""
    reach = f"{row['reach']} of {row['replicates']}"
    return reach if row["words_read"] is None else f"{row['words_read'] / 1000:.0f}k, {reach}"


EXPERIMENT: Experiment = Experiment(
    name="taught",
    title="Doubling as a lesson: hints after the blocks, ⌈log₂ T⌉ layers",
    claim="not in the paper; predictions in research/taught-predictions.md of the repository",
    plan=plan,
    table=table,
    draw=draw,
    departures={
        Scale.SMALL: (
            "the headline recipe of depth with 4,000 steps of 64 words; hints by heads of their own; longer "
            f"words with fewer replicates; {SOLVED_STOP} at 99.9%, those of S5 on longer words at 99.99%"
        ),
        Scale.PAPER: f"the paper has no such experiment; {SOLVED_STOP} at 99.9%",
    },
)
