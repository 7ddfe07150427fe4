"""What a table says of a cell, and the signs that warn of its numbers."""

from experiments.made_up_records import record
from krohn.experiments.experiment import Cell
from krohn.experiments.summary import marks_of, remarks_on, summary


def cell(*, halving: bool = False, status: str = "done") -> Cell:
    config = {"task": {"spec": "C2", "length": 5}, "optimizer": {"lr": [1e-3]}}
    config |= {"halving": {"every": 10, "least": 1}} if halving else {}
    return Cell(label={"task": "C2"}, records=(record(config=config, status=status),))


def test_a_run_that_went_all_the_way_with_all_replicates_has_no_sign() -> None:
    row = summary(cell())
    assert marks_of(row) == ""
    assert remarks_on([row]) == []


def test_runs_cut_short_and_runs_by_halves_carry_their_signs_and_the_table_says_why() -> None:
    rows = [summary(cell(status="partial")), summary(cell(halving=True))]
    both = summary(cell(halving=True, status="partial"))
    assert [marks_of(row) for row in (*rows, both)] == ["*", "†", "*†"]
    assert remarks_on(rows) == [
        "* stopped before its last sequence",
        "† by halves: most replicates were given up early",
    ]
