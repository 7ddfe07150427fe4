"""Letters drawn a block at a time: dice with many outcomes, and tables that give letters and states."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from krohn.automata.distributions import Source
from krohn.automata.semiautomaton import letter_type

# Block codes from random bits, fair or weighted, with exact probabilities.


UnsignedArray = npt.NDArray[np.unsignedinteger[Any]]


class BlockDice:
    """Draws codes of ``size`` throws of one die, the first throw as the most significant digit."""

    def __init__(self, faces: int, size: int, weights: tuple[float, ...] | None) -> None:
        self.num_codes = faces**size
        self._kind = _kind_for(self.num_codes)
        self._weighted = None
        if weights is not None:
            likely = np.ones(1)
            for _ in range(size):
                likely = np.outer(likely, weights).ravel()
            self._weighted = alias_table(likely)

    def draw(self, rng: np.random.Generator, shape: tuple[int, int]) -> UnsignedArray:
        """Independent codes of the given shape."""
        if self._weighted is not None:
            return self._draw_weighted(rng, shape)
        if self.num_codes == 1:
            return np.zeros(shape, dtype=self._kind)
        # Rejection sampling: every code has an equal share of the values; the few left over are redrawn.
        share, rest = divmod(2 ** (8 * self._kind.itemsize), self.num_codes)
        numbers = self._numbers(rng, shape[0] * shape[1])
        if rest:
            end = self._kind.type(share * self.num_codes)
            late = np.flatnonzero(numbers >= end)
            while len(late):
                numbers[late] = self._numbers(rng, len(late))
                late = late[numbers[late] >= end]
        if share > 1:
            numbers //= self._kind.type(share)
        return numbers.reshape(shape)

    def _numbers(self, rng: np.random.Generator, count: int) -> UnsignedArray:
        """Independent uniform integers of the type: raw 64-bit words, split."""
        raw: npt.NDArray[np.uint64] = rng.bit_generator.random_raw(-(-count * self._kind.itemsize // 8))
        return raw.view(self._kind)[:count]

    def _draw_weighted(self, rng: np.random.Generator, shape: tuple[int, int]) -> UnsignedArray:
        assert self._weighted is not None
        threshold, alias, column_bits = self._weighted
        raw = rng.bit_generator.random_raw(shape[0] * shape[1]).reshape(shape)
        column = (raw & np.uint64(2**column_bits - 1)).astype(np.uint16)
        keep = raw >> np.uint64(column_bits) < threshold[column]
        return np.where(keep, column, alias[column])


def _kind_for(num_codes: int) -> np.dtype[np.unsignedinteger[Any]]:
    """The smallest unsigned type that rejects at most a sixteenth of its values."""
    for kind in (np.uint8, np.uint16):
        numbers = int(np.iinfo(kind).max) + 1
        if num_codes <= numbers and 16 * (numbers % num_codes) <= numbers:
            return np.dtype(kind)
    return np.dtype(np.uint32)


def alias_table(weights: npt.NDArray[np.float64]) -> tuple[UnsignedArray, UnsignedArray, int]:
    """Walker's alias method: column i keeps i below a threshold and gives its alias above it."""
    bits = max(0, int(len(weights) - 1).bit_length())
    columns = 2**bits
    share = np.zeros(columns)
    share[: len(weights)] = weights / weights.sum() * columns
    alias = np.arange(columns)
    small = [i for i in range(columns) if share[i] < 1]
    large = [i for i in range(columns) if share[i] >= 1]
    keep = np.ones(columns)
    while small and large:
        poor, rich = small.pop(), large[-1]
        keep[poor], alias[poor] = share[poor], rich
        share[rich] -= 1 - share[poor]
        if share[rich] < 1:
            small.append(large.pop())
    # 64 − bits random bits are compared; one less than full scale avoids an overflow at keep = 1.
    scale = 2.0 ** (64 - bits)
    threshold = np.array([min(int(k * scale), int(scale) - 1) for k in keep], dtype=np.uint64)
    return threshold, alias.astype(np.uint16), bits


# Many letters at a time: tables from a whole block of dice outcomes to its letters and states.
#
# A block is ``b`` outcomes of the source's die, coded as one number. For every (hidden state, code) the
# tables hold the b letters and the b states, packed into one machine word, so that one lookup replaces b
# steps.


# Entries of a block table: half a million 4-byte words stay within a common second-level cache.
MAX_ENTRIES = 1 << 19
_PADDING = 80
_WORD = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


@dataclass(frozen=True, eq=False)
class BlockTables:
    """The tables of one source for blocks of ``size`` letters.

    Attributes:
        size: letters per block.
        num_codes: number of block codes, (faces of the die) ** size.
        letters: packed letters, at ``state * num_codes + code``, or at ``code`` if states do not matter.
        states: packed hidden states, at ``state * num_codes + code``.
        letter_width: bytes per letter.
        state_width: bytes per state.
    """

    size: int
    num_codes: int
    letters: UnsignedArray
    states: UnsignedArray
    letter_width: int
    state_width: int

    @classmethod
    def of(cls, source: Source, num_letters: int) -> Self:
        """Builds the tables with the largest block that fits."""
        letter_width = np.dtype(letter_type(num_letters)).itemsize
        state_width = np.dtype(letter_type(source.num_states)).itemsize
        size = 8 // max(letter_width, state_width)
        while size > 1 and source.num_states * source.num_outcomes**size > MAX_ENTRIES:
            size //= 2
        num_codes = source.num_outcomes**size
        codes = np.arange(num_codes)
        state = np.repeat(np.arange(source.num_states)[:, None], num_codes, axis=1)
        letters = np.zeros(state.shape, dtype=_WORD[size * letter_width])
        states = np.zeros(state.shape, dtype=_WORD[size * state_width])
        for position in range(size):
            outcome = codes // source.num_outcomes ** (size - 1 - position) % source.num_outcomes
            letters |= _shifted(source.letter[state, outcome], 8 * letter_width * position, letters.dtype)
            state = source.next[state, outcome]
            states |= _shifted(state, 8 * state_width * position, states.dtype)
        stateless = bool((letters == letters[:1]).all())
        return cls(
            size=size,
            num_codes=num_codes,
            letters=letters[0].copy() if stateless else letters.ravel(),
            states=states.ravel(),
            letter_width=letter_width,
            state_width=state_width,
        )

    @property
    def stateless(self) -> bool:
        """Whether the letters depend on the code alone."""
        return len(self.letters) == self.num_codes

    def unroll(
        self, codes: UnsignedArray, starts: npt.NDArray[np.uint32]
    ) -> tuple[UnsignedArray, UnsignedArray]:
        """Letters and states of shape (words, blocks × size) for block codes of shape (blocks, words)."""
        num_blocks, num_words = codes.shape
        states = _rows(num_blocks, num_words, self.states.dtype)
        letters = _rows(num_blocks, 0 if self.stateless else num_words, self.letters.dtype)
        scale = np.uint32(self.num_codes)
        shift = self.states.dtype.type(8 * self.state_width * (self.size - 1))
        index = np.empty(num_words, dtype=np.uint32)
        last = starts.astype(np.uint32)
        for block in range(num_blocks):
            np.multiply(last, scale, out=index)
            np.add(index, codes[block], out=index, casting="same_kind")
            np.take(self.states, index, out=states[block], mode="clip")
            if not self.stateless:
                np.take(self.letters, index, out=letters[block], mode="clip")
            # The block's last state sits in the highest bits of its word.
            np.right_shift(states[block], shift, out=last, casting="unsafe")
        by_word = np.ascontiguousarray(codes.T if self.stateless else letters.T)
        packed = self.letters.take(by_word, mode="clip") if self.stateless else by_word
        return (
            _unpacked(packed, self.letter_width),
            _unpacked(np.ascontiguousarray(states.T), self.state_width),
        )


def _shifted(values: npt.NDArray[np.int64], bits: int, dtype: np.dtype[Any]) -> UnsignedArray:
    shifted: UnsignedArray = np.left_shift(values.astype(dtype), dtype.type(bits))
    return shifted


def _rows(count: int, length: int, dtype: np.dtype[Any]) -> UnsignedArray:
    """Rows padded so that their stride is no power of two, which avoids cache conflicts between columns."""
    return np.empty((count, length + _PADDING), dtype=dtype)[:, :length]


def _unpacked(words: UnsignedArray, width: int) -> UnsignedArray:
    """The unpacked values, the first from the lowest bits."""
    little = words.astype(words.dtype.newbyteorder("<"), copy=False)
    return little.view(np.dtype(_WORD[width]).newbyteorder("<")).astype(_WORD[width], copy=False)
