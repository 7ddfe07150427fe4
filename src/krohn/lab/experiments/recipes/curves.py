"""Training curves of C2 and S5: progress comes and goes (Figure 3b, c)."""

from collections.abc import Sequence

from krohn.lab.experiments.experiment import Experiment, PlannedRun, ResultCell, Row
from krohn.lab.experiments.names import Scale
from krohn.lab.experiments.recipes import depth
from krohn.lab.experiments.settings import SOLVED_STOP, gpt, run
from krohn.lab.experiments.summary import marks_of, note_on, summary
from krohn.lab.figures.charts import Line, Panel, line_chart
from krohn.lab.figures.style import Figure
from krohn.lab.tasks.task_config import TaskConfig

# The text gives the tasks and the ten replicates; the depths are ours.
LAYERS = {"C2": {Scale.SMALL: 4, Scale.PAPER: 8}, "S5": {Scale.SMALL: 8, Scale.PAPER: 16}}
# At scale small a constant rate with AdamW does not learn S5: use the depth map's runs, and its A5.
FROM_THE_MAP = (("A5", depth.WHOLE), ("S5", depth.WHOLE), ("S5", depth.MUON))
# And its recipe with Muon at a constant rate, with the first two of its six replicates, which do not stop.
CONSTANT, CONSTANT_REPLICATES = "Muon, constant rate", 2
SEQUENCES = {Scale.SMOKE: 8 * 20, Scale.SMALL: 400_000, Scale.PAPER: 5_000_000}
REPLICATES = {Scale.SMOKE: 2, Scale.SMALL: 10, Scale.PAPER: 10}


def plan(scale: Scale) -> list[PlannedRun]:
    """No early stopping: what happens after success is the point."""
    runs = [
        PlannedRun(
            config=run(
                scale,
                TaskConfig(spec=task, length=8 if scale is Scale.SMOKE else 100),
                gpt(scale, layers.get(scale, 2)),
                sequences=SEQUENCES[scale],
                replicates=REPLICATES[scale],
                lr=(1e-4,),
            ),
            label={"task": task, "depth": layers.get(scale, 2)},
        )
        for task, layers in LAYERS.items()
        if scale is not Scale.SMALL or task == "C2"
    ]
    return runs + _by_the_map(LAYERS["S5"][scale]) if scale is Scale.SMALL else runs


def _by_the_map(layers: int) -> list[PlannedRun]:
    """A5 and S5 by the depth map's recipes; runs with AdamW have no sheet in their label."""
    runs = []
    for task, sheet in FROM_THE_MAP:
        label = {"task": task, "depth": layers} | ({} if sheet == depth.WHOLE else {"sheet": sheet})
        config = depth.planned(Scale.SMALL, task, layers, sheet).config
        runs.append(PlannedRun(config=config, label=label))
    changes = {"schedule": "constant", "stop_at": None, "replicates": CONSTANT_REPLICATES}
    config = depth.by_muon(Scale.SMALL, TaskConfig(spec="S5", length=100), layers, **changes)
    return [*runs, PlannedRun(config=config, label={"task": "S5", "depth": layers, "sheet": CONSTANT})]


def table(cells: Sequence[ResultCell]) -> list[Row]:
    """The usual columns, and the largest drop from a best accuracy over all replicates."""
    rows = []
    for cell in cells:
        drops = [largest_drop(record.metrics["curve"]["accuracy"]) for record in cell.records]
        row = {**cell.label, **summary(cell)}
        rows.append(row | {"largest_drop": round(max(drops), 5), "paper": "unstable"})
    return sorted(rows, key=_place)


def _place(row: Row) -> tuple[int, int]:
    return ("C2", "A5", "S5").index(row["task"]), ("", depth.MUON, CONSTANT).index(row.get("sheet", ""))


def largest_drop(accuracy: Sequence[float]) -> float:
    """The largest drop of a curve below its running maximum."""
    peak = drop = 0.0
    for value in accuracy:
        peak = max(peak, value)
        drop = max(drop, peak - value)
    return drop


def draw(cells: Sequence[ResultCell], caption: str) -> dict[str, Figure]:
    """One panel for each task, one line for each replicate."""
    panels = []
    rows = [summary(cell) for cell in cells]
    for cell in sorted(cells, key=lambda cell: _place(dict(cell.label))):
        batch = cell.records[0].config["optimizer"]["batch"]
        curves = [record.metrics["curve"] for record in cell.records]
        lines = [
            Line(
                name=f"replicate {index + 1}",
                x=[step * batch for step in curve["step"]],
                y=curve["accuracy"],
                faint=True,
            )
            for index, curve in enumerate(curves)
        ]
        words = [cell.label["task"], f"{cell.label['depth']} layers", cell.label.get("sheet")]
        title = ", ".join(filter(None, words)) + marks_of(summary(cell))
        panels.append(Panel(title=title, x_axis="sequences", y_axis="held-out accuracy", lines=lines))
    return {"curves": line_chart(panels, note=note_on(caption, rows))}


EXPERIMENT = Experiment(
    name="curves",
    title="Training curves of C2 and S5",
    claim="training is unstable: high variance, negative progress, accuracy that decays again",
    plan=plan,
    table=table,
    draw=draw,
    departures={
        Scale.SMALL: (
            "C2 with 4 layers at the learning rate 1e-4; A5 and S5 with 8 layers are runs of `depth`, on a "
            f"falling rate, with AdamW by halves, in which {SOLVED_STOP}; and S5 with Muon at the constant "
            "rates 8e-4 and 1.2e-3"
        ),
        Scale.PAPER: "8 layers for C2 and 16 for S5, learning rate 1e-4",
    },
)
