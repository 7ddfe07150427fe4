"""Matrices that do not fit together make no network, and its sizes are those of the matrices."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from every import every
from krohn.errors import InvalidInput
from krohn.network.layout import Channel, HeadMeaning, Layout
from krohn.network.transformer import SIN, Head, Layer, Mlp, Transformer

D, STATES, LETTERS, LENGTH = 5, 3, 2, 4


def head(width: int = 2, values: int = 3) -> Head:
    return Head(np.ones((D, width)), np.ones((D, width)), np.ones((D, values)), np.ones((values, D)))


def mlp(*hidden: int) -> Mlp:
    sizes = (D, *hidden, D)
    shapes = list(pairwise(sizes))
    return Mlp(tuple(np.full(shape, 2.0) for shape in shapes), tuple(np.zeros(n) for _, n in shapes))


def network() -> Transformer:
    first = Layer((head(), head(4, 1)), mlp(7), np.ones(D), np.ones(D))
    second = Layer((), mlp(6, 8), np.ones(D), np.zeros(D))
    outer = (np.ones((LETTERS, D)), np.ones((1, D)), np.ones((1 + LENGTH, D)))
    return Transformer(*outer, (first, second), np.ones((D, STATES)), np.zeros(STATES))


def test_sizes_are_counted_from_the_matrices() -> None:
    net = network()
    assert (net.dim, net.depth, net.num_padding, net.max_length) == (D, 1, 1, LENGTH)
    assert (net.heads, net.head_dim, net.mlp_width, net.mlp_depth) == (2, 4, 8, 2)
    assert net.num_blocks == 1 + 2
    heads = 2 * D * 2 + 2 * D * 3 + 2 * D * 4 + 2 * D * 1
    mlps = (D * 7 + 7 + 7 * D + D) + (D * 6 + 6 + 6 * 8 + 8 + 8 * D + D)
    assert sum(matrix.size for _, matrix in net.named_parameters()) == heads + mlps
    outer = LETTERS * D + D + (1 + LENGTH) * D + D * STATES + STATES
    assert net.num_parameters == heads + mlps + outer
    assert net.max_weight == 2.0
    assert len({name for name, _ in net.named_parameters()}) == len(net.named_parameters())


def test_matrices_cannot_be_changed_afterwards_and_are_copies() -> None:
    given = np.zeros((LETTERS, D))
    net = replace(network(), embedding=given)
    given[0, 0] = 9.0
    assert net.embedding[0, 0] == 0.0
    for matrix in (net.embedding, net.layers[0].heads[0].query):
        with pytest.raises(ValueError, match="read-only"):
            matrix[0, 0] = 1.0


@every(
    ("change", "complaint"),
    [
        (lambda n: replace(n, padding=np.ones((1, D + 1))), "padding has 6, not 5"),
        (lambda n: replace(n, positions=np.ones((5, D - 1))), "positions has 4, not 5"),
        (lambda n: replace(n, positions=np.ones((1, D))), "positions for a word"),
        (lambda n: replace(n, readout_bias=np.zeros(STATES + 1)), "readout_bias has 4, not 3"),
        (lambda n: replace(n, embedding=np.full((2, D), np.nan)), "finite"),
        (lambda n: replace(n, embedding=np.ones(D)), "2 axes"),
        (lambda n: replace(n, layers=(replace(n.layers[0], keep_mlp=np.ones(D + 1)),)), "keep_mlp has 6"),
        (lambda n: replace(n.layers[0], keep_attention=np.full(D, 0.5)), "0 .* or 1"),
        (lambda n: replace(head(), key=np.ones((D, 5))), "d×k"),
        (lambda n: replace(head(), output=np.ones((2, D))), "d×v"),
        (lambda n: Head(*([np.ones((D, 0))] * 2), np.ones((D, 1)), np.ones((1, D))), "at least 1"),
        (lambda n: Head(*([np.ones((D, 1))] * 2), np.ones((4, 1)), np.ones((1, 4))), "same 5 channels"),
        (lambda n: Mlp((), ()), "n ≥ 1"),
        (lambda n: Mlp((np.ones((D, 3)), np.ones((4, D))), (np.ones(3), np.ones(D))), "does not fit"),
        (lambda n: replace(mlp(7), activations=(np.zeros(6),)), "one activation"),
        (lambda n: replace(mlp(7), activations=(np.full(7, 2),)), "ReLU"),
        (lambda n: Channel(register="a", position="one"), "not both"),
        (lambda n: Channel(register="a", part="tan"), "cos, sin or empty"),
        (lambda n: Channel(register="a", scale=0.0), "not 0"),
        (lambda n: Channel(register="a", scale=float("inf")), "finite"),
        (lambda n: Layout(((Channel(),),) * 2, ((),)), "need 3 moments"),
        (lambda n: Layout((*((Channel(),) * 2,) * 2, (Channel(),)), ((),)), "same number of channels"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_name(change, complaint: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InvalidInput, match=complaint):
        change(network())


def test_every_part_that_does_not_fit_is_named_at_once() -> None:
    with pytest.raises(InvalidInput) as refusal:
        replace(network(), padding=np.ones((1, 2)), readout=np.ones((3, STATES)))
    assert "padding has 2" in str(refusal.value)
    assert "readout has 3" in str(refusal.value)


def test_units_may_have_their_own_activations() -> None:
    mixed = replace(mlp(3), activations=(np.array([0, SIN, 0]),))
    assert mixed.hidden_widths == (3,)
    assert mixed.activations[0].tolist() == [0, SIN, 0]


def test_a_layout_finds_positions_and_reads_registers_in_their_scale() -> None:
    channels = (
        Channel(register="count", scale=0.5),
        Channel(position="recency"),
        Channel(register="key", part="cos"),
        Channel(register="key", part="sin"),
        Channel(),
    )
    layout = Layout((channels,) * 3, ((HeadMeaning("adds up", (0,)),),))
    stream = np.arange(10.0).reshape(2, 5)
    read = layout.read(0, stream)
    assert {name: values.tolist() for name, values in read.items()} == {
        "count": [0.0, 10.0],
        "key cos": [2.0, 7.0],
        "key sin": [3.0, 8.0],
    }
