"""The sections of a run, without torch: their settings, and what is wrong with them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from krohn.base.files import shown
from krohn.base.typed import annotations, fit_fields
from krohn.errors import InvalidInput
from krohn.lab.tasks.task_config import TaskConfig

# Seed of the test set, which is drawn once, after training, for the report only.
TEST_SEED = 2**44


@dataclass(frozen=True, kw_only=True)
class EvaluationConfig:
    """When and on what replicates are judged.

    Attributes:
        every: steps between evaluations.
        sequences: size of the validation set, the same for all replicates. It decides checkpoints, early
            stopping, halving and windows; what is reported is measured on a test set of another seed.
        stop_at: token accuracy at which a replicate counts as solved and is frozen; ``None`` for never.
        seed: of the validation set.
    """

    every: int = 500
    sequences: int = 2048
    stop_at: float | None = None
    seed: int = 2**40

    def reasons(self) -> list[str]:
        """Every error in these settings."""
        faults = []
        if self.every < 1 or self.sequences < 1:
            faults.append(f"every and sequences must be at least 1; got {self.every} and {self.sequences}")
        if self.stop_at is not None and not 0.0 < self.stop_at <= 1.0:
            faults.append(f"stop_at must lie in (0, 1]; got {self.stop_at}")
        if self.seed < 0:
            faults.append(f"the seed of an evaluation must be at least 0; got {self.seed}")
        if self.seed == TEST_SEED:
            faults.append(f"the seed of an evaluation must not be that of the test words; got {self.seed}")
        return faults


@dataclass(frozen=True, kw_only=True)
class OptimizerConfig:
    """AdamW or Muon, with its schedule, averaging and clipping.

    Attributes:
        method: adamw; or muon, which moves the matrices of the blocks by orthogonalised momentum at the same
            learning rates, and all other parameters by AdamW.
        lr: learning rates; replicate r takes ``lr[r % len(lr)]``, so a grid costs nothing extra.
        betas: decay of the two moments; the first is Muon's momentum too.
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

    method: Literal["adamw", "muon"] = "adamw"
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
        """Canonicalises the settings; what does not fit is left for the run to refuse."""
        for name, value in fit_fields(self)[0].items():
            object.__setattr__(self, name, value)

    def reasons(self) -> list[str]:
        """Every reason why these settings cannot be used."""
        checks = {
            f"lr must be one or more positive numbers; got {self.lr}": self.lr and min(self.lr) > 0.0,
            f"betas must lie in [0, 1); got {self.betas}": all(0.0 <= beta < 1.0 for beta in self.betas),
            f"eps must be positive; got {self.eps}": self.eps > 0.0,
            f"weight_decay must be at least 0; got {self.weight_decay}": self.weight_decay >= 0.0,
            f"warmup must be at least 0; got {self.warmup}": self.warmup >= 0,
            f"floor must lie in [0, 1]; got {self.floor}": 0.0 <= self.floor <= 1.0,
            f"patience must be at least 1; got {self.patience}": self.patience >= 1,
            f"factor must lie in (0, 1); got {self.factor}": 0.0 < self.factor < 1.0,
            f"ema must lie in [0, 1); got {self.ema}": 0.0 <= self.ema < 1.0,
            f"clip must be positive or none; got {self.clip}": self.clip is None or self.clip > 0.0,
            f"batch must be at least 1; got {self.batch}": self.batch >= 1,
        }
        return [message for message, holds in checks.items() if not holds]


@dataclass(frozen=True, kw_only=True)
class HalvingConfig:
    """Successive halving: when the worse half of the replicates is given up.

    Replicates differ by luck, and early accuracy predicts which will solve a task. A search for one solution
    can start many and finish few, at the cost of a few (Jamieson and Talwalkar, 2016).

    Attributes:
        every: period in steps for giving up the worse half of those in training, at the first evaluation due.
        least: replicates to keep until one is solved; then all others are given up.
    """

    every: int = 8000
    least: int = 1

    def reasons(self) -> list[str]:
        """Every error in these settings."""
        if self.every < 1 or self.least < 1:
            return [f"halving needs every and least of at least 1; got {self.every} and {self.least}"]
        return []

    def given_up(self, before: int, step: int, status: Sequence[str], accuracy: Sequence[float]) -> list[int]:
        """The replicates to give up after the evaluation at ``step``; the one before it was at ``before``."""
        training = [replicate for replicate, word in enumerate(status) if word == "training"]
        if "solved" in status:
            return training
        if before // self.every == step // self.every:
            return []
        # Stable sort: on ties the first stays.
        ranked = sorted(training, key=lambda replicate: -accuracy[replicate])
        return sorted(ranked[max(self.least, (len(ranked) + 1) // 2) :])


_SHORTEST = 16  # tokens; lengths double from here, so that few step graphs are ever prepared


@dataclass(frozen=True, kw_only=True)
class CurriculumConfig:
    """The loss covers a window, the solved prefix and some positions more, instead of the whole word.

    Networks learn long words from the left. Positions far from the solved prefix carry no signal yet: they
    add noise to the gradient and cost as much as the others.

    Attributes:
        start: window before the first evaluation, and its minimum at any time, in positions.
        growth: positions in the window per position of the solved prefix.
        solved: validation accuracy from which a position counts as solved.
    """

    start: int = 8
    growth: float = 1.5
    solved: float = 0.95

    def reasons(self) -> list[str]:
        """Every error in these settings."""
        faults = []
        if self.start < 1:
            faults.append(f"start of the window must be at least 1 position; got {self.start}")
        if self.growth <= 1.0:
            faults.append(f"growth of the window must be above 1; got {self.growth}")
        if not 0.0 < self.solved <= 1.0:
            faults.append(f"solved must lie in (0, 1]; got {self.solved}")
        return faults

    def first(self, length: int) -> int:
        """Window before the first evaluation."""
        return min(self.start, length)

    def window(self, position_accuracy: Sequence[float]) -> int:
        """Window after an evaluation with these accuracies."""
        unsolved = (place for place, share in enumerate(position_accuracy) if share < self.solved)
        length = len(position_accuracy)
        beginning = next(unsolved, length)
        return min(length, max(self.start, round(min(self.growth * beginning, length))))


def tokens_read(window: int, num_tokens: int) -> int:
    """Tokens of a batch to read for a window of that size: the next power of two, or all."""
    length = _SHORTEST
    while length < window:
        length *= 2
    return min(length, num_tokens)


@dataclass(frozen=True, kw_only=True)
class TeachConfig:
    """Hints: what a network must know after a block, read by heads of their own (``lab.tasks.lessons``).

    Attributes:
        hints: ``doubling``: after block l the product of the last 2^l letters; a part of them, as
            ``doubling:2,4,8``, or after other blocks, as ``doubling:1=4,2=8``. ``cascade``: the levels of the
            cascade, spread over the blocks.
        until: step at which hints end; ``solved``: for each replicate once it reads all its hints; ``None``:
            they are kept to the end.
    """

    hints: str = "doubling"
    until: int | Literal["solved"] | None = None

    @property
    def kind(self) -> str:
        """``doubling`` or ``cascade``."""
        return self.hints.partition(":")[0]

    def places(self, length: int) -> list[tuple[int, int]]:
        """Doubling: blocks, from 1, and how many letters each is asked for, in words of ``length``."""
        listed = self.hints.partition(":")[2]
        if not listed:
            return [(block, 2**block) for block in range(1, max(1, (length - 1).bit_length()) + 1)]
        pairs = [part.rpartition("=") for part in listed.split(",")]
        return [
            (int(block) if sign else int(size).bit_length() - 1, int(size)) for block, sign, size in pairs
        ]

    def reasons(self) -> list[str]:
        """Every error in these settings."""
        faults = []
        if self.hints != "cascade" and not re.fullmatch(rf"doubling(:{_PLACE}(,{_PLACE})*)?", self.hints):
            faults.append(
                "hints must be doubling, a part of it as doubling:2,4,8, cascade or none; got "
                f"{shown(self.hints)}"
            )
        elif self.kind == "doubling":
            places = self.places(2)
            if any(size < 2 or size & (size - 1) or block < 1 for block, size in places):
                faults.append(f"doubling hints are asked for 2, 4, 8, … letters; got {self.hints}")
            elif len({block for block, _ in places}) < len(places):
                faults.append(f"there must be one hint for each block at most; got {self.hints}")
        if isinstance(self.until, int) and self.until < 1:
            faults.append(f"the step at which hints end must be at least 1; got {self.until}")
        return faults


_PLACE = "([0-9]{1,3}=)?[0-9]{1,7}"


SECTIONS: dict[str, type[Any]] = {
    "task": TaskConfig,
    "optimizer": OptimizerConfig,
    "evaluation": EvaluationConfig,
    "curriculum": CurriculumConfig,
    "halving": HalvingConfig,
    "teach": TeachConfig,
}


def read_section(name: str, given: Any) -> Any:
    """A section from plain values, of a file or the command line; a wrong key is refused by name."""
    if not isinstance(given, Mapping):
        raise InvalidInput(f"{name} must be an object of named settings; got {shown(given)}")
    section = SECTIONS[name]
    unknown = [key for key in given if key not in annotations(section)]
    if unknown:
        keys = ", ".join(annotations(section))
        raise InvalidInput(f"{name} has no {', '.join(map(repr, unknown))}; its keys are {keys}")
    if name == "task" and "spec" not in given:
        raise InvalidInput("task must have a spec, the automaton")
    return section(**given)
