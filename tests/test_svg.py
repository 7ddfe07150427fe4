"""The SVG canvas writes well-formed documents whatever the names are."""

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from krohn.svg import Canvas, fitted, text_width

SVG = "{http://www.w3.org/2000/svg}"


def shapes(canvas: Canvas, tag: str) -> list[ElementTree.Element]:
    return ElementTree.fromstring(canvas.render()).findall(f"{SVG}{tag}")


def test_each_method_draws_one_shape_where_it_was_told() -> None:
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


def test_a_text_is_made_smaller_then_cut_until_it_fits() -> None:
    assert fitted("short", 100, 12) == ("short", 12)
    text, size = fitted("a longer name", 80, 12)
    assert text == "a longer name"
    assert 8 <= size < 12
    text, size = fitted("x" * 200, 60, 12)
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
