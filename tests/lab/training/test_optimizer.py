import math

import pytest
import torch

from krohn.lab.training.adamw import AdamW
from krohn.lab.training.config import OptimizerConfig
from krohn.lab.training.interval import ema_window
from krohn.lab.training.learning_rates import Plateau, rate_table, shape
from krohn.lab.training.state import TrainState
from lab.training.small_runs import run_steps, small_run, stepper_of


def random_state(replicates: int, size: int) -> TrainState:
    weight = torch.randn(replicates, size, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    names = ("gradient", "first", "second")
    zeros = {name: torch.zeros_like(weight) for name in names}
    alive = torch.ones(replicates, dtype=torch.bool)
    return TrainState(
        weight=weight, compute=weight, average=weight.clone(), best=weight.clone(), alive=alive, **zeros
    )


@pytest.mark.parametrize("clip", [None, 0.5])
def test_each_row_follows_torch_adamw_with_its_own_rate(clip: float | None) -> None:
    options = {"weight_decay": 0.1, "warmup": 3, "schedule": "cosine", "ema": 0.75}
    config = OptimizerConfig(lr=(0.1, 0.01), clip=clip, **options)  # type: ignore[arg-type]
    state, steps = random_state(2, 7), 12
    average = state.weight.clone()
    optimizer = AdamW(config, state, steps)
    rates = torch.tensor(config.lr, dtype=torch.float64)
    optimizer.rates.copy_(rate_table(config, rates, torch.ones(2), 0, steps, steps))
    peers = [torch.nn.Parameter(row.clone()) for row in state.weight]
    theirs = [
        torch.optim.AdamW([peer], lr=1.0, betas=config.betas, eps=config.eps, weight_decay=0.1)
        for peer in peers
    ]
    generator = torch.Generator().manual_seed(1)
    for step in range(steps):
        state.gradient.copy_(torch.randn(2, 7, dtype=torch.float64, generator=generator))
        for row, (peer, other) in enumerate(zip(peers, theirs, strict=True)):
            peer.grad = state.gradient[row].clone()
            if clip is not None:
                torch.nn.utils.clip_grad_norm_([peer], clip)
            other.param_groups[0]["lr"] = config.lr[row] * shape(config, step, steps)
            other.step()
        optimizer.step(torch.zeros(2), average=True)
        average = 0.75 * average + 0.25 * torch.stack([peer.data for peer in peers])
    torch.testing.assert_close(state.average, average, rtol=0, atol=1e-12)
    torch.testing.assert_close(state.weight, torch.stack([peer.data for peer in peers]), rtol=0, atol=1e-12)


def test_a_non_finite_gradient_freezes_its_row_alone_and_for_good() -> None:
    state = random_state(2, 4)
    optimizer = AdamW(OptimizerConfig(), state, 2)
    optimizer.rates.fill_(0.1)
    before = state.weight.clone()
    state.gradient[:] = 1.0
    state.gradient[1, 2] = float("nan")
    optimizer.step(torch.zeros(2), average=True)
    assert state.alive.tolist() == [True, False]
    assert torch.equal(state.weight[1], before[1])
    assert torch.equal(state.average[1], before[1])
    state.gradient[:] = 1.0
    optimizer.step(torch.zeros(2), average=True)
    assert torch.equal(state.weight[1], before[1])
    assert (state.weight[0] != before[0]).all()


def test_warm_up_rises_to_one_and_cosine_falls_to_the_floor() -> None:
    config = OptimizerConfig(warmup=4, schedule="cosine", floor=0.1)
    constant = OptimizerConfig(warmup=4)
    assert [shape(constant, step, 100) for step in range(6)] == [0.25, 0.5, 0.75, 1.0, 1.0, 1.0]
    assert shape(config, 99, 100) == pytest.approx(0.1)
    assert shape(config, 50, 101) == pytest.approx(0.55)


def test_a_plateau_cuts_only_the_replicate_that_waits() -> None:
    plateau = Plateau.start(OptimizerConfig(schedule="plateau", patience=2, factor=0.5, floor=0.2), 2)
    for loss in ([3.0, 3.0], [2.0, 3.0], [1.0, 3.0]):
        plateau.observe(torch.tensor(loss, dtype=torch.float64))
    assert plateau.cuts.tolist() == [1.0, 0.5]
    for _ in range(6):
        plateau.observe(torch.tensor([0.5, 4.0], dtype=torch.float64))
    assert plateau.cuts.tolist() == [pytest.approx(0.25), pytest.approx(0.2)]


@pytest.mark.parametrize("schedule", ["constant", "cosine"])
def test_no_other_schedule_cuts_on_a_plateau(schedule: str) -> None:
    plateau = Plateau.start(OptimizerConfig(schedule=schedule, patience=1, factor=0.5), 2)  # type: ignore[arg-type]
    for _ in range(5):
        plateau.observe(torch.tensor([3.0, 3.0], dtype=torch.float64))
    assert plateau.cuts.tolist() == [1.0, 1.0]


def test_a_late_start_of_the_average_changes_nothing_beyond_rounding() -> None:
    window = ema_window(0.5)
    assert window == 24
    late = stepper_of(small_run(optimizer=OptimizerConfig(lr=(1e-2,), ema=0.5, batch=2)))
    full = stepper_of(small_run(optimizer=OptimizerConfig(lr=(1e-2,), ema=0.5, batch=2)))
    run_steps(full, 0, 40, average=True)
    run_steps(late, 0, 40 - window, average=False)
    late.state.average.copy_(late.state.weight)
    run_steps(late, 40 - window, window, average=True)
    assert torch.equal(full.state.weight, late.state.weight)
    torch.testing.assert_close(full.state.average, late.state.average, rtol=0, atol=1e-7)
    assert (full.state.average - full.state.weight).abs().max() > 1e-3


def test_the_window_shrinks_the_rest_below_half_a_unit_of_float32() -> None:
    for decay in (0.5, 0.85, 0.9, 0.99):
        assert decay ** ema_window(decay) <= 2.0**-24 * (1 + 1e-9)
    assert math.isclose(ema_window(0.9), 158)
