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
from typing import TYPE_CHECKING, Any

import numpy as np

from krohn.automata.block_dice import BlockDice, UnsignedArray
from krohn.automata.block_tables import BlockTables
from krohn.automata.distributions import LetterSource, source, written_out
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.words import letter_type, whole
from krohn.automata.zoo import AutomatonLike, as_automaton
from krohn.base.notebook import frame
from krohn.base.typed import plainly
from krohn.errors import InvalidInput, LimitExceeded

if TYPE_CHECKING:
    from krohn.base.notebook import DataFrame


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
