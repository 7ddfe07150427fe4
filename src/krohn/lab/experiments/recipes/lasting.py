"""A shortcut that lasts: a looped block, trained on 64 letters from states alone, on much longer words.

At the end codes are looked for in every replicate, and the checker is asked whether they prove it for every
length. Beside it stand a network of one block for each loop, and what happens without noise or LayerNorm.
"""

from collections.abc import Sequence
from statistics import median
from typing import Any

from krohn.lab.experiments.experiment import Experiment, Figures, Label, PlannedRun, ResultCell, Row
from krohn.lab.experiments.names import Scale
from krohn.lab.experiments.recipes.taught import words_to_pass
from krohn.lab.experiments.settings import LOOPED, TASKS, Settings, by_scale, plan_run
from krohn.lab.experiments.summary import mean_series, note_on, summary
from krohn.lab.figures.charts import Bar, bar_chart
from krohn.lab.interpret.codes_found import CodesFound
from krohn.lab.interpret.evaluation import AccuracyAlong

LENGTH = by_scale(4, 64, 64)
LONGER = (1, 4, 16)  # lengths of test words, in trained lengths
JUDGED = by_scale(8, 250, 1000)
REPLICATES = by_scale(2, 6, 6)
PLAIN = "looped"

# Words that each replicate reads, and noise: the harder groups need more of the one and less of the other.
WORDS = {"S5": 250_000, "A5": 190_000, "S4": 360_000, "A4": 190_000, "Grid9": 250_000, "Dyck4,2": 190_000}
FEW = 110_000
HARD: Settings = {"noise": 0.5}
WIDE: Settings = HARD | {"mlp": by_scale(16, 512, 512), "lr": by_scale((3e-3, 1e-3), (2e-3,), (2e-3,))}
OWN: dict[str, Settings] = {task: WIDE if task in ("S5", "A5") else HARD for task in WORDS}

ASKED: dict[str, Settings] = {
    "no noise": {"noise": 0.0},
    "no LayerNorm between loops": {"norm": False},
    "all states after the last loop": {"supervise": "end"},
    "the last state alone": {"supervise": "last"},
    "a block for each loop": {"blocks": by_scale(2, 6, 6)},
}
ASKED_TASK = "D6"


def plan(scale: Scale) -> list[PlannedRun]:
    """The 19 tasks, then on one of them what makes it work."""
    tasks = ("C2", "D6") if scale is Scale.SMOKE else TASKS
    runs = [cell(scale, task, PLAIN, **OWN.get(task, {})) for task in tasks]
    return runs + [cell(scale, ASKED_TASK, name, **own) for name, own in ASKED.items()]


def cell(scale: Scale, task: str, change: str, **own: Any) -> PlannedRun:
    """One task with one change."""
    length, label = LENGTH[scale], label_of(task, change)
    words = {Scale.SMOKE: 12 * 8, Scale.SMALL: WORDS.get(task, FEW), Scale.PAPER: 4 * WORDS.get(task, FEW)}
    longer = AccuracyAlong(
        name="length", at=tuple(length * times for times in LONGER), sequences=JUDGED[scale]
    )
    given = {
        "model": LOOPED,
        "length": length,
        "sequences": words,
        "replicates": REPLICATES,
        "measured": (longer, CodesFound()),
    }
    return plan_run(scale, label, spec=task, **given | own)


def label_of(task: str, change: str) -> Label:
    """The parts of a cell's label."""
    return {"task": task, "change": change}


def table(cells: Sequence[ResultCell]) -> list[Row]:
    """One row a cell: accuracy, words to 99%, letters right at the longest length, replicates proved."""
    rows = []
    for one in cells:
        passed = [words for words in map(words_to_pass, one.records) if words is not None]
        found = [record.metrics["evaluations"].get("codes", {}) for record in one.records]
        _, means, _ = mean_series(one, "length")
        row = {key: one.label[key] for key in ("task", "change")} | summary(one)
        row |= {
            "words_read": round(median(passed)) if passed else None,
            "accuracy_at_longest": round(means[-1], 4) if means else None,
            "proved": sum(bool(entry.get("proved")) for entry in found),
            "codes": sorted({entry["codes"] for entry in found if entry.get("proved")}),
        }
        rows.append(row)
    order = (PLAIN, *ASKED)
    return sorted(rows, key=lambda row: (order.index(row["change"]), TASKS.index(row["task"])))


def draw(cells: Sequence[ResultCell], scale: Scale) -> Figures:
    """Letters of the longest test words that the plain network has right, and replicates that are proved."""
    rows = [row for row in table(cells) if row["change"] == PLAIN]
    bars = [
        bar
        for row in rows
        for bar in (
            Bar(row["task"], "letters right, no codes", row["accuracy_at_longest"] or 0.0),
            Bar(row["task"], "replicates proved, with codes", row["proved"] / row["replicates"]),
        )
    ]
    longest = LENGTH[scale] * LONGER[-1]
    note = f"{note_on(cells, scale)}\ntrained on {LENGTH[scale]} letters; letters of words of {longest}; "
    note += "proofs are for every length"
    return {"lasting": bar_chart(bars, title="A looped block on longer words", y_axis="share", note=note)}


EXPERIMENT: Experiment = Experiment(
    name="lasting",
    title="A looped block: log depth, right beyond its training length",
    claim="not in the paper; predictions in research/lasting-predictions.md of the repository",
    plan=plan,
    table=table,
    draw=draw,
    departures={
        Scale.SMALL: "width 128, words of 64 letters, AdamW at 1e-3 or 2e-3 with cosine",
        Scale.PAPER: "the paper has no such experiment; four times the words of scale small",
    },
)
