import xml.etree.ElementTree as ET

import pytest

from algebra.golden_cases import CASES, letters_of
from krohn.algebra.green import Eggbox
from krohn.algebra.transition_semigroup import TransitionSemigroup
from krohn.errors import LimitExceeded


@pytest.mark.parametrize("name", ["T3", "T4", "abab", "rand7_s1", "rand8_s1"])
def test_a_text_box_has_a_cell_for_each_h_class_and_a_star_for_each_idempotent(name: str) -> None:
    text = Eggbox(TransitionSemigroup(letters_of(CASES[name])).d_classes).text()
    rows = [line for line in text.splitlines() if line.startswith("  ")]
    cells = "".join(rows).replace(" ", "")
    green = CASES[name]["green"]
    assert len(cells) == green["H"]
    assert len(rows) == green["R"]
    assert cells.count("*") == green["idempotents"]
    assert text.count("rank") == green["D"]


def test_the_picture_is_a_document_with_the_same_cells() -> None:
    document = ET.fromstring(Eggbox(TransitionSemigroup(letters_of(CASES["T4"])).d_classes).svg())
    green = CASES["T4"]["green"]
    space = "{http://www.w3.org/2000/svg}"
    assert len(document.findall(f"{space}rect")) == green["H"] + green["D"]
    texts = [element.text for element in document.findall(f"{space}text")]
    assert texts.count("*") == green["idempotents"]
    assert "rank 4: 1 × 1, group S4" in texts


def test_a_picture_too_large_to_read_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("krohn.algebra.green.MAX_CELLS", 100)
    with pytest.raises(LimitExceeded, match="at most 100 H-classes and this one has 456"):
        Eggbox(TransitionSemigroup(letters_of(CASES["T5"])).d_classes)
