"""Assembling blocks preserves values: lifting, adding, deepening, appending, dropping."""

import itertools

import numpy as np
import pytest

from krohn.network.compiled import CompiledNetwork
from krohn.network.forward import apply_mlp, run
from krohn.network.layout import Channel, Layout
from krohn.network.transformer import Layer, Mlp, Transformer
from krohn.paper.blocks import (
    add_mlps,
    basis,
    deepen,
    identity_layer,
    integer_readout,
    lift_layer,
    lift_mlp,
    parallel_layers,
    then_table,
)
from krohn.paper.circular_mlp import circular_mlp
from krohn.paper.interpolation import interpolate_1d, interpolate_nd
from krohn.paper.unused_channels import drop_unused_channels
from paper.lemma_networks import build_memory
from paper.paper_oracles import all_words, assert_simulates, naive_states

RNG = np.random.default_rng(0)


def random_mlp(reads: int, widths: list[int], writes: int) -> Mlp:
    sizes = [reads, *widths, writes]
    weights = tuple(RNG.normal(size=pair) for pair in itertools.pairwise(sizes))
    return Mlp(weights, tuple(RNG.normal(size=size) for size in sizes[1:]))


@pytest.mark.parametrize("widths", [[], [4], [4, 3]])
def test_a_lifted_mlp_reads_and_writes_its_channels_only(widths) -> None:
    mlp = random_mlp(2, widths, 2)
    inputs = RNG.normal(size=(10, 5))
    out = apply_mlp(lift_mlp(mlp, [3, 1], [0, 4], 5), inputs)
    np.testing.assert_allclose(out[:, [0, 4]], apply_mlp(mlp, inputs[:, [3, 1]]))
    assert not out[:, [1, 2, 3]].any()


def test_added_mlps_of_different_depths_sum_their_values() -> None:
    parts = [
        random_mlp(3, [4], 3),
        random_mlp(3, [2, 5, 2], 3),
        random_mlp(3, [3, 3], 3),
        identity_layer(3).mlp,
    ]
    inputs = RNG.normal(size=(20, 3))
    np.testing.assert_allclose(
        apply_mlp(add_mlps(parts), inputs), sum(apply_mlp(part, inputs) for part in parts), atol=1e-9
    )
    assert not apply_mlp(add_mlps([identity_layer(3).mlp, identity_layer(3).mlp]), inputs).any()


@pytest.mark.parametrize("layers", [2, 3, 5])
def test_deepening_keeps_signed_sines_too(layers) -> None:
    mlp = circular_mlp(7, 5, "sin")
    inputs = np.linspace(-0.5, 0.5, 15)[:, None]
    deep = deepen(mlp, layers)
    assert len(deep.weights) == layers
    np.testing.assert_allclose(apply_mlp(deep, inputs), apply_mlp(mlp, inputs), atol=1e-12)


def test_an_identity_layer_beside_a_memory_changes_nothing() -> None:
    net = build_memory(3, 5, 1)
    layer = lift_layer(net.transformer.layers[0], [0, 1, 2, 3], 6)
    both = parallel_layers([layer, identity_layer(6)])
    widen = [(0, 0), (0, 2)]
    network = Transformer(
        np.pad(net.transformer.embedding, widen),
        np.pad(net.transformer.padding, widen),
        np.pad(net.transformer.positions, widen),
        (both,),
        np.pad(net.transformer.readout, [(0, 2), (0, 0)]),
        net.transformer.readout_bias,
    )
    words = all_words(4, 5)
    assert (run(network, words) == naive_states(net.automaton, words)).all()
    empty = (Channel(),) * 6
    smaller, layout = drop_unused_channels(network, Layout((empty,) * 3, net.layout.heads))
    assert smaller.dim == 4
    assert len(layout.moments[0]) == 4
    assert (run(smaller, words) == naive_states(net.automaton, words)).all()


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_table_after_a_layer_sees_what_the_layer_wrote(depth) -> None:
    rounding = interpolate_1d([0, 1, 2], [2, 0, 1])
    inner = {1: Mlp((np.array([[0.0]]),), (np.array([1.0]),)), 2: rounding, 3: deepen(rounding, 3)}[depth]
    keep = np.array([1.0, 0.0 if depth > 1 else 1.0, 1.0])
    layer = Layer((), lift_mlp(inner, [1], [1], 3), np.ones(3), keep)
    rows = [(a, b) for a in range(3) for b in range(4)]
    table = interpolate_nd(rows, [10 * a + b for a, b in rows])
    joined = then_table(layer, table, [0, 1], 2)
    inputs = np.array([[a, b, 0.0] for a in range(3) for b in range(3)])
    after = inputs * keep + apply_mlp(layer.mlp, inputs)
    out = inputs * joined.keep_mlp + apply_mlp(joined.mlp, inputs)
    np.testing.assert_allclose(out[:, 2], 10 * after[:, 0] + after[:, 1], atol=1e-9)


def test_the_nearest_code_is_read_out() -> None:
    readout, bias = integer_readout(3, {0: [0, 0, 1, 1], 2: [0, 5, 0, 5]}, 4)
    stream = np.array([[0.02, 9, 4.8], [0.98, 9, 0.2], [0.04, 9, -0.2], [1.0, 9, 5.0]])
    assert (stream @ readout + bias).argmax(axis=1).tolist() == [1, 2, 0, 3]


def test_a_selection_matrix_picks_channels_in_order() -> None:
    assert (np.arange(5.0) @ basis(5, [4, 0, 2])).tolist() == [4, 0, 2]
    assert basis(3, [1]).shape == (3, 1)


def test_a_broken_network_is_caught_by_the_oracle() -> None:
    net = build_memory(2, 4, 0)
    broken = Transformer(
        net.transformer.embedding,
        net.transformer.padding,
        net.transformer.positions,
        (identity_layer(4),),
        net.transformer.readout,
        net.transformer.readout_bias,
    )
    layout = Layout(net.layout.moments, ((),))
    with pytest.raises(AssertionError, match="is wrong at letter"):
        assert_simulates(CompiledNetwork(broken, net.automaton, "paper", None, layout), all_words(3, 4))
