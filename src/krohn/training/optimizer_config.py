"""How replicates are optimised."""

from dataclasses import dataclass
from typing import Literal

from krohn.training.field_types import fitted_fields


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
        """Equal settings are equal values; what fits nowhere is left for the run to refuse."""
        for name, value in fitted_fields(self)[0].items():
            object.__setattr__(self, name, value)

    def reasons(self) -> list[str]:
        """Every reason why this is no optimiser."""
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
