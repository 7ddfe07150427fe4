"""The depth law for groups: G₀ against sets of words, schemes against the check, programs against words."""

from itertools import count

import numpy as np
import pytest

import krohn
from every import every
from krohn import zoo
from krohn.algebra.equal_lengths import equal_lengths
from krohn.automata.quotients import reachable
from krohn.automata.semiautomaton import Semiautomaton
from krohn.cascade.holonomy import UNSOLVABLE_LAYERS, derived_length
from krohn.construct.depth_bounds import depth_bounds
from krohn.construct.request import Request
from krohn.construct.tight.clocked_group import clocked_proposals
from krohn.depth.block_scheme import check_block_scheme
from krohn.depth.block_search import find_block_scheme
from krohn.depth.group_scheme import find_group_scheme
from krohn.depth.two_words import find_two_words
from krohn.network.program import interpret

Map = tuple[int, ...]
NAMES = "C2 C3 C5:01 D6 D8 Q8 A4 S3 S4 A5 C2xC2 Parity S3:adjacent S4:adjacent S4:minimal S4:1230,0132,0213"


def product(one: Map, two: Map) -> Map:
    return tuple(two[q] for q in one)


def undone(one: Map) -> Map:
    return tuple(one.index(q) for q in range(len(one)))


def differences(automaton: Semiautomaton) -> frozenset[Map]:
    """All g·h⁻¹ of words of equal length, length by length until the sets of maps repeat."""
    letters, words = frozenset(automaton.letters), frozenset([tuple(range(automaton.num_states))])
    seen: set[frozenset[Map]] = set()
    result: set[Map] = set()
    while words not in seen:
        seen.add(words)
        result |= {product(g, undone(h)) for g in words for h in words}
        words = frozenset(product(g, letter) for g in words for letter in letters)
    return frozenset(result)


def random_group(seed: int) -> Semiautomaton:
    """Two or three letters that permute three to five points, or the elements that they generate."""
    dice = np.random.default_rng(seed)
    points, letters = int(dice.integers(3, 6)), int(dice.integers(2, 4))
    moves = [tuple(dice.permutation(points).tolist()) for _ in range(letters)]
    if seed % 4 or points > 4:
        return reachable(Semiautomaton.from_letters(moves, start=0))
    elements = [tuple(range(points))]
    for element in elements:
        elements += [g for g in dict.fromkeys(product(element, move) for move in moves) if g not in elements]
    table = [[elements.index(product(element, move)) for move in moves] for element in elements]
    return Semiautomaton(np.array(table, dtype=np.int32), 0)


def check_the_law(automaton: Semiautomaton) -> None:
    """What Theorem 6 says, each part against something that does not use G₀."""
    automaton = reachable(automaton)
    seen = equal_lengths(automaton)
    assert seen is not None
    assert not seen.fault
    naive = differences(automaton)
    assert frozenset(seen.group.elements()) == naive
    abelian = all(product(g, h) == product(h, g) for g in naive for h in naive)
    table = automaton.table.tolist()
    assert (len(naive) == 1) == (find_two_words(table, automaton.start) is None)
    assert (len(naive) == 1) == (krohn.analyze(automaton).complexity == "AC0")
    scheme = find_group_scheme(automaton)
    assert (scheme is None) == abelian
    if scheme is not None:
        assert check_block_scheme(table, automaton.start, scheme) is None
    elif automaton.num_states < 5:
        assert find_block_scheme(automaton) is None
    length = derived_length(seen.group)
    plans = list(clocked_proposals(Request(automaton, 12), Request(automaton, 12).budget()))
    if not plans:
        whole = derived_length(krohn.algebra.permgroup.PermutationGroup(automaton.letters, len(table)))
        assert length in (0, UNSOLVABLE_LAYERS) or length == whole
        return
    (plan,) = plans
    words = np.random.default_rng(0).integers(automaton.num_letters, size=(60, 12))
    program = plan.program()
    assert program.depth == plan.layers == length
    assert interpret(program, words).tolist() == [automaton.run(word) for word in words.tolist()]


@every("name", NAMES.split())
def test_the_law_holds_for_named_groups(name: str) -> None:
    check_the_law(zoo(name))


@every("seed", range(200))
def test_the_law_holds_for_random_groups(seed: int) -> None:
    check_the_law(random_group(seed))


@pytest.mark.parametrize("name", ["S4:adjacent", "S4:minimal", "S4:1230,0132,0213"])
def test_two_layers_are_optimal_and_proved_where_g0_is_a4(name: str) -> None:
    bounds = depth_bounds(zoo(name))
    assert (bounds.lower, bounds.upper, bounds.optimal) == (2, 2, True)
    network = krohn.compile(name, 20)
    assert (network.transformer.depth, network.proved) == (2, "float32")


def test_the_symmetric_group_with_the_papers_letters_stays_open() -> None:
    seen = equal_lengths(zoo("S4"))
    assert seen is not None
    assert seen.group.order == 24
    assert derived_length(seen.group) == 3


def test_a_clock_alone_counts_nothing() -> None:
    """All letters alike: G₀ is trivial, and no words of one length and last letter are told apart."""
    for size in range(1, 6):
        turn = tuple((q + 1) % size for q in range(size))
        seen = equal_lengths(Semiautomaton.from_letters([turn, turn], start=0))
        assert seen is not None
        assert seen.group.is_trivial


def test_automata_with_resets_are_not_groups() -> None:
    assert equal_lengths(zoo("FlipFlop")) is None
    assert find_group_scheme(zoo("FlipFlop")) is None


def test_unreached_states_do_not_count() -> None:
    """A reset among states that no word reaches leaves a group automaton."""
    table = np.array([[1, 0], [0, 1], [0, 0]], dtype=np.int32)
    seen = equal_lengths(Semiautomaton(table, 0))
    assert seen is not None
    assert seen.group.order == 2
    assert next(n for n in count(1) if seen.state(0, n) == seen.state(0, 0)) == seen.period
