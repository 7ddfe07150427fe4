"""Charts: lines with standard error, heat maps, grouped bars, attention maps as the paper draws them."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from math import log10
from textwrap import fill
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.ticker import EngFormatter
from numpy.typing import NDArray

from krohn.errors import InvalidInput
from krohn.lab.figures.style import COLOUR_MAP, FigureStyle, house_style, ink_on, looks

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
            drawn |= _draw_panel(axes, panel, look_of)
        for axes in places[len(panels) :]:
            axes.remove()
        if len(drawn) > 1:
            columns = min(len(drawn), 3)
            figure.legend(list(drawn.values()), list(drawn), loc="outside lower center", ncols=columns)
        if note:
            figure.suptitle(note, fontsize=7)
    return figure


def _draw_panel(axes: Axes, panel: Panel, look_of: dict[str, FigureStyle]) -> dict[str, Line2D]:
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


def _draw_line(axes: Axes, line: Line, look: FigureStyle, later: int) -> Line2D:
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


@dataclass(frozen=True, kw_only=True)
class HeatMap:
    """Shares between 0 and 1 by row and column, drawn as per cent; missing cells stay empty.

    ``marks`` adds a sign to a cell's number, explained in ``note``; ``texts`` takes the number's place.
    ``by_mistakes`` colours by the order of magnitude of the mistakes (90, 99, 99.9%): where all values are
    high, a scale from 0 to 1 hides what matters.
    """

    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    values: Mapping[tuple[str, str], float]
    marks: Mapping[tuple[str, str], str] = field(default_factory=dict)
    texts: Mapping[tuple[str, str], str] = field(default_factory=dict)
    by_mistakes: bool = False
    row_axis: str = ""
    column_axis: str = ""
    note: str = ""
    strong_from: float = 0.99


def heat_map(*maps: HeatMap) -> Figure:
    """The maps side by side, on one scale."""
    rows = max(len(shown.rows) for shown in maps)
    width = sum(_width(shown) for shown in maps)
    note = "\n".join(dict.fromkeys(shown.note for shown in maps if shown.note))
    with house_style():
        figure = Figure(figsize=(width, 1.2 + 0.24 * rows), layout="constrained")
        if note:
            # About 17 characters of the caption's size fit into an inch.
            lines = [fill(line, int(17 * width)) for line in note.splitlines()]
            figure.suptitle("\n".join(lines), fontsize=7)
        for axes, shown in zip(figure.subplots(1, len(maps), squeeze=False)[0], maps, strict=True):
            _draw_map(axes, shown)
    return figure


def _width(shown: HeatMap) -> float:
    """Inches: room for the names of rows and columns, and for the title."""
    rows = 0.08 * max(len(row) for row in shown.rows)
    columns = sum(max(0.42, 0.085 * len(column)) for column in shown.columns)
    return max(0.5 + rows + columns, 0.085 * len(shown.title) + rows)


def percent(value: float, digits: int = 1) -> str:
    """No value is rounded up to 100, nor to 99, from where a task counts as learned."""
    most = (100 if value >= 0.99 else 99) - 10**-digits
    return "100" if value == 1 else f"{min(value * 100, most):.{digits}f}"


def shade(value: float) -> float:
    """Position on the colour map: a third more for each order of magnitude fewer mistakes, 1 from 99.9%."""
    return min(1.0, -log10(max(1.0 - value, 1e-3)) / 3)


def _draw_map(axes: Axes, shown: HeatMap) -> None:
    for down, row in enumerate(shown.rows):
        for across, column in enumerate(shown.columns):
            _cell(axes, shown, (row, column), (across, down))
    axes.set_xlim(0, len(shown.columns))
    axes.set_ylim(len(shown.rows), 0)
    axes.set_xticks([index + 0.5 for index in range(len(shown.columns))], shown.columns)
    axes.set_yticks([index + 0.5 for index in range(len(shown.rows))], shown.rows)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_title(shown.title, loc="left")
    axes.set_ylabel(shown.row_axis)
    axes.set_xlabel(shown.column_axis)


def _cell(axes: Axes, shown: HeatMap, cell: tuple[str, str], place: tuple[int, int]) -> None:
    value = shown.values.get(cell)
    across, down = place
    if value is None:
        axes.text(across + 0.5, down + 0.5, "·", ha="center", va="center", fontsize=7, color="#999999")
        return
    # An integer would be read as an index into the map.
    colour = colormaps[COLOUR_MAP](shade(value) if shown.by_mistakes else float(value))
    axes.add_patch(Rectangle(place, 1, 1, facecolor=colour, edgecolor="white", linewidth=0.8))
    axes.text(
        across + 0.5,
        down + 0.5,
        shown.texts.get(cell, percent(value)) + shown.marks.get(cell, ""),
        ha="center",
        va="center",
        fontsize=7,
        color=ink_on(colour),
        fontweight="bold" if value >= shown.strong_from else "normal",
    )


@dataclass(frozen=True)
class Bar:
    """A share between 0 and 1 in one group and one series, with its standard error.

    ``mark`` is a sign after its number, explained in the chart's note; ``text`` is printed for the number.
    """

    group: str
    series: str
    value: float
    error: float = 0.0
    _: KW_ONLY
    mark: str = ""
    text: str = ""


def bar_chart(bars: Sequence[Bar], *, title: str, y_axis: str, note: str = "") -> Figure:
    """One cluster for each group, one bar in it for each series, in the order given."""
    groups = list(dict.fromkeys(bar.group for bar in bars))
    series = list(dict.fromkeys(bar.series for bar in bars))
    width = 0.84 / max(1, len(series))
    with house_style():
        figure = Figure(
            figsize=(min(12.0, 1.4 + 0.42 * len(groups) * (len(series) + 0.6)), 3.2), layout="constrained"
        )
        axes = figure.subplots()
        for index, (name, look) in enumerate(zip(series, looks(len(series)), strict=True)):
            own = [bar for bar in bars if bar.series == name]
            places = [groups.index(bar.group) + (index - (len(series) - 1) / 2) * width for bar in own]
            fill: dict[str, Any] = {
                "color": look.colour,
                "hatch": look.hatch,
                "edgecolor": "white",
                "linewidth": 0.4,
            }
            axes.bar(places, [bar.value for bar in own], width, label=name, **fill)
            errors = [bar.error for bar in own]
            heights = [bar.value for bar in own]
            axes.errorbar(places, heights, errors, fmt="none", ecolor="black", elinewidth=0.8, capsize=2)
            for place, bar in zip(places, own, strict=True):
                height = min(bar.value + bar.error, 1) + 0.01
                number = (bar.text or percent(bar.value)) + bar.mark
                axes.text(place, height, number, ha="center", va="bottom", fontsize=6, rotation=90)
        axes.set_xticks(range(len(groups)), groups)
        axes.set_ylim(0, 1.16)
        axes.set_ylabel(y_axis)
        axes.set_title(title, loc="left")
        if len(series) > 1:
            figure.legend(loc="outside lower center", ncols=min(len(series), 4))
        if note:
            axes.set_xlabel(note, fontsize=7)
    return figure


# White and grey strips as in the paper; the frame's colour and dash show how the head was classified.
LEFT_STRIP, RIGHT_STRIP, ABOVE = (1.0, 1.0, 1.0), (0.55, 0.55, 0.55), (0.13, 0.0, 0.30)
FRAMES: dict[str, tuple[str, Any]] = {
    "left": ("#0072B2", "-"),
    "right": ("#D55E00", "--"),
    "both": ("#CC79A7", "-."),
    "uniform": ("#009E73", ":"),
}


@dataclass(frozen=True, kw_only=True)
class AttentionMap:
    """One head on one word: ``weights[t, i]`` for i ≤ t, and the states after each letter.

    ``kind`` is the head's class: a detector of the left or right wall or both, uniform, nothing.
    """

    title: str
    weights: NDArray[np.floating]
    states: Sequence[int]
    last_state: int
    kind: str = ""

    def __post_init__(self) -> None:
        length = len(self.states)
        if self.weights.shape != (length, length):
            given = f"{self.weights.shape} and {length}"
            raise InvalidInput(f"attention must be one row and column for each state; got {given}")


def attention_maps(maps: Sequence[AttentionMap], *, columns: int = 4, note: str = "") -> Figure:
    """The heads in a grid; strips mark state 0 (white) and the last state (grey)."""
    rows = -(-len(maps) // columns)
    columns = min(columns, len(maps))
    with house_style():
        figure = Figure(figsize=(0.2 + 2.1 * columns, 0.4 + 2.3 * rows), layout="constrained")
        places = figure.subplots(rows, columns, squeeze=False).ravel()
        for axes, shown in zip(places, maps, strict=False):
            _draw(axes, shown)
        for axes in places[len(maps) :]:
            axes.set_axis_off()
        if note:
            figure.suptitle(note, fontsize=7)
    return figure


def picture(shown: AttentionMap) -> NDArray[np.float64]:
    """The pixels: each row's weights scaled by the map's largest, strips above the diagonal."""
    length = len(shown.states)
    largest = max(float(np.tril(shown.weights).max()), 1e-9)
    # The square root keeps a head that spreads over a hundred positions visible beside one that does not.
    level = np.sqrt(np.tril(shown.weights) / largest)
    pixels = _inferno(level)
    above = np.triu(np.ones((length, length), dtype=bool), 1)
    strips = np.array([_strip(state, shown.last_state) for state in shown.states])
    pixels[above] = np.broadcast_to(strips, (length, length, 3))[above]
    return pixels


def _strip(state: int, last_state: int) -> tuple[float, float, float]:
    return LEFT_STRIP if state == 0 else RIGHT_STRIP if state == last_state else ABOVE


def _inferno(level: NDArray[np.floating]) -> NDArray[np.float64]:
    return np.asarray(colormaps["inferno"](level)[..., :3], dtype=np.float64)


def _draw(axes: Axes, shown: AttentionMap) -> None:
    axes.imshow(picture(shown), interpolation="nearest")
    axes.set_title(shown.title, fontsize=7)
    axes.set_xticks([0, len(shown.states) - 1], ["1", str(len(shown.states))], fontsize=6)
    axes.set_yticks([0, len(shown.states) - 1], ["1", str(len(shown.states))], fontsize=6)
    for spine in axes.spines.values():
        spine.set_visible(True)
        if shown.kind:
            colour, dash = FRAMES[shown.kind]
            spine.set(color=colour, linewidth=2.5, linestyle=dash)
