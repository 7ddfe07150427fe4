"""What a table says of a cell, and the signs that warn of its numbers."""

import pytest

from experiments.made_up_records import record
from krohn.experiments.experiment import Cell
from krohn.experiments.summary import marks_of, remarks_on, summary


def cell(*, halving: bool = False, status: str = "done") -> Cell:
    config = {"task": {"spec": "C2", "length": 5}, "optimizer": {"lr": [1e-3]}}
    config |= {"halving": {"every": 10, "least": 1}} if halving else {}
    return Cell(label={"task": "C2"}, records=(record(config=config, status=status),))


def test_the_numbers_of_a_cell_are_over_its_replicates() -> None:
    config = {"task": {"length": 5}, "optimizer": {"lr": [1e-3, 3e-3]}}
    accuracies = (0.2, 0.9, 0.4)
    records = tuple(
        record(replicate=index, config=config, sequences=100 * (3 - index), metrics={"accuracy": value})
        for index, value in enumerate(accuracies)
    )
    row = summary(Cell(label={"task": "C2"}, records=records))
    assert (row["max_accuracy"], row["median_accuracy"], row["mean_accuracy"]) == (0.9, 0.4, 0.5)
    # Squared distances from the mean .09 + .16 + .01 over 2, and their root over the root of 3.
    assert row["standard_error"] == pytest.approx((0.26 / 2) ** 0.5 / 3**0.5, abs=1e-5)
    assert (row["replicates"], row["sequences"], row["length"]) == (3, 300, 5)
    assert row["lr_of_best"] == 3e-3


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
