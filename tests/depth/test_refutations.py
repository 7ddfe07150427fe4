"""Attempts to refute the bounds: constructions against bounds, and all narrow layers on short words."""

import json
from contextlib import suppress
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import krohn
from every import every
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.small import small_automata
from krohn.automata.zoo import parse_spec
from krohn.base.portable import FLOATS
from krohn.depth.layer_size import LayerSize, longest_word
from krohn.depth.lower_bound import Witness, find_two_layer_witness
from krohn.depth.two_words import find_two_words
from krohn.errors import Unsupported
from krohn.network.compiled import CompiledNetwork

POINTS = Path(__file__).parents[2] / "results" / "proofs" / "width.jsonl"
ATLAS = [automaton for count in (2, 3) for automaton in small_automata(count, 2)]
WAYS = (
    {"method": "auto"},
    {"method": "scan"},
    {"method": "cascade"},
    {"method": "wide"},
    {"method": "paper"},
    {"method": "grid"},
)


def witnesses(automaton: Semiautomaton) -> list[Witness]:
    result = (find_two_words(automaton.table.tolist(), automaton.start), find_two_layer_witness(automaton))
    return [witness for witness in result if witness is not None]


def networks_of(automaton: Semiautomaton, length: int) -> list[CompiledNetwork]:
    """By every method that has an answer; features are the first choice of ``auto``."""
    result = []
    for way in WAYS:
        with suppress(Unsupported):
            result.append(krohn.compile(automaton, length, unproved=way["method"] != "auto", **way))
    return result


def stepped(automaton: Semiautomaton, words: np.ndarray) -> list[list[int]]:
    shown = []
    for word in words.tolist():
        state, states = automaton.start, []
        for letter in word:
            state = int(automaton.table[state][letter])
            states.append(state)
        shown.append(states)
    return shown


@every("automaton", ATLAS[::80])
def test_no_network_of_the_atlas_has_fewer_layers_than_a_bound_for_its_size(automaton: Semiautomaton) -> None:
    """Each network is run on all words first, so that what might beat a bound is a network that is right."""
    result = witnesses(automaton)
    for length in (1, 4):
        words = np.array(list(product(range(2), repeat=length)))
        right = stepped(automaton, words)
        networks = networks_of(automaton, length)
        assert len(networks) >= 3  # auto, scan and wide at least
        for network in networks:
            shape = network.transformer
            assert np.asarray(network.run(words)).tolist() == right
            size = LayerSize(max(1, shape.heads), max(1, shape.head_dim), FLOATS["float64"].bits)
            assert all(shape.depth >= one.layers or length <= one.beyond(size) for one in result)


@every("automaton", ATLAS)
def test_no_layer_is_needed_exactly_beyond_the_two_words_that_are_found(automaton: Semiautomaton) -> None:
    """By listing: up to that length position and last letter decide the state, one letter later not."""
    two = find_two_words(automaton.table.tolist(), automaton.start)
    beyond = 7 if two is None else two.beyond(LayerSize())
    for length in range(1, min(beyond, 6) + 2):
        words = np.array(list(product(range(2), repeat=length)))
        ends = {
            (word[-1], states[-1])
            for word, states in zip(words.tolist(), stepped(automaton, words), strict=True)
        }
        decided = len(ends) == len({last for last, _ in ends})
        assert decided == (length <= beyond)


def longest_by_one_number(automaton: Semiautomaton, bits: int, grid: int, most: int) -> int:
    """All layers of one uniform head that returns one number, values being multiples of 1/grid.

    What position i adds if it holds letter 1 rather than 0 is d_i from -2 to 2; the rest is known. The answer
    at t survives an error of 2^-p in the mean over t letters and padding if, among words of one last letter,
    neighbours in the order of sums that lead to different states are more than 2(t + 1)/2^p apart.
    """
    values = [step / grid for step in sorted(range(-2 * grid, 2 * grid + 1), key=lambda k: (-abs(k), k))]

    def longest(sums: np.ndarray, states: np.ndarray, length: int) -> int:
        best = length
        if length == most:
            return best
        following = [automaton.table[states, letter] for letter in (0, 1)]
        for value in values if length else [value for value in values if value >= 0]:
            after = [sums, sums + value]
            if all(
                _apart(one, two, 2 * (length + 2) / 2**bits)
                for one, two in zip(after, following, strict=True)
            ):
                best = max(best, longest(np.concatenate(after), np.concatenate(following), length + 1))
                if best == most:
                    break
        return best

    return longest(np.zeros(1), np.array([automaton.start]), 0)


def _apart(sums: np.ndarray, states: np.ndarray, gap: float) -> bool:
    order = np.argsort(sums, kind="stable")
    near = np.diff(sums[order]) <= gap
    return not bool((near & (states[order][1:] != states[order][:-1])).any())


@pytest.mark.parametrize(
    ("name", "bits", "expected"), [("D6", 3, 2), ("D6", 4, 3), ("Grid4", 3, 2), ("Grid4", 4, 3)]
)
def test_all_layers_of_one_number_on_a_grid_do_no_longer_words_than_the_bound_allows(
    name: str, bits: int, expected: int
) -> None:
    automaton, size = parse_spec(name), LayerSize(1, 1, bits)
    scheme = find_two_layer_witness(automaton)
    assert scheme is not None
    longest = longest_by_one_number(automaton, bits, grid=4, most=10)
    assert longest_word(2, size) <= longest <= scheme.beyond(size)
    assert longest == expected


def test_a_counter_of_one_number_does_words_up_to_its_bits_and_no_scheme_says_otherwise() -> None:
    """The search above is not blind: parity, which has no scheme, goes on until two counts are too close."""
    assert longest_by_one_number(parse_spec("C2"), bits=3, grid=1, most=12) == 6
    assert find_two_layer_witness(parse_spec("C2")) is None


@cache
def points() -> list[dict[str, object]]:
    return [json.loads(line) for line in POINTS.read_text().splitlines()]


def test_no_layer_that_was_certified_is_narrower_than_the_curve_allows() -> None:
    schemes = {name: find_two_layer_witness(parse_spec(name)) for name in ("D6", "Q8", "Grid4", "Dyck4,2")}
    for point in points():
        assert point["certified"]
        size = LayerSize(
            int(str(point["heads"])), int(str(point["head_dim"])), FLOATS[str(point["dtype"])].bits
        )
        scheme = schemes.get(str(point["automaton"]))
        assert scheme is None or int(str(point["length"])) <= scheme.beyond(size)
    assert None not in schemes.values()


@every("name, length", [("C2", 8), ("D6", 4), ("Grid4", 4)])
def test_what_the_page_says_was_built_is_built_so_and_certified_again(name: str, length: int) -> None:
    point = next(p for p in points() if (p["automaton"], p["length"]) == (name, length))
    wide = name != "C2"
    method = "wide" if wide else "auto"
    network = krohn.compile(name, length, method=method, dtype=str(point["dtype"]), unproved=wide)
    shape = network.transformer
    assert (shape.depth, shape.heads, shape.num_parameters) == (1, point["heads"], point["parameters"])
    assert krohn.verify(network, dtype=str(point["dtype"]), second_opinion=False).certified
