"""The layer of a card and its metadata, known before it is run."""

from dataclasses import dataclass

from krohn.lab.cards.harness import Factory

LONGEST = 100_000
"""Letters of a long word."""


QUADRATIC = 4_096
"""The same where attention takes time and memory that grow with the square."""


@dataclass(frozen=True)
class CardLayer:
    """A layer and its metadata, known before it is run.

    Attributes:
        name: as it was given.
        factory: of one argument (width) or two (letters, states).
        family: a row of ``krohn analyze``; ``None`` if no theorem applies.
        layers: how many it has.
        steps: for each letter, Householder or rank-one.
        longest: length of the longest word it is run on.
        remark: printed below the card.
    """

    name: str
    factory: Factory
    family: str | None = None
    layers: int = 1
    steps: int = 1
    longest: int = LONGEST
    remark: str = ""
