"""Layout of figures in matplotlib: cells, clusters, panels, grids and frames."""

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest

from krohn.lab.figures.charts import (
    FRAMES,
    AttentionMap,
    Bar,
    HeatMap,
    Line,
    Panel,
    attention_maps,
    bar_chart,
    heat_map,
    line_chart,
    picture,
    shade,
)
from krohn.lab.figures.style import looks, save


def table(**changes: Any) -> HeatMap:
    values = {("r0", "c0"): 0.5, ("r0", "c1"): 0.9, ("r1", "c0"): 0.99}
    result: dict[str, Any] = {"title": "t", "rows": ["r0", "r1"], "columns": ["c0", "c1"], "values": values}
    return HeatMap(**{**result, **changes})


def panel(*lines: Line, **changes: Any) -> Panel:
    return Panel(**{"title": "t", "x_axis": "x", "y_axis": "y", "lines": lines, **changes})


def head(length: int = 3, **changes: Any) -> AttentionMap:
    result: dict[str, Any] = {
        "title": "h",
        "weights": np.eye(length),
        "states": [0] * length,
        "last_state": 1,
    }
    return AttentionMap(**{**result, **changes})


def test_every_number_stands_in_the_middle_of_its_cell_and_a_missing_one_is_a_dot() -> None:
    (axes,) = heat_map(table(texts={("r0", "c0"): "n/a"}, marks={("r0", "c1"): "†"})).axes
    assert {text.get_position(): text.get_text() for text in axes.texts} == {
        (0.5, 0.5): "n/a",
        (1.5, 0.5): "90.0†",
        (0.5, 1.5): "99.0",
        (1.5, 1.5): "·",
    }
    assert {patch.get_xy() for patch in axes.patches} == {(0, 0), (1, 0), (0, 1)}
    assert axes.get_ylim() == (2, 0)  # the first row is at the top
    assert [label.get_text() for label in axes.get_yticklabels()] == ["r0", "r1"]


@pytest.mark.parametrize(
    ("share", "place"), [(0.0, 0.0), (0.9, 1 / 3), (0.99, 2 / 3), (0.999, 1.0), (0.9999, 1.0), (1.0, 1.0)]
)
def test_by_mistakes_each_order_of_magnitude_is_a_third_of_the_colours(share: float, place: float) -> None:
    assert shade(share) == pytest.approx(place)
    (axes,) = heat_map(table(values={("r0", "c0"): share}, by_mistakes=True)).axes
    assert axes.patches[0].get_facecolor() == pytest.approx(matplotlib.colormaps["cividis"](shade(share)))


def test_maps_side_by_side_share_one_wrapped_note() -> None:
    long = " ".join(["word"] * 60)
    figure = heat_map(table(note=long), table(note=long), table(note="other"))
    assert len(figure.axes) == 3
    text = figure.get_suptitle().splitlines()
    assert " ".join(text) == f"{long} other"
    assert len(text) > 2
    assert heat_map(table()).get_suptitle() == ""


def test_wide_tables_get_wide_figures() -> None:
    narrow, wide = (heat_map(table(columns=["c0", "c1", *extra])) for extra in ([], ["a very long name"] * 3))
    assert wide.get_size_inches()[0] > narrow.get_size_inches()[0] + 2


def test_bars_of_a_group_stand_side_by_side_around_its_place() -> None:
    pairs = [(group, series) for series in ("s", "t", "u") for group in ("A", "B")]
    bars = [Bar(group=g, series=s, value=0.1 * n, mark="*") for n, (g, s) in enumerate(pairs)]
    figure = bar_chart(bars, title="t", y_axis="y")
    (axes,) = figure.axes
    middles = {}
    for container, series in zip(axes.containers[::2], "stu", strict=True):
        for patch, group in zip(container, "AB", strict=True):
            middles[group, series] = patch.get_x() + patch.get_width() / 2
    width = axes.patches[0].get_width()
    for place, group in enumerate("AB"):
        result = [middles[group, series] for series in "stu"]
        assert result == pytest.approx([place - width, place, place + width])
    assert 3 * width < 1  # clusters do not touch
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["s", "t", "u"]
    assert {text.get_text() for text in axes.texts} == {f"{10 * n}.0*" for n in range(6)}
    assert bar_chart(bars[:2], title="t", y_axis="y").legends == []


def test_the_number_above_a_full_bar_stays_inside_the_axes() -> None:
    (axes,) = bar_chart([Bar(group="A", series="s", value=1.0, error=0.3)], title="", y_axis="").axes
    assert axes.texts[0].get_position()[1] == pytest.approx(1.01)
    assert axes.get_ylim()[1] > 1.1


def test_axes_have_the_ticks_of_their_points_or_short_numbers() -> None:
    powers = Line(name="A", x=[4, 16, 64], y=[1, 1, 1])
    (axes,) = line_chart([panel(powers, log_x=True, guides=[(16, "trained")])]).axes
    assert (axes.get_xscale(), axes.get_xticks().tolist()) == ("log", [4, 16, 64])
    assert [label.get_text() for label in axes.get_xticklabels()] == ["4", "16", "64"]
    assert ([text.get_text() for text in axes.texts], axes.texts[0].xy[0]) == (["trained"], 16)
    long, below = (
        line_chart([panel(Line(name="A", x=[0, last], y=[0, 1]), y_range=None)]).axes[0]
        for last in (10_000, 9_999)
    )
    assert long.xaxis.get_major_formatter()(20_000) == "20k"
    assert below.xaxis.get_major_formatter()(20_000) == ""
    assert long.get_ylim() != axes.get_ylim() == (0, 1.02)


def test_a_faint_line_has_no_name_and_one_named_line_needs_no_legend() -> None:
    lines = [Line(name="A", x=[1, 2], y=[0, 1]), Line(name="A", x=[1, 2], y=[1, 0], faint=True)]
    assert line_chart([panel(*lines)]).legends == []
    figure = line_chart([panel(*lines, Line(name="B", x=[1], y=[0]))])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["A", "B"]
    first, faint, last = figure.axes[0].lines
    assert first.get_color() == faint.get_color() != last.get_color()
    assert faint.get_linewidth() < last.get_linewidth() < first.get_linewidth()  # none hides another
    assert [line.get_marker() for line in (first, last)] == [look.marker for look in looks(2)]


def test_looks_start_again_only_after_all_are_used() -> None:
    many = looks(35)
    assert len(set(many)) == 35  # seven colours and five dashes: no pair comes twice
    assert many[7].colour == many[0].colour


def test_heads_fill_a_grid_row_by_row_and_the_rest_stays_empty() -> None:
    figure = attention_maps([head(title=f"h{n}") for n in range(5)], columns=3, note="a note")
    assert [axes.get_title() for axes in figure.axes] == ["h0", "h1", "h2", "h3", "h4", ""]
    assert [axes.axison for axes in figure.axes] == [True] * 5 + [False]
    assert figure.get_suptitle() == "a note"
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == ["1", "3"]
    assert len(attention_maps([head()] * 2).axes) == 2  # no more columns than heads


@pytest.mark.parametrize("kind", ["", *FRAMES])
def test_a_frame_says_what_the_head_is_by_colour_and_dash(kind: str) -> None:
    (axes,) = attention_maps([head(kind=kind)]).axes
    for spine in axes.spines.values():
        assert spine.get_visible()
        if kind:
            assert matplotlib.colors.to_hex(spine.get_edgecolor()).upper() == FRAMES[kind][0]
            assert spine.get_linestyle() == FRAMES[kind][1]
        else:
            assert spine.get_linewidth() < 2
    assert len(set(FRAMES.values())) == len({dash for _, dash in FRAMES.values()}) == 4


def test_weights_are_scaled_by_the_largest_that_may_be_seen() -> None:
    """What stands above the diagonal is no weight; a map of zeros is dark, not undefined."""
    weights = np.array([[0.25, 9.0], [0.0, 0.25]])
    shown = picture(head(2, weights=weights))
    brightest, darkest = (matplotlib.colormaps["inferno"](level)[:3] for level in (1.0, 0.0))
    assert shown[0, 0] == pytest.approx(brightest)
    assert shown[1, 0] == pytest.approx(darkest)
    quarter = picture(head(2, weights=np.array([[1.0, 0], [0.25, 1]])))
    assert quarter[1, 0] == pytest.approx(matplotlib.colormaps["inferno"](0.5)[:3])
    assert picture(head(2, weights=np.zeros((2, 2))))[1, 0] == pytest.approx(darkest)


def test_saved_figures_are_a_picture_and_a_document_named_after_the_stem(tmp_path: Path) -> None:
    svg, png = save(heat_map(table()), tmp_path / "v1.2")
    assert (svg.name, png.name) == ("v1.2.svg", "v1.2.png")
    assert ElementTree.parse(svg).getroot().tag.endswith("svg")
    assert png.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert sorted(tmp_path.iterdir()) == sorted([svg, png])
