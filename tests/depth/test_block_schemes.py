"""Lower bounds: schemes found are right by brute force on few blocks, and wrong ones are refused."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from krohn import zoo
from krohn.automata.semiautomaton import Semiautomaton
from krohn.depth.block_check import check_block_scheme
from krohn.depth.block_scheme import BlockScheme
from krohn.depth.block_search import find_block_scheme

NEED_TWO = ["D6", "Grid4", "Q8", "A4", "S4", "Dyck4,2", "Grid9"]
ONE_IS_ENOUGH = ["C2", "C3", "FlipFlop", "abab", "D8", "Grid3", "Memory3", "C2xC2"]


def rows(automaton: Semiautomaton, scheme: BlockScheme, blocks: int) -> int:
    """How many different rows the matrix (choice of A) × (choice of B) ↦ state has, naively."""
    free = [i for i in range(scheme.length) if i not in scheme.owned]
    fills = list(product(range(automaton.num_letters), repeat=len(free)))
    found = set()
    for choice in product((0, 1), repeat=blocks):
        row = []
        for others in product(fills, repeat=blocks):
            word = list(scheme.prefix)
            for bit, other in zip(choice, others, strict=True):
                block = dict(zip(scheme.owned, scheme.fillings[bit], strict=True)) | dict(
                    zip(free, other, strict=True)
                )
                word += [block[i] for i in range(scheme.length)]
            row.append(automaton.run(word)[-1])
        found.add(tuple(row))
    return len(found)


@pytest.mark.parametrize("name", NEED_TWO)
def test_a_scheme_is_found_and_right(name: str) -> None:
    automaton = zoo(name)
    scheme = find_block_scheme(automaton)
    assert scheme is not None
    assert check_block_scheme(automaton.table.tolist(), automaton.start, scheme).holds
    for blocks in (1, 2, 3):
        if automaton.num_letters ** (blocks * scheme.length) <= 5_000:
            assert rows(automaton, scheme, blocks) == 2**blocks


@pytest.mark.parametrize("name", ONE_IS_ENOUGH)
def test_none_is_found_where_one_layer_is_enough(name: str) -> None:
    assert find_block_scheme(zoo(name)) is None


def test_wrong_schemes_are_refused_with_two_choices_that_look_alike() -> None:
    automaton = zoo("C2")
    for length, owned in ((2, (0,)), (3, (0, 2)), (2, (0, 1))):
        fillings = ((0,) * len(owned), (1,) * len(owned))
        scheme = BlockScheme((), length, owned, fillings)
        report = check_block_scheme(automaton.table.tolist(), 0, scheme)
        assert not report.holds
        if report.choices is not None:
            assert report.choices[0] != report.choices[1]
            assert rows(automaton, scheme, len(report.choices[0])) < 2 ** len(report.choices[0])


@pytest.mark.parametrize("seed", range(20))
def test_the_check_agrees_with_counting_rows(seed: int) -> None:
    dice = np.random.default_rng(seed)
    automaton = Semiautomaton(dice.integers(3, size=(3, 2)), 0)
    length = int(dice.integers(2, 4))
    owned = tuple(sorted(dice.choice(length, size=int(dice.integers(1, length)), replace=False).tolist()))
    fillings = tuple(tuple(dice.integers(2, size=len(owned)).tolist()) for _ in range(2))
    scheme = BlockScheme((), length, owned, fillings)  # type: ignore[arg-type]
    report = check_block_scheme(automaton.table.tolist(), 0, scheme)
    full = [rows(automaton, scheme, blocks) == 2**blocks for blocks in (1, 2, 3)]
    assert not report.holds or all(full)
    if not all(full):
        assert not report.holds
    if report.choices is not None and len(report.choices[0]) <= 3:
        assert not full[len(report.choices[0]) - 1]


def test_malformed_schemes_are_refused() -> None:
    automaton = zoo("D6")
    scheme = find_block_scheme(automaton)
    assert scheme is not None
    table = automaton.table.tolist()
    for broken in (
        replace(scheme, owned=(5,)),
        replace(scheme, fillings=((0,), (7,))),
        replace(scheme, fillings=((0, 1), (1, 0))),
        replace(scheme, prefix=(9,)),
        replace(scheme, fillings=(scheme.fillings[0], scheme.fillings[0])),
        replace(scheme, length=30),
    ):
        assert not check_block_scheme(table, 0, broken).holds
