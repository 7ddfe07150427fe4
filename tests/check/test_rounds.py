"""MLPs that compose many windows in rounds: networks that lack one hypothesis, judged by torch."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest

from check.torch_judge import outputs
from krohn.functions import simulate
from krohn.network.compiled import CompiledNetwork
from krohn.network.transformer import Layer, Transformer
from krohn.proving.attempts import arithmetic, attempt
from proving.built_networks import compiled

LENGTH = 6
Change = Callable[[Layer], Layer]


@cache
def subject() -> CompiledNetwork:
    """Parity and the last letter in one: 3 points, 6 windows, rounds of 3, 2 and 1 windows."""
    return compiled("D6", LENGTH, "wide")


def proved(network: Transformer, length: int = LENGTH) -> bool:
    record, failure, _ = attempt(network, subject().automaton, length, arithmetic("float64"))
    assert (failure is None) == (record.witness is not None)
    if failure is None:
        assert record.witness["kind"] == "scan"
    return failure is None


def wrong_words(network: Transformer) -> int:
    words = np.array(list(product(range(subject().automaton.num_letters), repeat=LENGTH)))
    shown = outputs(network, words, "float64")
    return int((shown != np.asarray(simulate(subject().automaton, words))).any(axis=1).sum())


def changed(change: Change) -> Transformer:
    network = subject().transformer
    return replace(network, layers=(change(network.layers[0]),))


def test_the_network_has_one_layer_is_right_on_all_words_and_proved_by_rounds() -> None:
    network = subject().transformer
    assert network.depth == 1
    assert not wrong_words(network)
    for length in range(1, LENGTH + 1):
        assert proved(network, length)


def heads_exchanged(layer: Layer) -> Layer:
    first, second, *others = layer.heads
    swapped = replace(first, query=second.query), replace(second, query=first.query)
    return replace(layer, heads=(*swapped, *others))


def two_heads_at_one_distance(layer: Layer) -> Layer:
    first, second, *others = layer.heads
    return replace(layer, heads=(first, replace(second, query=first.query), *others))


def a_head_that_cannot_decide(layer: Layer) -> Layer:
    first, *others = layer.heads
    return replace(layer, heads=(replace(first, query=first.query / 64), *others))


def a_head_less(layer: Layer) -> Layer:
    *others, last = layer.heads
    return replace(layer, heads=(*others, replace(last, output=0 * last.output)))


def maps_added_to_what_was_there(layer: Layer) -> Layer:
    return replace(layer, keep_mlp=np.ones_like(layer.keep_mlp))


def with_matrix(index: int, change: Callable[[np.ndarray], None]) -> Change:
    def changing(layer: Layer) -> Layer:
        weights = [weight.copy() for weight in layer.mlp.weights]
        change(weights[index])
        return replace(layer, mlp=replace(layer.mlp, weights=tuple(weights)))

    return changing


def sine_between_rounds(layer: Layer) -> Layer:
    kinds = [kind.copy() for kind in layer.mlp.activations]
    kinds[1][:] = 1
    return replace(layer, mlp=replace(layer.mlp, activations=tuple(kinds)))


def another_window_seen(weight: np.ndarray) -> None:
    """A unit of the first window also sees a point of the last one."""
    weight[np.flatnonzero(weight[:, -1])[0], 0] += 40.0


def a_term_lost(weight: np.ndarray) -> None:
    rows, columns = np.nonzero(weight)
    weight[rows[0], columns[0]] = 0.0


def points_exchanged(weight: np.ndarray) -> None:
    weight[:, [0, 1]] = weight[:, [1, 0]]


WRONG: dict[str, Change] = {
    "two windows in the wrong order": heads_exchanged,
    "a window twice": two_heads_at_one_distance,
    "a head without a lead": a_head_that_cannot_decide,
    "a window missing": a_head_less,
    "maps added to what was there": maps_added_to_what_was_there,
    "units between rounds that are no ReLUs": sine_between_rounds,
    "a unit that sees another window": with_matrix(0, another_window_seen),
    "a term lost in the first round": with_matrix(1, a_term_lost),
    "a term lost between rounds": with_matrix(2, a_term_lost),
    "points exchanged between rounds": with_matrix(1, points_exchanged),
}


@pytest.mark.parametrize("name", WRONG)
def test_without_one_hypothesis_the_network_is_wrong_and_refused(name: str) -> None:
    network = changed(WRONG[name])
    assert wrong_words(network)
    assert not proved(network)


def bypass(size: float) -> Change:
    """One more unit between the rounds that holds no map and is read in the next round."""

    def changing(layer: Layer) -> Layer:
        weights, biases, kinds = (
            list(part) for part in (layer.mlp.weights, layer.mlp.biases, layer.mlp.activations)
        )
        weights[1] = np.concatenate([weights[1], np.ones((len(weights[1]), 1))], axis=1)
        biases[1], kinds[1] = np.append(biases[1], 0.0), np.append(kinds[1], 0)
        weights[2] = np.concatenate([weights[2], np.full((1, weights[2].shape[1]), size)])
        return replace(
            layer,
            mlp=replace(layer.mlp, weights=tuple(weights), biases=tuple(biases), activations=tuple(kinds)),
        )

    return changing


def test_what_reads_anything_but_maps_between_rounds_is_refused() -> None:
    assert wrong_words(changed(bypass(1.0)))
    assert not proved(changed(bypass(1.0)))
    assert not wrong_words(changed(bypass(2.0**-40)))  # harmless, and the rule is not for it
    record, failure, _ = attempt(changed(bypass(2.0**-40)), subject().automaton, 4, arithmetic("float64"))
    assert failure is not None or record.witness["kind"] != "scan"
