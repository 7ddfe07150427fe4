"""Runs of a network that write down every tensor: in several orders of adding, with a bias fused or not, and
softmax by a quotient or by a reciprocal. The claims that a proof makes are compared with these numbers.

It is written for the networks that the checker reads, LayerNorm included, and shares no code with it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from check.judge import STORES

Numbers = npt.NDArray[Any]
Logs = dict[str, Numbers]


@dataclass(frozen=True)
class Way:
    """How sums are added, whether a bias is added before a product is stored, and how softmax divides."""

    order: str
    fused: bool = False
    reciprocal: bool = False


WAYS = (
    Way("blas"),
    Way("left", reciprocal=True),
    Way("pairs", fused=True),
    Way("shuffled"),
    Way("large first"),
    Way("small first", fused=True, reciprocal=True),
)


class Floats:
    """Numbers of a float type: sums in at least float32, every tensor stored."""

    def __init__(self, dtype: str, way: Way, seed: int = 0) -> None:
        self.store, self.way = STORES[dtype], way
        self.inner: Any = np.float64 if dtype == "float64" else np.float32
        self.dice = np.random.default_rng(seed)

    def total(self, terms: Numbers) -> Numbers:
        """The sum along the last axis but one, each addition rounded."""
        if self.way.order in ("large first", "small first"):
            sign = -1 if self.way.order == "large first" else 1
            terms = np.take_along_axis(terms, np.argsort(sign * np.abs(terms), axis=-2), axis=-2)
        if self.way.order == "shuffled":
            terms = terms[..., self.dice.permutation(terms.shape[-2]), :]
        if self.way.order == "pairs":
            while terms.shape[-2] > 1:
                even = terms.shape[-2] // 2 * 2
                sums = terms[..., 0:even:2, :] + terms[..., 1:even:2, :]
                terms = np.concatenate([sums, terms[..., even:, :]], axis=-2)
            return terms[..., 0, :]
        result = terms[..., 0, :]
        for place in range(1, terms.shape[-2]):
            result = result + terms[..., place, :]
        return result

    def dot(self, x: Numbers, w: Numbers) -> Numbers:
        """x @ w, word by word."""
        if self.way.order == "blas" or not x.shape[-1]:
            return x @ w
        w = np.broadcast_to(w, (len(x), *w.shape[-2:]))
        return np.stack([self.total(row[:, :, None] * part[None]) for row, part in zip(x, w, strict=True)])

    def linear(self, x: Numbers, weight: Numbers, bias: Numbers | None = None) -> Numbers:
        """A product with a matrix, and a bias."""
        made = self.dot(x, self.store(weight))
        if bias is None:
            return self.store(made)
        return self.store((made if self.way.fused else self.store(made)) + self.store(bias))

    def softmax(self, scores: Numbers) -> Numbers:
        """Weights, stored."""
        powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
        total = (
            powers.sum(axis=-1, keepdims=True) if self.way.order == "blas" else self.total(powers[..., None])
        )
        return self.store(powers * (1 / total) if self.way.reciprocal else powers / total)

    def normed(self, x: Numbers, gain: Numbers | None, epsilon: float) -> Numbers:
        """LayerNorm, or x itself."""
        if gain is None:
            return x
        mean = x.mean(axis=-1, keepdims=True)
        variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
        return (x - mean) / np.sqrt(variance + self.inner(epsilon)) * self.store(gain)


def logged(network: Any, words: npt.NDArray[np.int64], dtype: str, way: Way) -> Logs:
    """Every tensor [word, position, channel] by its name; padding comes first."""
    floats, logs = Floats(dtype, way), {}
    pads = np.broadcast_to(network.padding, (len(words), *network.padding.shape))
    tokens = floats.store(np.concatenate([pads, network.embedding[words]], axis=1))
    x = floats.store(tokens + floats.store(network.positions[: tokens.shape[1]]))
    logs["embedding"] = x
    last = np.arange(x.shape[1]) - network.strict
    seen = np.arange(x.shape[1]) <= np.maximum(last, 0)[:, None]
    for number, layer in enumerate(network.layers):
        name, read = f"layer.{number}", floats.normed(x, layer.gain_attention, network.epsilon)
        total = x * layer.keep_attention.astype(floats.inner)
        for head in layer.heads:
            query, key, value = (floats.linear(read, part) for part in (head.query, head.key, head.value))
            scores = floats.dot(query, np.swapaxes(key, 1, 2)) / floats.inner(network.root)
            weights = floats.softmax(np.where(seen, scores, floats.inner(-np.inf)))
            total = floats.store(total + floats.linear(floats.store(floats.dot(weights, value)), head.output))
        logs[f"{name}.mixed"] = total
        units = floats.normed(total, layer.gain_mlp, network.epsilon)
        for index, (weight, bias) in enumerate(zip(layer.weights, layer.biases, strict=True)):
            units = floats.linear(units, weight, bias)
            if index + 1 < len(layer.weights):
                units = np.where(layer.sine[index], floats.store(np.sin(units)), np.maximum(units, 0))
            logs[f"{name}.mlp.{index}"] = units
        x = floats.store(total * layer.keep_mlp.astype(floats.inner) + units)
        logs[f"{name}.stream"] = x
    logs["read-out"] = x
    read = floats.normed(x, network.gain, network.epsilon)
    logs["logits"] = floats.linear(read, network.readout, network.readout_bias)
    return logs


def runs(network: Any, words: npt.NDArray[np.int64], dtype: str, ways: tuple[Way, ...]) -> Iterator[Logs]:
    """A run in each way."""
    with np.errstate(all="ignore"):
        yield from (logged(network, words, dtype, way) for way in ways)
