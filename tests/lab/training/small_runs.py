"""Runs small enough for tests, and the pieces to take one apart."""

from typing import Any

import torch

from krohn.automata.semiautomaton import Semiautomaton
from krohn.lab.tasks.batches import Task
from krohn.lab.training.config import EvaluationConfig, OptimizerConfig, RunConfig, TaskConfig, model_config
from krohn.lab.training.state import TrainState
from krohn.lab.training.step import Stepper

# Three states on a line, two moves.
LINE = Semiautomaton.from_letters([(0, 0, 1), (1, 2, 2)], name="line")
TINY = model_config("gpt", layers=1, dim=16, heads=2, mlp=16)


def small_run(**changes: Any) -> RunConfig:
    settings: dict[str, Any] = {
        "task": TaskConfig(spec="Grid3", length=6),
        "model": TINY,
        "optimizer": OptimizerConfig(lr=(3e-3,), warmup=5, batch=8),
        "evaluation": EvaluationConfig(every=10, sequences=32),
        "steps": 30,
    }
    return RunConfig(**{**settings, **changes})


def stepper_of(config: RunConfig, precision: str = "fp32") -> Stepper:
    task = Task(config.task, LINE, torch.device("cpu"))
    network = config.model.build(task.vocabulary, task.classes)
    state = TrainState.start(config, network.layout, torch.device("cpu"), precision)
    return Stepper(config, network, task, state)


def run_steps(stepper: Stepper, first: int, count: int, *, average: bool = True) -> list[torch.Tensor]:
    cuts = torch.ones(stepper.config.replicates, dtype=torch.float64)
    losses = []
    for step in range(first, first + count):
        stepper.run(step, 1, cuts, average=average)
        losses.append(stepper.loss.clone())
    return losses
