"""Stabiliser chains level by level against groups that are listed, with bytes and with tuples."""

from collections import Counter
from itertools import islice
from math import factorial
from random import Random

import pytest

from algebra import named_groups as named
from every import every
from krohn.algebra.packed import ByteRows, TupleRows, rows_for
from krohn.algebra.stabilizer_chain import StabilizerChain, order_bound, product_replacement
from krohn.algebra.transformation import compose
from krohn.errors import LimitExceeded

SEEDS = range(25)


@pytest.fixture(params=["bytes", "tuples"])
def numbers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Small groups with the arithmetic of large ones too."""
    if request.param == "tuples":
        monkeypatch.setattr("krohn.algebra.packed.rows_for", TupleRows)
    return str(request.param)


def listed(chain: StabilizerChain) -> list[tuple[int, ...]]:
    return [chain.unpack(packed) for packed in chain.elements()]


@pytest.mark.parametrize("seed", SEEDS)
def test_each_level_is_the_stabiliser_of_the_points_before_it(seed: int, numbers: str) -> None:
    generators = named.random_generators(seed)
    elements = named.closure(generators)
    chain = StabilizerChain(generators, len(generators[0]))
    for depth, level in enumerate(chain.levels):
        fixing = [g for g in elements if all(g[point] == point for point in chain.base[:depth])]
        assert set(level.orbit) == {g[level.point] for g in fixing}
        assert len(level.orbit) == len(set(level.orbit)) > 1
        for point in level.orbit:
            move, undo = map(chain.unpack, (level.representative[point], level.inverse[point]))
            assert move in fixing
            assert move[level.point] == point
            assert compose(move, undo) == tuple(range(len(move)))
        generated = named.closure(chain.stabilizer_generators(depth) or [tuple(range(len(generators[0])))])
        assert sorted(generated) == sorted(fixing)
    assert chain.stabilizer_generators(len(chain.levels)) == []


@pytest.mark.parametrize("seed", SEEDS)
def test_elements_come_once_each_and_others_do_not_sift_through(seed: int, numbers: str) -> None:
    generators = named.random_generators(seed)
    elements = set(named.closure(generators))
    chain = StabilizerChain(generators, len(generators[0]))
    assert chain.order == len(elements)
    assert len(listed(chain)) == len(elements)
    assert set(listed(chain)) == elements
    for candidate in named.closure(named.symmetric(len(generators[0])))[::5]:
        packed = chain.pack(candidate)
        assert chain.contains(packed) == (candidate in elements)
        residue, level = chain.sift(packed)
        # What is left differs from the candidate by an element of the group, on the right.
        left = chain.unpack(residue)
        undone = [0] * len(left)
        for point, image in enumerate(candidate):
            undone[image] = left[point]
        assert tuple(undone) in elements
        assert all(left[point] == point for point in chain.base[:level])


@every("seed", SEEDS)
def test_a_base_that_is_asked_for_comes_first_even_where_it_does_not_move(seed: int) -> None:
    generators = named.random_generators(seed)
    degree = len(generators[0])
    base = Random(seed).sample(range(degree), min(3, degree))
    chain = StabilizerChain(generators, degree, base=base)
    assert list(chain.base[: len(base)]) == base
    fixing = [g for g in named.closure(generators) if all(g[point] == point for point in base)]
    generated = named.closure(chain.stabilizer_generators(len(base)) or [tuple(range(degree))])
    assert sorted(generated) == sorted(fixing)


@every("seed", SEEDS)
def test_a_chain_that_grows_is_the_chain_of_all_its_generators(seed: int) -> None:
    generators = named.random_generators(seed)
    chain = StabilizerChain((), len(generators[0]))
    assert (chain.order, chain.base, listed(chain)) == (1, (), [tuple(range(len(generators[0])))])
    for count, generator in enumerate(generators, 1):
        if not chain.contains(chain.pack(generator)):
            chain.extend(generator)
        assert sorted(listed(chain)) == sorted(named.closure(generators[:count]))


def test_a_known_order_of_a_larger_group_is_no_reason_to_stop_early() -> None:
    for seed in SEEDS:
        generators = named.random_generators(seed)
        order = len(named.closure(generators))
        for within in (order, 2 * order, 6 * order):
            assert StabilizerChain(generators, len(generators[0]), within=within).order == order


def test_random_elements_are_uniform() -> None:
    """The 24 elements of S4, each about a hundred times in 2,400 draws."""
    chain, rng = StabilizerChain(named.symmetric(4), 4), Random(7)
    counts = Counter(chain.unpack(chain.random_element(rng)) for _ in range(2_400))
    assert len(counts) == 24
    assert sum((count - 100) ** 2 / 100 for count in counts.values()) < 49.7  # 0.1 % of 23 degrees of freedom


def test_product_replacement_stays_in_the_group_and_reaches_all_of_it() -> None:
    rows = rows_for(4)
    draws = product_replacement([rows.table(rows.pack(g)) for g in named.alternating(4)], rows)
    assert {tuple(packed[:4]) for packed in islice(draws, 400)} == set(named.closure(named.alternating(4)))


@every("seed", SEEDS)
def test_the_bound_on_the_order_is_a_multiple_of_it(seed: int) -> None:
    generators = named.random_generators(seed)
    bound = order_bound(generators, len(generators[0]))
    assert bound is not None
    assert bound % len(named.closure(generators)) == 0
    assert order_bound(named.alternating(6), 6) == factorial(6) // 2
    assert order_bound([(1, 0, 3, 4, 2)], 5) == 12
    assert order_bound([tuple(range(2_001))], 2_001) is None


def test_bytes_are_taken_while_points_fit_into_one() -> None:
    assert isinstance(rows_for(256), ByteRows)
    assert isinstance(rows_for(257), TupleRows)
    for degree in (256, 257):
        turn = (*range(1, degree), 0)
        chain = StabilizerChain([turn], degree)
        assert chain.order == degree
        assert chain.contains(chain.pack(compose(turn, turn)))
        assert not chain.contains(chain.pack((1, 0, *range(2, degree))))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_chain_is_proved_also_where_chance_finds_nothing(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without random elements every repair must come from a Schreier generator that does not sift."""
    monkeypatch.setattr("krohn.algebra.stabilizer_chain.PATIENCE", 0)
    monkeypatch.setattr("krohn.algebra.stabilizer_chain.order_bound", lambda generators, degree: None)
    for generators in (named.random_generators(seed, smallest=4), named.symmetric(6), named.alternating(5)):
        chain = StabilizerChain(generators, len(generators[0]))
        assert sorted(listed(chain)) == sorted(named.closure(generators))


def test_a_chain_that_would_take_all_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of S8: 7 + 6 + … + 1 = 28 representatives of 8 images each, beside the identities."""
    monkeypatch.setattr("krohn.algebra.stabilizer_chain.MAX_CHAIN", 8 * 28)
    assert StabilizerChain(named.symmetric(8), 8).order == factorial(8)
    monkeypatch.setattr("krohn.algebra.stabilizer_chain.MAX_CHAIN", 8 * 28 - 1)
    with pytest.raises(
        LimitExceeded, match="permutes 8 states has a stabiliser chain of more than 223 images"
    ):
        StabilizerChain(named.symmetric(8), 8)
