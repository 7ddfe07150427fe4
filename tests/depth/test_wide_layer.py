"""Heads that return the whole word: decodable under every allowed error, up to the stated length."""

import random
from fractions import Fraction
from itertools import product

import pytest

from depth.wide_layer import WideLayer
from krohn.automata.zoo import zoo
from krohn.depth.layer_size import LayerSize, best_share, heads_needed, longest_word


@pytest.mark.parametrize(
    ("letters", "size"),
    [
        (2, LayerSize(1, 2, 6)),
        (2, LayerSize(2, 1, 5)),
        (3, LayerSize(2, 1, 6)),
        (4, LayerSize(1, 3, 5)),
        (1, LayerSize(1, 1, 4)),
    ],
)
def test_any_two_words_of_one_length_are_further_apart_than_errors_can_move_them(
    letters: int, size: LayerSize
) -> None:
    layer, most = WideLayer(letters, size), longest_word(letters, size)
    assert 2 <= most <= 8
    for count in range(1, most + 1):
        words = list(product(range(letters), repeat=count))
        points = [[x for row in layer.returned(word) for x in row] for word in words]
        gaps = [
            max(abs(x - y) for x, y in zip(one, two, strict=True))
            for n, one in enumerate(points)
            for two in points[:n]
        ]
        assert all(gap > 2 * Fraction(1, 2**size.bits) for gap in gaps)
        assert all(-1 <= number <= 1 for point in points for number in point)


@pytest.mark.parametrize(
    ("name", "heads", "bits"),
    [("Q8", 10, 24), ("A4", 5, 24), ("Grid9", 5, 24), ("S4", 15, 24), ("S4", 50, 8), ("A5", 4, 53)],
)
def test_one_layer_gives_every_state_of_words_of_a_hundred_letters(name: str, heads: int, bits: int) -> None:
    """Wrong by as much as is allowed, in either direction: the words are still read, and so the states."""
    automaton, rng = zoo(name), random.Random(3)
    letters = automaton.num_letters
    layer = WideLayer(letters, LayerSize(heads, 1, bits))
    assert heads_needed(letters, 100, 1, bits) == heads
    for count in (1, 2, 7, 99, 100):
        word = [rng.randrange(letters) for _ in range(count)]
        exact = layer.returned(word)
        moved = [[x + rng.choice((-1, 1)) * Fraction(1, 2**bits) for x in row] for row in exact]
        assert layer.read(moved, count) == word


@pytest.mark.parametrize(("letters", "head_dim", "bits"), [(2, 64, 24), (8, 64, 24), (4, 3, 11), (2, 1, 8)])
def test_one_letter_more_in_a_number_would_be_lost(letters: int, head_dim: int, bits: int) -> None:
    """The bound is exact for this code: then words that differ in the last digit are too close."""
    used, each = best_share(letters, LayerSize(1, head_dim, bits))
    assert used == head_dim
    for digits, apart in ((each, True), (each + 1, False)):
        gap = Fraction(2, (letters - 1) * letters ** (digits - 1) * (used * digits + 1))
        assert (gap > 2 * Fraction(1, 2**bits)) == apart


def test_the_longest_words_of_usual_layers() -> None:
    assert longest_word(2, LayerSize()) == 8 * 64 * 15
    assert longest_word(2, LayerSize(1, 1, 1)) == 0
    assert longest_word(2, LayerSize(1, 10**6, 8)) == longest_word(2, LayerSize(1, 254, 8)) == 254
    assert heads_needed(300, 100, 1, 8) is None
