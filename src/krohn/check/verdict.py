"""The checker's answers: a verdict, a refusal with place, cause and advice; and the budget of work."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from krohn.errors import KrohnError


@dataclass(frozen=True)
class Verdict:
    """A rule's answer. ``certified``: right on every word, by at least ``margin`` in the logits; or a reason.

    Every rule set and every search of witnesses answers with it; ``krohn.proving.outcome.Verification`` is
    what a user is told.
    """

    certified: bool
    margin: float
    reason: str
    layer: int = 0  # where it stopped: from 1, the read-out comes after the last
    place: str = ""
    at: tuple[int, int] | None = (
        None  # of boxes: the one that fails, and the letter; −1 if it is the read-out
    )
    witness: Any = None  # what a search found, for the rules to check
    largest: int = 0  # words up to this length are proved by it, perhaps not all that were asked for


class Refused(KrohnError):
    """The proof does not go through. ``places`` runs from the network down to the head or unit."""

    def __init__(self, cause: str, advice: str = "") -> None:
        super().__init__(cause)
        self.cause, self.advice = cause, advice
        self.places: list[str] = []
        self.layer = 0

    def __str__(self) -> str:
        where = ", ".join(self.places)
        return (f"{where}: " if where else "") + self.cause + (f"; {self.advice}" if self.advice else "")


def require(condition: object, cause: str, advice: str = "") -> None:
    """Refuses unless every entry of the condition holds; a comparison with NaN does not hold."""
    if not np.asarray(condition).all():
        raise Refused(cause, advice)


@contextmanager
def inside(place: str, layer: int = 0) -> Iterator[None]:
    """Refusals from within name this place, and the number of the layer."""
    try:
        yield
    except Refused as refusal:
        if refusal.places[:1] != [place]:
            refusal.places.insert(0, place)
        refusal.layer = layer or refusal.layer
        raise


def refusal_of(error: Exception) -> Verdict:
    """The verdict for an exception: refused, with the place and the cause."""
    if not isinstance(error, Refused):
        said = f"{type(error).__name__}: {error}"[:200]
        return Verdict(False, 0.0, f"the witness does not fit the network ({said})")
    return Verdict(False, 0.0, str(error), error.layer, error.places[0] if error.places else "")


class Budget:
    """The array entries that may still be computed: the same limit on every machine, whatever its load."""

    def __init__(self, units: float) -> None:
        self.left = float(units)

    def spend(self, units: float, what: str) -> None:
        """Spends work; refuses if less is left."""
        self.foresee(units, what)
        self.left -= float(units)

    def foresee(self, units: float, what: str) -> None:
        """Refuses early if work that is still to come exceeds the budget."""
        if not float(units) <= self.left:
            raise Refused(
                f"the proof needs more work than it is given ({what}: {units:.1e} entries of arrays, "
                f"{self.left:.1e} left)",
                "use a shorter length or a smaller automaton",
            )
