"""A run as a value: frozen, complete, saved whole; its hash is the run's name."""

import dataclasses
import hashlib
import json
import math
from dataclasses import dataclass, field
from typing import Any, Literal

from krohn.errors import InvalidInput, Unsupported
from krohn.models.architectures.gpt import GptConfig
from krohn.models.network import ModelConfig
from krohn.models.registry import model_config
from krohn.tasks.config import TaskConfig
from krohn.training.curriculum import CurriculumConfig
from krohn.training.halving import HalvingConfig

__all__ = [
    "CurriculumConfig",
    "EvaluationConfig",
    "HalvingConfig",
    "OptimizerConfig",
    "RunConfig",
    "TaskConfig",
    "model_config",
]

SCHEDULES = ("constant", "cosine", "plateau")
PRECISIONS = ("auto", "bf16", "fp32", "fp64")


@dataclass(frozen=True, kw_only=True)
class OptimizerConfig:
    """AdamW, its schedule and what goes with it.

    Attributes:
        lr: learning rates; replicate r takes ``lr[r % len(lr)]``, so a grid costs nothing extra.
        betas: decay of the two moments.
        eps: added to the root of the second moment.
        weight_decay: decoupled, on every parameter.
        warmup: steps of linear warm-up.
        schedule: constant, cosine (to ``floor`` of the rate at the last step) or plateau.
        floor: smallest fraction of the learning rate that cosine and plateau reach.
        patience: plateau: evaluations without a better loss before the rate is cut.
        factor: plateau: what the rate is multiplied by.
        ema: decay of the averaged weights that are evaluated and kept.
        clip: largest norm of a replicate's gradient; ``None`` for no clipping.
        batch: sequences per replicate and step.
    """

    lr: tuple[float, ...] = (3e-4,)
    betas: tuple[float, float] = (0.9, 0.98)
    eps: float = 1e-8
    weight_decay: float = 1e-4
    warmup: int = 300
    schedule: Literal["constant", "cosine", "plateau"] = "constant"
    floor: float = 0.01
    patience: int = 10
    factor: float = 0.5
    ema: float = 0.9
    clip: float | None = 1.0
    batch: int = 16

    def __post_init__(self) -> None:
        """Equal settings are equal values: lists become tuples, whole numbers floats."""
        given: Any = self.lr
        rates = given if isinstance(given, tuple | list) else (given,)
        object.__setattr__(self, "lr", tuple(float(rate) for rate in rates))
        object.__setattr__(self, "betas", tuple(float(beta) for beta in self.betas))
        for name in ("eps", "weight_decay", "floor", "factor", "ema"):
            object.__setattr__(self, name, float(getattr(self, name)))
        if self.clip is not None:
            object.__setattr__(self, "clip", float(self.clip))

    def reasons(self) -> list[str]:
        """Every reason why this is no optimiser."""
        numbers = (
            *self.lr,
            *self.betas,
            self.eps,
            self.weight_decay,
            *([] if self.clip is None else [self.clip]),
        )
        checks = {
            f"every number must be finite; got {numbers}": all(map(math.isfinite, numbers)),
            f"lr must be one or more positive numbers; got {self.lr}": self.lr and min(self.lr) > 0.0,
            f"betas must lie in [0, 1); got {self.betas}": all(0.0 <= beta < 1.0 for beta in self.betas),
            f"eps must be positive; got {self.eps}": self.eps > 0.0,
            f"weight_decay must be at least 0; got {self.weight_decay}": self.weight_decay >= 0.0,
            f"warmup must be at least 0; got {self.warmup}": self.warmup >= 0,
            f"schedule must be one of {', '.join(SCHEDULES)}; got {self.schedule!r}": self.schedule
            in SCHEDULES,
            f"floor must lie in [0, 1]; got {self.floor}": 0.0 <= self.floor <= 1.0,
            f"patience must be at least 1; got {self.patience}": self.patience >= 1,
            f"factor must lie in (0, 1); got {self.factor}": 0.0 < self.factor < 1.0,
            f"ema must lie in [0, 1); got {self.ema}": 0.0 <= self.ema < 1.0,
            f"clip must be positive or none; got {self.clip}": self.clip is None or self.clip > 0.0,
            f"batch must be at least 1; got {self.batch}": self.batch >= 1,
        }
        return [message for message, holds in checks.items() if not holds]


@dataclass(frozen=True, kw_only=True)
class EvaluationConfig:
    """When and on what replicates are judged.

    Attributes:
        every: steps between evaluations.
        sequences: held-out sequences, the same for all replicates.
        stop_at: token accuracy at which a replicate counts as solved and is frozen; ``None`` for never.
        seed: of the held-out sequences.
    """

    every: int = 500
    sequences: int = 2048
    stop_at: float | None = None
    seed: int = 2**40

    def reasons(self) -> list[str]:
        """Every reason why this is no evaluation."""
        found = []
        if self.every < 1 or self.sequences < 1:
            found.append(f"every and sequences must be at least 1; got {self.every} and {self.sequences}")
        if self.stop_at is not None and not 0.0 < self.stop_at <= 1.0:
            found.append(f"stop_at must lie in (0, 1]; got {self.stop_at}")
        return found


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """Everything that determines a run's result on a given machine.

    Attributes:
        task: what is learned.
        model: which network learns it.
        optimizer: how.
        evaluation: how it is judged.
        replicates: networks trained side by side.
        steps: optimiser steps of every replicate.
        precision: ``bf16`` (compute; the master weights stay fp32), ``fp32`` or ``fp64``; ``auto`` is bf16 on
            a GPU and fp32 elsewhere.
        seed: replicate r draws its weights and data from (seed, r).
        curriculum: a window of the loss that grows with what is solved; ``None`` for whole words.
        halving: gives up the worse replicates on the way to one solution; ``None`` to train all to the end.
    """

    task: TaskConfig
    model: ModelConfig = field(default_factory=GptConfig)
    optimizer: OptimizerConfig = OptimizerConfig()
    evaluation: EvaluationConfig = EvaluationConfig()
    replicates: int = 1
    steps: int = 10_000
    precision: Literal["auto", "bf16", "fp32", "fp64"] = "auto"
    seed: int = 0
    curriculum: CurriculumConfig | None = None
    halving: HalvingConfig | None = None

    def __post_init__(self) -> None:
        found = run_reasons(**{item.name: getattr(self, item.name) for item in dataclasses.fields(self)})
        if found:
            raise Unsupported("; ".join(found))

    @property
    def learning_rates(self) -> tuple[float, ...]:
        """One learning rate per replicate."""
        rates = self.optimizer.lr
        return tuple(rates[replicate % len(rates)] for replicate in range(self.replicates))

    @property
    def run_id(self) -> str:
        """Sixteen hexadecimal digits of the SHA-256 of the whole configuration."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:16]

    def to_dict(self) -> dict[str, Any]:
        """Plain values; the model carries its ``kind``."""
        plain = dataclasses.asdict(self)
        plain["model"] = {"kind": self.model.kind, **plain["model"]}
        for name in ("curriculum", "halving"):
            if plain[name] is None:
                del plain[name]  # runs without one keep the id they had before there were any
        return plain

    def to_json(self) -> str:
        """Canonical JSON: equal runs give equal text."""
        return json.dumps(self.to_dict(), sort_keys=True, allow_nan=False)

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> "RunConfig":
        """Inverse of ``to_dict``; a missing or unknown key is refused by name."""
        try:
            values = dict(plain)
            optimizer = dict(values.pop("optimizer", {}))
            for name in ("lr", "betas"):
                if name in optimizer:
                    optimizer[name] = tuple(optimizer[name])
            curriculum, halving = values.pop("curriculum", None), values.pop("halving", None)
            return cls(
                task=TaskConfig(**values.pop("task")),
                model=model_config(**values.pop("model", {"kind": "gpt"})),
                optimizer=OptimizerConfig(**optimizer),
                evaluation=EvaluationConfig(**values.pop("evaluation", {})),
                curriculum=None if curriculum is None else CurriculumConfig(**curriculum),
                halving=None if halving is None else HalvingConfig(**halving),
                **values,
            )
        except (KeyError, TypeError) as error:
            raise InvalidInput(
                f"a run configuration must have exactly the documented keys; {error}"
            ) from error

    @classmethod
    def from_json(cls, text: str) -> "RunConfig":
        """Inverse of ``to_json``."""
        try:
            plain = json.loads(text)
        except json.JSONDecodeError as error:
            raise InvalidInput(f"a run configuration must be JSON; {error}") from error
        return cls.from_dict(plain)


def run_reasons(
    *,
    task: TaskConfig,
    model: ModelConfig,
    optimizer: OptimizerConfig,
    evaluation: EvaluationConfig,
    replicates: int,
    steps: int,
    precision: str,
    seed: int,
    curriculum: CurriculumConfig | None = None,
    halving: HalvingConfig | None = None,
) -> list[str]:
    """Every reason why a run of these parts must not start, whatever the automaton and the machine."""
    length = 2 * task.length - 1 if task.scratchpad else task.length
    found = [*task.reasons(), *model.reasons(length), *optimizer.reasons(), *evaluation.reasons()]
    if replicates < 1 or steps < 1:
        found.append(f"replicates and steps must be at least 1; got {replicates} and {steps}")
    if precision not in PRECISIONS:
        found.append(f"precision must be one of {', '.join(PRECISIONS)}; got {precision!r}")
    if not 0 <= seed < 2**63:
        found.append(f"seed must lie in [0, 2^63); got {seed}")
    if halving is not None and replicates < 2:
        found.append(f"halving needs at least 2 replicates; got {replicates}")
    options = [option for option in (curriculum, halving) if option is not None]
    return [*found, *(reason for option in options for reason in option.reasons())]
