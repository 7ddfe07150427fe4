"""The size of one layer, as the lower bounds count it, and how many letters a size excludes.

The class of networks is in docs/depth.md. A layer has H heads that return d numbers each; with bits p, its
answers survive an error of 2^-p of the largest value in what the heads return. Then a sum over a part of the
positions of a word of T letters need be known to b = p + ⌈log₂(T + 1)⌉ + 3 bits.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

BITS = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}
"""The bits of a number's significand: no network that is right in a format in every order of summation can
depend on more of them."""


@dataclass(frozen=True)
class LayerSize:
    """Heads, numbers that a head returns, and bits of precision; by default of a typical small layer."""

    heads: int = 8
    head_dim: int = 64
    bits: int = BITS["float32"]

    def __str__(self) -> str:
        heads = "1 head" if self.heads == 1 else f"{self.heads} heads"
        return f"{heads} of dimension {self.head_dim} and {self.bits} bits"

    def to_json(self) -> dict[str, int]:
        """Plain data."""
        return {"heads": self.heads, "head_dim": self.head_dim, "bits": self.bits}

    def largest(self, least_excluded: Callable[[int], int]) -> int:
        """The longest word that is not excluded, if with sums of b bits ``least_excluded(b)`` letters are.

        A network that is right on longer words is right on shorter ones, so all longer words are excluded.
        """
        for k in count(1):  # for T with 2^(k-1) ≤ T < 2^k
            excluded = max(least_excluded(self.bits + k + 3), 1 << (k - 1))
            if excluded < 1 << k:
                return excluded - 1
        raise AssertionError
