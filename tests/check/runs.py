"""Runs of a network that write down every tensor: in several orders of adding, with a bias fused or not, and
softmax by a quotient or by a reciprocal. The claims that a proof makes are compared with these numbers.

What is run is the checker's own forward pass, over numbers. Tests compare it with the package's and torch's.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from check.judge import STORES
from krohn.check.transformer.stream import after_heads, after_mlp, logits

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


def gelu(x: Numbers) -> Numbers:
    """GELU by tanh, each operation rounded."""
    root, half, one = (x.dtype.type(number) for number in (np.sqrt(2 / np.pi), 0.5, 1.0))
    return half * x * (one + np.tanh(root * (x + x.dtype.type(0.044715) * x * x * x)))


BENT = {"relu": lambda x: np.maximum(x, 0), "gelu_new": gelu}


class Floats:
    """Numbers [word, position, channel] of a float type: sums in at least float32, every tensor stored."""

    def __init__(self, dtype: str, way: Way, network: Any) -> None:
        self.store, self.way, self.network = STORES[dtype], way, network
        self.units: list[Numbers] = []  # of hidden layers, in order
        self.inner: Any = np.float64 if dtype == "float64" else np.float32
        self.dice = np.random.default_rng(0)

    def added_up(self, terms: Numbers) -> Numbers:
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
        return np.stack([self.added_up(row[:, :, None] * part[None]) for row, part in zip(x, w, strict=True)])

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
            powers.sum(axis=-1, keepdims=True)
            if self.way.order == "blas"
            else self.added_up(powers[..., None])
        )
        return self.store(powers * (1 / total) if self.way.reciprocal else powers / total)

    def activate(self, x: Numbers, sine: Numbers) -> Numbers:
        """ReLU or GELU, or the sine."""
        self.units.append(np.where(sine, self.store(np.sin(x)), BENT[self.network.bend](x)))
        return self.units[-1]

    def attend(self, query: Numbers, key: Numbers, value: Numbers) -> Numbers:
        """What a head averages."""
        scores = self.dot(query, np.swapaxes(key, 1, 2)) / self.inner(self.network.root)
        seen = np.tri(scores.shape[1], dtype=bool)
        return self.store(self.dot(self.softmax(np.where(seen, scores, self.inner(-np.inf))), value))

    def beside(self, parts: list[Numbers]) -> Numbers:
        """Side by side."""
        return np.concatenate(parts, axis=-1)

    def kept(self, x: Numbers, flags: Numbers) -> Numbers:
        """The product with 0 or 1."""
        return x * flags.astype(self.inner)

    def total(self, parts: list[Numbers]) -> Numbers:
        """One after another."""
        made = parts[0]
        for part in parts[1:]:
            made = self.store(made + part)
        return made

    def normalise(self, x: Numbers, gain: Numbers | None, shift: Numbers | None = None) -> Numbers:
        """LayerNorm, or x itself."""
        if gain is None:
            return x
        mean = x.mean(axis=-1, keepdims=True)
        variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
        made = (x - mean) / np.sqrt(variance + self.inner(self.network.epsilon)) * self.store(gain)
        return made if shift is None else made + self.store(shift)


def logged(network: Any, words: npt.NDArray[np.int64], dtype: str, way: Way) -> Logs:
    """Every tensor [word, position, channel] by its name; padding comes first."""
    floats, logs = Floats(dtype, way, network), {}
    pads = np.broadcast_to(network.padding, (len(words), *network.padding.shape))
    tokens = floats.store(np.concatenate([pads, network.embedding[words]], axis=1))
    x = floats.store(tokens + floats.store(network.positions[: tokens.shape[1]]))
    logs["embedding"] = x
    for number, layer in enumerate(network.layers):
        name = f"layer.{number}"
        logs[f"{name}.mixed"] = x = after_heads(floats, layer, x)
        floats.units = []
        logs[f"{name}.stream"] = x = after_mlp(floats, layer, x)
        logs |= {f"{name}.mlp.{index}": units for index, units in enumerate(floats.units)}
    logs["read-out"], logs["logits"] = x, logits(floats, network, x)
    return logs


def runs(network: Any, words: npt.NDArray[np.int64], dtype: str, ways: tuple[Way, ...]) -> Iterator[Logs]:
    """A run in each way."""
    with np.errstate(all="ignore"):
        yield from (logged(network, words, dtype, way) for way in ways)
