"""The forward pass of a GPT-2 on one word, with a bound on rounding beside it.

The pass is computed in float64. Beside each tensor stands how far the same tensor can be off in float32,
whatever the order of sums, fused or not. The difference δ between the two runs obeys

    δ(next) = J δ + η,    |η| ≤ what the part rounds, plus what is left out by taking its derivative J,

exactly, for each half block (attention, MLP). So the difference in the stream is a sum of matrices times the
η of all half blocks before it, and ``Stream`` keeps these matrices: errors cancel as they do in the network.
Bounds that multiply sizes of matrices instead lose a factor of ten in each half block, and prove nothing from
the second block on.

Hypotheses: those named in ``ASSUMPTIONS``, of which LayerNorm, exp, softmax, tanh, erf and the root are used,
and that each word is run from its first token on. Every number must be finite, every LayerNorm's input far
from constant compared with its error, and every softmax's scores known up to 1/2: else ``Refused``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import erf, pi, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.check.arithmetic.format import EXP, FORMATS, MOMENTS, ROOT
from krohn.check.arithmetic.real import SAFE, Array, Integers
from krohn.check.verdict import require

SINGLE = FORMATS["float32"]
UNIT = SAFE * SINGLE.inner.unit
"""The safety factor also covers the pass in float64: its roundings are smaller by 2^29, of the same sizes."""
OWN_PRODUCTS = 2.0**-36
"""Rounding of a few products of matrices here, relative to those of absolute values of up to 2^14 terms."""
CURVATURE = 1.0
"""Bound on the second derivative of GELU in both forms (the largest is 0.8, at 0)."""
BENT = 16.0
"""Roundings of x in GELU: tanh or erf, of an argument with its own roundings, then two products."""

Tensors = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Stream:
    """The stream at a position of some words that agree before it.

    Attributes:
        value: [word, d], in float64.
        slopes: [word, d, position, half block, d]: derivative of ``value`` by what was added there.
        fresh: [word, position, half block, d]: bounds on the η.
        rest: [word, d]: what rounding in ``slopes`` may hide.
    """

    value: Array
    slopes: Array
    fresh: Array
    rest: Array

    @property
    def radius(self) -> Array:
        """How far the stream in float32 can be off."""
        return self.through(np.eye(self.value.shape[1])[None])

    def through(self, rows: Array) -> Array:
        """Bounds on |rows @ δ| for rows [word, n, d]."""
        return _measure(_times(rows, self.slopes), self.fresh) + _dot(np.abs(rows), self.rest)

    def after(self, value: Array, slopes: Array, eta: Array, rest: Array) -> "Stream":
        """One half block later: the new η is of this position, and its slope is the identity.

        Those of earlier positions have no slope before the next heads look at them, which ``seeing`` allows.
        """
        words, d, places = slopes.shape[:3]
        own = np.zeros((words, d, places, 1, d))
        own[:, :, -1, 0] = np.eye(d)
        new = np.zeros((words, places, 1, d))
        new[:, -1, 0] = eta
        fresh = np.concatenate([self.fresh, new], axis=2)
        return Stream(value, np.concatenate([slopes, own], axis=3), fresh, rest)

    def seeing(self, earlier: Sequence["Stream"]) -> "Stream":
        """The same with the η of earlier positions up to this half block."""
        words, *shape = len(self.value), *self.fresh[:, -1:].shape[1:]
        parts = [np.broadcast_to(one.fresh[:, -1:], (words, *shape)) for one in (*earlier, self)]
        return replace(self, fresh=np.concatenate(parts, axis=1))


def _times(rows: Array, slopes: Array) -> Array:
    """[word, n, d] times [word, d, position, half, d]."""
    flat = rows @ slopes.reshape(*slopes.shape[:2], int(np.prod(slopes.shape[2:])))
    out: Array = flat.reshape(*flat.shape[:2], *slopes.shape[2:])
    return out


def _measure(slopes: Array, fresh: Array) -> Array:
    """Σ |slope| η: [word, n]."""
    words, n, *terms = slopes.shape
    size = int(np.prod(terms))
    out: Array = SAFE * (np.abs(slopes).reshape(words, n, size) @ fresh.reshape(words, size, 1))[..., 0]
    return out


def _dot(rows: Array, vectors: Array) -> Array:
    """[word, n, d] times [word, d]."""
    out: Array = (rows @ vectors[..., None])[..., 0]
    return out


def _sum_error(size: Array, terms: int) -> Array:
    """Error of a sum of products of this total size, in any order, fused or not, and of a bias after it."""
    return SINGLE.inner.error(SAFE * size, terms + 2.0, terms + 2.0)


def product_error(size: Array, matrix: Array) -> Array:
    """Rounding of x @ matrix, for inputs of these sizes."""
    return _sum_error(size @ np.abs(matrix), len(matrix))


@dataclass(frozen=True, eq=False)
class Normed:
    """LayerNorm of a stream [word, d]: its value, its derivative, and what it rounds.

    ``scale`` and ``shift`` bound the errors that all channels share, of the deviation and of the mean;
    ``own`` those of single channels, with what is left out by the derivative.
    """

    value: Array
    gain: Array
    z: Array
    deviation: Array
    own: Array
    scale: Array
    shift: Array
    radius: Array

    def back(self, rows: Array) -> Array:
        """rows @ J for rows [word, n, d]."""
        rows = rows * (self.gain / self.deviation[..., None])[:, None]
        along = _dot(rows, self.z)[..., None] * self.z[:, None] / rows.shape[-1]
        out: Array = rows - rows.mean(axis=-1, keepdims=True) - along
        return out

    def fresh(self, rows: Array) -> Array:
        """Bounds on |rows @ η| for rows [word, n, d]."""
        together = np.abs(_dot(rows, self.gain * self.z)) * self.scale[:, None]
        moved = np.abs(_dot(rows, np.broadcast_to(self.gain, self.z.shape))) * self.shift[:, None]
        return SAFE * (together + moved + _dot(np.abs(rows), self.own)) + OWN_PRODUCTS * _dot(
            np.abs(rows), self.radius
        )

    @property
    def rounded(self) -> Array:
        """Bounds on |η|, channel by channel."""
        size = np.abs(self.gain * self.z) * self.scale[:, None] + np.abs(self.gain) * self.shift[:, None]
        return SAFE * (size + self.own)


def normed(stream: Stream, gain: Array, bias: Array, epsilon: float) -> Normed:
    """LayerNorm; mean and variance as ``ASSUMPTIONS['layer-norm']`` has them."""
    x, d = stream.value, stream.value.shape[1]
    centred = x - x.mean(axis=1, keepdims=True)
    deviation = np.sqrt((centred * centred).mean(axis=1) + epsilon)
    z, radius = centred / deviation[:, None], stream.radius
    # With y = Pδ / deviation the variance changes by a factor 1 + t, |t| ≤ far.
    near = np.sqrt((radius * radius).sum(axis=1)) / deviation
    far = SAFE * (2 * near / sqrt(d) + near * near / d)
    require(far < 0.1, "LayerNorm reads a vector that is constant up to its error")
    each = (radius + radius.mean(axis=1, keepdims=True)) / deviation[:, None]
    slope = each + np.abs(z) * ((np.abs(z) * radius).sum(axis=1) / deviation / d)[:, None]
    square = (near * near / (2 * d))[:, None]
    curved = np.abs(z) * square + each * far[:, None] / 2 + (np.abs(z) + each) * 0.5 * (far * far)[:, None]
    most, least = np.abs(x) + radius, deviation * (1 - far)
    mean = SINGLE.inner.error(SAFE * most.sum(axis=1), 4.0 * (d + 8), d) / d
    relative = SINGLE.inner.error(np.ones(1), d + MOMENTS, 0.0) + (mean / least) ** 2
    require(relative < 0.01, "LayerNorm reads a vector that is constant up to its error")
    scale = 0.52 * relative + (ROOT + 1) * UNIT
    each = 5 * UNIT * (most + most.mean(axis=1, keepdims=True)) / least[:, None]
    tiny = 4 * SINGLE.inner.tiny * (1 + np.abs(gain)) * (1 + 1 / least[:, None])
    value = z * gain + bias
    own = np.abs(gain) * (SAFE * curved + each) + UNIT * np.abs(value) + tiny
    require(most * (1 + np.abs(gain)) / least[:, None] < SINGLE.inner.largest / 4, "LayerNorm can overflow")
    slack = np.abs(gain) * slope
    own = own + np.abs(gain) * scale[:, None] * 2 * slope
    made = Normed(value, gain, z, deviation, own, scale, mean / least, slack)
    return replace(made, radius=SAFE * slack + made.rounded)


@dataclass(frozen=True, eq=False)
class Linear:
    """x W + b."""

    weight: Array
    bias: Array

    def __call__(self, x: Array) -> Array:
        """In float64."""
        out: Array = x @ self.weight + self.bias
        return out

    def error(self, size: Array) -> Array:
        """Rounding, for inputs of these sizes."""
        return _sum_error(size @ np.abs(self.weight) + np.abs(self.bias), len(self.weight))


def read_by(part: Linear, stream: Stream, read: Normed) -> tuple[Array, Array]:
    """What a linear map of LayerNorm's output rounds, and all that its result can be off."""
    rows = np.broadcast_to(part.weight.T, (len(read.value), *part.weight.T.shape))
    lost = part.error(np.abs(read.value) + read.radius)
    off = stream.through(read.back(rows)) + read.fresh(rows) + lost
    return lost, SAFE * off + OWN_PRODUCTS * (read.radius @ np.abs(part.weight))


def bent(kind: str, x: Array, radius: Array) -> tuple[Array, Array, Array]:
    """An activation: value, slope, and what its derivative leaves out, with its rounding."""
    if kind == "relu":
        crossed = np.abs(x) <= radius
        return np.maximum(x, 0.0), (x > 0).astype(np.float64), np.where(crossed, radius, 0.0)
    if kind == "gelu":
        inside = np.asarray(np.frompyfunc(erf, 1, 1)(x / sqrt(2)), dtype=np.float64)
        slope = 0.5 * (1 + inside) + x * np.exp(-x * x / 2) / sqrt(2 * pi)
    else:
        root = sqrt(2 / pi)
        inside = np.tanh(root * (x + 0.044715 * x**3))
        slope = 0.5 * (1 + inside) + 0.5 * x * (1 - inside * inside) * root * (1 + 3 * 0.044715 * x * x)
    rounded = BENT * UNIT * (np.abs(x) + radius) + BENT * SINGLE.inner.tiny
    require(np.abs(x) + radius < 1e9, "GELU can overflow")
    return 0.5 * x * (1 + inside), slope, SAFE * 0.5 * CURVATURE * radius * radius + rounded


ACTIVATIONS = ("relu", "gelu_new", "gelu_pytorch_tanh", "gelu")


@dataclass(frozen=True, eq=False)
class Offer:
    """A position as later ones see it in one block: its stream, LayerNorm, keys and values [word, head, w].

    Both with their rounding, and with all that they can be off.
    """

    stream: Stream
    read: Normed
    key: Array
    key_error: Array
    key_off: Array
    value: Array
    value_error: Array
    value_off: Array


class Attention:
    """The heads of a block."""

    def __init__(self, qkv: Linear, out: Linear, heads: int) -> None:
        d = len(qkv.weight)
        self.qkv, self.out, self.heads, self.width = qkv, out, heads, d // heads
        split = qkv.weight.reshape(d, 3, heads, self.width)
        self.root = sqrt(self.width)
        self.query, self.keys = split[:, 0] / self.root, split[:, 1] / self.root  # [d, head, width]
        self.written = out.weight.reshape(heads, self.width, d)
        self.copied = np.einsum("ihw,hwo->hio", split[:, 2], self.written)
        self.sizes = np.abs(split)

    def __call__(self, stream: Stream, read: Normed, earlier: Sequence[Offer]) -> tuple[Stream, Offer]:
        """The stream after the heads, at the last position; ``earlier`` are those before it."""
        stream = stream.seeing([offer.stream for offer in earlier])
        asked = self._asked(stream, read, earlier)
        slopes, rest = stream.slopes.copy(), stream.rest
        eta = np.zeros_like(stream.value)
        linear = np.zeros((*asked.scores.shape, *slopes.shape[2:]))
        slack = np.zeros_like(asked.scores)
        for place, offer in enumerate(asked.offers):
            last = place == len(earlier)
            rows = asked.by_query[:, :, place] + (asked.by_key if last else 0.0)
            for row, side in [(rows, asked.offers[-1]), (asked.by_key, offer)][: 1 if last else 2]:
                back = side.read.back(row)
                seen = _times(back, side.stream.slopes)
                linear[:, :, place, : seen.shape[2]] += seen
                slack[:, :, place] += _dot(np.abs(back), side.stream.rest) + side.read.fresh(row)
            by_other = np.einsum("bh,hio->boi", asked.weights[..., place], self.copied)
            by_other += np.einsum("bho,bhi->boi", asked.moved[:, :, place], asked.by_key)
            if last:
                by_other += np.einsum("bhpo,bhpi->boi", asked.moved, asked.by_query)
            back = offer.read.back(by_other)
            seen = _times(back, offer.stream.slopes)
            slopes[:, :, : seen.shape[2]] += seen
            eta += offer.read.fresh(by_other)
            rest = rest + _dot(np.abs(back), offer.stream.rest)
        # Only differences of scores matter: those to the key that weighs most.
        best = asked.weights.argmax(axis=-1)[..., None]
        linear -= np.take_along_axis(linear, best[..., None, None, None], axis=2)
        words, heads, places = slack.shape
        flat = linear.reshape(words, heads * places, *linear.shape[3:])
        known = _measure(flat, stream.fresh).reshape(slack.shape)
        local, by_weight, error, size, hidden = self._softmax(asked, known, slack, best)
        eta += np.einsum("bhpo,bhp->bo", np.abs(asked.moved), local) + by_weight
        eta += error @ np.abs(self.out.weight) + self.out.error(size)
        rest = rest + OWN_PRODUCTS * (hidden @ np.abs(self.out.weight))
        written = self.out(asked.mixed.reshape(words, -1))
        return _added(stream, written, slopes, eta, rest), asked.offers[-1]

    def _asked(self, stream: Stream, read: Normed, earlier: Sequence[Offer]) -> "_Asked":
        """Queries, keys and values, and the weights that follow."""
        words = len(read.value)
        shape = (words, 3, self.heads, self.width)
        together = self.qkv(read.value).reshape(shape)
        error, off = (one.reshape(shape) for one in read_by(self.qkv, stream, read))
        sides = (together, error, off)
        offers = [*earlier, Offer(stream, read, *(side[:, part] for part in (1, 2) for side in sides))]

        def all_of(name: str) -> Array:
            parts = (getattr(offer, name) for offer in offers)
            return np.stack([np.broadcast_to(part, (words, *part.shape[1:])) for part in parts], axis=1)

        query, key, value = together[:, 0], all_of("key"), all_of("value")
        scores = np.einsum("bhw,bphw->bhp", query, key) / self.root
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        mixed = np.einsum("bhp,bphw->bhw", weights, value)
        written = np.einsum("bphw,hwo->bhpo", value, self.written)
        centred = written - np.einsum("bhp,bhpo->bho", weights, written)[:, :, None]
        return _Asked(
            offers,
            (query, key, value),
            (error[:, 0], all_of("key_error"), all_of("value_error")),
            (off[:, 0], all_of("key_off"), all_of("value_off")),
            scores,
            weights,
            mixed,
            np.abs(written),
            np.abs(centred),
            centred * weights[..., None],
            np.einsum("bphw,ihw->bhpi", key, self.query),
            np.einsum("bhw,ihw->bhi", query, self.keys),
        )

    def _softmax(
        self, asked: "_Asked", known: Array, slack: Array, best: Integers
    ) -> tuple[Array, Array, Array, Array, Array]:
        """Bounds beyond the linear parts: of scores, of what weights write, of mixed values; the size of
        these; what rounding hides.

        For scores off by ρ against the best one, a weight changes by a factor e^w with w = δ − Σaδ − θ, where
        0 ≤ θ ≤ e^(2m) Σaρ²/2, m being the largest ρ: θ is half a variance of δ under weights between. The
        changes add up to 0, so each acts on what its key writes less the average.
        """
        (query, key, value), errors = asked.parts, asked.errors
        off_query, off_key, off_value = asked.offs
        scores, weights, words, count = asked.scores, asked.weights, len(query), asked.scores.shape[-1]

        def scored(one: Array, other: Array) -> Array:
            out: Array = np.einsum("bhw,bphw->bhp", one, other) / self.root
            return out

        products = scored(np.abs(query) + off_query, np.abs(key) + off_key)
        local = scored(np.abs(query), errors[1]) + scored(errors[0], np.abs(key)) + scored(off_query, off_key)
        local = SAFE * (local + _sum_error(products, self.width + 8)) + OWN_PRODUCTS * products
        off = local + slack
        off = SAFE * (known + off + np.take_along_axis(off, best, axis=-1))
        np.put_along_axis(off, best, 0.0, axis=-1)
        most = off.max(axis=-1, keepdims=True)
        require(most < 0.5, "scores of a head are not known up to 1/2")
        theta = np.exp(2 * most) / 2 * (weights * off * off).sum(axis=-1, keepdims=True)
        swing = off + (weights * off).sum(axis=-1, keepdims=True) + theta
        grown = swing * np.exp(swing)
        curved = weights * (theta + 0.5 * swing * grown)
        reach = scores.max(axis=-1, keepdims=True) - scores.min(axis=-1, keepdims=True) + 2 * most
        large = np.abs(scores).max(axis=-1, keepdims=True) + (local + slack).max(axis=-1, keepdims=True) + 1
        relative = np.expm1(UNIT * (2 * reach + 4 * large + 2 * EXP + count + 10))
        rounded = relative * (1 + grown) * weights + 4 * (count + 1) * SINGLE.normal
        changed = weights * grown + rounded
        by_weight = np.einsum("bhp,bhpo->bo", curved, asked.centred)
        by_weight = SAFE * (by_weight + np.einsum("bhp,bhpo->bo", rounded, asked.written))

        def averaged(share: Array, of: Array) -> Array:
            out: Array = np.einsum("bhp,bphw->bhw", share, of)
            return out

        size = averaged(weights + changed, np.abs(value) + off_value)
        error = averaged(weights, errors[2]) + averaged(changed, off_value) + _sum_error(size, count + 2)
        radii = [offer.read.radius for offer in asked.offers]
        radius = np.stack([np.broadcast_to(one, (words, one.shape[-1])) for one in radii], axis=1)
        every = [np.einsum("bpi,ihw->bphw", radius, self.sizes[:, part]) for part in range(3)]
        change = scored(every[0][:, -1], np.abs(key)) + scored(np.abs(query), every[1])
        hidden = averaged(weights, every[2])
        hidden += averaged(weights * change, np.abs(value) + np.abs(asked.mixed)[:, None])
        return local, by_weight, *(SAFE * one.reshape(words, -1) for one in (error, size, hidden))


@dataclass(frozen=True, eq=False)
class _Asked:
    """A position asking: queries [word, head, w], keys and values [word, position, head, w], their rounding,
    all they can be off, what each key would write, and slopes: ``moved`` of
    what is written by a score, the others of scores by LayerNorm's output.
    """

    offers: list[Offer]
    parts: tuple[Array, Array, Array]
    errors: tuple[Array, Array, Array]
    offs: tuple[Array, Array, Array]
    scores: Array
    weights: Array
    mixed: Array
    written: Array
    centred: Array
    moved: Array
    by_query: Array
    by_key: Array


def _added(stream: Stream, written: Array, slopes: Array, eta: Array, rest: Array) -> Stream:
    """The residual connection, rounded once."""
    value = stream.value + written
    size = np.abs(stream.value) + np.abs(written)
    # What rounding sees is off by at most what the sum is off: the radius before and after.
    radius = stream.radius + _measure(slopes, stream.fresh) + eta + rest
    eta = SAFE * (eta + SINGLE.inner.error(SAFE * (size + 2 * radius), 1.0, 0.0))
    return stream.after(value, slopes, eta, SAFE * rest)


class Mlp:
    """The MLP of a block."""

    def __init__(self, into: Linear, out: Linear, kind: str) -> None:
        self.into, self.out, self.kind = into, out, kind

    def __call__(self, stream: Stream, read: Normed) -> Stream:
        """The stream after it."""
        lost, radius = read_by(self.into, stream, read)
        value, slope, left = bent(self.kind, self.into(read.value), radius)
        together = np.einsum("im,bm,mo->boi", self.into.weight, slope, self.out.weight, optimize=True)
        back = read.back(together)
        slopes = stream.slopes + _times(back, stream.slopes)
        unit_error = left + np.abs(slope) * lost
        eta = read.fresh(together) + unit_error @ np.abs(self.out.weight)
        eta += self.out.error(np.abs(value) + 1.2 * radius + left)
        hidden = (np.abs(slope) * (read.radius @ np.abs(self.into.weight))) @ np.abs(self.out.weight)
        rest = stream.rest + _dot(np.abs(back), stream.rest) + OWN_PRODUCTS * hidden
        return _added(stream, self.out(value), slopes, eta, rest)
