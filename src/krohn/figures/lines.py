"""Lines with standard error, one panel or several."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter

from krohn.errors import InvalidInput
from krohn.figures.style import Look, house_style, looks

MOST_ACROSS = 4
"""Panels per row."""

_LONG = 10_000  # from here on numbers on the axis are written with k and M


@dataclass(frozen=True, kw_only=True)
class Line:
    """One named series; ``error`` is half the height of its band. A faint line has no legend entry.

    ``marks`` are signs at its points, explained in the chart's note; empty for none.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    error: Sequence[float] = ()
    marks: Sequence[str] = ()
    faint: bool = False

    def __post_init__(self) -> None:
        if len(self.x) != len(self.y) or any(
            len(of) not in (0, len(self.x)) for of in (self.error, self.marks)
        ):
            sizes = f"{len(self.x)}, {len(self.y)}, {len(self.error)}, {len(self.marks)}"
            raise InvalidInput(
                f"a line must have as many y, errors and marks as x; {self.name!r} has {sizes}"
            )


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One pair of axes with its lines; ``guides`` are marked x values with a word each."""

    title: str
    x_axis: str
    y_axis: str
    lines: Sequence[Line]
    y_range: tuple[float, float] | None = (0, 1.02)
    log_x: bool = False
    guides: Sequence[tuple[float, str]] = ()


def line_chart(panels: Sequence[Panel], *, note: str = "") -> Figure:
    """The panels, four in a row, under one legend; a series looks the same in every panel."""
    down = -(-len(panels) // MOST_ACROSS)
    across = -(-len(panels) // down)
    names = list(dict.fromkeys(line.name for panel in panels for line in panel.lines))
    look_of = dict(zip(names, looks(len(names)), strict=True))
    with house_style():
        figure = Figure(figsize=(0.4 + 3.4 * across, 3.2 * down), layout="constrained")
        drawn: dict[str, Line2D] = {}
        places = figure.subplots(down, across, squeeze=False).ravel()
        for axes, panel in zip(places, panels, strict=False):
            drawn |= _draw(axes, panel, look_of)
        for axes in places[len(panels) :]:
            axes.remove()
        if len(drawn) > 1:
            columns = min(len(drawn), 3)
            figure.legend(list(drawn.values()), list(drawn), loc="outside lower center", ncols=columns)
        if note:
            figure.suptitle(note, fontsize=7)
    return figure


def _draw(axes: Axes, panel: Panel, look_of: dict[str, Look]) -> dict[str, Line2D]:
    drawn: dict[str, Line2D] = {}
    for x, word in panel.guides:
        axes.axvline(x, color="#999999", linewidth=0.8)
        axes.annotate(
            word, (x, 0.02), xycoords=("data", "axes fraction"), fontsize=6, rotation=90, va="bottom"
        )
    for later, line in zip(reversed(range(len(panel.lines))), panel.lines, strict=True):
        handle = _draw_line(axes, line, look_of[line.name], later)
        if not line.faint:
            drawn[line.name] = handle
    axes.set_title(panel.title, loc="left")
    axes.set_xlabel(panel.x_axis)
    axes.set_ylabel(panel.y_axis)
    axes.grid(color="#dddddd", linewidth=0.5)
    if panel.y_range is not None:
        axes.set_ylim(*panel.y_range)
    if panel.log_x:
        axes.set_xscale("log")
        places = sorted({x for line in panel.lines for x in line.x})
        axes.set_xticks(places, [f"{x:g}" for x in places])
        axes.set_xticks([], minor=True)
    elif max((x for line in panel.lines for x in line.x), default=0) >= _LONG:
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
        axes.margins(x=0.02)  # no tick label beyond the last point, where the edge would clip it
    return drawn


def _draw_line(axes: Axes, line: Line, look: Look, later: int) -> Line2D:
    if line.faint:
        return axes.plot(line.x, line.y, color=look.colour, linewidth=0.8, alpha=0.75)[0]
    # A lone point has no stroke, so every series carries its marker: hollow, and the wider the more series
    # are drawn on top of it, so that none disappears behind one with the same values.
    every = max(1, len(line.x) // 12)
    handle = axes.plot(
        line.x,
        line.y,
        color=look.colour,
        linestyle=look.dash,
        marker=look.marker,
        markersize=3.5 + 0.9 * later,
        markerfacecolor="none",
        markevery=every,
        linewidth=1.3 + 0.3 * later,
    )[0]
    for x, y, mark in zip(line.x, line.y, line.marks, strict=False):
        if mark:
            axes.annotate(mark, (x, y), (4, 4), textcoords="offset points", fontsize=7)
    if line.error:
        low = [y - e for y, e in zip(line.y, line.error, strict=True)]
        high = [y + e for y, e in zip(line.y, line.error, strict=True)]
        axes.fill_between(line.x, low, high, color=look.colour, alpha=0.18, linewidth=0)
    return handle
