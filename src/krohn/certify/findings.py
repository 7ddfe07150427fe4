"""What a proof is made of: checks that passed, or the first that did not."""

from dataclasses import dataclass, field
from typing import Any

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
        """1 − bound/limit: 1 when nothing of the tolerance is used, ≤ 0 when it is overdrawn."""
        if self.bound == 0:
            return 1.0
        return 1.0 - self.bound / self.limit if self.limit > 0 else -1.0

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "name": self.name,
            "layer": self.layer,
            "bound": self.bound,
            "limit": self.limit,
            "margin": self.margin,
            "passed": self.passed,
            "text": self.text,
        }


class Refuted(KrohnError):
    """The proof does not go through; ``word`` is a word on which it fails, where one is known."""

    def __init__(self, name: str, layer: int, reason: str, word: tuple[int, ...] | None = None) -> None:
        super().__init__(reason if reason.startswith(name) else f"{name}: {reason}")
        self.name, self.layer, self.reason, self.word = name, layer, reason, word


def place(layer: int, depth: int) -> str:
    """Where a check belongs, as people say it: layers are numbered from 1."""
    if layer < 1:
        return "the network as a whole"
    return f"layer {layer}" if layer <= depth else "the read-out"


@dataclass
class Record:
    """Collects checks while a proof runs; a failed one ends it."""

    layer: int = 0  # from 1; 0 for what holds of the whole, one more than there are for the read-out
    checks: list[Check] = field(default_factory=list)
    guesses: bool = False  # whether a sum was clamped and the machine tries all that may come next
    proof: str = ""  # who proved it: the small checker, or what stands outside it
    witness: dict[str, Any] | None = None  # what the small checker was shown
    streams: list[Any] = field(default_factory=list)  # the abstract stream at every moment of the layout

    def require(self, name: str, bound: float, limit: float, text: str) -> None:
        """Notes ``bound < limit`` and stops the proof if it does not hold (or is not a number)."""
        passed = bool(bound < limit) or (bound == 0 and limit > 0)
        self.checks.append(Check(name, self.layer, float(bound), float(limit), passed, text))
        if not passed:
            raise Refuted(name, self.layer, f"{text}: {bound:.3g} is not below {limit:.3g}")

    def note(self, name: str, text: str, bound: float = 0.0, limit: float = 1.0) -> None:
        """Notes something that was decided exactly."""
        self.checks.append(Check(name, self.layer, float(bound), float(limit), True, text))

    def refuse(self, name: str, reason: str) -> Refuted:
        """The exception to raise when a structure is not one the checker can prove."""
        self.checks.append(Check(name, self.layer, 1.0, 0.0, False, reason))
        return Refuted(name, self.layer, reason)
