"""A table as a heat map with its numbers in the cells."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import log10
from textwrap import fill

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from krohn.errors import InvalidInput
from krohn.figures.style import COLOUR_MAP, house_style, ink_on


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

    def __post_init__(self) -> None:
        for row, column in [*self.values, *self.marks, *self.texts]:
            if row not in self.rows or column not in self.columns:
                raise InvalidInput(f"a cell must lie in the table; got row {row!r}, column {column!r}")
        for cell, value in self.values.items():
            if not 0 <= value <= 1:
                raise InvalidInput(f"a cell must hold a share between 0 and 1; got {value} at {cell}")


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
            _draw(axes, shown)
    return figure


def _width(shown: HeatMap) -> float:
    """Inches: room for the names of rows and columns, and for the title."""
    rows = 0.08 * max(len(row) for row in shown.rows)
    columns = sum(max(0.42, 0.085 * len(column)) for column in shown.columns)
    return max(0.5 + rows + columns, 0.085 * len(shown.title) + rows)


def percent(value: float) -> str:
    """One decimal; an imperfect value is never rounded up to 100."""
    return "100" if value == 1 else f"{min(value * 100, 99.9):.1f}"


def shade(value: float) -> float:
    """Position on the colour map: a third more for each order of magnitude fewer mistakes, 1 from 99.9%."""
    return min(1.0, -log10(max(1.0 - value, 1e-3)) / 3)


def _draw(axes: Axes, shown: HeatMap) -> None:
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
