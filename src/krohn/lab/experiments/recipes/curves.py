"""Training curves of C2 and S5: progress comes and goes (Figure 3b, c)."""

from collections.abc import Sequence

from krohn.lab.experiments.experiment import Experiment, Figures, Label, PlannedRun, ResultCell, Row
from krohn.lab.experiments.names import Scale
from krohn.lab.experiments.recipes import depth
from krohn.lab.experiments.settings import SOLVED_STOP, Settings, by_scale, plan_product, plan_run
from krohn.lab.experiments.summary import marks_of, note_on, sort_cells, summary, table_by
from krohn.lab.figures.charts import Line, Panel, line_chart

# The text gives the tasks and the ten replicates; the depths are ours.
CELLS = by_scale((("C2", 2), ("S5", 2)), (("C2", 4),), (("C2", 8), ("S5", 16)))
SETTINGS: Settings = {
    "length": by_scale(8, 100, 100),
    "sequences": by_scale(8 * 20, 400_000, 5_000_000),
    "replicates": by_scale(2, 10, 10),
    "lr": (1e-4,),
}
# At scale small a constant rate with AdamW does not learn S5: use the depth map's runs, and its A5. And its
# recipe with Muon at a constant rate, with the first two of its six replicates, which do not stop. Runs with
# AdamW have no sheet in their label.
FROM_THE_MAP: tuple[tuple[str, Label], ...] = (
    (depth.WHOLE, {"task": "A5", "depth": 8}),
    (depth.WHOLE, {"task": "S5", "depth": 8}),
    (depth.MUON, {"task": "S5", "depth": 8, "sheet": depth.MUON}),
)
CONSTANT = "Muon, constant rate"
CONSTANT_RATE: Settings = {"schedule": "constant", "stop_at": None, "replicates": 2}
ORDER = {"task": ("C2", "A5", "S5"), "sheet": (None, depth.MUON, CONSTANT)}


def plan(scale: Scale) -> list[PlannedRun]:
    """No early stopping: what happens after success is the point."""
    runs = plan_product(scale, {("task", "depth"): CELLS[scale]}, SETTINGS)
    if scale is not Scale.SMALL:
        return runs
    runs += [depth.plan_cell(scale, label["task"], 8, sheet, label) for sheet, label in FROM_THE_MAP]
    label = {"task": "S5", "depth": 8, "sheet": CONSTANT}
    return [*runs, plan_run(scale, label, spec="S5", length=100, layers=8, **depth.BY_MUON | CONSTANT_RATE)]


def drop(cell: ResultCell) -> Row:
    """The largest drop from a best accuracy over all replicates."""
    curves = (record.metrics["curve"]["accuracy"] for record in cell.records)
    return {"largest_drop": round(max(map(largest_drop, curves)), 5)}


table = table_by(ORDER, columns=drop, paper=lambda label: "unstable")


def largest_drop(accuracy: Sequence[float]) -> float:
    """The largest drop of a curve below its running maximum."""
    peak = drop = 0.0
    for value in accuracy:
        peak = max(peak, value)
        drop = max(drop, peak - value)
    return drop


def draw(cells: Sequence[ResultCell], scale: Scale) -> Figures:
    """One panel for each task, one line for each replicate."""
    panels = []
    for cell in sort_cells(cells, ORDER):
        batch = cell.records[0].config["optimizer"]["batch"]
        curves = [record.metrics["curve"] for record in cell.records]
        words = [[step * batch for step in curve["step"]] for curve in curves]
        lines = [
            Line(name=f"replicate {number}", x=x, y=curve["accuracy"], faint=True)
            for number, (x, curve) in enumerate(zip(words, curves, strict=True), start=1)
        ]
        names = [cell.label["task"], f"{cell.label['depth']} layers", cell.label.get("sheet")]
        title = ", ".join(filter(None, names)) + marks_of(summary(cell))
        panels.append(Panel(title=title, x_axis="sequences", y_axis="held-out accuracy", lines=lines))
    return {"curves": line_chart(panels, note=note_on(cells, scale))}


EXPERIMENT: Experiment = Experiment(
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
