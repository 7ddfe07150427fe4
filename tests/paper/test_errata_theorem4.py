"""Errata of Theorem 4: precision that grows with the length, wide MLPs, words of one length."""

import numpy as np

from krohn.automata.zoo import parse_spec
from krohn.paper.barrington import barrington
from krohn.paper.threshold_circuit import threshold_circuit
from krohn.paper.word_problem import alphabet
from paper.lemma_networks import build_counter
from unproved import compile


def rounded(value: float, bits: int) -> float:
    """The nearest number with that many significant bits."""
    fraction, exponent = np.frexp(value)
    return float(np.ldexp(np.rint(fraction * 2**bits) / 2**bits, exponent))


def test_erratum_40_a_uniform_head_needs_bits_that_grow_with_the_length() -> None:
    for bits in (6, 8, 11):
        length = 2 ** (bits + 1)
        assert rounded(1 / length, bits) == rounded(1 / (length + 1), bits)
        assert rounded(1 / length, 2 * bits + 2) != rounded(1 / (length + 1), 2 * bits + 2)


def test_erratum_41_sums_of_an_mlp_have_as_many_terms_as_the_word_has_letters() -> None:
    widths = [build_counter(2, length).transformer.mlp_width for length in (8, 16, 32)]
    assert all(wide >= length for wide, length in zip(widths, (8, 16, 32), strict=True))
    circuit = threshold_circuit(compile(parse_spec("C2"), 32))
    assert max(map(len, circuit.sources)) >= 32


def test_erratum_42_group_elements_have_words_of_different_lengths_until_they_are_padded() -> None:
    letters = alphabet(parse_spec("A5"))
    assert len({len(word) for word in letters.words.values()}) > 1
    assert len({len(word) for word in letters.spell(letters.words).values()}) == 1
    program = barrington("x & !y", parse_spec("A5"))
    lengths = {len(program.word({"x": x, "y": y})) for x in (False, True) for y in (False, True)}
    assert lengths == {len(program.instructions)}
