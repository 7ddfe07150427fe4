"""The results of a replicate do not depend on the other replicates."""

from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from krohn.lab.training.config import (
    EvaluationConfig,
    HalvingConfig,
    OptimizerConfig,
    RunConfig,
    TaskConfig,
    model_config,
)
from krohn.lab.training.loop import TrainResult, train
from lab.training.small_runs import LINE, small_run

# Replicate 0 is solved early, 1 and 2 never: with three it stays in its row, for two of three remain.
SOLVED_EARLY = small_run(
    optimizer=OptimizerConfig(lr=(1e-2, 1e-7, 1e-7), warmup=5, batch=16),
    evaluation=EvaluationConfig(every=20, sequences=64, stop_at=0.8),
    replicates=3,
    steps=120,
    precision="fp64",
)


@cache
def run(config: RunConfig, replicates: int) -> TrainResult:
    rates = replace(config.optimizer, lr=config.optimizer.lr[:replicates])
    chosen = replace(config, replicates=replicates, optimizer=rates)
    return train(chosen, device="cpu", automaton=LINE)


def close(actual: Any, expected: Any) -> None:
    """Equal, numbers to rounding in float64."""
    if isinstance(expected, dict):
        assert actual.keys() == expected.keys()
        for name in expected:
            close(actual[name], expected[name])
    elif isinstance(expected, list | float):
        assert actual == pytest.approx(expected, abs=1e-9)
    else:
        assert actual == expected


@pytest.mark.parametrize("scratchpad", [False, True])
def test_a_solved_replicate_s_whole_entry_is_the_same_alone_and_beside_others(scratchpad: bool) -> None:
    config = SOLVED_EARLY
    if scratchpad:
        task = TaskConfig(spec="line", length=6, scratchpad=True)
        recency = model_config("gpt", layers=1, dim=16, heads=2, mlp=16, recency=True)
        config = replace(config, task=task, model=recency)
    alone, beside = run(config, 1), run(config, 3)
    assert alone.replicates[0]["status"] == "solved"
    assert beside.replicates[1]["status"] == "finished"
    assert beside.curves[-1]["step"] == 120 > alone.curves[-1]["step"]
    close(beside.replicates[0], alone.replicates[0])
    assert beside.replicates[0]["final"]["step"] == alone.curves[-1]["step"]


def test_a_replicate_that_is_done_keeps_its_numbers_whether_or_not_it_left_its_row() -> None:
    stays, leaves = run(SOLVED_EARLY, 3), run(SOLVED_EARLY, 2)
    assert len(stays.curves) == len(leaves.curves) == 6
    for here, there in zip(stays.curves, leaves.curves, strict=True):
        close(
            *(
                {name: row[name][0] for name in ("train_loss", "loss", "accuracy", "status")}
                for row in (here, there)
            )
        )
    assert stays.curves[-1]["train_loss"][0] is None


def test_a_diverged_replicate_s_whole_entry_is_the_same_alone_and_beside_others() -> None:
    config = small_run(
        optimizer=OptimizerConfig(lr=(1e30, 3e-3, 3e-3), warmup=0, batch=8, clip=None),
        replicates=3,
        precision="fp64",
    )
    alone, beside = run(config, 1), run(config, 3)
    assert alone.replicates[0]["status"] == "diverged"
    assert beside.curves[-1]["step"] == 30 > alone.curves[-1]["step"]
    close(beside.replicates[0], alone.replicates[0])


def test_at_the_last_evaluation_no_replicate_is_dropped() -> None:
    config = small_run(steps=30, halving=HalvingConfig(every=30), replicates=4)
    assert [entry["status"] for entry in run(config, 4).replicates] == ["finished"] * 4
    late = replace(config, steps=40)
    assert sorted(entry["status"] for entry in run(late, 4).replicates) == ["finished"] * 2 + ["given up"] * 2


def test_a_solution_at_the_last_evaluation_drops_no_replicate() -> None:
    solved = replace(SOLVED_EARLY, halving=HalvingConfig(every=1000))
    early = run(solved, 3)
    assert [entry["status"] for entry in early.replicates] == ["solved", "given up", "given up"]
    last = run(replace(solved, steps=early.curves[-1]["step"]), 3)
    assert [entry["status"] for entry in last.replicates] == ["solved", "finished", "finished"]
