"""The forward pass in a half type, as stock code has it: tensors in the type, sums of a step in float32."""

from collections.abc import Callable

import numpy as np

from krohn.certify.arithmetic import arithmetic
from krohn.exporting.decoder import Decoder
from krohn.exporting.reference import Array, Plain, Words, logits

Cast = Callable[[Array], Array]


class Stored(Plain):
    """Each step in float32, its result cast; attention as the eager one: scores and weights are cast too."""

    def __init__(self, cast: Cast) -> None:
        self.cast = cast

    def added(self, x: Array, y: Array) -> Array:
        """The residual connection."""
        return self.cast(super().added(x, y))

    def linear(self, x: Array, weight: Array, bias: Array) -> Array:
        """A linear map, rounded once."""
        return self.cast(super().linear(x, weight, bias))

    def norm(self, x: Array, gain: Array, shift: Array) -> Array:
        """LayerNorm, rounded once."""
        return self.cast(super().norm(x, gain, shift))

    def scores(self, query: Array, key: Array) -> Array:
        """Products are cast before they are divided, and after."""
        root = np.sqrt(np.float32(query.shape[-1]))
        scores = self.cast(self.cast(self.product(query, key.swapaxes(-1, -2))) / root)
        return self.masked(scores)

    def mixed(self, scores: Array, value: Array) -> Array:
        """Softmax in float32, its weights cast."""
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return self.cast(self.product(self.cast(weights / weights.sum(axis=-1, keepdims=True)), value))


def stored_logits(name: str, decoder: Decoder, words: Words) -> Array:
    """``logits`` of a network that was loaded in bfloat16 or float16; not a number where it overflows."""
    stored = arithmetic(name)

    def cast(values: Array) -> Array:
        out: Array = stored.cast(values).astype(np.float32)
        return out

    with np.errstate(over="ignore", invalid="ignore"):
        return logits(decoder, words, np.float32, Stored(cast), store=cast)
