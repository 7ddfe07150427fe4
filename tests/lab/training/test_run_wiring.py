"""The parts of a run reach each other: noise the network, cuts the optimiser, checkpoints the disk."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from krohn.lab.training.checkpoint_clock import CheckpointClock
from krohn.lab.training.config import OptimizerConfig, model_config
from krohn.lab.training.directory import RunDirectory
from krohn.lab.training.interruption import Interruption
from krohn.lab.training.interval import Interval
from krohn.lab.training.loop import train
from krohn.lab.training.metrics import scores_of
from krohn.lab.training.progress import Progress
from krohn.lab.training.run import Run
from krohn.lab.training.step import Stepper
from lab.training.small_runs import LINE, run_steps, small_run, stepper_of

CPU = torch.device("cpu")
PLATEAU = OptimizerConfig(lr=(3e-3,), schedule="plateau", patience=2, warmup=0, batch=8)


def noise_of(stepper: Stepper, first: int, count: int, monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """The noise keys that the network is given, step by step."""
    seen: list[list[int]] = []
    loss = stepper.network.loss

    def spy(weights, tokens, targets, shown, noise):  # type: ignore[no-untyped-def]
        seen.append(noise.keys.tolist())
        return loss(weights, tokens, targets, shown, noise)

    monkeypatch.setattr(stepper.network, "loss", spy)
    cuts = torch.ones(stepper.config.replicates, dtype=torch.float64)
    stepper.run(first, count, cuts, average=False)
    return seen


def test_every_step_of_every_replicate_has_its_own_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = noise_of(stepper_of(small_run(replicates=2)), 0, 40, monkeypatch)
    assert len({key for keys in seen for key in keys}) == 80


def test_the_noise_of_a_step_does_not_depend_on_where_training_was_taken_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = noise_of(stepper_of(small_run(replicates=2)), 0, 40, monkeypatch)
    assert noise_of(stepper_of(small_run(replicates=2)), 21, 19, monkeypatch) == whole[21:]


@pytest.mark.parametrize("option", [{"dropout": 0.5}, {"positions": "shifted"}])
def test_dropout_and_shifts_act_in_training_and_not_in_evaluation(option: dict[str, object]) -> None:
    sizes = {"layers": 1, "dim": 16, "heads": 2, "mlp": 16}
    losses, held_out = [], []
    for changes in ({}, option):
        stepper = stepper_of(small_run(model=model_config("gpt", **sizes, **changes)))
        tokens = torch.zeros(1, 2, 6, dtype=torch.int64)
        held_out.append(stepper.network.logits(stepper.leaves, tokens).detach())
        losses.append(float(run_steps(stepper, 0, 1)[0]))
    assert losses[0] != losses[1]
    torch.testing.assert_close(held_out[0], held_out[1])


def test_the_cut_of_a_plateau_reaches_the_steps_of_its_own_replicate() -> None:
    run = Run(small_run(replicates=2, optimizer=PLATEAU), LINE, CPU, None)
    run.standing.plateau.cuts = torch.tensor([1.0, 0.0], dtype=torch.float64)
    before = run.standing.state.weight.clone()
    run._train(run.stepper(), Interval(0, 0, 5), Progress(), lambda: False)
    moved = (run.standing.state.weight != before).any(dim=1)
    assert moved.tolist() == [True, False]


def test_a_resumed_run_remembers_how_long_each_replicate_has_waited(tmp_path: Path) -> None:
    config = small_run(replicates=3, steps=200, optimizer=replace(PLATEAU, lr=(3e-3, 1e-9, 0.5)))
    first = Run(config, LINE, CPU, tmp_path / "run")
    for _ in range(7):
        first.advance(Progress(), Interruption(), lambda: False)
    first.save()
    again = Run(config, LINE, CPU, tmp_path / "run")
    assert again.standing.step == 70
    assert float(first.standing.plateau.cuts.min()) < 1.0
    for name in ("cuts", "lowest", "waited"):
        assert torch.equal(getattr(again.standing.plateau, name), getattr(first.standing.plateau, name)), name


@pytest.mark.parametrize(("seconds", "expected"), [(0.0, [10, 20, 30]), (1e6, [30]), ("once", [1, 30])])
def test_checkpoints_are_written_when_they_are_due_and_at_the_end(
    seconds: float | str, expected: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if seconds == "once":  # due after the first step, and then not for a long time
        seconds = 1e6
        monkeypatch.setattr(CheckpointClock, "_due", 0.0, raising=False)
        monkeypatch.setattr(CheckpointClock, "__init__", lambda self, wait: setattr(self, "seconds", wait))
    written: list[int] = []
    save = RunDirectory.save

    def spy(self: RunDirectory, tensors, progress, layout) -> None:  # type: ignore[no-untyped-def]
        written.append(progress["step"])
        save(self, tensors, progress, layout)

    monkeypatch.setattr(RunDirectory, "save", spy)
    train(
        small_run(steps=30),
        directory=tmp_path / "run",
        device="cpu",
        checkpoint_seconds=seconds,
        automaton=LINE,
    )
    assert written == expected


def test_a_sequence_counts_if_all_its_letters_are_right() -> None:
    right = torch.tensor([[[True, True], [True, False], [False, False], [True, True]]])
    result = scores_of(right, torch.zeros(1))
    assert float(result.token[0]) == 5 / 8
    assert float(result.sequence[0]) == 2 / 4
    assert result.of(0)["position_accuracy"] == [0.75, 0.5]
