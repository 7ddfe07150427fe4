"""One MLP block folded into the stream: evaluated on every reachable class, errors by affine arithmetic."""

from dataclasses import replace

import numpy as np

from krohn.certify.arithmetic import OWN, SAFE, Arithmetic, Array
from krohn.certify.findings import Record
from krohn.certify.hidden import Affine, Factors, activate, apply, factor, with_shared
from krohn.certify.machine import Integers, Machine, distinct_rows, explore
from krohn.certify.stream import Stream
from krohn.certify.wide_units import Contribution, contribute, group_units
from krohn.network.transformer import Layer, Mlp

ROWS_AT_ONCE = 1 << 24


def transform(stream: Stream, layer: Layer, arith: Arithmetic, record: Record) -> Stream:
    """The stream after the MLP and the residual."""
    mlp, keep = layer.mlp, layer.keep_mlp
    tau = stream.num_padding
    if (stream.places[tau:] @ mlp.weights[0]).any():
        raise record.refuse("MLP", "the MLP reads a position code")
    pads, pad_radius = _known(stream.pads, stream.pad_radius, layer, arith)
    if len(mlp.weights) == 1:
        made = _narrow(stream, layer, arith)
        wide = stream.wide * keep[:, None] + mlp.weights[0].T @ stream.wide
        made = replace(made, wide=wide)
    else:
        made = _with_counters(stream, layer, arith, record)
    out = replace(made, pads=pads, pad_radius=pad_radius, places=stream.places * keep)
    worst = float(out.radius.max(initial=0.0))
    record.note("MLP", f"evaluated on {len(out.nominal)} reachable classes", worst, _separation(out.nominal))
    return out


def _separation(nominal: Array) -> float:
    """Half the least distance of different values of a channel, over all channels; 1 if there are none."""
    gaps = [np.diff(np.unique(np.round(column, 6))) for column in nominal.T]
    least = [float(gap.min()) for gap in gaps if len(gap)]
    return min(least) / 2 if least else 1.0


def _known(vectors: Array, radius: Array, layer: Layer, arith: Arithmetic) -> tuple[Array, Array]:
    """The block on finitely many known vectors: outputs and error per channel."""
    centre, error = vectors, np.zeros_like(vectors)
    rows = max(1, ROWS_AT_ONCE // max(1, len(radius) * max(len(b) for b in layer.mlp.biases)))
    outs, errors = [], []
    for first in range(0, len(vectors), rows):
        part = slice(first, first + rows)
        out = _propagate(_input(centre[part], radius, layer.mlp), layer.mlp, 0, arith)
        sum_, err = _residual(out, centre[part], radius, layer, arith)
        outs.append(sum_)
        errors.append(err)
    if not outs:
        return centre, radius * layer.keep_mlp
    return np.concatenate(outs), np.concatenate([*errors, error[:0]]).max(axis=0, initial=0.0)


def _noisy(radius: Array, mlp: Mlp) -> Integers:
    return np.flatnonzero((radius > 0) & (mlp.weights[0] != 0).any(axis=1))


def _input(vectors: Array, radius: Array, mlp: Mlp) -> Affine:
    noisy = _noisy(radius, mlp)
    tied = np.zeros((len(noisy), 1, len(radius)))
    tied[np.arange(len(noisy)), 0, noisy] = radius[noisy]
    return Affine(vectors, tied, np.zeros_like(vectors))


def _propagate(value: Affine, mlp: Mlp, first: int, arith: Arithmetic) -> Affine:
    """Matrices ``first``, first + 1, …, each but the first of the MLP after its activation."""
    for index in range(first, len(mlp.weights)):
        if index:
            value = activate(value, mlp.activations[index - 1], arith)
        share = index + 1 < len(mlp.weights)
        value = apply(value, mlp.weights[index], mlp.biases[index], arith, share=share)
    return value


def _residual(
    out: Affine, vectors: Array, radius: Array, layer: Layer, arith: Arithmetic
) -> tuple[Array, Array]:
    """``keep ⊙ x + mlp(x)``: the error of a kept channel is the one the MLP saw."""
    keep, noisy = layer.keep_mlp, _noisy(radius, layer.mlp)
    tied = out.tied.copy()
    tied[np.arange(len(noisy)), :, noisy] += (keep * radius)[noisy][:, None]
    others = keep * radius
    others[noisy] = 0.0
    error = np.abs(tied).sum(axis=0) + out.loose + others
    both = (
        (keep > 0)
        & ((np.abs(out.centre) > 0) | (out.radius() > 0)).any(axis=0)
        & ((np.abs(vectors).max(axis=0, initial=0.0) > 0) | (radius > 0))
    )
    size = np.abs(vectors) + np.abs(out.centre) + error
    return vectors * keep + out.centre, error + np.where(both, (arith.unit + OWN) * SAFE * size, 0.0)


def _narrow(stream: Stream, layer: Layer, arith: Arithmetic) -> Stream:
    nominal, radius = _known(stream.nominal, stream.radius, layer, arith)
    return replace(stream, nominal=nominal, radius=radius)


def _with_counters(stream: Stream, layer: Layer, arith: Arithmetic, record: Record) -> Stream:
    mlp = layer.mlp
    first, bias = mlp.weights[0], mlp.biases[0]
    far = np.abs(stream.reach).max(axis=1, initial=0)
    coefficients = first.T @ stream.wide  # unit × counter
    cancelled = np.abs(coefficients) <= 1e-12 * (np.abs(first).T @ np.abs(stream.wide))
    residue = np.abs(coefficients * cancelled) @ far
    groups = group_units(np.where(cancelled, 0.0, coefficients), record)
    if not groups and not (np.abs(first).T @ np.abs(stream.wide)).any():
        return replace(_narrow(stream, layer, arith), wide=stream.wide * layer.keep_mlp[:, None])
    # Counters count as size of the terms that are added, for rounding, though not as error.
    size = stream.size()
    terms = (first != 0).sum(axis=0) + (bias != 0)
    sizes = size @ np.abs(first) + np.abs(bias)
    mantissa = np.abs(np.frexp(first)[0])
    plain = ((mantissa == 0.5) | (first == 0)).all(axis=0) & (terms <= 2)
    value = _input(stream.nominal, stream.radius, mlp)
    centre, tied = value.centre @ first + bias, value.tied @ first
    rounding = SAFE * (arith.inner + OWN) * (terms + 1) * sizes + residue + 4 * arith.tiny
    if arith.half:
        rounding = rounding + SAFE * arith.unit * sizes
    before = Affine(centre, tied, np.broadcast_to(rounding, centre.shape))
    bare = Affine(centre, tied, np.broadcast_to(residue, centre.shape))
    counted = np.where(plain, 0.0, terms.astype(np.float64))
    last = len(mlp.weights) == 2
    factors = Factors(mlp.weights[1], np.eye(mlp.weights[1].shape[1]), np.zeros_like(mlp.weights[1]))
    factors = factors if last else factor(mlp.weights[1])
    parts = [
        contribute(g, stream, bare, sizes, counted, mlp.activations[0], factors.ways, last, arith, record)
        for g in groups
    ]
    machine, extended = _extend(stream, parts)
    return _assemble(replace(stream, machine=machine), layer, before, parts, factors, extended, arith)


def _extend(stream: Stream, parts: list[Contribution]) -> tuple[Machine, Integers]:
    """The machine that also counts modulo each period; rows ``[class, residues…]`` of its classes."""
    old = stream.machine
    periods = np.array([part.period for part in parts], dtype=np.int64)
    factors = np.array([part.group.factors for part in parts], dtype=np.int64).reshape(
        len(parts), len(stream.reach)
    )

    def expand(rows: Integers) -> tuple[Integers, Integers]:
        state = rows[:, 0]
        moved = old.steps[state] @ factors.T
        residues = (rows[:, None, 1:] + moved) % periods
        after = np.concatenate([old.follow[state][..., None], residues], axis=2)
        shown = np.concatenate([old.shown[state][..., None], residues, old.steps[state]], axis=2)
        return after, shown

    follow, outputs = explore(np.zeros(1 + len(parts), dtype=np.int64), expand, stream.length)
    width = 1 + len(parts)
    extended, classes = distinct_rows(outputs[..., :width].reshape(-1, width))
    return Machine(follow, classes.reshape(follow.shape), outputs[..., width:]), extended


def _assemble(
    stream: Stream,
    layer: Layer,
    before: Affine,
    parts: list[Contribution],
    factors: Factors,
    extended: Integers,
    arith: Arithmetic,
) -> Stream:
    mlp = layer.mlp
    slope = np.zeros((factors.ways.shape[1], len(stream.reach)))
    for part in parts:
        slope = slope + np.outer(part.slope, part.group.factors)
    wide = stream.wide * layer.keep_mlp[:, None]
    if np.any(slope):
        wide = wide + slope
        stretched = (slope != 0).any(axis=1)
    else:
        stretched = np.zeros(len(wide), dtype=bool)
    plain = np.ones(before.centre.shape[1])
    for part in parts:
        plain[part.group.units] = 0.0
    rows = max(1, ROWS_AT_ONCE // max(1, len(stream.radius) * max(len(b) for b in mlp.biases)))
    nominal, radius = [], np.zeros(len(stream.radius))
    for first in range(0, len(extended), rows):
        chunk = extended[first : first + rows]
        own = chunk[:, 0]
        value = Affine(before.centre[own] * plain, before.tied * plain, before.loose[own] * plain)
        joined = _join(value, mlp, parts, factors, chunk, arith)
        out = _propagate(joined, mlp, 2, arith)
        vectors = stream.nominal[own]
        sums, error = _residual(out, vectors, stream.radius, layer, arith)
        nominal.append(sums)
        radius = np.maximum(radius, error.max(axis=0, initial=0.0))
    far = np.abs(wide) @ np.abs(stream.reach).max(axis=1, initial=0)
    radius = radius + np.where(stretched, 8 * arith.unit * far, 0.0)
    return replace(stream, nominal=np.concatenate(nominal), radius=radius, wide=wide)


def _join(
    value: Affine, mlp: Mlp, parts: list[Contribution], factors: Factors, chunk: Integers, arith: Arithmetic
) -> Affine:
    """Inputs of the second layer: units without counters, the groups' contributions, rounding of the sum."""
    weight, bias, ways = mlp.weights[1], mlp.biases[1], factors.ways
    hidden = activate(value, mlp.activations[0], arith)
    radius = hidden.radius()
    size = np.abs(hidden.centre)
    sums, tied = hidden.centre @ ways, hidden.tied @ ways
    tied = np.broadcast_to(tied, (tied.shape[0], *sums.shape)).copy()
    loose = hidden.loose @ np.abs(ways)
    high = size @ np.maximum(ways, 0) + radius @ np.abs(ways)
    low = size @ np.maximum(-ways, 0) + radius @ np.abs(ways)
    busy = ((hidden.centre != 0) | (radius != 0)).astype(np.float64)
    terms = busy @ (ways != 0).astype(np.float64)
    for number, part in enumerate(parts):
        at = (part.kind_of[chunk[:, 0]], chunk[:, 1 + number])
        sums, tied, loose = sums + part.centre[at], tied + part.tied[:, at[0], at[1]], loose + part.loose[at]
        high, low, terms = high + part.high[at], low + part.low[at], terms + part.terms[at]
    scales = factors.scales
    centre = sums @ scales + bias
    up, down = np.maximum(scales, 0), np.maximum(-scales, 0)
    high, low = high @ up + low @ down + np.maximum(bias, 0), high @ down + low @ up + np.maximum(-bias, 0)
    terms = terms @ (scales != 0).astype(np.float64) + (bias != 0)
    mantissa = np.abs(np.frexp(weight)[0])
    rough = ~((mantissa == 0.5) | (weight == 0)).all(axis=0)
    rounding = arith.inner * (np.maximum(terms - 1, 0) * np.maximum(high, low) + rough * (high + low))
    rounding = SAFE * (rounding + OWN * (terms + 1) * (high + low)) + terms * arith.tiny
    rounding = rounding + (size + radius).max(axis=0, initial=0.0) @ factors.rest
    if factors.rest.any():
        rounding = rounding + 1e-12 * (high + low)
    if arith.half:
        rounding = rounding + SAFE * arith.unit * (np.abs(centre) + loose @ np.abs(scales)) + arith.tiny
    return Affine(centre, with_shared(tied @ scales, loose, scales), rounding)
