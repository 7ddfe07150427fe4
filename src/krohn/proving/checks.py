"""The inequalities of a proof, collected while it runs; one that does not hold ends it."""

from dataclasses import dataclass, field
from math import floor, isfinite
from typing import Any

from krohn.base.nearest_float import portable_bound
from krohn.errors import KrohnError


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


class Refuted(KrohnError):
    """The proof does not go through; ``word`` is a word on which it fails, where one is known."""

    def __init__(self, name: str, layer: int, reason: str, word: tuple[int, ...] | None = None) -> None:
        super().__init__(reason if reason.startswith(name) else f"{name}: {reason}")
        self.name, self.layer, self.reason, self.word = name, layer, reason, word


def place(layer: int, depth: int) -> str:
    """Where a check belongs, in words: layers are numbered from 1."""
    if layer < 1:
        return "the network as a whole"
    return f"layer {layer}" if layer <= depth else "the read-out"


@dataclass
class ProofRecord:
    """Collects checks while a proof runs; a failed one ends it."""

    layer: int = 0  # from 1; 0: the whole network; depth + 1: the read-out
    checks: list[Check] = field(default_factory=list)
    witness: dict[str, Any] | None = None  # as given to the small checker

    def note(self, name: str, text: str, bound: float = 0.0, limit: float = 1.0) -> None:
        """Records a check, by default one that was decided exactly."""
        self.checks.append(Check(name, self.layer, float(bound), float(limit), True, text))

    def refuse(self, name: str, reason: str) -> Refuted:
        """Records a failed check; returns the exception to raise."""
        self.checks.append(Check(name, self.layer, 1.0, 0.0, False, reason))
        return Refuted(name, self.layer, reason)
