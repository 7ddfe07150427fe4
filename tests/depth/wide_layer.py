"""The heads behind ``longest_word``, in exact arithmetic: a construction that reaches its bound."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from krohn.depth.layer_size import LayerSize, best_share


@dataclass(frozen=True)
class WideLayer:
    """The heads for words over |Σ| = ``letters``, in exact arithmetic: what they return, and its decoding."""

    letters: int
    size: LayerSize

    @property
    def share(self) -> tuple[int, int]:
        """Numbers of a head that are used, and letters in each."""
        return best_share(self.letters, self.size)

    def place(self, position: int) -> tuple[int, int, int]:
        """The head that looks at position 1, 2, …, the number that it writes, and the digit there."""
        used, each = self.share
        head, rest = divmod(position - 1, used * each)
        return head, *divmod(rest, each)

    def value(self, position: int, letter: int) -> Fraction:
        """What a position writes: between −1 and 1."""
        base, digit = max(self.letters, 2), self.place(position)[2]
        return Fraction(2 * letter - (base - 1), (base - 1) * base**digit)

    def returned(self, word: Sequence[int]) -> list[list[Fraction]]:
        """What the heads return at the last letter: means over their positions and one of padding."""
        used, _ = self.share
        sums = [[Fraction(0)] * used for _ in range(self.size.heads)]
        seen = [1] * self.size.heads
        for position, letter in enumerate(word, 1):
            head, number, _ = self.place(position)
            sums[head][number] += self.value(position, letter)
            seen[head] += 1
        return [[total / count for total in row] for row, count in zip(sums, seen, strict=True)]

    def read(self, returned: Sequence[Sequence[Fraction]], length: int) -> list[int]:
        """Decodes the word of given length from what the heads returned with an error of at most 2^-p."""
        used, each = self.share
        word: list[int] = []
        while len(word) < length:
            head, number, digit = self.place(len(word) + 1)
            if digit == 0:
                seen = 1 + min(used * each, length - head * used * each)
                rest = returned[head][number] * seen
            put = [self.value(len(word) + 1, letter) for letter in range(self.letters)]
            word.append(min(range(self.letters), key=lambda letter: abs(rest - put[letter])))
            rest -= put[word[-1]]
        return word
