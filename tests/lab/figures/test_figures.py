"""Figures are pure functions of a table: same bytes, and the numbers can be read off them."""

import re
from collections.abc import Sequence
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from krohn.errors import InvalidInput
from krohn.lab.figures.charts import (
    AttentionMap,
    Bar,
    HeatMap,
    Line,
    Panel,
    attention_maps,
    bar_chart,
    heat_map,
    line_chart,
    percent,
    picture,
)
from krohn.lab.figures.style import looks, save

TABLE = HeatMap(
    title="maximum",
    rows=["C2", "S5"],
    columns=["1", "2"],
    values={("C2", "1"): 0.9987, ("C2", "2"): 1.0, ("S5", "1"): 0.041},
    marks={("S5", "1"): "*"},
    note="* stopped early",
)


def texts(figure: Figure, folder: Path) -> list[str]:
    svg, _ = save(figure, folder / "figure")
    return [re.sub("<[^>]*>", "", text) for text in re.findall(r"<text.*?</text>", svg.read_text(), re.S)]


def lower_triangle(length: int) -> np.ndarray:
    return np.tril(np.ones((length, length))) / np.arange(1, length + 1)[:, None]


def every_figure() -> dict[str, Figure]:
    line = Line(name="GPT", x=[1, 2, 3], y=[0.5, 0.6, 0.9], error=[0.1, 0.1, 0.0])
    panel = Panel(
        title="C2", x_axis="length", y_axis="accuracy", lines=[line, Line(name="LSTM", x=[1], y=[1])]
    )
    head = AttentionMap(
        title="layer 1", weights=lower_triangle(6), states=[0, 1, 2, 1, 2, 0], last_state=2, kind="left"
    )
    return {
        "heat": heat_map(TABLE, TABLE),
        "lines": line_chart([panel, panel], note="smoke"),
        "bars": bar_chart(
            [Bar(group="D8", series="0.1", value=0.5, error=0.1)], title="dropout", y_axis="accuracy"
        ),
        "attention": attention_maps([head, head, head], columns=2),
    }


def test_the_same_table_gives_the_same_bytes(tmp_path: Path) -> None:
    once = {name: save(figure, tmp_path / "once" / name) for name, figure in every_figure().items()}
    again = {name: save(figure, tmp_path / "again" / name) for name, figure in every_figure().items()}
    for name in once:
        for first, second in zip(once[name], again[name], strict=True):
            assert first.read_bytes() == second.read_bytes()
            assert first.stat().st_size > 1000
        assert b"<dc:date>" not in once[name][0].read_bytes()


def test_drawing_leaves_matplotlibs_settings_alone() -> None:
    before = dict(matplotlib.rcParams)
    every_figure()
    assert dict(matplotlib.rcParams) == before


def test_the_cells_of_a_heat_map_hold_their_numbers(tmp_path: Path) -> None:
    shown = texts(heat_map(TABLE), tmp_path)
    assert {"99.9", "100", "4.1*", "C2", "S5", "* stopped early"} <= set(shown)


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.0, "100"), (0.99999, "99.9"), (0.99, "99.0"), (0.98969, "98.9"), (0.0414, "4.1"), (0.0, "0.0")],
)
def test_no_share_is_rounded_up_to_100_or_99(value: float, text: str) -> None:
    assert percent(value) == text


def luminance(colour: Sequence[float]) -> float:
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in colour[:3]]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_cells_get_brighter_with_their_share_and_bold_from_99_per_cent() -> None:
    """A grey printer must still show the order."""
    shares = [0.0, 0.25, 0.5, 0.75, 0.98, 0.99, 1.0]
    columns = [str(share) for share in shares]
    values = {("x", column): share for column, share in zip(columns, shares, strict=True)}
    axes = heat_map(HeatMap(title="", rows=["x"], columns=columns, values=values)).axes[0]
    bright = [luminance(patch.get_facecolor()) for patch in axes.patches]
    assert bright == sorted(bright)
    assert len(set(bright)) == len(bright)
    assert [text.get_fontweight() == "bold" for text in axes.texts] == [False] * 5 + [True] * 2


def test_numbers_stand_out_against_their_cells() -> None:
    """Contrast of at least 4.5, the bar for small text, between each number and the colour under it."""
    columns = [str(index) for index in range(41)]
    values = {("x", column): index / 40 for index, column in enumerate(columns)}
    axes = heat_map(HeatMap(title="", rows=["x"], columns=columns, values=values)).axes[0]
    for patch, text in zip(axes.patches, axes.texts, strict=True):
        light, dark = sorted(
            (luminance(patch.get_facecolor()), luminance(matplotlib.colors.to_rgb(text.get_color()))),
            reverse=True,
        )
        assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_a_perfect_cell_is_the_brightest_even_as_an_integer() -> None:
    values = {("x", "1"): 1, ("x", "2"): 1.0, ("x", "3"): 0.5}
    patches = heat_map(HeatMap(title="", rows=["x"], columns=["1", "2", "3"], values=values)).axes[0].patches
    assert patches[0].get_facecolor() == patches[1].get_facecolor() != patches[2].get_facecolor()


def test_series_differ_in_more_than_colour() -> None:
    first = looks(7)
    assert len({look.marker for look in first}) == len({look.hatch for look in first}) == 7
    assert len({look.colour for look in first}) == 7


def test_a_series_looks_the_same_in_every_panel() -> None:
    lines = [Line(name="A", x=[1], y=[1]), Line(name="B", x=[1], y=[0])]
    make = {"title": "", "x_axis": "", "y_axis": ""}
    left, right = Panel(lines=lines, **make), Panel(lines=lines[1:], **make)  # type: ignore[arg-type]
    figure = line_chart([left, right])
    assert figure.axes[0].lines[1].get_color() == figure.axes[1].lines[0].get_color()


def test_lines_show_their_error_on_both_sides_their_names_and_their_marks() -> None:
    lines = [
        Line(name="GPT", x=[1, 2], y=[0.5, 0.8], error=[0.1, 0.2], marks=["", "*"]),
        Line(name="LSTM", x=[1, 2], y=[1, 1]),
    ]
    figure = line_chart([Panel(title="", x_axis="", y_axis="", lines=lines)])
    (band,) = figure.axes[0].collections
    corners = {tuple(np.round(corner, 6)) for corner in band.get_paths()[0].vertices}
    assert {(1, 0.4), (1, 0.6), (2, 0.6), (2, 1.0)} <= corners
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["GPT", "LSTM"]
    (mark,) = figure.axes[0].texts
    assert (mark.get_text(), mark.xy) == ("*", (2, 0.8))
    with pytest.raises(InvalidInput, match=r"'A' has 2, 2, 0, 1"):
        Line(name="A", x=[1, 2], y=[1, 2], marks=["*"])


def test_bars_show_their_error() -> None:
    figure = bar_chart([Bar(group="D8", series="0", value=0.5, error=0.125)], title="", y_axis="")
    (error,) = [result for result in figure.axes[0].collections if isinstance(result, LineCollection)]
    assert sorted(error.get_segments()[0][:, 1]) == [0.375, 0.625]


def test_an_attention_map_shows_weights_below_and_visits_above_the_diagonal() -> None:
    weights = np.zeros((4, 4))
    weights[:, 0] = 1.0
    shown = AttentionMap(title="", weights=weights, states=[0, 1, 2, 0], last_state=2)
    pixels = picture(shown)
    assert (pixels[:, 0].sum(axis=1) > 2.5).all()
    assert pixels[3, 1].sum() < 0.1
    assert tuple(pixels[0, 3]) == (1.0, 1.0, 1.0)
    assert tuple(pixels[1, 2]) == (0.55, 0.55, 0.55)
    assert pixels[0, 1].sum() < 0.5
    own = picture(AttentionMap(title="", weights=np.eye(4), states=[0, 1, 2, 0], last_state=2))
    assert (own[range(4), range(4)].sum(axis=1) > 2.5).all()


def test_bars_carry_their_values(tmp_path: Path) -> None:
    bars = [Bar(group="D8", series="0", value=0.875), Bar(group="D8", series="0.1", value=0.5)]
    shown = texts(bar_chart(bars, title="t", y_axis="y", note="n"), tmp_path)
    assert {"87.5", "50.0", "D8", "0.1", "n"} <= set(shown)


def test_a_table_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"'A' has 1, 2, 0, 0"):
        Line(name="A", x=[1], y=[1, 2])
    with pytest.raises(InvalidInput, match="one row and column for each state"):
        AttentionMap(title="", weights=np.zeros((2, 2)), states=[0], last_state=1)


def test_many_panels_stand_in_rows() -> None:
    """Eight in one row made a picture of 4416 × 512 points, in which nothing could be read."""
    panel = Panel(title="p", lines=[Line(name="l", x=[1, 2], y=[0.5, 1.0])], x_axis="x", y_axis="y")
    for count, rows in ((1, 1), (3, 1), (4, 1), (5, 2), (8, 2), (9, 3)):
        figure = line_chart([panel] * count)
        wide, high = figure.get_size_inches()
        assert len(figure.axes) == count
        assert wide <= 14
        assert high == pytest.approx(3.2 * rows)
