"""The size of one layer: word lengths it fails on for some automaton, and those it handles for all."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

from krohn.base.portable import FLOATS


@dataclass(frozen=True)
class LayerSize:
    """Heads, numbers returned by each head, and bits of precision; the defaults are a typical small layer.

    A network that is right in a format for every order of summation cannot depend on more bits than its
    significand has.
    """

    heads: int = 8
    head_dim: int = 64
    bits: int = FLOATS["float32"].bits

    def __str__(self) -> str:
        heads = "1 head" if self.heads == 1 else f"{self.heads} heads"
        return f"{heads} of dimension {self.head_dim} and {self.bits} bits"

    def to_json(self) -> dict[str, int]:
        """Plain data."""
        return {"heads": self.heads, "head_dim": self.head_dim, "bits": self.bits}

    def largest(self, least_excluded: Callable[[int], int]) -> int:
        """The longest length not excluded, if sums of b bits exclude words of ``least_excluded(b)`` letters.

        A network that is right on longer words is right on shorter ones, so every greater length is excluded.
        """
        for k in count(1):  # for T with 2^(k-1) ≤ T < 2^k
            excluded = max(least_excluded(self.bits + k + 3), 1 << (k - 1))
            if excluded < 1 << k:
                return excluded - 1
        raise AssertionError


def best_share(letters: int, size: LayerSize) -> tuple[int, int]:
    """(numbers used per head, letters per number) for the longest words; (0, 0) if no letter fits."""
    base, shares = max(letters, 2), [(0, 0)]
    for each in range(1, size.bits + 1):
        spread = ((1 << size.bits) - 1) // (base ** (each - 1) * (base - 1)) - 1
        shares.append((min(size.head_dim, spread // each), each))
    return max(shares, key=lambda share: (share[0] * share[1], -share[1]))


def longest_word(letters: int, size: LayerSize) -> int:
    """Length of the longest word that one layer of that size returns whole."""
    used, each = best_share(letters, size)
    return size.heads * used * each


def heads_needed(letters: int, length: int, head_dim: int, bits: int) -> int | None:
    """How many heads of that dimension return words of that length; ``None`` if a head holds no letter."""
    one = longest_word(letters, LayerSize(1, head_dim, bits))
    return -(-length // one) if one else None
