"""The queue for a lent GPU: order, resuming, and when a row of the map is finished."""

import runpy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from krohn.lab.experiments.all_experiments import EXPERIMENTS
from krohn.lab.experiments.names import Scale
from krohn.lab.experiments.store import Store
from lab.experiments.made_up_records import record

SCRIPT = Path(__file__).parents[3] / "research" / "device_queue.py"


@pytest.fixture(scope="module")
def queue() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


def test_lines_name_cells_in_the_order_they_are_written(queue: dict[str, Any]) -> None:
    result = queue["chosen"]("depth task=S5|Grid4; depth=2|1; sheet=whole words", Scale.SMOKE)
    assert [(run.label["task"], run.label["depth"]) for _, run in result] == [
        ("S5", 2),
        ("S5", 1),
        ("Grid4", 2),
        ("Grid4", 1),
    ]
    with pytest.raises(AssertionError, match="no run of depth"):
        queue["chosen"]("depth task=S6", Scale.SMOKE)


def test_with_fewer_replicates_a_run_is_no_cell_of_the_plan(queue: dict[str, Any]) -> None:
    cell = "taught task=S5; layers=7; length=100; hints=doubling"
    (_, few), (_, planned) = (
        queue["chosen"](line, Scale.SMALL)[0] for line in (f"{cell}; replicates=1", cell)
    )
    assert (few.config.replicates, few.config.optimizer.lr) == (1, planned.config.optimizer.lr[:1])
    assert few.config.run_id not in {run.config.run_id for run in EXPERIMENTS["taught"].plan(Scale.SMALL)}
    assert queue["folder"]("taught", few) == queue["folder"]("taught", planned)


def test_a_row_is_finished_when_two_depths_next_to_each_other_are_solved(
    queue: dict[str, Any], tmp_path: Path
) -> None:
    row = [
        run
        for run in EXPERIMENTS["depth"].plan(Scale.SMALL)
        if (run.label["task"], run.label["sheet"]) == ("C2", "whole words")
    ]

    def reached(run: Any, accuracy: float) -> Any:
        metrics = {"accuracy": accuracy, "test": {"accuracy": accuracy}, "ended": "finished"}
        return record(run_id=run.config.run_id, config=run.config.to_dict(), metrics=metrics)

    with Store(tmp_path / "s") as store:
        store.put([reached(row[1], 0.999), reached(row[2], 0.9)])
        assert not any(queue["row_is_finished"](store, run, Scale.SMALL) for run in row)
        store.put([replace(reached(row[3], 0.995)), reached(row[4], 0.995)])
        finished = [queue["row_is_finished"](store, run, Scale.SMALL) for run in row]
    assert finished == [False] * 5 + [True] * 3


def test_replicates_that_halving_ended_do_not_count(queue: dict[str, Any], tmp_path: Path) -> None:
    run = EXPERIMENTS["depth"].plan(Scale.SMALL)[0]
    ends = (("given up", 0.5), ("given up", 0.5), ("solved", 0.995))
    replicates = [
        record(run.config.run_id, number, metrics={"accuracy": reached, "ended": end})
        for number, (end, reached) in enumerate(ends)
    ]
    with Store(tmp_path / "s") as store:
        store.put(replicates)
        assert queue["solved"](store, run)
        store.put([record(run.config.run_id, 3, metrics={"accuracy": 0.5, "ended": "finished"})])
        assert not queue["solved"](store, run), "one of two is not most"


def test_what_is_there_is_not_run_again_and_networks_are_kept(
    queue: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = tmp_path / "two.txt"
    cells = ("# a comment", "depth task=C2; depth=1; sheet=Muon", "depth task=Grid4; depth=1; sheet=Muon")
    lines.write_text("\n".join(cells))
    command = ["queue", str(lines), "--out", str(tmp_path / "out"), "--scale", "smoke", "--device", "cpu"]
    monkeypatch.setattr("sys.argv", command)
    monkeypatch.setitem(queue["main"].__globals__, "SOLVED", 0.0)  # all are kept
    queue["main"]()
    assert capsys.readouterr().out.count(": done, test") == 2
    assert (tmp_path / "out" / "networks" / "depth-c2-1-layers-muon" / "weights.safetensors").is_file()
    queue["main"]()
    assert capsys.readouterr().out.startswith("0 cells left")


def test_processes_that_share_a_folder_take_each_cell_once(queue: dict[str, Any], tmp_path: Path) -> None:
    first, second, *_ = EXPERIMENTS["depth"].plan(Scale.SMOKE)
    assert queue["take"](first, tmp_path)
    assert not queue["take"](first, tmp_path)
    assert queue["take"](second, tmp_path)


def test_a_share_of_the_words_takes_a_share_of_the_time(queue: dict[str, Any]) -> None:
    run = EXPERIMENTS["depth"].plan(Scale.SMALL)[0]
    whole, half = (queue["Pace"](share=share).of(run) - queue["START_SECONDS"] for share in (1.0, 0.5))
    assert half == pytest.approx(whole / 2)
