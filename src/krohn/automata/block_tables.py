"""Many letters at a time: tables from a whole block of dice outcomes to its letters and states.

A block is ``b`` outcomes of the source's die, coded as one number. For every (hidden state, code) the
tables hold the b letters and the b states, packed into one machine word, so that one lookup replaces b
steps.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from krohn.automata.block_dice import UnsignedArray
from krohn.automata.distributions import LetterSource
from krohn.automata.words import letter_type

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
    """

    size: int
    num_codes: int
    letters: UnsignedArray
    states: UnsignedArray

    @classmethod
    def of(cls, source: LetterSource, num_letters: int) -> Self:
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
            letters |= _shift(source.letter[state, outcome], 8 * letter_width * position, letters.dtype)
            state = source.next[state, outcome]
            states |= _shift(state, 8 * state_width * position, states.dtype)
        stateless = bool((letters == letters[:1]).all())
        return cls(size, num_codes, letters[0].copy() if stateless else letters.ravel(), states.ravel())

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
        state_width = self.states.itemsize // self.size
        shift = self.states.dtype.type(8 * state_width * (self.size - 1))
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
        return _unpack(packed, self.size), _unpack(np.ascontiguousarray(states.T), self.size)


def _shift(values: npt.NDArray[np.int64], bits: int, dtype: np.dtype[Any]) -> UnsignedArray:
    shifted: UnsignedArray = np.left_shift(values.astype(dtype), dtype.type(bits))
    return shifted


def _rows(count: int, length: int, dtype: np.dtype[Any]) -> UnsignedArray:
    """Rows padded so that their stride is no power of two, which avoids cache conflicts between columns."""
    return np.empty((count, length + _PADDING), dtype=dtype)[:, :length]


def _unpack(words: UnsignedArray, size: int) -> UnsignedArray:
    """The ``size`` values in each word, the first from the lowest bits."""
    little, kind = words.astype(words.dtype.newbyteorder("<"), copy=False), _WORD[words.itemsize // size]
    return little.view(np.dtype(kind).newbyteorder("<")).astype(kind, copy=False)
