"""Networks that lack one hypothesis of one rule, beside the honest ones: wrong in torch, and never certified.

Each change takes away one thing that a rule of the checker asks for. It is judged by torch on all words, and
offered with the honest witness and with every witness that the search finds.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import krohn
from check.torch_judge import outputs
from krohn.check.transformer.checker import check
from krohn.functions import simulate
from krohn.network.compiled import CompiledNetwork
from krohn.network.transformer import Head, Layer, Transformer
from krohn.proving.attempts import arithmetic, attempt
from krohn.proving.claims import Question
from krohn.proving.compiled import verify_compiled
from krohn.proving.witness.search import checkable
from krohn.proving.word_search import all_words

LENGTH, DTYPE = 5, "float32"
Change = Callable[[Transformer], Transformer]
BASES = {
    "scan": ("S3", "scan"),
    "wide": ("FlipFlop", "wide"),
    "sums": ("C2", "paper"),
    "memory": ("FlipFlop", "paper"),
    "cascade": ("D6", "cascade"),
}


@cache
def base(kind: str) -> tuple[CompiledNetwork, dict]:
    name, method = BASES[kind]
    network = krohn.compile(name, length=LENGTH, method=method, dtype=DTYPE)
    proof = verify_compiled(network, Question(DTYPE, second_opinion=False), described=True)
    assert proof.certified
    return network, proof.witness


def wrong(network: Transformer, like: CompiledNetwork) -> bool:
    words = all_words(like.automaton.num_letters, LENGTH)
    return bool((outputs(network, words, DTYPE) != np.asarray(simulate(like.automaton, words))).any())


def at(network: Transformer, number: int, layer: Layer) -> Transformer:
    layers = list(network.layers)
    layers[number] = layer
    return replace(network, layers=tuple(layers))


def heads(network: Transformer, change: Callable[[Head], Head], which: int = 0) -> Transformer:
    """The first head of the first layer that has one, changed."""
    number = next(n for n, layer in enumerate(network.layers) if len(layer.heads) > which)
    own = list(network.layers[number].heads)
    own[which] = change(own[which])
    return at(network, number, replace(network.layers[number], heads=tuple(own)))


def mlp(network: Transformer, number: int, change: Callable[[list, list], None]) -> Transformer:
    layer = network.layers[number]
    weights, biases = ([part.copy() for part in parts] for parts in (layer.mlp.weights, layer.mlp.biases))
    change(weights, biases)
    made = replace(layer.mlp, weights=tuple(weights), biases=tuple(biases))
    return at(network, number, replace(layer, mlp=made))


def a_head_that_does_not_select(network: Transformer) -> Transformer:
    """Heads: the position to copy leads all others together; letters of a sum have equal scores."""
    return heads(network, lambda head: replace(head, query=head.query * -1.0 + 0.25))


def a_head_that_looks_elsewhere(network: Transformer) -> Transformer:
    """Heads: the winner is the position that the witness names."""
    return heads(network, lambda head: replace(head, key=-head.key - 0.125))


def values_of_another_size(network: Transformer) -> Transformer:
    """Heads: what is copied or added up is the value of the class."""
    return heads(network, lambda head: replace(head, value=head.value * 0.5))


def values_that_are_negated(network: Transformer) -> Transformer:
    """Heads: W_C passes on what W_V reads."""
    return heads(network, lambda head: replace(head, output=-head.output))


def a_head_that_adds_nothing(network: Transformer) -> Transformer:
    """Silent heads are those whose W_C is 0: this one was not silent."""
    return heads(network, lambda head: replace(head, output=0 * head.output))


def a_head_twice(network: Transformer) -> Transformer:
    """Attention: one rule for each head, and each is added once."""
    number = next(n for n, layer in enumerate(network.layers) if layer.heads)
    layer = network.layers[number]
    return at(network, number, replace(layer, heads=(*layer.heads, layer.heads[0])))


def no_residual(network: Transformer) -> Transformer:
    """The stream: channels that are kept are added to what heads write."""
    layer = network.layers[0]
    return at(network, 0, replace(layer, keep_attention=0 * layer.keep_attention))


def another_residual(network: Transformer) -> Transformer:
    """MLP: where keep is 0, what stood there before is gone."""
    layer = network.layers[-1]
    return at(network, network.depth - 1, replace(layer, keep_mlp=1 - layer.keep_mlp))


def a_bias_that_moves(network: Transformer) -> Transformer:
    """MLP: hidden units are run with their biases."""

    def change(weights: list, biases: list) -> None:
        biases[0] += 0.75

    return mlp(network, network.depth - 1, change)


def an_output_bias(network: Transformer) -> Transformer:
    """MLP: the last bias is added to the stream."""

    def change(weights: list, biases: list) -> None:
        biases[-1] += 1.0

    return mlp(network, network.depth - 1, change)


def units_that_are_scaled(network: Transformer) -> Transformer:
    """MLP: what units add is what the last matrix makes of them."""

    def change(weights: list, biases: list) -> None:
        weights[-1] *= -0.5

    return mlp(network, network.depth - 1, change)


def letters_that_trade_places(network: Transformer) -> Transformer:
    """Embedding: a class stands for its own letter."""
    return replace(network, embedding=network.embedding[::-1].copy())


def the_last_position(network: Transformer) -> Transformer:
    """Positions: what holds must hold at the last letter, too."""
    positions = network.positions.copy()
    positions[-1] += 3.0
    return replace(network, positions=positions)


def padding_like_a_letter(network: Transformer) -> Transformer:
    """Padding: what stands before the first letter is bounded apart."""
    return replace(network, padding=np.repeat(network.embedding[-1:], len(network.padding), axis=0))


def a_read_out_of_another_state(network: Transformer) -> Transformer:
    """Read-out: each class decodes to the automaton's own state."""
    return replace(network, readout=np.roll(network.readout, 1, axis=1))


def a_read_out_bias(network: Transformer) -> Transformer:
    """Read-out: the right logit leads by more than the biases differ."""
    bias = network.readout_bias.copy()
    bias[0] += 2 * np.abs(network.readout).max() * 4
    return replace(network, readout_bias=bias)


CHANGES: list[Change] = [
    *(a_head_that_does_not_select, a_head_that_looks_elsewhere, values_of_another_size),
    *(values_that_are_negated, a_head_that_adds_nothing, a_head_twice, no_residual, another_residual),
    *(a_bias_that_moves, an_output_bias, units_that_are_scaled, letters_that_trade_places),
    *(the_last_position, padding_like_a_letter, a_read_out_of_another_state, a_read_out_bias),
]
HARMLESS = {
    *(("wide", name) for name in ("a_head_twice", "a_bias_that_moves")),
    ("sums", "no_residual"),
    *(("memory", name) for name in ("no_residual", "another_residual", "a_bias_that_moves")),
}
"""Changes that leave the answers of a network right: not attacks."""
ATTACKS = [(kind, change) for kind in BASES for change in CHANGES if (kind, change.__name__) not in HARMLESS]
FEW = [
    (kind, change) for kind, change in ATTACKS if (list(BASES).index(kind) + CHANGES.index(change)) % 2 == 0
]
"""Each change in some networks, in each network some changes; ``make attacks`` has the rest."""
REST = [attack for attack in ATTACKS if attack not in FEW]


@pytest.mark.parametrize("kind", BASES)
def test_an_honest_network_is_right_and_certified(kind: str) -> None:
    like, witness = base(kind)
    assert not wrong(like.transformer, like)
    assert check(*checkable(like.transformer, like.automaton), DTYPE, LENGTH, witness).certified


@pytest.mark.parametrize("part", ["few", "rest"])
@pytest.mark.parametrize("kind", BASES)
def test_a_network_that_lacks_one_hypothesis_is_wrong_and_not_certified(kind: str, part: str) -> None:
    like, witness = base(kind)
    for change in (change for own, change in (FEW if part == "few" else REST) if own == kind):
        network = change(like.transformer)
        assert wrong(network, like), change.__name__
        held, table = checkable(network, like.automaton)
        assert not check(held, table, DTYPE, LENGTH, witness).certified, change.__name__
        _, failure, _ = attempt(network, like.automaton, LENGTH, arithmetic(DTYPE), once=True)
        assert failure is not None, change.__name__


def test_there_are_enough_of_them() -> None:
    assert len(ATTACKS) >= 40
    assert {change for _, change in FEW} == set(CHANGES)
    assert {kind for kind, _ in FEW} == {kind for kind, _ in REST} == set(BASES)
