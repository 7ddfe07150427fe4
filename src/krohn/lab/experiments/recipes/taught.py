"""Taught shortcuts: the doubling of Theorem 1 as a lesson, block by block, with ⌈log₂ T⌉ layers.

The recipe is that of the depth map's headline; hints after the blocks are added, and far fewer words are
read. Beside the taught runs stand the map's own for the same task, and runs that ask what makes it work.
"""

from collections.abc import Sequence
from statistics import median
from typing import Any

from krohn.lab.experiments.experiment import Experiment, PlannedRun, ResultCell, Row
from krohn.lab.experiments.names import Scale
from krohn.lab.experiments.recipes import depth
from krohn.lab.experiments.recipes.depth import by_muon
from krohn.lab.experiments.record import Record
from krohn.lab.experiments.settings import SOLVED_STOP, TASKS
from krohn.lab.experiments.summary import SOLVED, mean_series, summary
from krohn.lab.figures.charts import Bar, bar_chart
from krohn.lab.figures.style import Figure
from krohn.lab.interpret.evaluation import AccuracyByLength
from krohn.lab.tasks.task_config import TaskConfig
from krohn.lab.training.config import TeachConfig

DOUBLING, CASCADE, UNTAUGHT, EQUAL = "doubling", "cascade", "none", "none, as few words"
LENGTH = {Scale.SMOKE: 4, Scale.SMALL: 100, Scale.PAPER: 100}
STEPS = {Scale.SMOKE: 12, Scale.SMALL: 4_000, Scale.PAPER: 16_000}
BATCH = {Scale.SMOKE: 8, Scale.SMALL: 64, Scale.PAPER: 64}
REPLICATES = {Scale.SMOKE: 2, Scale.SMALL: 6, Scale.PAPER: 20}
MAP_WORDS = depth.MUON_STEPS[Scale.SMALL] * depth.BATCH[Scale.SMALL]
BEYOND = (1.0, 1.2, 1.5, 2.0)  # lengths of test words, in trained lengths

# Longer words: layers, words of a step, steps and replicates for each length.
LONGER_TASKS = ("S5", "D6", "A5", "Grid9", "Dyck4,2")
LONGER = {256: (8, 32, 5_000, 2), 512: (9, 32, 5_000, 1), 1024: (10, 16, 6_000, 1)}
LONGER_RATE, LONGER_JUDGED = 1.2e-3, 512
# S5 goes on, so that whole words are right too.
LONGER_DONE, S5_DONE = 0.999, 0.9999

# What makes it work: three replicates each.
ASKED_REPLICATES = 3
ASKED: dict[tuple[str, str, int], dict[str, Any]] = {
    ("S5", "doubling:2,4,8", 7): {},
    ("S5", "doubling:2,4,8,16,32", 7): {},
    ("S5", "doubling:4,16,64", 7): {},
    ("S5", "doubling:32,64,128", 7): {},
    ("S5", "doubling until solved", 7): {"until": "solved"},
    ("S5", "doubling until 2000", 7): {"until": 2_000},
    ("S5", "doubling, AdamW", 7): {"method": "adamw", "lr": (3e-4, 6e-4, 1e-3), "betas": (0.9, 0.98)},
    ("S5", "doubling:1=4,2=8,3=16,4=32,5=64,6=128", 6): {"steps": 6_000},
    **{(task, EQUAL, 7): {} for task in ("S5", "S4", "D6")},
    **{(task, CASCADE, 7): {} for task in ("D6", "S4")},
}


def plan(scale: Scale) -> list[PlannedRun]:
    """The 19 tasks, longer words, the questions, and the map's own cells to compare with."""
    length = LENGTH[scale]
    layers = (length - 1).bit_length()
    tasks = ("Grid4", "D6") if scale is Scale.SMOKE else TASKS
    runs = [taught(scale, task, layers, length) for task in tasks]
    if scale is not Scale.SMALL:
        return runs
    runs += [longer(task, size) for size in LONGER for task in LONGER_TASKS]
    runs += [asked(*key) for key in ASKED]
    runs += [untaught(task) for task in TASKS]
    return runs


def taught(scale: Scale, task: str, layers: int, length: int) -> PlannedRun:
    """A cell of the main table."""
    config = by_muon(
        Scale.SMALL if scale is Scale.PAPER else scale,  # the paper has no such recipe
        TaskConfig(spec=task, length=length),
        layers,
        sequences=STEPS[scale] * BATCH[scale],
        replicates=REPLICATES[scale],
        teach=TeachConfig(hints=DOUBLING),
    )
    lengths = tuple(round(length * factor) for factor in BEYOND)
    judged = 16 if scale is Scale.SMOKE else 512
    return PlannedRun(
        config=config,
        label=_label(task, layers, length, DOUBLING),
        evaluations=(AccuracyByLength(lengths=lengths, sequences=judged),),
    )


def longer(task: str, length: int) -> PlannedRun:
    """The same on longer words, with one layer more for each doubling of the length."""
    layers, batch, steps, replicates = LONGER[length]
    config = by_muon(
        Scale.SMALL,
        TaskConfig(spec=task, length=length),
        layers,
        sequences=steps * batch,
        batch=batch,
        replicates=replicates,
        lr=(LONGER_RATE,),
        stop_at=S5_DONE if task == "S5" else LONGER_DONE,
        judged=LONGER_JUDGED,
        teach=TeachConfig(hints=DOUBLING),
    )
    return PlannedRun(config=config, label=_label(task, layers, length, DOUBLING))


def asked(task: str, hints: str, layers: int) -> PlannedRun:
    """One question, on the words of the main table."""
    changes = dict(ASKED[task, hints, layers])
    steps, until = changes.pop("steps", STEPS[Scale.SMALL]), changes.pop("until", None)
    teach = None if hints == EQUAL else TeachConfig(hints=hints.partition(" ")[0].strip(","), until=until)
    config = by_muon(
        Scale.SMALL,
        TaskConfig(spec=task, length=LENGTH[Scale.SMALL]),
        layers,
        sequences=steps * BATCH[Scale.SMALL],
        replicates=ASKED_REPLICATES,
        teach=teach,
        **changes,
    )
    return PlannedRun(config=config, label=_label(task, layers, LENGTH[Scale.SMALL], hints))


def untaught(task: str) -> PlannedRun:
    """The cell of the depth map that solves the task, or comes nearest to it."""
    layers = depth.passing_depth(task)
    length = LENGTH[Scale.SMALL]
    config = by_muon(Scale.SMALL, TaskConfig(spec=task, length=length), layers)
    return PlannedRun(config=config, label=_label(task, layers, length, UNTAUGHT))


def _label(task: str, layers: int, length: int, hints: str) -> dict[str, Any]:
    return {"task": task, "layers": layers, "length": length, "hints": hints}


def words_to_pass(record: Record) -> int | None:
    """Words read at the first evaluation with 99% of the validation letters; ``None`` if there was none."""
    curve, batch = record.metrics["curve"], int(record.config["optimizer"]["batch"])
    steps = zip(curve["step"], curve["accuracy"], strict=True)
    return next((int(step) * batch for step, accuracy in steps if accuracy >= SOLVED), None)


def table(cells: Sequence[ResultCell]) -> list[Row]:
    """One row a cell: how many replicates reach 99%, and the words that the median one of them had read.

    ``hint_accuracy``: what the median replicate reads of the hint it reads worst. ``accuracy_at_2T``: the
    mean on words of twice the length.
    """
    rows = []
    for cell in cells:
        numbers = summary(cell)
        passed = [words for words in map(words_to_pass, cell.records) if words is not None]
        row = {key: cell.label[key] for key in ("task", "layers", "length", "hints")}
        row |= {"reach": numbers["reached"], "words_read": round(median(passed)) if passed else None}
        rows.append(row | numbers | {"hint_accuracy": _weakest_hint(cell), "accuracy_at_2T": _at_twice(cell)})
    order = list(dict.fromkeys((DOUBLING, *(hints for _, hints, _ in ASKED), UNTAUGHT)))
    return sorted(rows, key=lambda row: (order.index(row["hints"]), row["length"], TASKS.index(row["task"])))


def _weakest_hint(cell: ResultCell) -> float | None:
    hints = [[hint["accuracy"] for hint in record.metrics.get("hints", ())] for record in cell.records]
    return round(median(map(min, hints)), 4) if all(hints) else None


def _at_twice(cell: ResultCell) -> float | None:
    places, means, _ = mean_series(cell, "length")
    return round(means[-1], 4) if places else None


def draw(cells: Sequence[ResultCell], caption: str) -> dict[str, Figure]:
    """Words read to 99%, taught and untaught, by task."""
    rows = [row for row in table(cells) if row["hints"] in (DOUBLING, UNTAUGHT) and row["length"] <= 100]
    bars = [
        Bar(
            group=row["task"],
            series="taught, 7 layers" if row["hints"] == DOUBLING else "untaught (the depth map)",
            value=row["words_read"] / MAP_WORDS,
            text=f"{row['words_read'] / 1000:.0f}k, {row['reach']} of {row['replicates']}",
        )
        for task in TASKS
        for row in rows
        if row["task"] == task and row["words_read"] is not None
    ]
    if not bars:
        return {}
    title, axis = "Words read to 99% of the letters", f"of the map's {MAP_WORDS:,} words"
    note = f"T = {rows[0]['length']}; the median of the replicates that get there"
    return {"taught": bar_chart(bars, title=title, y_axis=axis, note=note)}


EXPERIMENT = Experiment(
    name="taught",
    title="Doubling as a lesson: hints after the blocks, ⌈log₂ T⌉ layers",
    claim="not in the paper; predictions in research/taught-predictions.md",
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
