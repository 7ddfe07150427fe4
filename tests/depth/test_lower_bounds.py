"""Lower bounds for long words: schemes of the last block, two words, and the lengths they exclude."""

import json
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from every import every
from krohn.automata.quotients import minimize
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.small import small_automata
from krohn.automata.zoo import parse_spec, zoo
from krohn.base.portable import Budget
from krohn.depth.block_scheme import BlockScheme, check_block_scheme
from krohn.depth.last_block import LastBlockScheme, check_last_block_scheme, find_last_block_scheme
from krohn.depth.layer_size import LayerSize
from krohn.depth.lower_bound import find_two_layer_witness, find_witness
from krohn.depth.two_words import TwoWords, find_two_words

ATLAS = json.loads((Path(__file__).parents[2] / "results" / "tables" / "atlas.json").read_text())
LAST_RUN = ((0, 1), (0, 2), (2, 1))
"""a keeps 0 and 2 and takes 1 to 0, b leads to 1 after an odd run and to 2 after an even one."""


def test_the_parity_of_the_last_run_has_a_last_block_scheme_and_no_block_scheme() -> None:
    scheme = find_two_layer_witness(Semiautomaton(LAST_RUN, 0))
    assert isinstance(scheme, LastBlockScheme)
    assert check_last_block_scheme(LAST_RUN, 0, scheme) is None
    assert scheme.to_json(("a", "b"))["kind"] == "last-block scheme"


def naive(table: tuple[tuple[int, ...], ...], start: int, scheme: LastBlockScheme) -> bool:
    """The scheme on all words of up to four letters before the block, and up to three of each kind after."""
    automaton = Semiautomaton(table, start)
    between, end = scheme.after
    for size, r, s in product(range(5), range(4), range(4)):
        tail = (between,) * r + (end,) * s
        ends = [
            {automaton.run((*scheme.prefix, *before, *filling, *tail))[-1] for before in words}
            for words in [list(product(scheme.after, repeat=size))]
            for filling in scheme.fillings
        ]
        if ends[0] & ends[1]:
            return False
    return True


@every("seed", range(40))
def test_the_check_agrees_with_trying_words(seed: int) -> None:
    dice = np.random.default_rng(seed)
    table = tuple(map(tuple, dice.integers(3, size=(3, 2)).tolist()))
    start, length = int(dice.integers(3)), int(dice.integers(1, 4))
    one, two = (tuple(dice.integers(2, size=length).tolist()) for _ in range(2))
    after = (0, 1) if dice.integers(2) else (1, 0)
    scheme = LastBlockScheme(tuple(dice.integers(2, size=2).tolist()), (one, two), after)
    assert (check_last_block_scheme(table, start, scheme) is None) == naive(table, start, scheme)


def test_schemes_that_lack_one_hypothesis_are_refused_for_it() -> None:
    scheme = find_two_layer_witness(Semiautomaton(LAST_RUN, 0))
    assert isinstance(scheme, LastBlockScheme)
    reasons = {
        "two fillings may lead to one state": replace(scheme, fillings=(scheme.fillings[0],) * 2),
        "not one of the automaton's": replace(scheme, prefix=(2,)),
        "two different letters": replace(scheme, after=(0, 0)),
        "of the letters that follow": replace(scheme, fillings=(scheme.fillings[0], (0,))),
    }
    for reason, broken in reasons.items():
        assert reason in (check_last_block_scheme(LAST_RUN, 0, broken) or "")
    assert "a state that is not there" in (check_last_block_scheme([[0, 9]], 0, scheme) or "")
    swapped = replace(scheme, after=scheme.after[::-1])  # then the end hides the block
    assert check_last_block_scheme(LAST_RUN, 0, swapped) is not None


def test_no_automaton_with_a_certified_network_of_one_layer_has_a_scheme_for_two() -> None:
    """The networks of one layer of the atlas work for every length, so a scheme would contradict them."""
    for entries in ATLAS.values():
        for entry in entries[:: 1 + len(entries) // 20]:
            if entry["depth"] == 1:
                assert find_two_layer_witness(Semiautomaton(entry["table"], 0)) is None, entry["table"]


def test_of_the_121_thirteen_have_neither_one_layer_nor_a_scheme() -> None:
    """Nineteen have neither a plan of one layer nor a block scheme; six have a last-block scheme."""
    entries = ATLAS["2 and 3 states, 2 letters"]
    rest = [entry for entry in entries if entry["depth"] > 1]
    kinds = {str(entry["table"]): find_two_layer_witness(Semiautomaton(entry["table"], 0)) for entry in rest}
    assert sum(isinstance(result, LastBlockScheme) for result in kinds.values()) == 6
    assert sum(result is None for result in kinds.values()) == 13


def test_every_second_letter_tells_layers_apart_only_where_position_and_letter_do_not() -> None:
    for automaton in [*small_automata(2, 2), *small_automata(3, 2)]:
        table = automaton.table.tolist()
        pair = find_two_words(table, 0)
        by_place: dict[tuple[int, int], set[int]] = {}
        for length in range(1, 8):
            for word in product(range(2), repeat=length):
                by_place.setdefault((length, word[-1]), set()).add(automaton.run(word)[-1])
        assert (pair is not None) == any(len(states) > 1 for states in by_place.values())
        if pair is not None:
            one, two = pair.words
            assert (len(one), one[-1]) == (len(two), two[-1])
            assert automaton.run(one)[-1] != automaton.run(two)[-1]
            shortest = min(length for (length, _), states in by_place.items() if len(states) > 1)
            assert pair.beyond(LayerSize()) == len(one) - 1 == shortest - 1


@pytest.mark.parametrize(
    "size", [LayerSize(), LayerSize(1, 1, 8), LayerSize(3, 2, 53), LayerSize(96, 128, 11)]
)
def test_lengths_are_excluded_exactly_where_the_theorems_inequality_fails(size: LayerSize) -> None:
    heads, d = size.heads, size.head_dim
    block = BlockScheme((0, 1), 3, (0,), ((0,), (1,)), (0, 1))
    last = LastBlockScheme((1,), ((0, 1), (1, 0)), (0, 1))

    def bits(length: int) -> int:
        return size.bits + length.bit_length() + 3  # ⌈log₂(T + 1)⌉ is the bit length of T

    def block_allows(length: int) -> bool:
        return (length - 2) // 3 <= 2 * heads * (d + 2) * bits(length)

    def last_allows(length: int) -> bool:
        return length < 1 + (heads**2 + 1) * 2 * (heads * (d + 1) * bits(length) + 1 + heads) + 1

    for scheme, allows in ((block, block_allows), (last, last_allows)):
        beyond = scheme.beyond(size)  # type: ignore[attr-defined]
        assert allows(beyond)
        assert not allows(beyond + 1)
        assert all(allows(length) for length in np.linspace(1, beyond, 300).astype(int).tolist())


def test_a_letter_that_a_number_cannot_name_takes_more_bits() -> None:
    """A's notes name letters: with 2 bits of precision and 100 letters, of 7 bits, 5 more for each number."""
    size, states = LayerSize(2, 3, 2), 4
    scheme = BlockScheme((), 3, (0,), ((0,), (1,)), (0, 1))

    def allows(length: int) -> bool:
        notes = states * 100 * size.heads * (size.head_dim + 2)
        return (length - (states - 1)) // 3 <= notes * (size.bits + length.bit_length() + 3 + 5)

    longest = scheme.beyond(size, 100, states)
    assert allows(longest)
    assert not allows(longest + 1)


@pytest.mark.parametrize("name", ["C2xGrid4", "Grid4x4", "D6xC2", "S5", "A5"])
def test_products_and_large_groups_have_the_schemes_of_what_two_letters_reach(name: str) -> None:
    automaton = zoo(name)
    scheme = find_two_layer_witness(automaton)
    assert isinstance(scheme, BlockScheme)
    assert check_block_scheme(automaton.table.tolist(), automaton.start, scheme) is None
    assert len(scheme.letters) == 2


def test_for_observations_words_must_look_different_and_the_bound_counts_more_notes() -> None:
    """The last letter but two: the state shows itself at once, the observation three letters later."""
    automaton = minimize(parse_spec("regex:(a|b)*a(a|b)(a|b)"))
    state, seen = (find_witness(automaton, most=1, observed=observed) for observed in (False, True))
    assert isinstance(state, TwoWords)
    assert isinstance(seen, TwoWords)
    assert (state.beyond(LayerSize()), seen.beyond(LayerSize())) == (1, 2)
    observe = automaton.observe
    assert observe is not None
    one, two = (observe[automaton.run(word)[-1]] for word in seen.words)
    assert one != two
    scheme = BlockScheme((0,), 2, (0,), ((0,), (1,)), (0, 1))
    size = LayerSize(1, 1, 24)
    beyond = scheme.beyond(size, letters=3, states=5)
    for length, allowed in ((beyond, True), (beyond + 1, False)):
        notes = 3 * 5 * 3 * (24 + length.bit_length() + 3)
        assert ((length - 1 - 4) // 2 <= notes) == allowed
    run = Semiautomaton(LAST_RUN, 0, observe=(0, 0, 1))
    assert isinstance(find_witness(run), LastBlockScheme)
    assert isinstance(find_witness(run, observed=True), TwoWords)


def test_a_known_depth_limits_the_search_and_the_search_its_work() -> None:
    assert find_witness(zoo("D6"), most=1) == find_two_words(zoo("D6").table.tolist(), 0)
    assert find_witness(zoo("D6"), most=0) is None
    with pytest.raises(Exception, match="units of work"):
        find_last_block_scheme(LAST_RUN, 0, {0: ()}, [0, 1], Budget(20))
