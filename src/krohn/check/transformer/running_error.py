"""Numbers in float64 with a bound on how far float32 can be off: an arithmetic for the forward pass.

It runs one position of some words that agree before it. The difference δ between the two runs obeys

    δ(next) = J δ + η,    |η| ≤ what the part rounds, plus what is left out by taking its derivative J,

exactly, for each half block (attention, MLP), whatever the order of sums, fused or not. So the difference in
the stream is a sum of matrices times the η of all half blocks before it, and ``Near`` keeps these matrices:
errors cancel as they do in the network. Bounds that multiply sizes of matrices instead lose a factor of ten
in each half block, and prove nothing from the second block on.

Hypotheses: those named in ``ASSUMPTIONS``, of which LayerNorm, exp, softmax, tanh, erf and the root are used,
and that each word is run from its first token on. Every number must be finite, every LayerNorm's input far
from constant compared with its error, and every softmax's scores known up to 1/2: else ``Refused``.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from krohn.check.arithmetic.format import EXP
from krohn.check.files.reader import Network
from krohn.check.ground import SAFE, Array, Flags, Integers, Refused, require
from krohn.check.transformer.near import (
    MOST_TERMS,
    OWN_PRODUCTS,
    SINGLE,
    UNIT,
    Near,
    Passed,
    Read,
    bent,
    normalise,
    sum_error,
)

BOUNDS = ("near", "lost", "mass")


class Running:
    """The arithmetic of one position, after ``path``: what the positions before it have left."""

    def __init__(self, network: Network, path: Sequence[Passed]) -> None:
        self.network, self.path, self.made = network, path, Passed()

    def started(self, value: Array) -> Near:
        """A stream that is known exactly."""
        words, d = value.shape
        return Near(value, np.zeros((words, d, len(self.path) + 1, 0, d)))

    def measured(self, slopes: Array) -> Array:
        """Σ |slope| η: [word, n]."""
        # What has been read at a position depends on as many half blocks there as here: later η are left out.
        words, n, _, halves, d = slopes.shape
        every = [one.fresh[:halves] for one in (*self.path, self.made)]
        most = max(len(eta) for one in every for eta in one) if halves else 1
        fresh = np.empty((most, len(every), halves, d))
        for place, one in enumerate(every):
            for half, eta in enumerate(one):
                fresh[:, place, half] = eta
        flat = np.abs(slopes).reshape(words, n, -1) @ fresh.reshape(most, -1, 1)
        out: Array = SAFE * flat[..., 0]
        return out

    def through(self, x: Near) -> tuple[Array, Array]:
        """Derivatives by all η, and a bound on what they leave out."""
        bound, parts = x.lost, [] if x.slopes is None else [x.slopes]
        for read, rows in x.by.items():
            seen, left = read.through(rows)
            bound = bound + left
            parts.append(seen)
        total = np.zeros((*bound.shape, len(self.path) + 1, *parts[0].shape[3:]))
        for part in parts:
            total[:, :, : part.shape[2]] += part
        return total, bound

    def radius(self, x: Near) -> Array:
        """All that float32 can be off."""
        if x.near is not None:
            return x.near
        slopes, bound = self.through(x)
        return SAFE * (self.measured(slopes) + bound)

    def normalise(self, x: Near, gain: Array | None, shift: Array | None = None) -> Near:
        """LayerNorm; mean and variance as ``ASSUMPTIONS['layer-norm']`` has them."""
        if gain is None:
            return x
        if x.slopes is None or x.by or x.lost.any():
            raise Refused("LayerNorm reads what is no stream")
        offset = np.zeros(len(gain)) if shift is None else shift
        read, value = normalise(x.value, x.slopes, self.radius(x), (gain, offset), self.network.epsilon)
        self.made.reads.append(read)
        by = {read: np.eye(len(gain))[None]}
        return Near(value, None, by, mass=read.radius, near=read.radius)

    # Rule: a matrix.
    # Hypotheses: x is off by δ, of which ``Near`` knows the parts. Conclusion: the product is off by W δ,
    # part by part, and by its rounding. Why: W δ is exact; each order of adding is covered by the sizes of
    # its terms, what x can be off included.
    def linear(self, x: Near, weight: Array, bias: Array | None = None) -> Near:
        """x @ weight + bias."""
        require(len(weight) <= MOST_TERMS, f"a sum may have {MOST_TERMS:,} terms; it has {len(weight):,}")
        require(x.slopes is None, "a matrix reads what is no LayerNorm's")
        offset, turn, sizes = np.zeros(weight.shape[1]) if bias is None else bias, weight.T, np.abs(weight)
        size = (np.abs(x.value) + self.radius(x)) @ sizes + np.abs(offset)
        by = {read: turn @ rows for read, rows in x.by.items()}
        loose = tuple((turn @ rows, bound) for rows, bound in x.loose)
        off, mass = (np.broadcast_to(part, x.value.shape) @ sizes for part in (x.off, x.mass))
        return Near(x.value @ weight + offset, None, by, loose, off + sum_error(size, len(weight)), mass)

    def activate(self, x: Near, sine: Flags) -> Near:
        """An activation: its slope is the derivative, the rest is bounded by its curvature."""
        require(not sine.any(), "a GPT-2 has no sines")
        radius = self.radius(x)
        value, slope, left = bent(self.network.bend, x.value, radius)
        by = {read: slope[..., None] * rows for read, rows in x.by.items()}
        size = np.abs(slope)
        near = SAFE * (size * radius + left)
        return Near(value, None, by, (), size * x.lost + left, size * x.mass, near)

    def kept(self, x: Near, flags: Array) -> Near:
        """All of it."""
        require(flags == 1, "a GPT-2 keeps its stream")
        return x

    def beside(self, parts: list[Near]) -> Near:
        """Side by side; heads of one block see the same positions."""
        reads, ends = parts[0].by, np.cumsum([0, *(part.value.shape[1] for part in parts)])
        alike = all(part.by.keys() == reads.keys() and part.slopes is None for part in parts)
        require(alike, "heads must read the same LayerNorms")
        loose = []
        for part, first in zip(parts, ends, strict=False):
            for rows, bound in part.loose:
                wide = np.zeros((len(rows), ends[-1], rows.shape[2]))
                wide[:, first : first + rows.shape[1]] = rows
                loose.append((wide, bound))

        def row(name: str) -> Array:
            return np.concatenate([getattr(part, name) for part in parts], axis=1)

        by = {read: np.concatenate([part.by[read] for part in parts], axis=1) for read in reads}
        return Near(row("value"), None, by, tuple(loose), row("off"), row("mass"), row("near"))

    # Rule: the stream after a half block.
    # Hypotheses: each part is off as ``Near`` says. Conclusion: the sum is off by slopes @ η exactly, η with
    # the new one of this half block. Why: the new η is all that no derivative explains, and the rounding;
    # channel by channel it is below its bound, and its own derivative is the identity.
    def total(self, parts: list[Near]) -> Near:
        """A sum, each addition rounded; what its derivatives leave out is a new η."""
        made = _sum_linear(parts)
        slopes, bound = self.through(made)
        # What rounding sees is off by at most what the summands are off: all but one, and the sum.
        near = sum(self.radius(part) for part in parts[:-1]) + self.measured(slopes) + bound
        size = sum(np.abs(part.value) for part in parts) + 2 * near
        lost = SINGLE.inner.error(SAFE * size, len(parts) - 1.0, 0.0)
        self.made.fresh.append(SAFE * (bound + lost))
        words, d, places = slopes.shape[:3]
        own = np.zeros((words, d, places, 1, d))
        own[:, :, -1, 0] = np.eye(d)
        return Near(made.value, np.concatenate([slopes, own], axis=3))

    def attend(self, query: Near, key: Near, value: Near) -> Near:
        """What a head averages over this position and those before it."""
        require(all(part.slopes is None for part in (query, key, value)), "heads must read a LayerNorm")
        number = len(self.made.offers)
        query, key, value = (replace(part, near=self.radius(part)) for part in (query, key, value))
        self.made.offers.append((key, value))
        asked = _Asked(self, query, [one.offers[number] for one in (*self.path, self.made)])
        return asked.averaged(*asked.known())

    # Rule: a lead.
    # Hypotheses: logits are off as ``Near`` says. Conclusion: in every run the right one leads by this much.
    # Why: both read one stream, so derivatives are subtracted before they are bounded; the rest adds up.
    def lead(self, logits: Near, right: Integers) -> Array:
        """By how much the right one leads each other one [word, token] in any run; ∞ for itself."""
        every = np.arange(len(right))

        def apart(rows: Array) -> Array:
            out: Array = rows[every if len(rows) > 1 else 0, right][:, None] - rows
            return out

        def both(part: Array | float) -> Array:
            whole: Array = np.broadcast_to(part, logits.value.shape)
            out: Array = whole + whole[every, right][:, None]
            return out

        by = {read: apart(rows) for read, rows in logits.by.items()}
        made = Near(apart(logits.value), None, by, off=both(logits.lost), mass=both(logits.mass))
        lead: Array = made.value - self.radius(made)
        lead[every, right] = np.inf
        return lead


def _sum_linear(parts: list[Near]) -> Near:
    """The linear parts added up; no rounding."""
    by: dict[Read, Array] = {}
    for part in parts:
        for read, rows in part.by.items():
            by[read] = by[read] + rows if read in by else rows
    slopes = [part.slopes for part in parts if part.slopes is not None]
    return Near(
        np.sum([part.value for part in parts], axis=0),
        np.sum(slopes, axis=0) if slopes else None,
        by,
        tuple(pair for part in parts for pair in part.loose),
        sum(part.off for part in parts),
        sum(part.mass for part in parts),
    )


class _Asked:
    """A head at a position: query [word, w], keys and values [word, position, w], and what follows."""

    def __init__(self, run: Running, query: Near, offers: list[tuple[Near, Near]]) -> None:
        self.run, self.query, self.root = run, query, run.network.root
        self.keys, self.values = (list(side) for side in zip(*offers, strict=True))
        self.key, self.value = self._all(self.keys, "value"), self._all(self.values, "value")
        self.scores = self._score(query.value, self.key)
        powers = np.exp(self.scores - self.scores.max(axis=-1, keepdims=True))
        self.weights = powers / powers.sum(axis=-1, keepdims=True)
        self.mixed = self._mixed(self.weights, self.value)
        self.centred = self.value - self.mixed[:, None]
        self.moved = self.centred * self.weights[..., None]
        # Derivatives of scores: by what the query reads, [word, position, d], and by what one key reads.
        self.by_query = {read: self.key @ rows / self.root for read, rows in query.by.items()}
        self.by_key: list[tuple[int, Read, Array]] = []
        for place, key in enumerate(self.keys):
            for read, rows in key.by.items():
                row = (query.value[:, None] @ rows) / self.root
                if read in self.by_query:
                    self.by_query[read][:, place] += row[:, 0]
                else:
                    self.by_key.append((place, read, row))

    def _all(self, parts: list[Near], name: str) -> Array:
        """[word, position, …]: earlier positions have one word, the beginning of all."""
        shape = len(self.query.value), parts[0].value.shape[1]
        return np.stack([np.broadcast_to(getattr(part, name), shape) for part in parts], axis=1)

    def _score(self, one: Array, other: Array) -> Array:
        out: Array = (other @ one[..., None])[..., 0] / self.root
        return out

    def _mixed(self, share: Array, of: Array) -> Array:
        out: Array = (share[:, None] @ of)[:, 0]
        return out

    def known(self) -> tuple[Array, Array, Integers]:
        """How far scores can be off by the η, against the one that weighs most: only differences matter.

        Also what derivatives leave out, and which one weighs most.
        """
        words, places = self.scores.shape
        halves, d = next(iter(self.by_query)).slopes.shape[3:]
        linear, slack = np.zeros((words, places, places, halves, d)), np.zeros((words, places))
        for read, rows in self.by_query.items():
            seen, left = read.through(rows)
            linear[:, :, : seen.shape[2]] += seen
            slack += left
        for place, read, row in self.by_key:
            seen, left = read.through(row)
            linear[:, place, : seen.shape[2]] += seen[:, 0]
            slack[:, place] += left[:, 0]
        best = self.weights.argmax(axis=-1)[:, None]
        linear -= np.take_along_axis(linear, best[..., None, None, None], axis=1)
        return self.run.measured(linear), slack, best

    # Rule: a head.
    # Hypotheses: scores are known up to 1/2 against the best one. Conclusion: the average is off by its
    # derivatives by scores and values, by what softmax curves, by its rounding and by both errors together.
    # Why: below; Σ a (v − average) = 0, so what is subtracted from all scores has no derivative.
    def averaged(self, known: Array, slack: Array, best: Integers) -> Near:
        """The average, as computed.

        For scores off by ρ against the best one, a weight changes by a factor e^w with w = δ − Σaδ − θ, where
        0 ≤ θ ≤ e^(2m) Σaρ²/2, m being the largest ρ: θ is half a variance of δ under weights between. The
        changes add up to 0, so each acts on its value less the average.
        """
        query, key, value = np.abs(self.query.value), np.abs(self.key), np.abs(self.value)
        query_off, weights, count = self.run.radius(self.query), self.weights, self.scores.shape[1]
        # Asked for the refusal alone: a kernel may add up values first, by weights up to 1, and divide then.
        sum_error((value + self._all(self.values, "near")).sum(axis=1), count)
        key_off, key_lost, key_mass = (self._all(self.keys, name) for name in BOUNDS)
        value_off, value_lost, value_mass = (self._all(self.values, name) for name in BOUNDS)
        # What the derivatives leave out of a score: errors of query and key that they do not explain, the
        # product of both errors, and the rounding of the sum.
        products = self._score(query + query_off, key + key_off)
        local = self._score(query, key_lost) + self._score(self.query.lost, key)
        local = local + self._score(query_off, key_off) + sum_error(products, query.shape[1] + 8)
        local = SAFE * local + OWN_PRODUCTS * products
        off = local + slack
        off = SAFE * (known + off + np.take_along_axis(off, best, axis=-1))
        # Differences to the best score are what softmax sees, and the best differs from itself by nothing.
        np.put_along_axis(off, best, 0.0, axis=-1)
        most = off.max(axis=-1, keepdims=True)
        require(most < 0.5, "scores of a head are not known up to 1/2")
        theta = np.exp(2 * most) / 2 * (weights * off * off).sum(axis=-1, keepdims=True)
        swing = off + (weights * off).sum(axis=-1, keepdims=True) + theta
        grown = swing * np.exp(swing)
        # e^w − 1 is w up to (w²/2)·e^|w|, and w is what derivatives explain, less θ.
        curved = weights * (theta + 0.5 * swing * grown)
        scores = self.scores
        reach = scores.max(axis=-1, keepdims=True) - scores.min(axis=-1, keepdims=True) + 2 * most
        large = np.abs(scores).max(axis=-1, keepdims=True) + (local + slack).max(axis=-1, keepdims=True) + 1
        relative = np.expm1(UNIT * (2 * reach + 4 * large + 4 * EXP + count + 10))
        rounded = relative * (1 + grown) * weights + 4 * (count + 1) * SINGLE.normal
        changed = weights * grown + rounded
        loose = np.concatenate([self.moved, self.centred, self.value], axis=1).swapaxes(1, 2)
        size = self._mixed(weights + changed, value + value_off)
        lost = self._mixed(weights, value_lost) + self._mixed(changed, value_off) + sum_error(size, count + 2)
        change = self._score(np.broadcast_to(self.query.mass, query.shape), key) + self._score(
            query, key_mass
        )
        hidden = self._mixed(weights, value_mass)
        hidden = SAFE * (hidden + self._mixed(weights * change, value + np.abs(self.mixed)[:, None]))
        bounds = SAFE * np.concatenate([local, curved, rounded], axis=1)
        near = SAFE * (self._mixed(weights, value_off) + self._mixed(changed, value + value_off) + lost)
        return Near(self.mixed, None, self._derivatives(), ((loose, bounds),), SAFE * lost, hidden, near)

    def _derivatives(self) -> dict[Read, Array]:
        """Of the average, by what queries, keys and values read."""
        by = {read: self.moved.swapaxes(1, 2) @ rows for read, rows in self.by_query.items()}
        for place, read, row in self.by_key:
            by[read] = by.get(read, 0.0) + self.moved[:, place, :, None] * row
        for place, value in enumerate(self.values):
            for read, rows in value.by.items():
                by[read] = by.get(read, 0.0) + self.weights[:, place, None, None] * rows
        return by
