"""The fast sampler: exact dice, exact blocks, and data that depend on the seed alone."""

from collections import Counter

import numpy as np
import pytest

from every import every
from krohn.automata import block_tables
from krohn.automata.block_dice import BlockDice
from krohn.automata.block_tables import BlockTables
from krohn.automata.distributions import source
from krohn.automata.sampling import Sampler, sample
from krohn.automata.zoo import zoo

CASES = [
    ("Parity", None),
    ("Parity", "bernoulli:0.2"),
    ("S5", None),
    ("S5@first", None),
    ("Dyck4,2", None),
    ("Dyck4,8@top", None),
    ("abab@accept", None),
    ("abab", "abab:1"),
    ("Grid9@boundary", None),
    ("C7", None),
    ("C2xC2xC2", None),
    ("PermReset5", None),
    ("Counter5", None),
    ("C300", None),
]


@every(("name", "distribution"), CASES)
@every("length", [1, 7, 16, 33])
def test_states_are_those_of_the_automaton(name: str, distribution: str | None, length: int) -> None:
    automaton = zoo(name)
    data = sample(automaton, length, 40, distribution=distribution, seed=3)
    assert data.letters.shape == data.states.shape == (40, length)
    for word, states in zip(data.letters.tolist(), data.states.tolist(), strict=True):
        assert automaton.run(word) == states
    if automaton.observe is None:
        assert data.observations is None
    else:
        assert data.observations is not None
        assert np.array_equal(data.observations, np.array(automaton.observe)[data.states])


@pytest.mark.parametrize("name", ["Parity", "Dyck2,2", "S3", "abab"])
def test_a_block_table_is_many_single_steps(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    origin = source(zoo(name))
    rng = np.random.default_rng(0)
    for limit in (1, 1 << 9, 1 << 14):
        monkeypatch.setattr(block_tables, "MAX_ENTRIES", limit)
        tables = BlockTables.of(origin, zoo(name).num_letters)
        throws = rng.integers(0, origin.num_outcomes, size=(10, 3, tables.size))
        codes = np.zeros((10, 3), dtype=np.uint32)
        for position in range(tables.size):
            codes = codes * origin.num_outcomes + throws[:, :, position].astype(np.uint32)
        starts = np.full(10, origin.starts[-1], dtype=np.uint32)
        letters, states = tables.unroll(codes.T, starts)
        for row in range(10):
            state = origin.starts[-1]
            for column, throw in enumerate(throws[row].ravel()):
                assert letters[row, column] == origin.letter[state, throw]
                state = origin.next[state, throw]
                assert states[row, column] == state


def test_blocks_are_as_large_as_the_table_allows() -> None:
    sizes = {name: BlockTables.of(source(zoo(name)), zoo(name).num_letters).size for name in ("Parity", "S5")}
    assert sizes == {"Parity": 8, "S5": 4}


@every(
    ("faces", "size", "second"),
    [
        (1, 1, None),
        (2, 4, None),
        (3, 3, None),
        (6, 2, None),
        (8, 4, None),
        (10, 4, None),
        (17, 4, None),
        (2, 3, 0.2),
        (2, 8, 0.5),
    ],
)
def test_dice_throw_every_code_as_often_as_they_should(faces: int, size: int, second: float | None) -> None:
    dice = BlockDice(faces, size, second)
    codes = dice.draw(np.random.Generator(np.random.SFC64(7)), (1000, 200))
    counts = np.bincount(codes.ravel(), minlength=faces**size)
    chance = np.ones(1)
    for _ in range(size):
        chance = np.outer(chance, [1 / faces] * faces if second is None else [1 - second, second]).ravel()
    expected = 200_000 * chance
    # Pearson's statistic has mean k and deviation √(2k); six deviations with a fixed seed.
    statistic = ((counts - expected) ** 2 / expected).sum()
    assert statistic < faces**size + 6 * np.sqrt(2 * faces**size)


@pytest.mark.parametrize("name", ["Parity", "Dyck4,2", "abab"])
def test_data_depend_on_the_seed_and_not_on_cores(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    automaton, data = zoo(name), []
    for cores in (1, 2, 5):
        monkeypatch.setattr("os.cpu_count", lambda cores=cores: cores)
        data.append(sample(automaton, 100, 40_000, seed=9))
    assert all(np.array_equal(data[0].letters, other.letters) for other in data)
    assert all(np.array_equal(data[0].states, other.states) for other in data)
    assert not np.array_equal(data[0].letters, sample(automaton, 100, 40_000, seed=10).letters)


def test_chunks_differ_and_a_shorter_sample_is_a_prefix() -> None:
    sampler = Sampler(zoo("S5"), 100, seed=1)
    assert not np.array_equal(sampler.chunk(0).letters, sampler.chunk(1).letters)
    count = sampler.chunk_words(0) + 10
    whole = sample(zoo("S5"), 100, count, seed=1)
    assert np.array_equal(whole.letters[:50], sample(zoo("S5"), 100, 50, seed=1).letters)
    assert np.array_equal(whole.letters[-10:], sampler.chunk(1).letters[:10])


@pytest.mark.parametrize("count", [0, 1, 7, 8192, 8193, 8192 + 65536, 8192 + 65537])
def test_chunks_give_exactly_as_many_words_as_asked(count: int) -> None:
    assert sum(map(len, Sampler(zoo("Parity"), 5).chunks(count))) == count


def test_only_a_few_chunks_are_held_at_any_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    data: list[int] = []
    chunk = Sampler.chunk
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    monkeypatch.setattr(Sampler, "chunk", lambda self, number: data.append(number) or chunk(self, number))
    sampler = Sampler(zoo("Parity"), 5)
    count = sampler.chunk_words(0) + 11 * sampler.chunk_words(1)
    for taken, _ in enumerate(sampler.chunks(count), start=1):
        assert len(data) <= taken + 2
    assert sorted(data) == list(range(12))


def test_long_words_come_in_small_chunks_and_the_first_is_smaller() -> None:
    long, short = Sampler(zoo("Parity"), 1_000_000), Sampler(zoo("Parity"), 100)
    assert [long.chunk_words(number) for number in range(3)] == [2, 8, 8]
    assert [short.chunk_words(number) for number in range(3)] == [8_192, 65_536, 65_536]
    assert [len(short.chunk(number)) for number in range(2)] == [8_192, 65_536]


def test_words_are_spread_as_the_distribution_says() -> None:
    data = sample(zoo("Dyck2,2"), 3, 60_000, seed=0)
    counts = Counter(map(tuple, data.letters.tolist()))
    # ( and [ first; then three feasible letters; then one at full depth, two when empty, …
    assert counts[0, 0, 2] == pytest.approx(60_000 / 2 / 3, rel=0.05)
    assert counts[0, 2, 1] == pytest.approx(60_000 / 2 / 3 / 2, rel=0.05)
    half = sample(zoo("abab"), 40, 20_000, seed=0).states[:, -1]
    assert np.mean(half != 4) == pytest.approx(0.5, abs=0.02)
    ones = sample(zoo("Parity"), 100, 2_000, distribution="bernoulli:0.1", seed=0).letters
    assert ones.mean() == pytest.approx(0.1, abs=0.005)
