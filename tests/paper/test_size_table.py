"""The size table agrees with the networks built."""

from size_table import LEAST, PAGE, PAPER_AUTOMATA, compiled_table, faithful_table, page, read_sizes

from krohn.automata.zoo import parse_spec
from krohn.paper.theorem1 import build_scan


def test_there_are_nineteen_automata() -> None:
    assert len(set(PAPER_AUTOMATA)) == 19
    assert sum(parse_spec(name).num_states for name in PAPER_AUTOMATA[:7]) == 2 + 3 + 4 + 5 + 6 + 7 + 8


def test_a_row_holds_what_is_built_and_the_papers_best() -> None:
    table = compiled_table([parse_spec("S4")], 100, build_scan)
    row = dict(zip(table.header, table.rows[0], strict=True))
    assert (row["method"], row["layers"], row["width"], row["MLP width"]) == ("scan", "7", "50", "1,152")
    assert row[LEAST].startswith("2 beyond ")
    assert (row["blocks"], row["MLP hidden layers"], row["proved"]) == ("7", "1", "no")
    assert row["the paper's best"] == "lemmas on groups"
    assert (row["its layers"], row["its blocks"], row["its width"]) == ("7", "11", "12")


def test_what_cannot_be_built_says_why() -> None:
    table = faithful_table([parse_spec("A5"), parse_spec("Grid4")], 8)
    assert table.rows[0][2:] == ("not solvable", "—")
    assert table.rows[1][3].startswith("2 / 11 / 3 /")
    assert "not solvable" in page([("## Title", table)])


def test_the_page_holds_what_is_built_today() -> None:
    page_text = PAGE.read_text()
    table = faithful_table([parse_spec(name) for name in ("C2", "S4", "Grid9", "Dyck4,2")], 100)
    for line in table.markdown().splitlines():
        assert line in page_text, "run python tools/size_table.py"


def test_scripts_read_the_rows_that_the_page_shows() -> None:
    rows, page_text = read_sizes(), PAGE.read_text()
    assert set(rows) == set(PAPER_AUTOMATA)
    assert all(f"| {' | '.join(row.values())} |" in page_text for row in rows.values())
