"""Trained at 40, tested at 8 to 128: who has learned the recurrence? (Figure 6 right, Appendix B.2.4)."""

from collections.abc import Sequence

from krohn.experiments.experiment import Cell, Experiment, PlannedRun, Row
from krohn.experiments.names import Scale
from krohn.experiments.recipes.variants import DEEP, DEPARTURES, LSTM, RECENCY, VARIANTS, variant
from krohn.experiments.summary import mean_series, series_at, summary
from krohn.figures.charts import Line, Panel, line_chart
from krohn.figures.style import Figure

TASKS = ("Dyck4,2", "C2")


def plan(scale: Scale) -> list[PlannedRun]:
    """The networks on each task, the cheap ones first."""
    names = [name for name in VARIANTS if name != DEEP or scale is not Scale.PAPER]  # all have 8 layers there
    return [variant(scale, task, name) for name in names for task in TASKS]


def table(cells: Sequence[Cell]) -> list[Row]:
    """Mean and best accuracy at the trained length, at twice and at the greatest length."""
    rows = []
    for cell in _ordered(cells):
        row = {**cell.label, **summary(cell)}
        places, means, _ = mean_series(cell, "length")
        _, all_rows = series_at(cell, "length")
        for place in (row["length"], 2 * row["length"], places[-1] if places else 0):
            if place in places:
                index = places.index(place)
                row[f"mean_at_{place}"] = round(means[index], 5)
                row[f"max_at_{place}"] = round(max(values[index] for values in all_rows), 5)
        holds = cell.label["model"] in (LSTM, RECENCY)
        rows.append(row | {"paper": "100% at every length" if holds else "falls beyond the trained length"})
    return rows


def _ordered(cells: Sequence[Cell]) -> list[Cell]:
    return sorted(
        cells, key=lambda cell: (TASKS.index(cell.label["task"]), VARIANTS.index(cell.label["model"]))
    )


def draw(cells: Sequence[Cell], caption: str) -> dict[str, Figure]:
    """Mean accuracy with standard error by length, one panel for each task."""
    panels = []
    for task in TASKS:
        lines, trained = [], 0
        for cell in _ordered(cells):
            places, means, errors = mean_series(cell, "length")
            if cell.label["task"] == task and places:
                trained = int(cell.records[0].config["task"]["length"])
                lines.append(Line(name=cell.label["model"], x=places, y=means, error=errors))
        if lines:
            panels.append(
                Panel(
                    title=task,
                    x_axis="length of the word",
                    y_axis="mean accuracy, standard error",
                    lines=lines,
                    guides=[(trained, "trained")],
                )
            )
    return {"length": line_chart(panels, note=caption)} if panels else {}


EXPERIMENT = Experiment(
    name="length",
    title="Longer words than in training",
    claim="only LSTM and scratchpad + recency hold beyond the trained length",
    plan=plan,
    table=table,
    draw=draw,
    departures=DEPARTURES,
)
