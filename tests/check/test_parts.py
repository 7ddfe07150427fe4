"""Parts that are proved apart: the rule's hypotheses one by one, each taken away from an honest proof.

Networks without one are judged by torch on every word; witnesses that lie about parts are refused.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import krohn
from check.test_one_less import CHANGES
from check.torch_judge import outputs
from krohn.automata.products import direct_product
from krohn.check.ground import Refused, Verdict, Work
from krohn.check.transformer.checker import check
from krohn.check.transformer.parts import slice_of
from krohn.errors import LimitExceeded
from krohn.functions import simulate
from krohn.network.compiled import CompiledNetwork
from krohn.network.transformer import Transformer
from krohn.proving.attempts import attempt
from krohn.proving.witness import apart
from krohn.proving.witness.apart import factors, witness_apart
from krohn.proving.witness.plain import witness_json
from krohn.proving.witness.search import checkable
from krohn.proving.word_search import all_words

LENGTH, DTYPE = 5, "float32"


@cache
def plane() -> tuple[CompiledNetwork, dict[str, Any]]:
    """A robot in the plane, and its witness by parts."""
    network = krohn.compile("Grid5x5", LENGTH, method="cascade", dtype=DTYPE)
    record, failure, _ = attempt(network.transformer, network.automaton, LENGTH, DTYPE)
    assert failure is None
    assert record.witness is not None
    assert record.witness["kind"] == "parts"
    return network, record.witness


def verdict(transformer: Transformer, witness: dict[str, Any]) -> Verdict:
    return check(*checkable(transformer, plane()[0].automaton), DTYPE, LENGTH, witness)


def wrong(transformer: Transformer) -> bool:
    automaton = plane()[0].automaton
    words = all_words(automaton.num_letters, LENGTH)
    return bool((outputs(transformer, words, DTYPE) != np.asarray(simulate(automaton, words))).any())


def last_mlp(
    transformer: Transformer, change: Callable[[list[np.ndarray], list[np.ndarray]], None]
) -> Transformer:
    layer = transformer.layers[-1]
    weights, biases = ([part.copy() for part in parts] for parts in (layer.mlp.weights, layer.mlp.biases))
    change(weights, biases)
    codes = [
        np.resize(np.append(code, 0), len(bias))
        for code, bias in zip(layer.mlp.activations, biases, strict=False)
    ]
    mlp = replace(layer.mlp, weights=tuple(weights), biases=tuple(biases), activations=tuple(codes))
    made = replace(layer, mlp=mlp)
    return replace(transformer, layers=(*transformer.layers[:-1], made))


def test_an_honest_network_is_right_and_certified() -> None:
    network, witness = plane()
    assert not wrong(network.transformer)
    assert verdict(network.transformer, witness).certified


@pytest.mark.parametrize("channel", [0, 1])
def test_a_slice_is_a_network_that_shows_what_the_whole_shows_of_its_channel(channel: int) -> None:
    network, _ = plane()
    held, _ = checkable(network.transformer, network.automaton)
    values = np.unique(held.readout[channel])
    cut = slice_of(held, np.array([channel]), -(values**2) / 4)
    kept = network.transformer
    layers = []
    for own, layer in zip(kept.layers, cut.network.layers, strict=True):
        mlp = replace(own.mlp, weights=layer.weights, biases=layer.biases, activations=layer.sine)
        heads = tuple(replace(own.heads[0], **vars(head)) for head in layer.heads)
        keep = {"keep_attention": layer.keep_attention, "keep_mlp": layer.keep_mlp}
        layers.append(replace(own, heads=heads, mlp=mlp, **keep))
    outer = ("embedding", "padding", "positions", "readout", "readout_bias")
    part = replace(kept, layers=tuple(layers), **{name: getattr(cut.network, name) for name in outer})
    words = all_words(network.automaton.num_letters, LENGTH)
    shown = outputs(part, cut.kinds[words], "float64")
    assert (values[shown] == held.readout[channel][outputs(kept, words, "float64")]).all()
    assert len(cut.own) < held.embedding.shape[1]
    assert len(cut.network.embedding) == 3  # one way, the other way, or no step in this direction


def coupled(network: Transformer) -> Transformer:
    """No part reads another: here the first number moves with the second."""

    def change(weights: list[np.ndarray], biases: list[np.ndarray]) -> None:
        weights[0][1, weights[-1][:, 0] != 0] += 1.0

    return last_mlp(network, change)


def lost(network: Transformer) -> Transformer:
    """Each channel that is read out is in a part: here the second is silent."""
    return last_mlp(network, lambda weights, biases: weights[-1].__setitem__((slice(None), 1), 0.0))


def joined(network: Transformer) -> Transformer:
    """Outputs have columns of their own: here two have the same."""
    readout, bias = network.readout.copy(), network.readout_bias.copy()
    readout[:, 7], bias[7] = readout[:, 3], bias[3]
    return replace(network, readout=readout, readout_bias=bias)


def biased(network: Transformer) -> Transformer:
    """A bias is the sum of what its columns are worth: here one output is favoured."""
    bias = network.readout_bias.copy()
    bias[12] += 4.0
    return replace(network, readout_bias=bias)


def infinite(network: Transformer) -> Transformer:
    """Every number is finite: here one is not, in a channel that no part reads, and 0 times it is NaN."""
    free = int(np.flatnonzero(~network.readout.any(axis=1))[-1])

    def change(weights: list[np.ndarray], biases: list[np.ndarray]) -> None:
        weights[0], biases[0] = np.c_[weights[0], np.zeros(len(weights[0]))], np.append(biases[0], 1e30)
        row = np.zeros(weights[-1].shape[1])
        row[free] = 1e30
        weights[-1] = np.r_[weights[-1], row[None]]

    return last_mlp(network, change)


def seen(network: Transformer) -> Transformer:
    """What a part sees of a letter decides its step: here a letter moves both."""
    embedding = network.embedding.copy()
    embedding[0] += embedding[2]
    return replace(network, embedding=embedding)


OWN = [coupled, lost, joined, biased, infinite, seen]
HARMLESS: set[str] = set()


def test_a_network_that_lacks_one_hypothesis_is_wrong_and_not_certified() -> None:
    network, witness = plane()
    for change in (*OWN, *(change for change in CHANGES if change.__name__ not in HARMLESS)):
        made = change(network.transformer)
        assert wrong(made), change.__name__
        assert not verdict(made, witness).certified, change.__name__


@pytest.mark.parametrize("change", OWN)
def test_no_other_proof_by_parts_is_found(change: Callable[[Transformer], Transformer]) -> None:
    made, automaton = checkable(change(plane()[0].transformer), plane()[0].automaton)
    try:
        found = witness_apart(made, automaton, DTYPE, LENGTH, Work(2e8))
    except (Refused, LimitExceeded):
        return
    assert found is None or not check(made, automaton, DTYPE, LENGTH, witness_json(found[0])).certified


def test_a_way_without_choices_is_not_gone_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    made, automaton = checkable(coupled(plane()[0].transformer), plane()[0].automaton)
    walks, begin = [], apart.begin_walk

    def counted(*given: Any, **named: Any) -> apart.WitnessWalk:
        walks.append(begin(*given, **named))
        return walks[-1]

    monkeypatch.setattr(apart, "begin_walk", counted)
    with pytest.raises(Refused):
        witness_apart(made, automaton, DTYPE, LENGTH, Work(2e8))
    assert [walk.guessed for walk in walks] == [False]


def changed(part: int, **fields: Any) -> dict[str, Any]:
    """The honest witness with other fields in one part."""
    parts = list(plane()[1]["parts"])
    parts[part] = {**parts[part], **fields}
    return {"kind": "parts", "parts": parts}


LIES: dict[str, tuple[Callable[[], dict[str, Any]], str]] = {
    "a part is left out": (lambda: {"kind": "parts", "parts": plane()[1]["parts"][:1]}, "in no part"),
    "a part twice": (lambda: {"kind": "parts", "parts": plane()[1]["parts"] * 2}, "share a channel"),
    "another part's channel": (lambda: changed(0, channels=[1]), "share a channel"),
    "no such channel": (lambda: changed(0, channels=[99]), "share a channel"),
    "all states alike": (lambda: changed(0, labels=[0] * 25), "labels do not follow"),
    "labels that letters do not respect": (
        lambda: changed(0, labels=[(n * 2 + n // 5) % 5 for n in range(25)]),
        "labels do not follow",
    ),
    "a label too few": (lambda: changed(0, labels=[0] * 24), "one label for each state"),
    "another worth": (lambda: changed(0, worth=[0.0] * 5), "not told apart"),
    "worth moved in all columns": (
        lambda: changed(0, worth=[number + 3 for number in plane()[1]["parts"][0]["worth"]]),
        "logits of the whole may err",
    ),
    "the other part's proof": (lambda: changed(0, proof=plane()[1]["parts"][1]["proof"]), ""),
    "no parts": (lambda: {"kind": "parts", "parts": []}, "parts must be a list"),
    "parts within parts": (lambda: changed(0, proof=plane()[1]), "unknown kind"),
}


@pytest.mark.parametrize("lie", [lie for lie in LIES if "other part's proof" not in lie])
def test_a_witness_that_lies_about_parts_is_refused(lie: str) -> None:
    made, reason = LIES[lie]
    said = verdict(plane()[0].transformer, made())
    assert not said.certified
    assert reason in said.reason


def test_parts_of_one_layer_norm_are_refused() -> None:
    network, _ = plane()
    held, _ = checkable(network.transformer, network.automaton)
    normed = replace(held, gain=np.ones(len(held.readout)))
    with pytest.raises(Refused, match="interact in a LayerNorm"):
        slice_of(normed, np.array([0]), np.zeros(5))


@pytest.mark.parametrize(
    ("names", "sizes"),
    [(("Grid9", "Grid3"), [9, 3]), (("Grid5", "Grid6", "Grid4"), [6, 5, 4]), (("Grid6", "Grid6"), [6, 6])],
)
def test_factors_are_those_of_the_product(names: tuple[str, ...], sizes: list[int]) -> None:
    automaton = direct_product(*map(krohn.zoo, names))
    network = krohn.compile(automaton, LENGTH, method="cascade", unproved=True)
    found = factors(*checkable(network.transformer, automaton))
    assert sorted((int(labels.max()) + 1 for _, labels in found), reverse=True) == sizes


def test_what_is_no_product_has_no_parts() -> None:
    network = krohn.compile("A4", LENGTH, unproved=True)
    assert not factors(*checkable(network.transformer, network.automaton))
