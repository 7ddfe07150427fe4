"""Random words with their states, drawn in chunks on several threads, a block of letters at a time.

Every chunk has its own generator, seeded by (seed, chunk index), and a size that depends on that
index and the length alone: the same seed gives the same data for any number of threads. In a chunk dice
with many outcomes give blocks of letters, and tables the states after them.
"""

import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from krohn.automata.distributions import LetterSource, source, written_out
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.words import letter_type, whole
from krohn.automata.zoo import AutomatonLike, as_automaton
from krohn.base.notebook import frame
from krohn.base.typed import plainly
from krohn.errors import InvalidInput, LimitExceeded

if TYPE_CHECKING:
    from krohn.base.notebook import DataFrame


# Block codes from random bits, fair or weighted, with exact probabilities.


UnsignedArray = npt.NDArray[np.unsignedinteger[Any]]


class BlockDice:
    """Draws codes of ``size`` throws of one die, the first throw as the most significant digit.

    A die is fair, or it has two faces, and ``second`` is the probability of the second one.
    """

    def __init__(self, faces: int, size: int, second: float | None) -> None:
        self.num_codes, self._size, self._second = faces**size, size, second
        self._kind = _kind_for(self.num_codes)

    def draw(self, rng: np.random.Generator, shape: tuple[int, int]) -> UnsignedArray:
        """Independent codes of the given shape."""
        if self._second is not None:
            codes = np.zeros(shape, dtype=self._kind)
            for _ in range(self._size):
                codes = 2 * codes + (rng.random(shape) < self._second)
            return codes
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


def _kind_for(num_codes: int) -> np.dtype[np.unsignedinteger[Any]]:
    """The smallest unsigned type that rejects at most a sixteenth of its values."""
    for kind in (np.uint8, np.uint16):
        numbers = int(np.iinfo(kind).max) + 1
        if num_codes <= numbers and 16 * (numbers % num_codes) <= numbers:
            return np.dtype(kind)
    return np.dtype(np.uint32)


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


MAX_LENGTH = 1_000_000
MAX_IN_MEMORY = 4_000_000_000
# A chunk is drawn whole. The first is small, for requests of few words; the others are so large that
# threads rarely contend for the interpreter lock.
_FIRST_LETTERS, _FIRST_WORDS = 1 << 21, 1 << 13
_CHUNK_LETTERS, _CHUNK_WORDS = 1 << 23, 1 << 16


@dataclass(frozen=True, eq=False, repr=False)
class Sample:
    """Words with the states, and the observations if the automaton has any, after each of their letters."""

    letters: UnsignedArray
    states: UnsignedArray
    observations: UnsignedArray | None = None

    def __len__(self) -> int:
        return len(self.letters)

    def __repr__(self) -> str:
        return f"<Sample: {len(self):,} words of {self.letters.shape[1]:,} letters>"

    def columns(self) -> dict[str, UnsignedArray]:
        """The arrays by name."""
        columns = {"letters": self.letters, "states": self.states}
        return columns if self.observations is None else {**columns, "observations": self.observations}

    def to_frame(self) -> "DataFrame":
        """One row for each word, with the lists of its letters and states."""
        columns = self.columns()
        return frame(
            {name: column[row].tolist() for name, column in columns.items()} for row in range(len(self))
        )

    def head(self, count: int) -> "Sample":
        """The first ``count`` words."""
        return Sample(**{name: column[:count] for name, column in self.columns().items()})


@lru_cache(maxsize=2)  # otherwise repeated small draws spend all their time on building tables
def _tables_of(automaton: Semiautomaton, distribution: str) -> tuple[LetterSource, BlockTables]:
    origin = source(automaton, distribution)
    return origin, BlockTables.of(origin, automaton.num_letters)


@dataclass(frozen=True, eq=False)
class Sampler:
    """Draws chunks of words of one length; chunk i is a function of (seed, i) alone."""

    automaton: Semiautomaton
    length: int
    distribution: str | None = None
    seed: int = 0
    _source: LetterSource = field(init=False, repr=False)
    _tables: BlockTables = field(init=False, repr=False)
    _dice: BlockDice = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not 1 <= whole(self.length) <= MAX_LENGTH:
            raise InvalidInput(f"the length must lie in 1–{MAX_LENGTH:,}; got {self.length}")
        if whole(self.seed) < 0:
            raise InvalidInput(f"the seed must be an integer ≥ 0; got {self.seed}")
        for name in ("length", "seed"):
            object.__setattr__(self, name, int(getattr(self, name)))  # numpy integers would overflow
        origin, tables = _tables_of(self.automaton, self.distribution_name)
        object.__setattr__(self, "_source", origin)
        object.__setattr__(self, "_tables", tables)
        object.__setattr__(self, "_dice", BlockDice(origin.num_outcomes, tables.size, origin.second))

    @property
    def distribution_name(self) -> str:
        """The distribution's name, with the default resolved."""
        return written_out(self.distribution, self.automaton)

    def chunk_words(self, number: int) -> int:
        """Number of words in that chunk."""
        if number == 0:
            return max(1, min(_FIRST_WORDS, _FIRST_LETTERS // self.length))
        return max(1, min(_CHUNK_WORDS, _CHUNK_LETTERS // self.length))

    def _chunks_for(self, count: int) -> int:
        """The number of chunks that hold ``count`` words."""
        rest = max(0, count - self.chunk_words(0))
        return (count > 0) + -(-rest // self.chunk_words(1))

    @property
    def column_types(self) -> dict[str, np.dtype[Any]]:
        """The columns that every chunk has, and the type of their entries."""
        automaton = self.automaton
        sizes = {"letters": automaton.num_letters, "states": automaton.num_states}
        if automaton.observe is not None:
            sizes["observations"] = automaton.num_observations
        return {name: np.dtype(letter_type(size)) for name, size in sizes.items()}

    def chunk(self, number: int) -> Sample:
        """The chunk of that index."""
        origin, words = self._source, self.chunk_words(number)
        rng = np.random.Generator(np.random.SFC64(np.random.SeedSequence(self.seed, spawn_key=(number,))))
        starts = np.full(words, origin.starts[0], dtype=np.uint32)
        if len(origin.starts) > 1:
            other = rng.random(words) >= origin.start_weights[0]
            starts[other] = origin.starts[1]
        blocks = -(-self.length // self._tables.size)
        codes = self._dice.draw(rng, (blocks, words))
        letters, states = self._tables.unroll(codes, starts)
        letters, states = letters[:, : self.length], states[:, : self.length]
        if origin.visible is not None:
            states = origin.visible.astype(letter_type(self.automaton.num_states))[states]
        if self.automaton.observe is None:
            return Sample(letters, states)
        seen = np.array(self.automaton.observe, dtype=letter_type(self.automaton.num_observations))
        return Sample(letters, states, seen.take(states))

    def chunks(self, count: int) -> Iterator[Sample]:
        """``count`` words in order, chunk by chunk; only a few chunks are held at any moment."""
        _check_count(count)
        total, left = self._chunks_for(count), count
        workers = os.cpu_count() or 1
        with ThreadPoolExecutor(workers) as pool:
            waiting: deque[Future[Sample]] = deque()
            for number in range(total + workers):
                if number < total:
                    waiting.append(pool.submit(self.chunk, number))
                if number >= workers and waiting:
                    ready = waiting.popleft().result().head(left)
                    left -= len(ready)
                    yield ready


@plainly
def sample(
    automaton: AutomatonLike,
    length: int,
    count: int,
    *,
    distribution: str | None = None,
    seed: int = 0,
) -> Sample:
    """``count`` random words of that length with their states, in memory.

    ``distribution`` is ``uniform``, ``feasible``, ``bernoulli:P``, ``abab:P`` or ``periodic:WORD:P``; by
    default the paper's choice for the automaton. The same seed gives the same words on every machine.

    Example:
        >>> data = krohn.sample(krohn.zoo("Parity"), length=4, count=2, seed=7)
        >>> bool((data.states == krohn.simulate(krohn.zoo("Parity"), data.letters)).all()), len(data)
        (True, 2)
    """
    sampler = Sampler(as_automaton(automaton), length, distribution, seed)
    _check_count(count)
    columns = sampler.column_types
    count, length = int(count), sampler.length
    needed = count * length * sum(kind.itemsize for kind in columns.values())
    if needed > MAX_IN_MEMORY:
        raise LimitExceeded(
            f"a sample in memory may take at most {MAX_IN_MEMORY:,} bytes; {count:,} words of length "
            f"{length:,} need {needed:,}: draw them with Sampler(...).chunks(count)"
        )
    arrays = {key: np.empty((count, length), dtype=kind) for key, kind in columns.items()}
    begin = 0
    for part in sampler.chunks(count):
        for key, column in part.columns().items():
            arrays[key][begin : begin + len(part)] = column
        begin += len(part)
    return Sample(**arrays)


def _check_count(count: int) -> None:
    if whole(count) < 0:
        raise InvalidInput(f"the count must be an integer ≥ 0; got {count}")
