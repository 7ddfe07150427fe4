"""Random words with their states, drawn in chunks on several threads.

Every chunk has its own generator, seeded by (seed, chunk index), and a size that depends on that
index and the length alone: the same seed gives the same data for any number of threads.
"""

import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from krohn.automata.distributions import Source, default_distribution, source
from krohn.automata.letter_blocks import BlockDice, BlockTables
from krohn.automata.semiautomaton import Semiautomaton, letter_type, whole
from krohn.automata.zoo import AutomatonLike, as_automaton
from krohn.errors import InvalidInput, LimitExceeded
from krohn.notebook import frame

if TYPE_CHECKING:
    from krohn.notebook import DataFrame

UnsignedArray = npt.NDArray[np.unsignedinteger[Any]]

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
        seen = None if self.observations is None else self.observations[:count]
        return Sample(self.letters[:count], self.states[:count], seen)


@dataclass(frozen=True, eq=False)
class Sampler:
    """Draws chunks of words of one length; chunk i is a function of (seed, i) alone."""

    automaton: Semiautomaton
    length: int
    distribution: str | None = None
    seed: int = 0
    _source: Source = field(init=False, repr=False)
    _tables: BlockTables = field(init=False, repr=False)
    _dice: BlockDice = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not 1 <= whole(self.length) <= MAX_LENGTH:
            raise InvalidInput(f"the length must lie in 1–{MAX_LENGTH:,}; got {self.length}")
        if whole(self.seed) < 0:
            raise InvalidInput(f"the seed must be an integer ≥ 0; got {self.seed}")
        for name in ("length", "seed"):
            object.__setattr__(self, name, int(getattr(self, name)))  # numpy integers would overflow
        origin = source(self.automaton, self.distribution)
        tables = BlockTables.of(origin, self.automaton.num_letters)
        object.__setattr__(self, "_source", origin)
        object.__setattr__(self, "_tables", tables)
        object.__setattr__(self, "_dice", BlockDice(origin.num_outcomes, tables.size, origin.die))

    @property
    def distribution_name(self) -> str:
        """The distribution's name, with the default resolved."""
        return self.distribution or default_distribution(self.automaton)

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
        return Sample(letters, states, self._observed(states))

    def _observed(self, states: UnsignedArray) -> UnsignedArray | None:
        if self.automaton.observe is None:
            return None
        seen = np.array(self.automaton.observe, dtype=letter_type(self.automaton.num_observations))
        return seen.take(states)

    def chunks(self, count: int, *, threads: int | None = None) -> Iterator[Sample]:
        """``count`` words in order, chunk by chunk; only a few chunks are held at any moment."""
        _check_counts(count, threads)
        total, left = self._chunks_for(count), count
        workers = threads or os.cpu_count() or 1
        with ThreadPoolExecutor(workers) as pool:
            waiting: deque[Future[Sample]] = deque()
            for number in range(total + workers):
                if number < total:
                    waiting.append(pool.submit(self.chunk, number))
                if number >= workers and waiting:
                    ready = waiting.popleft().result().head(left)
                    left -= len(ready)
                    yield ready


def sample(
    automaton: AutomatonLike,
    length: int,
    count: int,
    *,
    distribution: str | None = None,
    seed: int = 0,
    threads: int | None = None,
) -> Sample:
    """``count`` random words of that length with their states, in memory.

    ``distribution`` is ``uniform``, ``feasible``, ``bernoulli:P`` or ``abab:P``; by default the paper's
    choice for the automaton. The result depends on the seed, not on ``threads``.

    Example:
        >>> data = krohn.sample(krohn.zoo("Parity"), length=4, count=2, seed=7)
        >>> bool((data.states == krohn.simulate(krohn.zoo("Parity"), data.letters)).all()), len(data)
        (True, 2)
    """
    sampler = Sampler(as_automaton(automaton), length, distribution, seed)
    _check_counts(count, threads)
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
    for part in sampler.chunks(count, threads=threads):
        for key, column in part.columns().items():
            arrays[key][begin : begin + len(part)] = column
        begin += len(part)
    return Sample(**arrays)


def _check_counts(count: int, threads: int | None) -> None:
    if whole(count) < 0:
        raise InvalidInput(f"the count must be an integer ≥ 0; got {count}")
    if threads is not None and whole(threads) < 1:
        raise InvalidInput(f"the number of threads must be an integer ≥ 1; got {threads}")
