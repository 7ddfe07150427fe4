"""The inequalities of a proof, collected while it runs; one that does not hold ends it."""

from dataclasses import dataclass, field
from math import floor, isfinite
from typing import Any

from krohn.base.nearest_float import portable_bound


@dataclass(frozen=True)
class Check:
    """One proved inequality: ``bound`` must stay below ``limit``; ``margin`` is the share of it left."""

    name: str
    layer: int
    bound: float
    limit: float
    passed: bool
    text: str

    @property
    def margin(self) -> float:
        """1 − bound/limit: 1 if none of the tolerance is used, ≤ 0 if it is exceeded."""
        if self.bound == 0:
            return 1.0
        return 1.0 - self.bound / self.limit if self.limit > 0 else -1.0

    def to_json(self) -> dict[str, Any]:
        """Plain values; the bound in millionths of the limit, rounded up: every machine writes the same."""
        limit, share = portable_bound(self.limit), 1.0 - self.margin
        if isfinite(share) and not (4096 * share).is_integer():
            share = -floor(portable_bound(-share) * 1e6) / 1e6
        return {
            "name": self.name,
            "layer": self.layer,
            "bound": share * limit if limit > 0 and isfinite(limit) else self.bound,
            "limit": limit,
            "margin": 1.0 - share,
            "passed": self.passed,
            "text": self.text,
        }


@dataclass(frozen=True)
class Refutation:
    """Where and why a proof does not go through; ``word``: one on which it fails, where one is known."""

    name: str
    layer: int
    reason: str
    word: tuple[int, ...] | None

    def __str__(self) -> str:
        return self.reason if self.reason.startswith(self.name) else f"{self.name}: {self.reason}"


def place(layer: int, depth: int) -> str:
    """Where a check belongs, in words: layers are numbered from 1."""
    if layer < 1:
        return "the network as a whole"
    return f"layer {layer}" if layer <= depth else "the read-out"


@dataclass
class ProofRecord:
    """Collects the checks of a proof while it runs, and the one that fails."""

    layer: int = 0  # from 1; 0: the whole network; depth + 1: the read-out
    checks: list[Check] = field(default_factory=list)
    witness: dict[str, Any] | None = None  # as given to the small checker

    def note(self, name: str, text: str, bound: float = 0.0, limit: float = 1.0) -> None:
        """Records a check, by default one that was decided exactly."""
        self.checks.append(Check(name, self.layer, float(bound), float(limit), True, text))

    def refuse(self, name: str, reason: str, word: tuple[int, ...] | None = None) -> Refutation:
        """Records a failed check."""
        self.checks.append(Check(name, self.layer, 1.0, 0.0, False, reason))
        return Refutation(name, self.layer, reason, word)
