"""The paper's settings (Appendix B.3), and their reductions for the smaller scales."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from krohn.lab.experiments.experiment import PlannedRun
from krohn.lab.experiments.names import Scale
from krohn.lab.interpret.evaluation import Evaluation
from krohn.lab.models.architectures.gpt import GptConfig
from krohn.lab.models.architectures.lstm import LstmConfig
from krohn.lab.models.network import ModelConfig
from krohn.lab.tasks.task_config import TaskConfig
from krohn.lab.training.config import (
    CurriculumConfig,
    EvaluationConfig,
    HalvingConfig,
    OptimizerConfig,
    RunConfig,
    TeachConfig,
)

# The 19 semiautomata of the paper, easiest to learn first as far as the text tells: memory, then abelian
# groups, then the rest by size, the non-solvable ones last.
TASKS = (
    *("Grid4", "Grid9", "Dyck4,2"),
    *("C2", "C3", "C4", "C5", "C6", "C7", "C8", "C2xC2", "C2xC2xC2"),
    *("D6", "D8", "Q8", "A4", "S4", "A5", "S5"),
)
GPT, LSTM = "GPT", "LSTM"
GPT_RATES = (3e-5, 1e-4, 3e-4)
LSTM_RATES = (1e-3, 3e-3)
GPT_BATCH, LSTM_BATCH = 16, 64

# Where each scale departs from the paper, or where the paper gives no value and one had to be chosen.
DEPARTURES = {
    Scale.SMOKE: "tiny networks, a few steps: proves that everything runs, says nothing about learning",
    Scale.SMALL: (
        "bf16; fewer sequences; gradients clipped at 1; learning rate constant, for GPT after 300 steps of "
        "warm-up and with betas (.9, .98); token embeddings start at 1, not 0.02; no dropout on attention "
        "unless stated; linear positions are one column; Dyck has its 32 reachable states as classes"
    ),
    Scale.PAPER: (
        "bf16; token embeddings start at 1, not 0.02; linear positions are one column; not in the text and "
        "chosen here: betas (.9, .999), 300 steps of warm-up for GPT, plateau "
        "schedule with patience 20, which replicate has which learning rate, sequences of each task"
    ),
}
SOLVED_STOP = "solved replicates stop"

T = TypeVar("T")


def by_scale(smoke: T, small: T, paper: T) -> dict[Scale, T]:
    """A setting that differs between scales: a row of the tables in ``recipes``."""
    return {Scale.SMOKE: smoke, Scale.SMALL: small, Scale.PAPER: paper}


@dataclass(frozen=True, kw_only=True)
class ScaleEffort:
    """Compute budget of a scale: sizes of the networks and of the test sets."""

    dim: int
    heads: int
    deepest: int
    lstm: LstmConfig
    judged: int
    evaluations: int


EFFORT = {
    Scale.SMOKE: ScaleEffort(
        dim=16, heads=2, deepest=2, lstm=LstmConfig(embedding=8, hidden=16), judged=32, evaluations=2
    ),
    Scale.SMALL: ScaleEffort(dim=512, heads=8, deepest=16, lstm=LstmConfig(), judged=2048, evaluations=50),
    Scale.PAPER: ScaleEffort(dim=512, heads=8, deepest=16, lstm=LstmConfig(), judged=2048, evaluations=200),
}


def planned(
    scale: Scale, label: Mapping[str, Any], measured: tuple[Evaluation, ...] = (), **settings: Any
) -> PlannedRun:
    """One cell of an experiment, from settings of task, model, training and optimiser in one table.

    Values that ``by_scale`` gave are looked up. ``model`` is GPT, to which the sizes and options of its
    configuration belong, or LSTM, which has none to choose. ``measured``: evaluations at the end.
    """
    given = {name: value[scale] if isinstance(value, dict) else value for name, value in settings.items()}

    def take(config: type[TaskConfig] | type[GptConfig]) -> dict[str, Any]:
        return {field.name: given.pop(field.name) for field in fields(config) if field.name in given}

    task, options, lstm = TaskConfig(**take(TaskConfig)), take(GptConfig), given.pop("model", GPT) == LSTM
    model = EFFORT[scale].lstm if lstm else gpt(scale, **options)
    return PlannedRun(config=run(scale, task, model, **given), label=label, evaluations=measured)


def gpt(scale: Scale, layers: int, **options: Any) -> GptConfig:
    """The paper's Transformer with that many layers; narrower, and no deeper than two layers, at smoke."""
    effort = EFFORT[scale]
    sizes = {
        "layers": min(layers, effort.deepest),
        "dim": effort.dim,
        "heads": effort.heads,
        "mlp": effort.dim,
    }
    return GptConfig(**sizes | options)


def run(
    scale: Scale,
    task: TaskConfig,
    model: ModelConfig,
    *,
    sequences: int,
    replicates: int,
    stop_at: float | None = None,
    evaluations: int | None = None,
    curriculum: CurriculumConfig | None = None,
    halving: HalvingConfig | None = None,
    teach: TeachConfig | None = None,
    judged: int | None = None,
    **optimizer: Any,
) -> RunConfig:
    """A complete config: the paper's optimiser for the architecture, ``sequences`` for each replicate."""
    settings = _optimizer(scale, model) | optimizer
    steps = max(1, sequences // settings["batch"])
    effort = EFFORT[scale]
    return RunConfig(
        task=task,
        model=model,
        optimizer=OptimizerConfig(**settings),
        evaluation=EvaluationConfig(
            every=max(1, steps // (evaluations or effort.evaluations)),
            sequences=judged or effort.judged,
            stop_at=stop_at,
        ),
        replicates=replicates,
        steps=steps,
        curriculum=curriculum,
        halving=halving,
        teach=teach,
    )


def _optimizer(scale: Scale, model: ModelConfig) -> dict[str, Any]:
    """AdamW as in the paper; where it gives no value, settings measured to learn in few steps.

    The paper names learning rates, weight decay, batch, EMA and a scheduler with a patience. Smaller scales
    keep the rate constant, that of GPT after a warm-up of 300 steps with betas (.9, .98), a named departure.
    """
    settings: dict[str, Any] = {"ema": 0.9}
    if isinstance(model, LstmConfig):
        settings |= {"lr": LSTM_RATES, "weight_decay": 1e-9, "batch": LSTM_BATCH, "warmup": 0}
        settings |= {"betas": (0.9, 0.999)}
    else:
        settings |= {"lr": GPT_RATES, "weight_decay": 1e-4, "batch": GPT_BATCH}
    if scale is Scale.PAPER:
        settings |= {"schedule": "plateau", "patience": 20, "betas": (0.9, 0.999), "clip": None}
    if scale is Scale.SMOKE:
        settings |= {"warmup": 5, "lr": (3e-3, 1e-3), "batch": 8}
    return settings
