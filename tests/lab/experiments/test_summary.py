"""Summary of a cell in a table, and the marks on its numbers."""

from typing import Any

import pytest

from krohn.lab.experiments.experiment import ResultCell
from krohn.lab.experiments.record import Record
from krohn.lab.experiments.summary import marks_of, remarks_on, success_text, summary
from krohn.lab.interpret.findings import wilson
from lab.experiments.made_up_records import record


def cell(*, halving: bool = False, status: str = "done") -> ResultCell:
    config = {"task": {"spec": "C2", "length": 5}, "optimizer": {"lr": [1e-3]}}
    config |= {"halving": {"every": 10, "least": 1}} if halving else {}
    return ResultCell(label={"task": "C2"}, records=(record(config=config, status=status),))


def test_the_numbers_of_a_cell_are_over_its_replicates() -> None:
    config = {"task": {"length": 5}, "optimizer": {"lr": [1e-3, 3e-3]}}
    accuracies = (0.2, 0.9, 0.4)
    records = tuple(
        record(replicate=index, config=config, sequences=100 * (3 - index), metrics={"accuracy": value})
        for index, value in enumerate(accuracies)
    )
    row = summary(ResultCell(label={"task": "C2"}, records=records))
    assert (row["max_accuracy"], row["median_accuracy"], row["mean_accuracy"]) == (0.9, 0.4, 0.5)
    # Squared distances from the mean .09 + .16 + .01 over 2, and their root over the root of 3.
    assert row["standard_error"] == pytest.approx((0.26 / 2) ** 0.5 / 3**0.5, abs=1e-5)
    assert (row["replicates"], row["sequences"], row["length"]) == (3, 300, 5)
    assert row["lr_of_best"] == 3e-3


def judged(replicate: int, held_out: float, test: float, **changes: Any) -> Record:
    config = {"task": {"length": 5}, "optimizer": {"lr": [1e-3]}} | changes.pop("config", {})
    metrics = {
        "accuracy": held_out,
        "test": {"accuracy": test, "sequence_accuracy": test / 2},
        **changes.pop("metrics", {}),
    }
    return record(replicate=replicate, config=config, metrics=metrics, **changes)


def test_held_out_words_choose_and_test_words_report() -> None:
    # The first has the best validation accuracy by luck; its test accuracy is published.
    records = (judged(0, 0.995, 0.97), judged(1, 0.99, 0.992), judged(2, 0.5, 0.4))
    row = summary(ResultCell(label={"task": "C2"}, records=records))
    assert (row["max_accuracy"], row["word_accuracy"], row["median_accuracy"]) == (0.97, 0.485, 0.97)
    assert (row["reached"], row["replicates"]) == (1, 3)
    assert success_text(row) == "1 of 3 (6–79%)"


def test_the_interval_is_rounded_once() -> None:
    """Wilson's interval of 1 in 12 begins at 1.487%."""
    records = tuple(
        judged(replicate, 0.995 - replicate / 20, 0.995 - replicate / 20) for replicate in range(12)
    )
    row = summary(ResultCell(label={"task": "C2"}, records=records))
    assert (round(wilson(1, 12)[0], 5), success_text(row)) == (0.01487, "1 of 12 (1–35%)")


def test_wilson_s_interval_holds_what_tables_give() -> None:
    # Newcombe (1998), table I: 81 of 263 and 0 of 20.
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert wilson(0, 20) == pytest.approx((0.0, 0.1611), abs=5e-5)
    assert wilson(0, 0) == (0.0, 1.0)


def test_a_run_that_went_all_the_way_with_all_replicates_has_no_sign() -> None:
    row = summary(ResultCell(label={"task": "C2"}, records=(judged(0, 0.9, 0.9),)))
    assert marks_of(row) == ""
    assert remarks_on([row]) == []


def test_runs_cut_short_and_runs_by_halves_carry_their_signs_and_the_table_says_why() -> None:
    rows = [summary(cell(status="partial")), summary(cell(halving=True))]
    both = summary(cell(halving=True, status="partial"))
    assert [marks_of(row) for row in (*rows, both)] == ["*", "†", "*†"]
    assert remarks_on(rows) == [
        "* stopped before its last sequence",
        "† by halves: most replicates were given up early, so that more might reach 99%",
    ]
