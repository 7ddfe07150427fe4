"""The decoder's forward pass in numpy: the reference semantics of an export's files, for any float type.

It also runs with amplified rounding, a robustness test for exports read by other software. Readers choose
their own summation order. In one of the worst, one term after another, n equal terms come out wrong by up to
n·u/3 of their sum (u = 2⁻²⁴); attention over a long word of one letter is such a sum. Here every step is
computed this way in float32, and in float64 from the same inputs; its output is the exact value plus a
multiple of the difference. Steps that are exact in float32 stay exact; worst-case bounds over all orders
(n·u times the sum of absolute values) miss that and reject networks that no reader gets wrong.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache, partialmethod
from math import erf
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.errors import InvalidInput
from krohn.network.forward import Cast, caster, softmax
from krohn.network.gpt2.decoder import LAYER_NORM_EPSILON, Decoder

Array = npt.NDArray[np.floating[Any]]
Words = npt.NDArray[np.integer[Any]]
Run = Callable[[npt.NDArray[np.int64]], npt.NDArray[np.int64]]

# Score-matrix entries held at once: they fit into a CPU's cache.
_SCORE_ENTRIES = 1 << 18


class Steps:
    """The steps of the pass, as in stock code: computed in at least 32 bits, each result stored by ``cast``.

    Attention is eager: products, scores and weights are stored too.
    """

    def __init__(self, cast: Cast = np.asarray) -> None:
        self.cast = cast

    def added(self, x: Array, y: Array) -> Array:
        """The residual connection."""
        return self.cast(x + y)

    def product(self, left: Array, right: Array) -> Array:
        """Matrix product, summed in the library's order; not yet stored."""
        out: Array = left @ right
        return out

    def linear(self, x: Array, weight: Array, bias: Array) -> Array:
        """``x W + b``, rounded once."""
        return self.cast(self.product(x, weight) + bias)

    def norm(self, x: Array, gain: Array, shift: Array) -> Array:
        """LayerNorm, rounded once."""
        centred = x - x.mean(axis=-1, keepdims=True)
        spread = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + x.dtype.type(LAYER_NORM_EPSILON))
        return self.cast(centred / spread * gain + shift)

    def scores(self, query: Array, key: Array) -> Array:
        """Scaled dot products; −∞ where a key comes after its query."""
        root = np.sqrt(np.array(query.shape[-1], dtype=query.dtype))
        scores = self.cast(self.cast(self.product(query, key.swapaxes(-1, -2))) / root)
        out: Array = scores + _after(scores.shape[-1], scores.dtype.name)
        return out

    def mixed(self, scores: Array, value: Array) -> Array:
        """Values, weighted by the softmax of scores."""
        return self.cast(self.product(self.cast(softmax(scores.copy())), value))


@lru_cache(maxsize=4)
def _after(length: int, dtype: str) -> Array:
    """[query, key]: −∞ where the key comes after the query, 0 elsewhere."""
    out: Array = np.triu(np.full((length, length), -np.inf, dtype=dtype), k=1)
    return out


def logits(
    decoder: Decoder, words: Words, dtype: npt.DTypeLike = np.float32, steps: Steps | None = None
) -> Array:
    """Logits of every token at every letter of words [batch, length]: [batch, length, tokens].

    ``dtype`` is as in ``network.transformer.logits``; not a number where a half type overflows.
    """
    if words.shape[1] > decoder.length:
        raise InvalidInput(
            f"this network reads words of at most {decoder.length} letters; got {words.shape[1]}"
        )
    length = len(decoder.vocabulary.prompt) + words.shape[1]
    rows = max(1, _SCORE_ENTRIES // (decoder.heads * max(1, length) ** 2))
    cast = caster(dtype)
    steps = steps or Steps(cast)
    with np.errstate(over="ignore", invalid="ignore"):
        tensors = {name: cast(tensor) for name, tensor in decoder.tensors.items()}
        parts = [_logits(decoder, tensors, words[at : at + rows], steps) for at in range(0, len(words), rows)]
    return np.concatenate(parts)


def _logits(decoder: Decoder, tensors: dict[str, Array], words: Words, steps: Steps) -> Array:
    def norm(name: str, x: Array) -> Array:
        """LayerNorm, if there is one of this name."""
        if not decoder.normalized:
            return x
        return steps.norm(x, tensors[f"{name}.weight"], tensors[f"{name}.bias"])

    def linear(name: str, x: Array) -> Array:
        return steps.linear(x, tensors[f"{name}.weight"], tensors[f"{name}.bias"])

    ids = decoder.token_ids(words)
    x = steps.added(tensors["transformer.wte.weight"][ids], tensors["transformer.wpe.weight"][: ids.shape[1]])
    for block in (f"transformer.h.{index}" for index in range(decoder.layers)):
        if tensors[f"{block}.attn.c_proj.weight"].any():
            together = linear(f"{block}.attn.c_attn", norm(f"{block}.ln_1", x))
            shape = (*ids.shape, 3, decoder.heads, decoder.width)
            query, key, value = np.moveaxis(together.reshape(shape), (2, 3), (0, 2))
            mixed = steps.mixed(steps.scores(query, key), value).swapaxes(1, 2).reshape(*ids.shape, -1)
            x = steps.added(x, linear(f"{block}.attn.c_proj", mixed))
        hidden = _activation(decoder, linear(f"{block}.mlp.c_fc", norm(f"{block}.ln_2", x)))
        x = steps.added(x, linear(f"{block}.mlp.c_proj", hidden))
    x = norm("transformer.ln_f", x[:, len(decoder.vocabulary.prompt) :])
    head = tensors["lm_head.weight"].T
    return steps.linear(x, head, np.zeros(head.shape[1], dtype=head.dtype))


BATCH = 4_096


def states_of(decoder: Decoder) -> Run:
    """The network as a function from words to outputs, −1 for another token."""
    return run_in_batches(lambda words: outputs_of(logits(decoder, words), decoder.vocabulary.states))


def outputs_of(logits: Array, tokens: Sequence[int]) -> npt.NDArray[np.int64]:
    """The outputs that have these tokens, by the largest logit: −1 for another token or a NaN."""
    outputs = np.full(logits.shape[-1], -1)
    outputs[list(tokens)] = np.arange(len(tokens))
    return np.where(np.isnan(logits).any(axis=-1), -1, outputs[logits.argmax(axis=-1)])


def run_in_batches(run: Run) -> Run:
    """A bounded number of words at a time."""

    def every(words: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        return np.concatenate([run(words[at : at + BATCH]) for at in range(0, max(1, len(words)), BATCH)])

    return every


def _activation(decoder: Decoder, x: Array) -> Array:
    if decoder.activation == "relu":
        return np.maximum(x, 0)
    if decoder.activation == "gelu":
        inside = np.frompyfunc(erf, 1, 1)(x / np.sqrt(2)).astype(x.dtype)
        return np.asarray(x.dtype.type(0.5) * x * (1 + inside))
    cubic = x + x.dtype.type(0.044715) * x * x * x
    out: Array = x.dtype.type(0.5) * x * (1 + np.tanh(x.dtype.type(np.sqrt(2 / np.pi)) * cubic))
    return out


SAFETY = 2.0
"""Times the rounding error of summing one term after another that an export must withstand."""

# Attention kernels use fast exponentials: PyTorch's on CPUs are off by up to 20 units.
_EXPONENTIAL = np.float32(1.0 + 20 * 2.0**-24)


class OneAfterAnother(Steps):
    """Sums in float32, each from its first term to its last."""

    def product(self, left: Array, right: Array) -> Array:
        """``left @ right``, without blocks or pairs."""
        terms = np.ascontiguousarray(np.moveaxis(left, -1, 0))
        out: Array = np.zeros((*left.shape[:-1], right.shape[-1]), dtype=left.dtype)
        for place, term in enumerate(terms):
            row = right[..., place, None, :]
            if row.any():
                out += term[..., None] * row
        return out

    def mixed(self, scores: Array, value: Array) -> Array:
        """Attention as in fused kernels: weighted sums first, then the division by their total."""
        below = scores - scores.max(axis=-1, keepdims=True)
        weights = np.exp(below)
        weights = np.where(below < 0, weights * _EXPONENTIAL, weights)
        sums = self.product(weights, np.concatenate([value, np.ones_like(value[..., :1])], axis=-1))
        out: Array = sums[..., :-1] / sums[..., -1:]
        return out


class Amplified(Steps):
    """Each step exactly, plus ``factor`` times the error it has when summed one after another in float32."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor, self.exact, self.rough = factor, Steps(), OneAfterAnother()

    def _amplify(self, step: str, *given: Array) -> Array:
        # Overflow and −∞ − (−∞) need no warning: NaN has no arg max that is right.
        with np.errstate(over="ignore", invalid="ignore"):
            single = [values.astype(np.float32) for values in given]
            exact: Array = getattr(self.exact, step)(*(values.astype(np.float64) for values in single))
            rough: Array = getattr(self.rough, step)(*single)
            out: Array = np.where(rough == exact, exact, exact + self.factor * (rough - exact))
        return out

    added = partialmethod(_amplify, "added")
    linear = partialmethod(_amplify, "linear")
    norm = partialmethod(_amplify, "norm")
    scores = partialmethod(_amplify, "scores")
    mixed = partialmethod(_amplify, "mixed")


def rounded_logits(decoder: Decoder, words: Words, factor: float = SAFETY) -> Array:
    """``logits`` with ``factor`` times the rounding error of summing one term after another."""
    return logits(decoder, words, np.float64, Amplified(factor))
