"""Results that are texts show themselves in a notebook as a terminal shows them."""

import krohn


def test_an_extraction_shows_its_text() -> None:
    found = krohn.extract(krohn.compile("C2", 5, unproved=True), 4)
    shown = found._repr_html_()
    assert shown.startswith("<pre>")
    assert found.text().splitlines()[0].replace("'", "&#x27;") in shown


def test_cards_and_reports_show_what_they_say_and_no_markup_of_names() -> None:
    for kind in (krohn.Card, krohn.Report):
        made = object.__new__(type("Made", (kind,), {"text": lambda self: "<b>C2</b> | 1"}))
        assert made._repr_html_() == "<pre>&lt;b&gt;C2&lt;/b&gt; | 1</pre>"
