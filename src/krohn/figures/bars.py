"""Grouped bars with standard error and the value above each bar."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure

from krohn.errors import InvalidInput
from krohn.figures.heat_map import percent
from krohn.figures.style import house_style, looks


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A share between 0 and 1 in one group and one series, with its standard error.

    ``mark`` is a sign after its number, explained in the chart's note.
    """

    group: str
    series: str
    value: float
    error: float = 0.0
    mark: str = ""

    def __post_init__(self) -> None:
        if not 0 <= self.value <= 1:
            raise InvalidInput(f"a bar must hold a share between 0 and 1; {self.series!r} has {self.value}")


def bar_chart(bars: Sequence[Bar], *, title: str, y_axis: str, note: str = "") -> Figure:
    """One cluster for each group, one bar in it for each series, in the order given."""
    groups = list(dict.fromkeys(bar.group for bar in bars))
    series = list(dict.fromkeys(bar.series for bar in bars))
    width = 0.84 / max(1, len(series))
    with house_style():
        figure = Figure(figsize=(1.4 + 0.42 * len(groups) * (len(series) + 0.6), 3.2), layout="constrained")
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
                number = percent(bar.value) + bar.mark
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
