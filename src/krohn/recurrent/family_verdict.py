"""Whether a family of models can track an automaton: one row, with its source and what it assumes."""

from dataclasses import asdict, dataclass
from typing import Any

FINITE = "numbers of finite precision, and one set of weights for words of every length"


@dataclass(frozen=True, kw_only=True)
class FamilyVerdict:
    """One family.

    Attributes:
        name: the family.
        can: whether it can track the automaton at finite precision; ``None`` where that is open.
        layers: layers that suffice; ``None`` if it cannot, or where the number is not known.
        steps: steps per letter and layer that suffice, for families that take several.
        margin: whether states stay apart by a fixed distance on words of every length, with these layers.
        reason: why, in words.
        source: where it is proved.
        assumptions: of the network, under which the answer holds.
        least: whether fewer layers of this family are known not to suffice, under these assumptions.
        unless: a hypothesis without which a no is not known.
        witness: words that show why not, where two words do.
    """

    name: str
    can: bool | None
    layers: int | None = None
    steps: int | None = None
    margin: bool | None = None
    reason: str
    source: str
    assumptions: str = FINITE
    least: bool = False
    unless: str = ""
    witness: dict[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def able(
    name: str,
    reason: str,
    source: str,
    *,
    layers: int | None,
    steps: int | None = 1,
    assumptions: str = FINITE,
    least: bool = False,
) -> FamilyVerdict:
    """A family that tracks the automaton, its states apart by a fixed distance on words of every length."""
    return FamilyVerdict(
        name=name,
        can=True,
        layers=layers,
        steps=steps,
        margin=True,
        reason=reason,
        source=source,
        assumptions=assumptions,
        least=least,
    )


def unable(
    name: str,
    reason: str,
    source: str,
    *,
    assumptions: str = FINITE,
    unless: str = "",
    witness: dict[str, Any] | None = None,
) -> FamilyVerdict:
    """A family that cannot track the automaton, under its assumptions."""
    return FamilyVerdict(
        name=name,
        can=False,
        reason=reason,
        source=source,
        assumptions=assumptions,
        unless=unless,
        witness=witness,
    )
