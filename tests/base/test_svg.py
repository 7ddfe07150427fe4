"""The SVG canvas writes well-formed documents whatever the names are."""

from itertools import pairwise
from math import hypot
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krohn.base.svg import HEAD, Canvas, fit_text, text_width

SVG = "{http://www.w3.org/2000/svg}"


def shapes(canvas: Canvas, tag: str) -> list[ElementTree.Element]:
    return ElementTree.fromstring(canvas.render()).findall(f"{SVG}{tag}")


def test_each_method_draws_one_shape_at_its_position() -> None:
    canvas = Canvas(100, 50.5)
    canvas.line(0, 1, 2, 3, stroke_width=2)
    canvas.rect(1, 2, 3, 4, fill="red")
    canvas.circle(5, 6, 7.25)
    canvas.polygon([(0, 0), (1, 0), (0, 1)])
    canvas.text(8, 9, "hello")
    (line,), (rect,), (circle,), (polygon,), (text,) = (
        shapes(canvas, tag) for tag in ("line", "rect", "circle", "polygon", "text")
    )
    assert (line.get("x2"), line.get("stroke-width")) == ("2", "2")
    assert (rect.get("height"), rect.get("fill"), rect.get("stroke")) == ("4", "red", "black")
    assert circle.get("r") == "7.25"
    assert polygon.get("points") == "0,0 1,0 0,1"
    assert text.text == "hello"


def test_the_middle_of_a_bent_arrow_lies_bend_pixels_off_its_chord() -> None:
    canvas = Canvas(20, 20)
    canvas.arrow(0, 10, 20, 10, bend=4)
    (path,) = shapes(canvas, "path")
    assert (path.get("d") or "").startswith("M0,10 Q10,2 ")  # control point 8 above: the middle is 4 above
    (head,) = shapes(canvas, "polygon")
    assert (head.get("points") or "").startswith("20,10 ")


def test_an_arrow_bends_to_the_left_of_its_own_direction_whichever_that_is() -> None:
    for end, control in (((20, 0), "10,-8"), ((0, 20), "8,10"), ((-20, 0), "-10,8"), ((0, -20), "-8,-10")):
        canvas = Canvas(20, 20)
        canvas.arrow(0, 0, *end, bend=4)
        (path,) = shapes(canvas, "path")
        assert (path.get("d") or "").startswith(f"M0,0 Q{control} ")


def test_a_text_is_made_smaller_then_cut_until_it_fits() -> None:
    assert fit_text("short", 100, 12) == ("short", 12)
    text, size = fit_text("a longer name", 80, 12)
    assert text == "a longer name"
    assert 8 <= size < 12
    text, size = fit_text("x" * 200, 60, 12)
    assert text.endswith("…")
    assert size == 8
    assert text_width(text, size) <= 60


def test_a_cropped_picture_holds_all_that_is_drawn() -> None:
    canvas = Canvas(0, 0)
    canvas.circle(100, 50, 10)
    canvas.text(100, 80, "below")
    canvas.crop(5)
    assert (canvas.top, canvas.top + canvas.height) == (35, 80 + 0.7 * 12 + 5)


def test_a_title_belongs_to_the_last_shape() -> None:
    canvas = Canvas(10, 10)
    canvas.rect(0, 0, 1, 1)
    canvas.title("a < b")
    (rect,) = shapes(canvas, "rect")
    assert rect.findtext(f"{SVG}title") == "a < b"


@given(st.text())
def test_any_text_gives_a_document_that_parses(content: str) -> None:
    canvas = Canvas(10, 10)
    canvas.text(0, 0, content, fill=content)
    canvas.rect(0, 0, 1, 1)
    canvas.title(content)
    ElementTree.fromstring(canvas.render())


def points(shape: ElementTree.Element) -> list[tuple[float, float]]:
    return [tuple(map(float, pair.split(","))) for pair in (shape.get("points") or "").split()]  # type: ignore[misc]


@pytest.mark.parametrize(("x", "y"), [(30, 0), (0, -30), (-18, 24), (21, 20)])
def test_a_head_is_a_triangle_that_ends_at_the_goal_and_looks_along_the_line(x: float, y: float) -> None:
    canvas = Canvas(80, 80)
    canvas.curve([(40, 40), (40 + x, 40 + y)], stroke="red")
    (head,) = shapes(canvas, "polygon")
    tip, left, right = points(head)
    assert tip == (40 + x, 40 + y)
    back = ((left[0] + right[0]) / 2, (left[1] + right[1]) / 2)
    length = hypot(x, y)
    assert back == pytest.approx((tip[0] - HEAD * x / length, tip[1] - HEAD * y / length), abs=0.02)
    across = (left[0] - right[0], left[1] - right[1])
    assert across[0] * x + across[1] * y == pytest.approx(0, abs=0.5)  # at a right angle to the line
    assert (head.get("fill"), head.get("stroke")) == ("red", "none")


def test_the_line_of_an_arrow_stops_under_its_head_and_goes_to_the_end_without_one() -> None:
    for head, end in ((True, "33.6,0"), (False, "40,0")):
        canvas = Canvas(40, 10)
        canvas.arrow(0, 0, 40, 0, head=head, title="way")
        (path,) = shapes(canvas, "path")
        assert path.get("d") == f"M0,0 Q20,0 {end}"
        assert path.findtext(f"{SVG}title") == "way"
        assert len(shapes(canvas, "polygon")) == head


def test_a_loop_of_four_points_reaches_its_middle() -> None:
    """The middle of a cubic curve: an eighth, three eighths, three eighths, an eighth of its points."""
    canvas = Canvas(0, 0)
    canvas.curve([(0, 0), (0, -80), (40, -80), (40, 0)], head=False)
    assert canvas.reach == (0, -60, 40, 0)


@pytest.mark.parametrize(
    ("anchor", "left"), [("start", 50.0), ("end", 50 - 6.6 * 3), ("middle", 50 - 6.6 * 1.5)]
)
def test_a_text_reaches_as_far_as_its_anchor_says(anchor: str, left: float) -> None:
    canvas = Canvas(0, 0)
    canvas.text(50, 20, "abc", size=10, text_anchor=anchor)
    assert canvas.reach == pytest.approx((left, 13, left + 6.6 * 3, 27))
    (text,) = shapes(canvas, "text")
    assert (text.get("text-anchor"), text.get("dy"), text.get("font-size")) == (anchor, "0.35em", "10")


def test_a_label_stands_on_a_box_drawn_before_it_that_is_wide_enough() -> None:
    canvas = Canvas(100, 100)
    canvas.label(50, 50, "many words", size=10, paper="#fafafa")
    box, text = list(ElementTree.fromstring(canvas.render()))
    assert (box.tag, text.tag) == (f"{SVG}rect", f"{SVG}text")
    left, width = float(box.get("x") or 0), float(box.get("width") or 0)
    assert left + width / 2 == pytest.approx(50, abs=0.01)
    assert width > text_width("many words", 10)
    assert (box.get("fill"), box.get("class")) == ("#fafafa", "paper")


def test_the_picture_says_its_size_its_paper_and_its_name() -> None:
    canvas = Canvas(0, 0)
    canvas.rect(-10, 20, 30, 40)
    canvas.crop(5)
    root = ElementTree.fromstring(canvas.render(paper="#fff", title="A & B"))
    assert root.get("viewBox") == "-15 15 40 50"
    title, paper, _ = list(root)
    assert title.text == "A & B"
    assert [paper.get(name) for name in ("x", "y", "width", "height")] == ["-15", "15", "40", "50"]
    assert [child.tag for child in ElementTree.fromstring(canvas.render())] == [f"{SVG}rect"]


def test_a_title_without_a_shape_is_our_mistake() -> None:
    canvas = Canvas(10, 10)
    canvas.text(0, 0, "no shape")
    with pytest.raises(AssertionError, match="can carry a title"):
        canvas.title("lost")


def test_wide_signs_need_more_room_and_marks_above_letters_none() -> None:
    widths = [text_width(text, 1) for text in ("i", "a", "M", "字")]
    assert all(less < more for less, more in pairwise(widths))
    assert text_width("e\u0301", 1) == text_width("e", 1)
    assert text_width("", 12) == 0


@given(st.text(max_size=40), st.floats(1, 200))
def test_what_is_cut_fits_or_is_an_ellipsis_alone(content: str, width: float) -> None:
    text, size = fit_text(content, width, 12)
    assert 8 <= size <= 12
    assert text == content or content.startswith(text.removesuffix("…"))
    assert text_width(text, size) <= width * (1 + 1e-9) or text == "…"
