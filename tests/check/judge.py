"""An independent forward pass to judge networks: shares neither code nor summation order with the package.

Every tensor is stored in the dtype; sums, scores and softmax of half types are in float32. Channels, units
and positions may be added up in the order in which they stand, or backwards: then heads are also added to
each other before the stream, and a bias is added to a sum before it is stored.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.int64]
Numbers = npt.NDArray[Any]


def _half(values: Numbers) -> Numbers:
    return values.astype(np.float16).astype(np.float32)


def _brain(values: Numbers) -> Numbers:
    """bfloat16 by way of float32, ties to even, written with division instead of bits."""
    single = values.astype(np.float32)
    with np.errstate(all="ignore"):
        _, exponent = np.frexp(single)
        grain = np.maximum(np.ldexp(1.0, exponent.astype(np.int64) - 8), 2.0**-133)
        rounded = np.rint(single.astype(np.float64) / grain) * grain
    large = np.abs(rounded) >= 2.0**128
    return np.where(large, np.copysign(np.inf, single), np.where(single == 0, single, rounded)).astype(
        np.float32
    )


STORES = {
    "float64": lambda values: values.astype(np.float64),
    "float32": lambda values: values.astype(np.float32),
    "float16": _half,
    "bfloat16": _brain,
}


def outputs(network: Any, words: Words, dtype: str, *, backwards: bool = False) -> Words:
    """The states that the network outputs on words [batch, length]."""
    store, way = STORES[dtype], slice(None, None, -1 if backwards else 1)

    def times(left: Numbers, right: Numbers, bias: Numbers | None = None) -> Numbers:
        product = left[..., way] @ store(right)[way]
        if bias is None:
            return store(product)
        return store(product + store(bias)) if backwards else store(store(product) + store(bias))

    with np.errstate(all="ignore"):
        letters = store(network.embedding)[words]
        pads = np.repeat(store(network.padding)[None], len(words), axis=0)
        x = np.concatenate([pads, letters], axis=1)
        count = x.shape[1]
        x = store(x + store(network.positions[:count]))
        rows, columns = np.indices((count, count))
        hidden = columns > rows
        for layer in network.layers:
            residual = np.where(layer.keep_attention > 0, x, x * 0)
            total = residual * 0 if backwards else residual
            for head in layer.heads[way]:
                asked, key, value = (times(x, m) for m in (head.query, head.key, head.value))
                scores = asked[..., way] @ np.swapaxes(key[..., way], 1, 2)
                scores = np.where(hidden, np.array(-np.inf, scores.dtype), scores)
                powers = np.exp(scores - scores.max(axis=2, keepdims=True))
                weights = store(powers / powers[..., way].sum(axis=2, keepdims=True))
                total = store(total + times(store(weights[..., way] @ value[:, way]), head.output))
            total = store(total + residual) if backwards else total
            x = store(np.where(layer.keep_mlp > 0, total, total * 0) + _mlp(layer.mlp, total, times, store))
        logits = times(x[:, len(network.padding) :], network.readout, network.readout_bias)
    lost = np.isnan(logits).any(axis=-1)
    return np.where(lost, -1, logits.argmax(axis=-1))


def _mlp(mlp: Any, x: Numbers, times: Any, store: Any) -> Numbers:
    for index, (weight, bias) in enumerate(zip(mlp.weights, mlp.biases, strict=True)):
        x = times(x, weight, bias)
        if index + 1 < len(mlp.weights):
            x = np.where(mlp.activations[index] == 1, store(np.sin(x)), np.maximum(x, 0))
    return x


def runs(table: npt.NDArray[Any], start: int, words: Words) -> Words:
    """The automaton's states, letter by letter."""
    here, shown = np.full(len(words), start), []
    for column in words.T:
        here = np.asarray(table)[here, column]
        shown.append(here)
    return np.stack(shown, axis=1)


def hard_words(letters: int, length: int, most: int = 300, seed: int = 0) -> Iterator[Words]:
    """All short words; then words of full length: constant, with a period, with one letter that differs, with
    long runs, and random ones.
    """
    short = 1
    while short < length and letters ** (short + 1) <= most:
        short += 1
    yield np.indices((letters,) * short).reshape(short, -1).T
    dice = np.random.default_rng(seed)
    result = [np.full(length, letter) for letter in range(letters)]
    for period in (2, 3, 4, 5, 7):
        result += [np.resize(dice.integers(letters, size=period), length) for _ in range(2)]
    for place in sorted({0, 1, length // 2, length - 2, length - 1, *dice.integers(length, size=3)} - {-1}):
        for base in dice.choice(letters, size=min(2, letters), replace=False):
            word = np.full(length, base)
            word[place] = (base + 1 + dice.integers(max(letters - 1, 1))) % letters
            result.append(word)
    for _ in range(6):
        result.append(
            np.repeat(dice.integers(letters, size=length), dice.integers(1, 9, size=length))[:length]
        )
    result += list(dice.integers(letters, size=(8, length)))
    yield np.array(result)


def wrong_word(network: Any, automaton: Any, length: int, dtype: str, **options: Any) -> list[int] | None:
    """The first tested word on which the network disagrees with the automaton."""
    backwards = options.pop("backwards", False)
    for words in hard_words(automaton.num_letters, length, **options):
        wanted = runs(automaton.table, automaton.start, words)
        bad = np.argwhere(outputs(network, words, dtype, backwards=backwards) != wanted)
        if len(bad):
            row, place = bad[0]
            return [int(letter) for letter in words[row, : place + 1]]
    return None


def decoder_outputs(network: Any, words: Words, *, backwards: bool = False, welford: bool = False) -> Words:
    """The output tokens of a decoder with LayerNorm in float32, its moments in two passes or one."""
    way = slice(None, None, -1 if backwards else 1)

    def times(left: Numbers, right: Numbers) -> Numbers:
        return left[..., way] @ right.astype(np.float32)[way]

    def norm(x: Numbers, gain: Numbers | None) -> Numbers:
        if gain is None:
            return x
        mean, variance = (_one_pass if welford else _two_passes)(x[..., way])
        inverse = 1 / np.sqrt(variance + np.float32(network.epsilon))
        result = x * inverse + (-mean * inverse) if welford else (x - mean) * inverse
        return result * gain.astype(np.float32)

    with np.errstate(all="ignore"):
        pads = np.repeat(network.padding[None].astype(np.float32), len(words), axis=0)
        x = np.concatenate([pads, network.embedding.astype(np.float32)[words]], axis=1)
        x = x + network.positions.astype(np.float32)[: x.shape[1]]
        later = np.triu(np.ones((x.shape[1], x.shape[1]), dtype=bool), 1)
        for layer in network.layers:
            y, added = norm(x, layer.gain_attention), np.zeros_like(x)
            for head in layer.heads:
                asked, key, value = (times(y, m) for m in (head.query, head.key, head.value))
                scores = asked @ key.swapaxes(1, 2) / np.float32(network.root)
                scores = np.where(later, np.float32(-np.inf), scores)
                powers = np.exp(scores - scores.max(axis=2, keepdims=True))
                weights = powers / powers[..., way].sum(axis=2, keepdims=True)
                added = added + times(weights[..., way] @ value[:, way], head.output)
            x = x + added
            hidden = np.maximum(times(norm(x, layer.gain_mlp), layer.weights[0]) + layer.biases[0], 0)
            x = x + (times(hidden.astype(np.float32), layer.weights[1]) + layer.biases[1].astype(np.float32))
        logits = times(norm(x[:, len(network.padding) :], network.gain), network.readout)
    return np.where(np.isnan(logits).any(axis=-1), -1, logits.argmax(axis=-1))


def _two_passes(x: Numbers) -> tuple[Numbers, Numbers]:
    mean = x.mean(axis=-1, keepdims=True)
    return mean, ((x - mean) ** 2).mean(axis=-1, keepdims=True)


def _one_pass(x: Numbers) -> tuple[Numbers, Numbers]:
    """Welford's updates, channel by channel."""
    mean, squares = np.zeros_like(x[..., :1]), np.zeros_like(x[..., :1])
    for count in range(x.shape[-1]):
        far = x[..., count : count + 1] - mean
        mean = mean + far / np.float32(count + 1)
        squares = squares + far * (x[..., count : count + 1] - mean)
    return mean, squares / np.float32(x.shape[-1])
