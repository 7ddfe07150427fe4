"""LayerNorm in the checker: its bounds against real runs, and decoders that are broken by hand."""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

import krohn
from check.judge import decoder_outputs, hard_words, runs
from every import every
from krohn.check.arithmetic.format import FORMATS, normalise, spread, whole
from krohn.check.files.reader import Automaton, Network
from krohn.check.ground import Real, Refused, between, point
from krohn.check.transformer.checker import check
from krohn.exporting.from_compiled import decoder_of_compiled
from krohn.proving.export import checkable_decoder, prove, token_table

SINGLE = FORMATS["float32"]
EPSILON = 1e-5
Array = npt.NDArray[Any]


def streams(dice: np.random.Generator, channels: int, rows: int = 64) -> tuple[Array, float]:
    """Vectors with a pair ±C somewhere among small numbers."""
    large = 2.0 ** int(dice.integers(8, 30))
    x = dice.normal(size=(rows, channels)) * large / 2.0 ** int(dice.integers(7, 13))
    x = np.abs(x) if dice.random() < 0.3 else np.rint(x) if dice.random() < 0.5 else x
    places = dice.choice(channels, 2, replace=False)
    x[:, places] = large, -large
    return x.astype(np.float32).astype(np.float64), large


def test_mean_and_deviation_of_torch_are_inside() -> None:
    dice = np.random.default_rng(0)
    for channels in (4, 7, 16, 33, 64, 147, 400, 1024):
        for _ in range(12):
            x, _ = streams(dice, channels)
            mean, inverse = spread(SINGLE, between(x.min(axis=0), x.max(axis=0)), EPSILON)
            data = torch.tensor(x, dtype=torch.float32)
            _, result, deviation = torch.native_layer_norm(data, [channels], None, None, EPSILON)
            assert float(result.abs().max()) <= mean
            assert inverse.lo <= float(deviation.min())
            assert float(deviation.max()) <= inverse.hi


def test_epsilon_is_rounded_and_added_too() -> None:
    """Where it is far larger than the variance, the sum is as inaccurate as epsilon, not as the variance."""
    x = np.zeros((1, 4))
    x[0, :2] = 2.0**-30, -(2.0**-30)
    _, inverse = spread(SINGLE, between(x[0], x[0]), 0.7)
    root = np.sqrt(0.7 + np.square(x).mean())
    few = 4 * 2.0**-24  # of the square root alone
    assert inverse.lo < (1 - few - 2.0**-24) / root
    assert inverse.hi > (1 + few + 2.0**-24) / root


def shuffled_norm(x: Array, gain: Array, dice: np.random.Generator, kind: int) -> Array:
    """LayerNorm in float32: two passes in a random order, or as x · inverse − mean · inverse."""
    order = dice.permutation(x.shape[1])
    one, data = np.float32, x.astype(np.float32)
    total = np.zeros(len(x), dtype=one)
    for column in order:
        total = total + data[:, column]
    mean = total / one(x.shape[1])
    squares = np.zeros(len(x), dtype=one)
    for column in dice.permutation(x.shape[1]):
        squares = squares + (data[:, column] - mean) ** 2
    inverse = one(1) / np.sqrt(squares / one(x.shape[1]) + one(EPSILON))
    if kind:
        result = data * inverse[:, None] + (-mean * inverse)[:, None]
    else:
        result = (data - mean[:, None]) * inverse[:, None]
    return result * gain.astype(one)


def test_what_a_matrix_reads_of_a_layer_norm_is_inside() -> None:
    dice = np.random.default_rng(1)
    for trial in range(60):
        channels = int(dice.integers(5, 40))
        x, large = streams(dice, channels)
        gain = np.full(channels, np.float32(large * np.sqrt(2 / channels)), dtype=np.float64)
        if trial % 3 == 0:
            gain = gain * dice.normal(size=channels).astype(np.float32)
        gain = gain.astype(np.float32).astype(np.float64)
        weight = np.rint(dice.normal(size=(channels, 3)) * 8)
        weight[0] -= weight.sum(axis=0)
        norm = normalise(SINGLE, between(x.min(axis=0), x.max(axis=0)), gain, EPSILON)
        box = norm.linear(whole(point(x)), weight).part
        y = shuffled_norm(x, gain, dice, trial % 2)
        result = np.zeros((len(x), 3), dtype=np.float32)
        for row in dice.permutation(channels):
            result = result + y[:, row : row + 1] * weight[row].astype(np.float32)
        assert (box.lo <= result).all()
        assert (result <= box.hi).all()


def test_a_deviation_that_varies_moves_what_is_subtracted_as_well() -> None:
    """Rows of very different deviations and means that are not 0: mean · inverse is bounded, not the mean."""
    dice, moved = np.random.default_rng(5), 0
    for _ in range(60):
        channels = int(dice.integers(3, 12))
        x = dice.random((64, channels)) * 20
        x[:, 0] = np.where(dice.random(64) < 0.5, 100.0, 250.0)
        x[:, 1] = -x[:, 0]
        x = x.astype(np.float32).astype(np.float64)
        gain = dice.normal(size=channels).astype(np.float32).astype(np.float64)
        weight = np.rint(dice.normal(size=(channels, 3)) * 8)
        stream = between(x.min(axis=0), x.max(axis=0))
        norm = normalise(SINGLE, stream, gain, EPSILON)
        box = norm.linear(whole(point(x)), weight).part
        y = torch.nn.functional.layer_norm(torch.tensor(x), [channels], torch.tensor(gain)).numpy()
        result = y @ weight
        assert (box.lo <= result).all()
        assert (result <= box.hi).all()
        mean = spread(SINGLE, stream, EPSILON)[0]
        moved += norm.mean > 1.2 * mean
    assert moved > 30


def test_the_mean_drops_out_where_a_channel_takes_it_away() -> None:
    x = np.array([[3.0, 5.0, 2.0**20, -(2.0**20), 0.0]])
    gain = np.full(5, np.float32(2.0**20 * np.sqrt(2 / 5)), dtype=np.float64)
    norm = normalise(SINGLE, point(x[0]), gain, EPSILON)
    box = norm.linear(whole(point(x)), np.array([[1.0], [0.0], [0.0], [0.0], [-1.0]])).part
    assert box.lo <= 3.0 <= box.hi
    assert (box.hi - box.lo).max() < 1e-4
    wide = norm.linear(whole(point(x)), np.array([[1.0], [0.0], [0.0], [0.0], [0.0]])).part
    assert (wide.hi - wide.lo).max() > 2  # its mean is 1.6


@pytest.mark.parametrize(
    ("stream", "gain"),
    [
        ([2.0**70, -(2.0**70), 0.0], [1.0, 1.0, 1.0]),  # the squares overflow
        ([1.0, -1.0, 0.0], [3e38, 3e38, 3e38]),
        ([1e-3, -1e-3, 0.0], [3e36, 3e36, 3e36]),  # so does gain / deviation, by 300 more than the result
        ([np.inf, 0.0, 0.0], [1.0, 1.0, 1.0]),
    ],
)
def test_what_overflows_in_a_layer_norm_is_refused(stream: list[float], gain: list[float]) -> None:
    with pytest.raises(Refused), np.errstate(all="ignore"):
        normalise(SINGLE, point(stream), np.array(gain), EPSILON).linear(
            whole(point([stream])), np.ones((3, 1))
        )


def test_a_gain_that_vanishes_before_x_comes_is_seen() -> None:
    """Gain / deviation is 0 where it is computed first."""
    x, gain = np.array([[2.0**60, -(2.0**60), 0.0]]), np.full(3, 2.0**-93)
    first = np.float32(gain[0]) * np.float32(1 / np.sqrt(np.square(x).mean()))
    assert (
        first == 0 < np.float32(2.0**60) * np.float32(1 / np.sqrt(np.square(x).mean())) * np.float32(gain[0])
    )
    box = normalise(SINGLE, point(x[0]), gain, EPSILON).linear(whole(point(x)), np.eye(3)[:, :1])
    assert box.part.lo <= 0 <= box.part.hi


def test_a_deviation_that_may_vanish_is_refused_without_epsilon() -> None:
    with pytest.raises(Refused):
        normalise(SINGLE, Real(-np.ones(3), np.ones(3)), np.ones(3), 0.0)
    with pytest.raises(Refused):
        normalise(FORMATS["bfloat16"], point([1.0, -1.0, 0.0]), np.ones(3), EPSILON)


@lru_cache
def proved(name: str) -> tuple[Network, Automaton, dict[str, Any], int]:
    """A GPT-2 with its witness."""
    length = 12
    network = krohn.compile(krohn.zoo(name), length=length, unproved=True)
    decoder = decoder_of_compiled(network, normalized=True)
    verdict = prove(decoder, network)
    assert verdict.certified
    assert verdict.largest == length
    return checkable_decoder(decoder), token_table(decoder, network.automaton), verdict.witness, length


def is_wrong(network: Network, table: Automaton, length: int) -> bool:
    """Whether some order of sums, on some word, shows another token than the right one."""
    for words in hard_words(table.table.shape[1], length, most=150):
        wanted = table.shows[runs(table.table, table.start, words)]
        for backwards in (False, True):
            shown = decoder_outputs(network, words, backwards=backwards, welford=backwards)
            if (shown != wanted).any():
                return True
    return False


def outer(network: Network, **parts: Array) -> Network:
    return replace(network, **parts)  # type: ignore[arg-type]


def pair(network: Network) -> list[int]:
    return [int(c) for c in np.argsort(np.abs(network.positions[0]))[-2:]]


def scaled_pair(factor: float, rows: slice = slice(None)) -> Callable[[Network], Network]:
    """The pair ±C at some positions is another."""

    def change(network: Network) -> Network:
        positions = network.positions.copy()
        positions[rows, pair(network)] *= factor
        return outer(network, positions=positions)

    return change


def gains(change: Callable[[Array], Array]) -> Callable[[Network], Network]:
    def changed(network: Network) -> Network:
        layers = tuple(replace(layer, gain_mlp=change(layer.gain_mlp.copy())) for layer in network.layers)  # type: ignore[union-attr]
        return replace(network, layers=layers)

    return changed


def uneven(gain: Array) -> Array:
    gain[::2] *= 1.5
    return gain


def lone(network: Network) -> Network:
    """One of the pair is removed: the mean is as large as the other."""
    positions = network.positions.copy()
    positions[:, pair(network)[0]] = 0
    return outer(network, positions=positions)


def tilted(network: Network) -> Network:
    """At the last position the pair no longer cancels."""
    positions = network.positions.copy()
    positions[-1, pair(network)[0]] *= 3
    return outer(network, positions=positions)


def idle(network: Network) -> Network:
    """An unread channel is huge from the fifth letter on: its square overflows."""
    positions = network.positions.copy()
    positions[5:, int(np.flatnonzero(~positions.any(axis=0))[-1])] = 2e19
    return outer(network, positions=positions)


def noisy(network: Network) -> Network:
    """The channel that takes the mean away is not 0 after one letter."""
    embedding = network.embedding.copy()
    embedding[1, int(np.flatnonzero(~network.positions.any(axis=0) & ~embedding.any(axis=0))[-1])] = 0.75
    return outer(network, embedding=embedding)


BROKEN: dict[str, Callable[[Network], Network]] = {
    "a pair that is twice as large": scaled_pair(2.0),
    "a pair that is half as large at the last position": scaled_pair(0.5, slice(-1, None)),
    "a pair that is larger from the eighth position on": scaled_pair(1.5, slice(8, None)),
    "no pair": scaled_pair(0.0),
    "a pair that is too small": scaled_pair(2.0**-14),
    "a pair whose squares overflow": scaled_pair(2.0**60),
    "one of the pair alone": lone,
    "a pair that does not cancel": tilted,
    "an idle channel that overflows late": idle,
    "gains that differ": gains(uneven),
    "gains that are 0": gains(lambda gain: gain * 0),
    "gains that are halved": gains(lambda gain: gain / 2),
    "gains of the other sign": gains(lambda gain: -gain),
    "a large epsilon": lambda network: replace(network, epsilon=1e12),
    "another root": lambda network: replace(network, root=network.root * 16),
}


@every("kind", BROKEN)
def test_a_broken_layer_norm_is_not_certified(kind: str) -> None:
    network, table, witness, length = proved("C2")
    changed = BROKEN[kind](network)
    assert is_wrong(changed, table, length), "a network that is right shows nothing"
    assert not check(changed, table, "float32", length, witness).certified


def test_the_networks_that_are_broken_here_are_certified_and_right_before() -> None:
    for name in ("FlipFlop", "C2"):
        network, table, witness, length = proved(name)
        assert check(network, table, "float32", length, witness).certified
        assert not is_wrong(network, table, length)


@pytest.mark.parametrize(("name", "count"), [("FlipFlop", 36), ("C2", 15)])
def test_no_mutant_with_layer_norm_is_certified_and_wrong(name: str, count: int) -> None:
    network, table, witness, length = proved(name)
    dice, seen = np.random.default_rng(3), {True: 0, False: 0}
    for _ in range(count):
        changed = mutant(network, dice)
        certified = check(changed, table, "float32", length, witness).certified
        wrong = is_wrong(changed, table, length)
        assert not (certified and wrong)
        seen[wrong] += 1
    assert min(seen.values()) > 5


def mutant(network: Network, dice: np.random.Generator) -> Network:
    """One entry of one tensor is replaced."""
    at = int(dice.integers(len(network.layers)))
    layer, factor = (
        network.layers[at],
        float(dice.choice([0.0, -1.0, 0.5, 2.0, 1.001, 0.9, 2.0**12, 2.0**-12])),
    )

    def hit(matrix: Array) -> Array:
        result, places = matrix.copy(), np.argwhere(matrix != 0)
        if len(places):
            result[tuple(places[dice.integers(len(places))])] *= factor
        return result

    kind = int(dice.integers(7))
    if kind == 0:
        return outer(network, positions=hit(network.positions))
    if kind == 1:
        return outer(network, embedding=hit(network.embedding))
    if kind == 2:
        return outer(network, readout=hit(network.readout))
    if kind == 3:
        changed = replace(layer, gain_mlp=hit(layer.gain_mlp), gain_attention=hit(layer.gain_attention))  # type: ignore[arg-type]
    elif kind == 4:
        changed = replace(layer, weights=(hit(layer.weights[0]), layer.weights[1]))
    elif kind == 5:
        changed = replace(layer, weights=(layer.weights[0], hit(layer.weights[1])))
    else:
        heads = tuple(replace(head, query=hit(head.query), value=hit(head.value)) for head in layer.heads)
        changed = replace(layer, heads=heads)
    return replace(network, layers=(*network.layers[:at], changed, *network.layers[at + 1 :]))
