"""The loss counts on a window that follows what is solved, and on nothing else."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from krohn.errors import Unsupported
from krohn.lab.training.config import CurriculumConfig, OptimizerConfig, RunConfig, TaskConfig
from krohn.lab.training.loop import train
from krohn.lab.training.sections import tokens_read
from krohn.lab.training.step import Stepper
from lab.training.small_runs import LINE, small_run, stepper_of


@pytest.mark.parametrize(
    ("accuracies", "expected"),
    [
        ([0.1] * 40, 8),  # nothing solved: the start
        ([1.0] * 10 + [0.1] * 30, 15),  # half as much again
        ([1.0] * 10 + [0.1] + [1.0] * 29, 15),  # what comes after a gap does not count
        ([0.95] * 30 + [0.94] * 10, 40),  # never beyond the word
        ([1.0] * 40, 40),
        ([0.0] * 5, 5),  # words shorter than the start
    ],
)
def test_the_window_is_the_solved_beginning_and_half_as_much_again(
    accuracies: list[float], expected: int
) -> None:
    assert CurriculumConfig().window(accuracies) == expected


@pytest.mark.parametrize(("window", "read"), [(1, 16), (16, 16), (17, 32), (33, 64), (65, 100), (100, 100)])
def test_batches_are_read_up_to_a_few_lengths_only(window: int, read: int) -> None:
    assert tokens_read(window, 100) == read


def test_positions_beyond_the_window_have_no_part_in_the_gradient() -> None:
    config = small_run(task=TaskConfig(spec="Grid3", length=12))
    whole, short = stepper_of(config, "fp64"), _stepper_reading(config, 7)
    for stepper in (whole, short):
        stepper.windows.fill_(5)
        stepper.draw()
        stepper.gradients()
    torch.testing.assert_close(whole.loss, short.loss, rtol=1e-12, atol=0)
    torch.testing.assert_close(whole.state.gradient, short.state.gradient, rtol=1e-9, atol=1e-12)
    seen = whole.loss.clone()
    whole.windows.fill_(12)
    whole.draw()
    whole.gradients()
    assert not torch.allclose(whole.loss, seen, rtol=1e-6)


def _stepper_reading(config: RunConfig, tokens: int) -> Stepper:
    whole = stepper_of(config, "fp64")
    return Stepper(config, whole.network, whole.task, whole.state, tokens)


def test_the_windows_differ_between_replicates() -> None:
    stepper = stepper_of(small_run(task=TaskConfig(spec="Grid3", length=6), replicates=2))
    stepper.windows.copy_(torch.tensor([2, 5]))
    stepper.draw()
    shown = stepper._buffers[2]
    assert shown[:, 0].sum(-1).unique().tolist() == [2]
    assert shown[:, 1].sum(-1).unique().tolist() == [5]


@pytest.mark.parametrize("scratchpad", [False, True])
def test_a_window_that_grows_teaches_what_lies_beyond_its_start(scratchpad: bool) -> None:
    """Letters 5 to 10 are learned with the window that grows, not with the one that stays at 4 letters."""
    learned = {}
    for growth in (1.5,) if scratchpad else (1.5, 1.0001):
        config = small_run(
            task=TaskConfig(spec="Grid3", length=12, scratchpad=scratchpad),
            steps=450,
            optimizer=OptimizerConfig(lr=(1e-2,), warmup=5, batch=8),
            curriculum=CurriculumConfig(start=4, growth=growth),
        )
        positions = train(config, device="cpu", automaton=LINE).replicates[0]["position_accuracy"]
        assert min(positions[:4]) > 0.9  # in the window from the beginning
        learned[growth] = sum(positions[4:10]) / 6
    assert learned[1.5] > 0.9
    assert scratchpad or learned[1.5] > learned[1.0001] + 0.1


def test_an_interrupted_curriculum_resumes_to_the_same_bits(tmp_path: Path) -> None:
    config = small_run(
        task=TaskConfig(spec="Grid3", length=40),
        steps=60,
        curriculum=CurriculumConfig(start=2),
        replicates=2,
    )
    alone = train(config, device="cpu", automaton=LINE)
    train(config, device="cpu", automaton=LINE, directory=tmp_path / "run", deadline=0.0)
    for _ in range(20):
        resumed = train(config, device="cpu", automaton=LINE, directory=tmp_path / "run", deadline=0.0)
        if resumed.finished:
            break
    assert resumed.curves == alone.curves
    assert all(torch.equal(resumed.weights[name], alone.weights[name]) for name in alone.weights)


def test_a_config_with_curriculum_survives_the_round_trip_and_bad_ones_are_refused() -> None:
    config = small_run(curriculum=CurriculumConfig(start=3, growth=2.0))
    assert RunConfig.from_json(config.to_json()) == config
    assert config.run_id != replace(config, curriculum=None).run_id
    with pytest.raises(Unsupported, match=r"start .*at least 1 position; got 0; growth .*above 1; got 1.0"):
        small_run(curriculum=CurriculumConfig(start=0, growth=1.0))
