"""C2 on distributions other than the training distribution (Figure 6 left, Appendix B.2.3)."""

from collections.abc import Sequence
from statistics import fmean

from krohn.experiments.experiment import Cell, Experiment, PlannedRun, Row
from krohn.experiments.names import Scale
from krohn.experiments.recipes.variants import (
    DEEP,
    DEPARTURES,
    GPT,
    LSTM,
    NO_POSITIONS_BOS,
    RECENCY,
    SHIFTED,
    SHIFTED_BOS,
    variant,
)
from krohn.experiments.summary import SOLVED, mean_series, series_at, summary
from krohn.figures.charts import Line, Panel, line_chart
from krohn.figures.style import Figure

SHOWN = (LSTM, RECENCY, GPT, DEEP, SHIFTED, SHIFTED_BOS, NO_POSITIONS_BOS)


def plan(scale: Scale) -> list[PlannedRun]:
    """Trained on fair coins, tested on others."""
    return [variant(scale, "C2", name) for name in SHOWN if name != DEEP or scale is not Scale.PAPER]


def table(cells: Sequence[Cell]) -> list[Row]:
    """In distribution, and the worst mean accuracy over all shares and over all counts of ones."""
    rows = []
    for cell in _ordered(cells):
        row = {**cell.label, **summary(cell)}
        for evaluation in ("probability", "ones"):
            places, means, _ = mean_series(cell, evaluation)
            if places:
                worst = min(range(len(places)), key=means.__getitem__)
                row |= {f"worst_by_{evaluation}": round(means[worst], 5), f"at_{evaluation}": places[worst]}
        row |= _by_the_solved(cell)
        recurrent = cell.label["model"] in (LSTM, RECENCY)
        rows.append(row | {"paper": "100% everywhere" if recurrent else "fails away from 0.5"})
    return rows


def _by_the_solved(cell: Cell) -> Row:
    """Mean accuracy of the replicates that solve the task, at few ones and at the largest count."""
    places, rows = series_at(cell, "ones")
    able = [row for row, record in zip(rows, cell.records, strict=False) if record.accuracy >= SOLVED]
    if not able:
        return {}
    few = [place for place in (2, 4, 8) if place in places]
    return {
        f"solved_at_{place}": round(fmean(row[places.index(place)] for row in able), 5)
        for place in (*few, places[-1])
    }


def _ordered(cells: Sequence[Cell]) -> list[Cell]:
    return sorted(cells, key=lambda cell: SHOWN.index(cell.label["model"]))


def draw(cells: Sequence[Cell], caption: str) -> dict[str, Figure]:
    """Mean accuracy with standard error, by the share of ones and by their count."""
    titles = {"probability": ("other coins", "Pr[1]"), "ones": ("count of ones", "ones in the word")}
    panels = []
    for evaluation, (title, axis) in titles.items():
        lines = []
        for cell in _ordered(cells):
            places, means, errors = mean_series(cell, evaluation)
            if places:
                lines.append(Line(name=cell.label["model"], x=places, y=means, error=errors))
        if lines:
            guides = [(0.5, "trained")] if evaluation == "probability" else []
            panels.append(
                Panel(
                    title=f"C2, {title}",
                    x_axis=axis,
                    y_axis="mean accuracy, standard error",
                    lines=lines,
                    guides=guides,
                )
            )
    return {"ood": line_chart(panels, note=caption)} if panels else {}


EXPERIMENT = Experiment(
    name="ood",
    title="C2 away from the training distribution",
    claim="GPT fails off Pr[1] = 0.5; LSTM and scratchpad + recency stay at 100%",
    plan=plan,
    table=table,
    draw=draw,
    departures=DEPARTURES,
)
