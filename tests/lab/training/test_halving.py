"""Successive halving: dropped replicates, and their rows."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from krohn.errors import Unsupported
from krohn.lab.training.config import EvaluationConfig, HalvingConfig, OptimizerConfig, RunConfig, TaskConfig
from krohn.lab.training.held_out import HeldOut
from krohn.lab.training.loop import TrainResult, train
from lab.training.small_runs import LINE, small_run


def run(config: RunConfig, **options: object) -> TrainResult:
    return train(config, device="cpu", automaton=LINE, **options)  # type: ignore[arg-type]


def test_the_worse_half_is_given_up_each_time_and_the_first_of_equals_stays() -> None:
    halving, training = HalvingConfig(every=100), ["training"] * 5
    assert halving.given_up(0, 90, training, [0.1, 0.5, 0.2, 0.5, 0.3]) == []
    assert halving.given_up(90, 100, training, [0.1, 0.5, 0.2, 0.5, 0.3]) == [0, 2]
    assert halving.given_up(
        100, 200, ["given up", "training", "given up", "training", "diverged"], [0.5] * 5
    ) == [3]
    assert halving.given_up(200, 300, ["training", "diverged"], [0.1, 0.2]) == []


def test_as_many_as_asked_for_stay_until_one_is_solved() -> None:
    halving = HalvingConfig(every=100, least=2)
    assert halving.given_up(0, 100, ["training"] * 3, [0.3, 0.2, 0.1]) == [2]
    assert halving.given_up(100, 200, ["training", "training", "given up"], [0.3, 0.2, 0.1]) == []
    assert halving.given_up(200, 210, ["training", "solved", "given up"], [0.3, 1.0, 0.1]) == [0]


def test_a_run_by_halves_trains_the_survivors_as_if_they_were_alone() -> None:
    """Rows move and fewer are multiplied at once: in float64 a survivor changes by rounding alone."""
    settings = {"replicates": 4, "steps": 60, "precision": "fp64"}
    rates = OptimizerConfig(lr=(3e-3, 1e-2, 1e-5, 3e-2), warmup=5, batch=8)
    whole = run(small_run(optimizer=rates, **settings))
    halved = run(small_run(optimizer=rates, halving=HalvingConfig(every=20), **settings))
    statuses = [entry["status"] for entry in halved.replicates]
    assert sorted(statuses) == ["finished", "given up", "given up", "given up"]
    survivor = statuses.index("finished")
    assert survivor != 0  # so that rows have moved
    before, after = whole.replicates[survivor]["final"], halved.replicates[survivor]["final"]
    assert after["loss"] == pytest.approx(before["loss"], abs=1e-9)
    for name, value in halved.weights.items():
        assert torch.allclose(value[survivor], whole.weights[name][survivor], atol=1e-9)


def test_every_replicate_gets_its_own_weights_back(tmp_path: Path) -> None:
    config = small_run(replicates=4, steps=60, halving=HalvingConfig(every=20))
    result = run(config, directory=tmp_path / "run")
    held = HeldOut(result.task, seed=config.evaluation.seed, count=config.evaluation.sequences)
    again = held.judge(result.network, result.weights)
    assert again.token.tolist() == pytest.approx([entry["accuracy"] for entry in result.replicates])
    lengths = [sum(row["status"][one] == "training" for row in result.curves) for one in range(4)]
    assert sorted(lengths) == [1, 1, 3, 6]  # given up at the second, second and fourth of six evaluations
    for row in result.curves[2:]:
        given_up = [one for one in range(4) if row["train_loss"][one] is None]
        assert len(given_up) >= 2
        assert all(row["status"][one] == "given up" for one in given_up)


def test_an_interrupted_run_with_halving_resumes_to_the_same_bits(tmp_path: Path) -> None:
    config = small_run(replicates=4, steps=60, halving=HalvingConfig(every=20))
    alone = run(config)
    resumed = run(config, directory=tmp_path / "run", deadline=0.0)
    for _ in range(10):
        assert not resumed.finished
        resumed = run(config, directory=tmp_path / "run", deadline=0.0)
        if resumed.finished:
            break
    assert resumed.finished
    assert resumed.curves == alone.curves
    assert all(torch.equal(resumed.weights[name], alone.weights[name]) for name in alone.weights)


def test_the_first_solution_ends_a_run_by_halves() -> None:
    settings = OptimizerConfig(lr=(1e-7, 1e-2), warmup=5, batch=16)
    judged = EvaluationConfig(every=20, sequences=64, stop_at=0.9)
    config = small_run(replicates=2, steps=2000, optimizer=settings, evaluation=judged)
    result = run(replace(config, halving=HalvingConfig(every=10_000)))
    assert [entry["status"] for entry in result.replicates] == ["given up", "solved"]
    assert result.curves[-1]["step"] < 2000


def test_solved_replicates_leave_the_work_without_halving_too() -> None:
    """Two of three are solved at once: the third is trained alone and ends as it would have."""
    rates = OptimizerConfig(lr=(1e-2, 1e-7, 1e-2), warmup=5, batch=16)
    judged = EvaluationConfig(every=20, sequences=64, stop_at=0.9)
    config = small_run(replicates=3, steps=120, optimizer=rates, evaluation=judged, precision="fp64")
    result = run(config)
    assert [entry["status"] for entry in result.replicates] == ["solved", "finished", "solved"]
    last = result.curves[-1]
    assert [loss is None for loss in last["train_loss"]] == [True, False, True]
    never = run(replace(config, evaluation=replace(judged, stop_at=None)))
    assert result.replicates[1]["final"]["loss"] == pytest.approx(
        never.replicates[1]["final"]["loss"], abs=1e-9
    )


def test_a_config_with_halving_survives_the_round_trip_and_bad_ones_are_refused() -> None:
    config = small_run(
        task=TaskConfig(spec="Grid3", length=6), halving=HalvingConfig(every=7, least=2), replicates=3
    )
    assert RunConfig.from_json(config.to_json()) == config
    assert config.run_id != replace(config, halving=None).run_id
    assert "halving" not in replace(config, halving=None).to_dict()
    with pytest.raises(
        Unsupported, match=r"every and least of at least 1; got 0 and 1; .*at least 2 replicates; got 1"
    ):
        small_run(halving=HalvingConfig(every=0))
