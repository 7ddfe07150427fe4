"""Tables for notebooks: every name escaped, every fact in a row of its own."""

from xml.etree import ElementTree

from krohn.base.notebook import html_table


def cells(table: ElementTree.Element) -> list[list[str]]:
    return [["".join(cell.itertext()) for cell in row] for row in table]


def test_facts_and_rows_are_read_back_from_the_page() -> None:
    facts = {"states": 12_345, "a < b": "<i>&", "layers": None, "proved": True, "margin": 0.5}
    page = html_table("<S4>", facts, ["word", "count"], [["ab", 1_000], ["</td>", False]])
    title, upper, lower = ElementTree.fromstring(f"<div>{page}</div>")
    assert (title.tag, title.text) == ("b", "<S4>")
    assert cells(upper) == [
        ["states", "12,345"],
        ["a < b", "<i>&"],
        ["layers", "not known"],
        ["proved", "True"],
        ["margin", "0.5"],
    ]
    assert cells(lower) == [["word", "count"], ["ab", "1,000"], ["</td>", "False"]]
    assert [cell.tag for cell in lower[0]] == ["th", "th"]


def test_without_a_header_there_is_one_table() -> None:
    assert html_table("t", {}, rows=[["never shown"]]) == "<b>t</b>\n<table>\n</table>"
