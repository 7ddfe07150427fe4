"""Can it, and did it learn? Small recurrent networks on automata for which "can" is decided."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from krohn.evaluate.across import AccuracyByLength
from krohn.evaluate.harness import reach
from krohn.experiments.experiment import Cell, Experiment, PlannedRun, Row
from krohn.experiments.scale import Scale
from krohn.experiments.settings import run
from krohn.experiments.summary import mean_series, series_at, summary
from krohn.figures.files import Figure
from krohn.figures.lines import Line, Panel, line_chart
from krohn.models.registry import model_config
from krohn.tasks.config import TaskConfig


@dataclass(frozen=True)
class Case:
    """An automaton, an architecture with its options, whether it can, and why not."""

    task: str
    model: str
    kind: str
    options: dict[str, Any]
    can: bool
    why: str = ""


_REAL = "the group C3 inside; real diagonal layers have 2-groups only"
_COUNTS = "the group inside counts; gates in [0, 1] only remember"
_DEPTH = "one layer for each section of the derived series; this is one less"
CASES = (
    Case("C2", "diagonal [0, 1]", "diagonal", {"gate": "unit"}, False, _COUNTS),
    Case("C2", "diagonal [-1, 1]", "diagonal", {"gate": "signed"}, True),
    Case("C3", "diagonal [-1, 1]", "diagonal", {"gate": "signed"}, False, _REAL),
    Case("C3", "diagonal complex", "diagonal", {"gate": "complex"}, True),
    Case(
        "D6",
        "DeltaProduct, 1 step",
        "deltaproduct",
        {"householders": 1},
        False,
        "a 3-cycle is two reflections",
    ),
    Case("D6", "DeltaProduct, 2 steps", "deltaproduct", {"householders": 2}, True),
    Case(
        "D6",
        "DeltaProduct, 2 steps, β ≤ 1",
        "deltaproduct",
        {"householders": 2, "beta_max": 1},
        False,
        _COUNTS,
    ),
    Case("D8", "diagonal [-1, 1]", "diagonal", {"gate": "signed", "conv": 2}, False, _DEPTH),
    Case("D8", "diagonal [-1, 1], 2 layers", "diagonal", {"gate": "signed", "layers": 2, "conv": 2}, True),
    Case(
        "S4",
        "diagonal complex, 2 layers",
        "diagonal",
        {"gate": "complex", "layers": 2, "conv": 2},
        False,
        _DEPTH,
    ),
    Case("S4", "diagonal complex, 3 layers", "diagonal", {"gate": "complex", "layers": 3, "conv": 2}, True),
)
LENGTH = {Scale.SMOKE: 6, Scale.SMALL: 20, Scale.PAPER: 128}
SEQUENCES = {Scale.SMOKE: 8 * 6, Scale.SMALL: 12_800, Scale.PAPER: 2_000_000}
REPLICATES = {Scale.SMOKE: 2, Scale.SMALL: 4, Scale.PAPER: 10}
WIDTH = {Scale.SMOKE: 8, Scale.SMALL: 16, Scale.PAPER: 128}


def plan(scale: Scale) -> list[PlannedRun]:
    """A run for each case, tested to four times the trained length."""
    return [_planned(scale, case) for case in CASES]


def _planned(scale: Scale, case: Case) -> PlannedRun:
    length, width = LENGTH[scale], WIDTH[scale]
    sizes = {"dim": width, "mlp": 2 * width}
    mixer = {"channels": width} if case.kind == "diagonal" else {"heads": 2, "key_dim": 8, "value_dim": 8}
    rates: dict[str, Any] = {} if scale is Scale.SMOKE else {"lr": (3e-3, 1e-2), "warmup": 20, "batch": 32}
    config = run(
        scale,
        TaskConfig(spec=case.task, length=length),
        model_config(case.kind, **sizes, **mixer, **case.options),
        sequences=SEQUENCES[scale],
        replicates=REPLICATES[scale],
        evaluations=2 if scale is Scale.SMOKE else 8,
        **rates,
    )
    lengths = tuple(length * quarter // 2 for quarter in range(1, 9))
    judged = AccuracyByLength(lengths=lengths, sequences=16 if scale is Scale.SMOKE else 128)
    return PlannedRun(config=config, label={"task": case.task, "model": case.model}, evaluations=(judged,))


def table(cells: Sequence[Cell]) -> list[Row]:
    """Can, did (solved of R, best, median, n* per seed), why not."""
    rows = []
    for case in CASES:
        for cell in cells:
            if (cell.label["task"], cell.label["model"]) == (case.task, case.model):
                places, series = series_at(cell, "length")
                did = {
                    f"n{share}": [reach(places, seed, share / 100) for seed in series] for share in (95, 99)
                }
                rows.append({**cell.label, "can": case.can, **summary(cell), **did, "why_not": case.why})
    return rows


def draw(cells: Sequence[Cell], caption: str) -> dict[str, Figure]:
    """Mean accuracy by length, a panel for each automaton."""
    panels = []
    for task in dict.fromkeys(case.task for case in CASES):
        own = [cell for cell in cells if cell.label["task"] == task]
        lines = []
        for cell in own:
            places, means, errors = mean_series(cell, "length")
            if places:
                lines.append(Line(name=cell.label["model"], x=places, y=means, error=errors))
        if lines:
            trained = int(own[0].records[0].config["task"]["length"])
            panel = Panel(
                title=task,
                x_axis="length of the word",
                y_axis="mean accuracy, standard error",
                lines=lines,
                guides=[(trained, "trained")],
            )
            panels.append(panel)
    return {"expressivity": line_chart(panels, note=caption)} if panels else {}


EXPERIMENT = Experiment(
    name="expressivity",
    title="Can it, and did it learn?",
    claim="not in the paper; predictions in docs/expressivity.md",
    plan=plan,
    table=table,
    draw=draw,
    departures={Scale.SMALL: "small widths, few steps: sized for a CPU"},
)
