"""The paper's best construction: the sizes that its lemmas give, and none that its theorems only bound."""

import pytest

from krohn.automata.zoo import parse_spec
from krohn.errors import LimitExceeded
from krohn.paper import gridworlds
from krohn.paper.best import paper_best

BEST = {
    "C2": ("lemma on counters or memories", 1, 1, 3),
    "C8": ("lemma on counters or memories", 1, 1, 3),
    "C2xC2xC2": ("lemma on counters or memories", 1, 1, 9),
    "FlipFlop": ("lemma on counters or memories", 1, 1, 4),
    "D6": ("lemmas on groups", 4, 6, 6),
    "D8": ("lemmas on groups", 4, 6, 6),
    "Q8": ("lemmas on groups", 4, 6, 9),  # no semidirect product: two copies of C4 and a C2
    "A4": ("lemmas on groups", 4, 6, 9),
    "S4": ("lemmas on groups", 7, 11, 12),
    "A5": ("Theorem 1", 7, 14, 122),
    "Grid9": ("Theorem 3", 2, 4, 25),
    "Dyck4,2": ("Theorem 1", 7, 14, 66),
    "abab": ("Theorem 2", 5, 7, 12),
}


@pytest.mark.parametrize("name", BEST)
def test_sizes_follow_from_the_lemmas(name: str) -> None:
    best = paper_best(parse_spec(name), 100)
    assert (best.source, best.depth, best.blocks, best.dim) == BEST[name]


def test_on_short_words_a_scan_is_shallower_and_on_long_ones_a_cascade() -> None:
    assert paper_best(parse_spec("S4"), 64).source == "Theorem 1"
    assert [paper_best(parse_spec("Dyck4,2"), length).source for length in (100, 1000)] == [
        "Theorem 1",
        "Theorem 2",
    ]


def test_with_too_many_quotients_for_a_grid_the_other_theorems_are_compared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    automaton = parse_spec("abab")
    monkeypatch.setattr(gridworlds, "UNITS", 10)
    with pytest.raises(LimitExceeded, match="is a grid was not decided within 10 units"):
        gridworlds.recognise_grid(automaton)
    assert paper_best(automaton, 100).source == "Theorem 2"
