"""The size table agrees with the networks built."""

from pathlib import Path

from size_table import LEAST, PAPER_AUTOMATA, compiled_table, faithful_table, page, short

from krohn.automata.zoo import parse_spec
from krohn.paper.theorem1 import build_scan


def test_there_are_nineteen_automata() -> None:
    assert len(set(PAPER_AUTOMATA)) == 19
    assert sum(parse_spec(name).num_states for name in PAPER_AUTOMATA[:7]) == 2 + 3 + 4 + 5 + 6 + 7 + 8


def test_a_row_holds_built_recipe_and_bounds() -> None:
    table = compiled_table([parse_spec("S4")], 16, lambda automaton: build_scan(automaton, 16))
    row = dict(zip(table.header, table.rows[0], strict=True))
    assert (row["method"], row["layers"], row["dim"], row["MLP width"]) == ("scan", "4", "50", "1152")
    assert row[LEAST].startswith("2 beyond ")
    assert (row["blocks"], row["blocks with objective blocks"]) == ("4", "4")
    assert row["MLP hidden layers"] == "1"
    assert row["paper's recipe: depth / dim / heads"] == "12 / 71 / 22"
    assert row["Theorem 2: depth / dim / MLP"] == "8091 / 8.7e8 / 1e23156110"
    assert row["Theorem 1: depth / dim / MLP"] == "4 / 50 / 600"


def test_what_cannot_be_built_says_why() -> None:
    table = faithful_table([parse_spec("A5"), parse_spec("Grid4")], 8)
    assert table.rows[0][2:] == ("not solvable", "—")
    assert table.rows[1][3].startswith("2 / 11 / 3 /")
    assert "not solvable" in page([("## Title", table)])
    assert compiled_table([parse_spec("A5")], 8, lambda a: build_scan(a, 8)).rows[0][-2] == "not solvable"


def test_large_numbers_are_shown_as_powers_of_ten() -> None:
    assert [short(n) for n in (7, 999_999, 2_500_000, 1e12)] == ["7", "999999", "2.5e6", "1.0e12"]


def test_the_page_holds_what_is_built_today() -> None:
    page_text = (Path(__file__).parents[2] / "results" / "tables" / "sizes.md").read_text()
    table = faithful_table([parse_spec(name) for name in ("C2", "S4", "Grid9", "Dyck4,2")], 100)
    for line in table.markdown().splitlines():
        assert line in page_text, "run python tools/size_table.py"
