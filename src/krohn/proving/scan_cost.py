"""What the proof of a scan costs, before anything is built: scans are the long ones, every other is bounded.

Measured by ``krohn compile`` of C2, S4 and S5 at 10,000 and 100,000 letters: 5 to 12 and 115 to 130 seconds
of one core, 85 and 180 to 260 MB.
"""

from typing import NamedTuple

LONG = 4_096
"""Letters from which on it is worth saying."""
LONGEST = 110_000
"""Letters up to which the checker's budget suffices."""


class Cost(NamedTuple):
    """Of one core, without other work; and of memory."""

    seconds: float
    bytes: float

    def text(self) -> str:
        """In words."""
        return f"about {self.seconds:,.0f} s of one core and {self.bytes / 1e6:,.0f} MB"


def cost_of_scan(length: int) -> Cost:
    """Of building and proving a scan of some five points; more points cost little more."""
    layers = max(1, (length - 1).bit_length())
    return Cost(2 + layers * (5e-10 * length**2 + 2e-5 * length), 6e7 + 2e3 * length)


def too_long(length: int) -> str:
    """Why no proof is begun, if so."""
    if length <= LONGEST:
        return ""
    return (
        f"a scan is proved for words of at most {LONGEST:,} letters; for {length:,} it would take "
        f"{cost_of_scan(length).text()}: choose a shorter length, or --unproved (unproved=True) to go without"
    )
