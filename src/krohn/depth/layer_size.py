"""The size of one layer: how many letters it excludes, and how many it can handle for every automaton.
The class of networks is in docs/depth.md. A layer has H heads that return d numbers each; with bits p, its
answers survive an error of 2^-p of the largest value in what the heads return. Then a sum over a part of the
positions of a word of T letters need be known to b = p + ⌈log₂(T + 1)⌉ + 3 bits.

One layer that returns the whole word: which lengths a layer of given size can handle, for every automaton.
Every head looks at a part of the positions, evenly, and returns the mean of what they hold. Of its d·k
positions each k write digits of one number in base |Σ|, so the d numbers of the head are its part of the
word; a function of them and of the position is the state. The answer survives an error of 2^-p if
|Σ|^(k−1)·(|Σ|−1)·(d·k + 1) < 2^p (proof: docs/depth.md). So H heads do all words of up to H·d·k letters.
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


def best_share(letters: int, size: LayerSize) -> tuple[int, int]:
    """(numbers used of each head, letters in each of them) for the longest words; (0, 0) if none fits."""
    base, result = max(letters, 2), [(0, 0)]
    for each in range(1, size.bits + 1):
        spread = ((1 << size.bits) - 1) // (base ** (each - 1) * (base - 1)) - 1
        result.append((min(size.head_dim, spread // each), each))
    return max(result, key=lambda share: (share[0] * share[1], -share[1]))


def longest_word(letters: int, size: LayerSize) -> int:
    """Length of the longest word that one layer of that size returns whole."""
    used, each = best_share(letters, size)
    return size.heads * used * each


def heads_needed(letters: int, length: int, head_dim: int, bits: int) -> int | None:
    """How many heads of a dimension return words of that length; ``None`` if they hold no letter."""
    one = longest_word(letters, LayerSize(1, head_dim, bits))
    return -(-length // one) if one else None
