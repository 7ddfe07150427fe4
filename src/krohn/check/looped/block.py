"""The looped block with codes, in float64 with a bound on how far float32 is off; the tensors as trained.

A loop merges what a letter holds with what the letter 2^l before it holds, and replaces the result by the
code of the largest score. So all that enters a loop is a letter's row, a code, or the vector before the first
letter: numbers that are known exactly.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from krohn.check.arithmetic.format import BEND, MOMENTS, ROOT
from krohn.check.ground import SAFE, Array, Integers, Work, require
from krohn.check.transformer.near import (
    BENT,
    MOST_TERMS,
    OWN_PRODUCTS,
    SINGLE,
    UNIT,
    bent,
    sum_error,
)

TENSORS = (
    "wte", "none", "codes", "codes_bias", "ln_f.weight", "ln_f.bias", "head.weight", "head.bias",
    *(f"h.0.{norm}.{part}" for norm in ("ln_1", "ln_2", "ln_3") for part in ("weight", "bias")),
    "h.0.attn.c_attn.weight", "h.0.attn.c_attn.bias", "h.0.attn.slot", "h.0.attn.c_proj.weight",
    "h.0.attn.c_proj.bias", "h.0.mlp.c_fc.weight", "h.0.mlp.c_fc.bias", "h.0.mlp.c_proj.weight",
    "h.0.mlp.c_proj.bias",
)  # fmt: skip
OPTIONS = ("kind", "dim", "heads", "mlp", "noise", "norm", "blocks", "supervise", "codes")
EPSILON = 1e-5
STEEPEST = 1.2
"""Bound on the slope of GELU in the tanh form (the largest is 1.13)."""
ROWS = 1 << 20
"""Numbers in the widest array of one pass."""


Found = tuple[Integers, Array]
"""Codes or outputs, and by how much each leads for certain: not at all where that is not positive."""


@dataclass(frozen=True, eq=False)
class Known:
    """Numbers [n, k] that float32 computes up to ``off``, each row up to ``ball`` [n] in Euclid's length.

    A matrix of width k can make the first bound larger by a factor near k, the second by its norm only.
    """

    value: Array
    off: Array
    ball: Array

    def rows(self, index: Integers) -> "Known":
        """Some rows, in any order."""
        return Known(self.value[index], self.off[index], self.ball[index])

    def columns(self, part: slice) -> "Known":
        """Some columns: their error is no longer than that of all."""
        return Known(self.value[:, part], self.off[:, part], self.ball)

    @property
    def size(self) -> Array:
        """The largest absolute value that float32 may have."""
        return np.abs(self.value) + self.off

    def moved(self, error: Array) -> "Known":
        """The same with a further error of each number."""
        return known(self.value, self.off + error, self.ball + length(error))

    def rounded(self) -> "Known":
        """The same after one rounding."""
        return self.moved(UNIT * self.size + SINGLE.inner.tiny)


def length(rows: Array) -> Array:
    """Bounds on Euclid's lengths of rows."""
    return np.asarray(SAFE * np.sqrt((rows * rows).sum(axis=-1)))


def known(value: Array, off: Array, ball: Array) -> Known:
    """Each of the two bounds improves the other."""
    off = np.minimum(SAFE * off, SAFE * ball[:, None])
    return Known(value, off, np.minimum(SAFE * ball, length(off)))


def exact(value: Array) -> Known:
    """Numbers that float32 holds."""
    return Known(value, np.zeros_like(value), np.zeros(len(value)))


def plus(x: Known, y: Known, sign: float = 1.0) -> Known:
    """A sum or a difference, rounded once."""
    return known(x.value + sign * y.value, x.off + y.off, x.ball + y.ball).rounded()


def linear(x: Known, weight: Array, bias: Array | None = None) -> Known:
    """x [n, in] @ weight [in, out] + bias, summed in any order."""
    sizes = np.abs(weight)
    added = 0.0 if bias is None else bias
    total = x.size @ sizes + np.abs(added)
    require(SAFE * total < SINGLE.inner.largest, "a number can overflow")
    off = np.minimum(x.off @ sizes, x.ball[:, None] * length(weight.T))
    ball = x.ball * SAFE * np.linalg.norm(weight, 2)
    return known(x.value @ weight + added, off, ball).moved(sum_error(total, weight.shape[0]))


def cost_of(dim: int, units: int, codes: int, pairs: float) -> float:
    """Multiplications of so many merges by a block of this width, MLP and number of codes."""
    return pairs * (dim * (3.0 * dim + 2.0 * units + codes))


@dataclass(frozen=True, eq=False)
class CodedBlock:
    """The network of one replicate, its padding cut off.

    Attributes:
        tensors: in float64, by name.
        heads: of the attention.
    """

    tensors: Mapping[str, Array]
    heads: int

    @classmethod
    def of(
        cls, tensors: Mapping[str, Any], model: Mapping[str, Any], letters: int, outputs: int
    ) -> "CodedBlock":
        """The network of a run; refused unless every tensor and every option is one that is understood."""
        require(
            set(model) == set(OPTIONS), f"the model must have the options {', '.join(OPTIONS)}, and no others"
        )
        dim, heads, mlp, codes = (model[name] for name in ("dim", "heads", "mlp", "codes"))
        for size in (dim, heads, mlp, codes):
            require(
                type(size) is int and 0 < size <= MOST_TERMS - 4,
                "sizes and codes must be whole numbers, at least 1",
            )
        require(dim % heads == 0, "the heads must divide the width")
        require(
            model["norm"] is True and type(model["blocks"]) is int and model["blocks"] == 1,
            "codes are proved for one block with a LayerNorm at the end of each loop",
        )
        require(set(tensors) == set(TENSORS), f"the tensors must be {', '.join(TENSORS)}")
        shapes = _shapes(dim, mlp)
        cut = {"wte": letters, "codes": codes, "codes_bias": codes, "head.bias": outputs}
        kept = {}
        for name, tensor in tensors.items():
            fits = tensor.dtype == np.single and np.isfinite(tensor).all()
            require(fits, f"{name} must be finite float32")
            rest = shapes[name]
            if name in cut:
                require(
                    tensor.ndim == 1 + len(rest) and len(tensor) >= cut[name], f"{name} must fit the others"
                )
                tensor = tensor[: cut[name]]
            if name == "head.weight":
                require(tensor.ndim == 2 and tensor.shape[1] >= outputs, f"{name} must fit the others")
                tensor = tensor[:, :outputs]
            wanted = (cut[name], *rest) if name in cut else (dim, outputs) if name == "head.weight" else rest
            require(tensor.shape == wanted, f"{name} must fit the others")
            kept[name] = tensor.astype(np.float64)
        return cls(kept, heads)

    @property
    def dim(self) -> int:
        """Width of the stream."""
        return len(self.tensors["none"])

    @property
    def units(self) -> int:
        """Hidden width of the MLP."""
        return len(self.tensors["h.0.mlp.c_fc.bias"])

    def cost(self, pairs: float) -> float:
        """Entries of arrays that so many merges compute."""
        return cost_of(self.dim, self.units, len(self.tensors["codes"]), pairs)

    # Rule: LayerNorm and a matrix. Hypothesis: the input is off by at most ``ball``, less than its deviation.
    # Conclusion: a product with a column w is off by ball · |gain · w| over the least deviation between, and
    # by what LayerNorm rounds, of which mean and deviation are one number each for all channels, and the
    # product. Why: LayerNorm's derivative without the gain is (I − z zᵀ/d)/deviation after subtracting the
    # mean, all of norm 1 at most but for the deviation, which along the segment is at least that at its
    # middle less ball/√d. What it rounds is as ``ASSUMPTIONS['layer-norm']`` has it, at any input within the
    # bounds.
    def read_by(
        self, name: str, x: Known, weight: Array, bias: Array | None = None, *, compared: bool = False
    ) -> Known:
        """LayerNorm, then a matrix, summed in any order.

        ``compared``: the bounds are for differences of the numbers in a row, each with that of both.
        """
        gain, shift = self.tensors[f"{name}.weight"], self.tensors[f"{name}.bias"]
        d, centred = self.dim, x.value - x.value.mean(axis=1, keepdims=True)
        deviation = np.sqrt((centred * centred).mean(axis=1) + EPSILON)
        z = centred / deviation[:, None]
        least = (deviation - SAFE * x.ball / sqrt(d)) / SAFE
        require(least > 0, "LayerNorm reads a vector that is constant up to its error")
        mean, scale, own = _rounded_norm(x, centred, least, gain, shift)
        # What all columns share moves none of their differences.
        column = weight - weight.mean(axis=1, keepdims=True) if compared else weight
        scaled, sizes, ratio = gain[:, None] * column, np.abs(weight), SAFE * x.ball / least
        lengths = length(scaled.T)
        together = (np.abs(z @ scaled) + ratio[:, None] * lengths) * scale[:, None]
        apart = np.abs(scaled.sum(axis=0)) * (mean / least)[:, None]
        slack = OWN_PRODUCTS * (np.abs(z) @ np.abs(scaled) + np.abs(scaled).sum(axis=0))
        rounding = SAFE * (together + apart + own @ np.abs(column)) + slack
        made, added = z * gain + shift, 0.0 if bias is None else bias
        most = np.abs(made) + np.abs(gain) * ratio[:, None]
        most = SAFE * (
            most + np.abs(gain * z) * scale[:, None] + np.abs(gain) * (mean / least)[:, None] + own
        )
        total = most @ sizes + np.abs(added)
        require(SAFE * total < SINGLE.inner.largest, "a number can overflow")
        off, ball = ratio[:, None] * lengths, ratio * SAFE * np.linalg.norm(scaled, 2)
        return known(made @ weight + added, off, ball).moved(rounding + sum_error(total, len(weight)))

    def project(self, x: Array) -> tuple[Known, Known]:
        """Query, and key and value, of vectors [n, d] that are known exactly."""
        whole = self.read_by("h.0.ln_1", exact(x), self.tensors["h.0.attn.c_attn.weight"])
        bias = exact(np.broadcast_to(self.tensors["h.0.attn.c_attn.bias"], (len(x), self.dim)))
        return plus(whole.columns(slice(self.dim)), bias), whole.columns(slice(self.dim, None))

    # Rule: two keys. Hypotheses: query q, differences k of keys and v of values are off by at most their
    # bounds.
    # Conclusion: the score is off by |q|·δk + |k|·δq + δq·δk and its rounding, in each head, whether by
    # entries or by lengths; the sigmoid by a quarter of that and its own error e; what is added by
    # share·δv + e·(|v| + δv). Why: the sigmoid's slope is at most 1/4; Cauchy and Schwarz.
    def _attended(self, query: Known, here: Known, there: Known) -> Known:
        """The value of the letter itself, and the share of the far one's difference from it."""
        dim, heads, width = self.dim, self.heads, self.dim // self.heads
        keys = plus(there.columns(slice(dim)), here.columns(slice(dim)), -1.0)
        values = plus(there.columns(slice(dim, None)), here.columns(slice(dim, None)), -1.0)

        def by_head(x: Array) -> Array:
            return x.reshape(len(x), heads, width)

        q, dq, k, dk = (by_head(part) for part in (query.value, query.off, keys.value, keys.off))
        entries = (np.abs(q) * dk + np.abs(k) * dq + dq * dk).sum(axis=-1)
        ball_q = np.minimum(query.ball[:, None], length(dq))
        ball_k = np.minimum(keys.ball[:, None], length(dk))
        lengths = length(q) * ball_k + length(k) * ball_q + ball_q * ball_k
        total = ((np.abs(q) + dq) * (np.abs(k) + dk)).sum(axis=-1)
        scale = float(np.single(1.0 / sqrt(width)))
        off = SAFE * scale * (np.minimum(entries, lengths) + sum_error(total, width))
        score = scale * (q * k).sum(axis=-1)
        # The factor is rounded to float32, or not, and the product once.
        off = SAFE * (off + 2 * UNIT * (np.abs(score) + off)) + SINGLE.inner.tiny
        share = 1.0 / (1.0 + np.exp(-score))
        slip = SAFE * (off / 4 + BEND * UNIT)
        wide, loose = np.repeat(share, width, axis=1), np.repeat(slip, width, axis=1)
        apart = length(slip * length(by_head(values.value)))
        moved = known(
            wide * values.value,
            wide * values.off + loose * values.size,
            share.max(axis=1) * values.ball + apart + slip.max(axis=1) * values.ball,
        ).rounded()
        return plus(here.columns(slice(dim, None)), moved)

    def merge(self, near: Array, query: Known, own: Known, far: Known) -> Found:
        """The codes [n] after a loop, and by how much the score of each leads for certain.

        ``near`` [n, d] with its ``query`` and keys and values ``own``; keys and values ``far``.
        """
        block = {name.removeprefix("h.0."): tensor for name, tensor in self.tensors.items()}
        slots = [exact(np.broadcast_to(slot, (len(near), 2 * self.dim))) for slot in block["attn.slot"]]
        mixed = self._attended(query, plus(own, slots[0]), plus(far, slots[1]))
        x = plus(exact(near), linear(mixed, block["attn.c_proj.weight"], block["attn.c_proj.bias"]))
        hidden = self.read_by("h.0.ln_2", x, block["mlp.c_fc.weight"], block["mlp.c_fc.bias"])
        value, slope, rest = bent("gelu_new", hidden.value, hidden.off)
        rounding = BENT * UNIT * hidden.size + BENT * SINGLE.inner.tiny
        active = known(value, np.abs(slope) * hidden.off + rest, STEEPEST * hidden.ball + length(rounding))
        x = plus(x, linear(active, block["mlp.c_proj.weight"], block["mlp.c_proj.bias"]))
        return leader(self.read_by("h.0.ln_3", x, block["codes"].T, block["codes_bias"], compared=True))

    def read(self) -> tuple[Integers, Array]:
        """The output of each code, and by how much its logit leads for certain."""
        x, head = exact(self.tensors["codes"]), (self.tensors["head.weight"], self.tensors["head.bias"])
        return leader(self.read_by("ln_f", x, *head, compared=True))

    def tables(self, budget: Work) -> "Tables":
        """All merges of two letters, of a letter with nothing before it, and of two codes."""
        letters, codes = self.tensors["wte"], self.tensors["codes"]
        k, m = len(letters), len(codes)
        budget.spend(self.cost(float(k * k + k + m * m)), "merges of codes")
        parts = {name: self.project(x) for name, x in (("a", letters), ("c", codes))}
        nothing = self.project(self.tensors["none"][None])[1]
        rows = max(1, ROWS // max(self.units, 2 * self.dim, m))

        def merged(
            x: Array, near: tuple[Known, Known], far: Known, pairs: tuple[Integers, Integers]
        ) -> tuple[Integers, Array]:
            made = []
            for first in range(0, len(pairs[0]), rows):
                i, j = (index[first : first + rows] for index in pairs)
                made.append(self.merge(x[j], near[0].rows(j), near[1].rows(j), far.rows(i)))
            return np.concatenate([code for code, _ in made]), np.concatenate([lead for _, lead in made])

        def alone(count: int) -> tuple[Integers, Integers]:
            return np.zeros(count, np.int64), np.arange(count)

        def every(count: int) -> tuple[Integers, Integers]:
            pairs = np.indices((count, count)).reshape(2, -1)
            return pairs[0], pairs[1]

        first, pairs = (
            merged(letters, parts["a"], nothing, alone(k)),
            merged(letters, parts["a"], parts["a"][1], every(k)),
        )
        products = merged(codes, parts["c"], parts["c"][1], every(m))
        return Tables(
            first, (pairs[0].reshape(k, k), pairs[1].reshape(k, k)),
            (products[0].reshape(m, m), products[1].reshape(m, m)), self.read(),
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Tables:
    """What a network with codes computes, and how surely.

    Attributes:
        first: a letter with nothing before it.
        pairs: two letters.
        products: two codes, the earlier one first.
        read: the output of each code.
    """

    first: Found
    pairs: Found
    products: Found
    read: Found


def _rounded_norm(
    x: Known, centred: Array, least: Array, gain: Array, shift: Array
) -> tuple[Array, Array, Array]:
    """How far LayerNorm's mean, its deviation (relatively) and each of its outputs can be off by rounding.

    As in ``near.normalise``, for inputs whose deviation is at least ``least``.
    """
    d, most = x.value.shape[1], x.size
    # The mean may err 4 times as much as d additions and a quotient: ASSUMPTIONS['layer-norm'].
    mean = SINGLE.inner.error(SAFE * most.sum(axis=1), 4.0 * (d + 8), d) / d
    apart = np.abs(centred) + x.off + (x.off.mean(axis=1) + mean)[:, None]
    squares = SAFE * (apart * apart).sum(axis=1) + d * EPSILON
    relative = SINGLE.inner.error(squares, d + MOMENTS, 2.0 * d) / (d * least * least) + (mean / least) ** 2
    require(relative < 0.01, "LayerNorm reads a vector that is constant up to its error")
    reach, inverse = most + most.mean(axis=1, keepdims=True), 1 / least[:, None]
    wide = reach * inverse
    first, last = inverse * np.abs(gain), wide * (1 + np.abs(gain)) + np.abs(shift) / 2
    require(2 * np.maximum(first, last) < SINGLE.inner.largest, "LayerNorm can overflow")
    tiny = 4 * SINGLE.inner.tiny * (1 + np.abs(gain)) * (1 + inverse + reach)
    # x minus the mean, times 1 / deviation, times the gain, in whatever order, which may multiply the mean
    # too: at most 5 roundings of something up to |gain|·wide; and the last addition.
    own = np.abs(gain) * 5 * UNIT * wide + UNIT * (np.abs(gain) * wide + np.abs(shift)) + tiny
    # 1 / √(1 − r) − 1 ≤ 0.504 r for r ≤ 0.01, as asked for above; ROOT for the root, or for one over it, and
    # one rounding more for the quotient or the store.
    return mean, 0.52 * relative + (ROOT + 1) * UNIT, own


def leader(scores: Known) -> Found:
    """The largest of each row, and its lead over the others for certain; infinite where there is no other."""
    rows = np.arange(len(scores.value))
    best = scores.value.argmax(axis=1)
    rivals = scores.value + scores.off
    rivals[rows, best] = -np.inf
    least = scores.value[rows, best] - scores.off[rows, best]
    return best.astype(np.int64), least - rivals.max(axis=1)


def _shapes(dim: int, mlp: int) -> dict[str, tuple[int, ...]]:
    """Sizes of the tensors; of those that are cut, without the axis that is."""
    vectors = (
        "none",
        *(name for name in TENSORS if "ln_" in name),
        "h.0.attn.c_attn.bias",
        "h.0.attn.c_proj.bias",
        "h.0.mlp.c_proj.bias",
    )
    return {
        **dict.fromkeys(vectors, (dim,)),
        "wte": (dim,), "codes": (dim,), "codes_bias": (), "head.bias": (),
        "head.weight": (), "h.0.attn.c_attn.weight": (dim, 3 * dim), "h.0.attn.slot": (2, 2 * dim),
        "h.0.attn.c_proj.weight": (dim, dim), "h.0.mlp.c_fc.weight": (dim, mlp), "h.0.mlp.c_fc.bias": (mlp,),
        "h.0.mlp.c_proj.weight": (mlp, dim),
    }  # fmt: skip
