"""Lower bounds: schemes found are right by brute force on few blocks, and wrong ones are refused."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from every import every
from krohn import parse_spec, zoo
from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.portable import Budget
from krohn.depth.block_scheme import BlockScheme, check_block_scheme
from krohn.depth.block_search import find_block_scheme

NEED_TWO = ["D6", "Grid4", "Q8", "A4", "S4", "Dyck4,2", "Grid9"]
ONE_IS_ENOUGH = ["C2", "C3", "FlipFlop", "abab", "D8", "Grid3", "Memory3", "C2xC2"]

ALIKE = "no choice of B tells two choices of A apart: blocks "


def rows(automaton: Semiautomaton, scheme: BlockScheme, blocks: int) -> int:
    """How many different rows the matrix (choice of A) × (choice of B) ↦ state has, naively."""
    free = [i for i in range(scheme.length) if i not in scheme.owned]
    fills = list(scheme.answers or product(range(automaton.num_letters), repeat=len(free)))
    result = set()
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
        result.add(tuple(row))
    return len(result)


@pytest.mark.parametrize("name", NEED_TWO)
def test_a_scheme_is_found_and_right(name: str) -> None:
    automaton = zoo(name)
    scheme = find_block_scheme(automaton)
    assert scheme is not None
    assert check_block_scheme(automaton.table.tolist(), automaton.start, scheme) is None
    for blocks in (1, 2, 3):
        if automaton.num_letters ** (blocks * scheme.length) <= 5_000:
            assert rows(automaton, scheme, blocks) == 2**blocks


@every("name", ONE_IS_ENOUGH)
def test_none_is_found_where_one_layer_is_enough(name: str) -> None:
    assert find_block_scheme(zoo(name)) is None


def test_wrong_schemes_are_refused_with_two_choices_that_look_alike() -> None:
    automaton = zoo("C2")
    for length, owned in ((2, (0,)), (3, (0, 2)), (2, (0, 1))):
        fillings = ((0,) * len(owned), (1,) * len(owned))
        scheme = BlockScheme((), length, owned, fillings, (0, 1))
        fault = check_block_scheme(automaton.table.tolist(), 0, scheme)
        assert fault is not None
        blocks = int(fault.removeprefix(ALIKE))
        assert rows(automaton, scheme, blocks) < 2**blocks


@every("seed", range(20))
def test_the_check_agrees_with_counting_rows(seed: int) -> None:
    dice = np.random.default_rng(seed)
    automaton = Semiautomaton(dice.integers(3, size=(3, 2)), 0)
    length = int(dice.integers(2, 4))
    owned = tuple(sorted(dice.choice(length, size=int(dice.integers(1, length)), replace=False).tolist()))
    fillings = tuple(tuple(dice.integers(2, size=len(owned)).tolist()) for _ in range(2))
    scheme = BlockScheme((), length, owned, fillings, (0, 1))  # type: ignore[arg-type]
    fault = check_block_scheme(automaton.table.tolist(), 0, scheme)
    full = [rows(automaton, scheme, blocks) == 2**blocks for blocks in (1, 2, 3)]
    assert fault is not None or all(full)
    if fault is not None and (blocks := int(fault.removeprefix(ALIKE))) <= 3:
        assert not full[blocks - 1]


@pytest.mark.parametrize("size", [61, 200])
def test_where_there_are_many_states_b_has_two_answers(size: int) -> None:
    automaton = parse_spec(f"Grid{size}")
    scheme = find_block_scheme(automaton)
    assert scheme is not None
    assert len(scheme.answers) == 2
    assert check_block_scheme(automaton.table.tolist(), automaton.start, scheme) is None
    for blocks in (1, 2, 3, 4):
        assert rows(automaton, scheme, blocks) == 2**blocks
    assert scheme.to_json(automaton.letter_names)["answers"]


def test_answers_that_tell_nothing_apart_or_do_not_fit_are_refused() -> None:
    automaton = parse_spec("Grid61")
    scheme, table = find_block_scheme(automaton), automaton.table.tolist()
    assert scheme is not None
    alone = check_block_scheme(table, automaton.start, replace(scheme, answers=scheme.answers[:1]))
    assert alone is not None
    assert alone.startswith(ALIKE)
    for answers in (((0,),), ((0, 0, 0),), ((0, 7),)):
        fault = check_block_scheme(table, automaton.start, replace(scheme, answers=answers))
        assert fault is not None
        assert not fault.startswith(ALIKE)


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
        assert check_block_scheme(table, 0, broken) is not None


def test_a_scheme_says_itself_with_names_and_places_from_one() -> None:
    scheme = BlockScheme((1,), 3, (0, 2), ((0, 1), (1, 1)), (0, 1))
    assert scheme.to_json(("up", "down")) == {
        "kind": "block scheme",
        "prefix": ["down"],
        "block_length": 3,
        "places": [1, 3],
        "fillings": [["up", "down"], ["down", "down"]],
        "letters": ["up", "down"],
    }
    text = scheme.describe(("up", "down"))
    assert text.startswith("after down, in blocks of 3 letters, place 1, 3 holds up down or down down")
    assert replace(scheme, prefix=()).describe(("a", "b")).startswith("in blocks of 3")


def test_every_malformed_scheme_is_refused_for_its_own_reason() -> None:
    table = zoo("D6").table.tolist()
    scheme = BlockScheme((), 2, (0,), ((0,), (1,)), (0, 1))
    reasons = {
        "a state that is not there": (table, 6, scheme),
        "not one of the automaton's": (table, 0, replace(scheme, prefix=(-1,))),
        "two fillings": (table, 0, replace(scheme, fillings=((0,), (1, 0)))),
        "places of the block, in order": (table, 0, replace(scheme, owned=(2,))),
        "more than 200,000 fillings": (table, 0, replace(scheme, length=30)),
        "B needs letters": (table, 0, replace(scheme, letters=())),
    }
    for reason, (rows_of_table, start, broken) in reasons.items():
        assert reason in (check_block_scheme(rows_of_table, start, broken) or "")
    unordered = BlockScheme((), 3, (1, 0), ((0, 0), (1, 1)), (0, 1))
    assert "in order" in (check_block_scheme(table, 0, unordered) or "")
    holes = [[*row[:-1], 6] for row in table]
    assert "a state that is not there" in (check_block_scheme(holes, 0, scheme) or "")


def test_a_search_without_work_or_with_too_many_states_finds_nothing() -> None:
    assert find_block_scheme(zoo("D6"), Budget(10)) is None
    assert find_block_scheme(zoo("D6"), Budget(1_000_000)) is not None
    table = np.zeros((5_001, 1), dtype=np.int32)
    assert find_block_scheme(Semiautomaton(table, 0), Budget(1e12)) is None


@every("seed", range(15))
def test_a_scheme_exists_whenever_some_short_one_passes_the_check(seed: int) -> None:
    """All schemes of blocks of two letters, tried one by one; those found begin where the prefix leads."""
    dice = np.random.default_rng(100 + seed)
    automaton = Semiautomaton(dice.integers(3, size=(3, 2)), int(dice.integers(3)))
    table = automaton.table.tolist()
    prefixes = [word for n in range(4) for word in product(range(2), repeat=n)]
    exists = any(
        check_block_scheme(table, automaton.start, BlockScheme(prefix, 2, (place,), ((0,), (1,)), (0, 1)))
        is None
        for prefix in prefixes
        for place in (0, 1)
    )
    scheme = find_block_scheme(automaton)
    assert scheme is not None or not exists
    if scheme is not None and automaton.num_letters ** (2 * scheme.length) <= 5_000:
        assert rows(automaton, scheme, 2) == 4


def test_letters_that_do_the_same_are_tried_once() -> None:
    """A copy of every letter changes nothing but the work; the scheme names the first of each."""
    automaton = zoo("D6")
    doubled = Semiautomaton(np.repeat(automaton.table, 2, axis=1), automaton.start)
    once, twice = find_block_scheme(automaton), find_block_scheme(doubled)
    assert once is not None
    assert twice is not None
    assert twice.fillings == tuple(tuple(2 * x for x in word) for word in once.fillings)
    assert (twice.length, twice.owned) == (once.length, once.owned)
