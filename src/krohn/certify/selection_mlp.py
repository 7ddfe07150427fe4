"""An MLP that composes maps: out = f(g) for all pairs of maps of n points (Lemma "function composition").

There are n^(2n) pairs, far too many to try. But every unit of the last hidden layer sees at most one value
x = g(q) and one value y = f(q′), so an output is a sum of terms Φ_q′(x, y_q′) and n² values of each decide
it: the output is f(x) for all f if and only if Φ_q′(x, y) − Φ_q′(x, 0) is y for q′ = x and 0 for all
others, and the rest adds up to 0. Errors are followed in the same way, term by term.
"""

import hashlib
from dataclasses import dataclass

import numpy as np

from krohn.certify.arithmetic import OWN, SAFE, Arithmetic, Array
from krohn.certify.findings import Record
from krohn.certify.hidden import Affine, activate, apply
from krohn.certify.machine import Integers
from krohn.network.transformer import RELU, Mlp


@dataclass(frozen=True, eq=False)
class Selection:
    """One output channel: the value x of ``argument`` selects the channel ``chosen[x]``, up to ``error``."""

    argument: int
    chosen: tuple[int, ...]
    error: float


@dataclass(frozen=True, eq=False)
class _Units:
    """The last hidden layer: inputs split into parts of x and y, and the channels they read (−1: none)."""

    left: Affine  # value x × unit
    right: Affine  # value y × unit
    left_size: Array  # what the absolute terms add up to, for rounding
    right_size: Array
    terms: Array
    bias: Array
    left_of: Integers
    right_of: Integers


def selections(
    mlp: Mlp,
    lefts: list[int],
    rights: list[int],
    radius: Array,
    points: int,
    arith: Arithmetic,
    record: Record,
    cache: dict[str, dict[int, Selection]],
) -> dict[int, Selection]:
    """Every output channel that is not constantly 0, proved to select a right channel by a left one."""
    if any((codes != RELU).any() for codes in mlp.activations) or len(mlp.weights) not in (2, 3):
        raise record.refuse("composition", "a composing MLP must have two or three ReLU layers")
    others = np.ones(len(radius), dtype=bool)
    others[[*lefts, *rights]] = False
    if mlp.weights[0][others].any():
        raise record.refuse("composition", "the MLP reads channels that hold no map")
    _require_range(mlp, lefts + rights, radius, points, arith, record)
    key = _fingerprint(mlp, lefts, rights, radius, points, arith)
    if key in cache:
        return cache[key]
    exact = not radius[[*lefts, *rights]].any() and _is_whole(mlp, lefts + rights, points, arith)
    units = _last_units(mlp, lefts, rights, radius, points, arith, record)
    last, bias = mlp.weights[-1], mlp.biases[-1]
    made: dict[int, Selection] = {}
    known: dict[bytes, tuple[tuple[int, ...], float]] = {}
    for channel in np.flatnonzero((last != 0).any(axis=0) | (bias != 0)):
        rows = np.flatnonzero(last[:, channel])
        made[int(channel)] = _selection(
            units, rows, last[rows, channel], float(bias[channel]), rights, known, exact, arith, record
        )
    cache[key] = made
    return made


def _require_range(
    mlp: Mlp, channels: list[int], radius: Array, points: int, arith: Arithmetic, record: Record
) -> None:
    """No hidden sum overflows; those of the last matrix are added up in the inner type."""
    size = np.zeros(len(radius))
    size[channels] = points - 1 + radius[channels]
    for weight, bias in zip(mlp.weights[:-1], mlp.biases[:-1], strict=True):
        size = size @ np.abs(weight) + np.abs(bias)
        record.require("range", float(size.max(initial=0.0)), arith.largest, "hidden units stay finite")
    last = float((size @ np.abs(mlp.weights[-1]) + np.abs(mlp.biases[-1])).max(initial=0.0))
    record.require("range", last, max(arith.largest, 3.4e38), "composed maps stay finite")


def _fingerprint(
    mlp: Mlp, lefts: list[int], rights: list[int], radius: Array, points: int, arith: Arithmetic
) -> str:
    """Layers of a scan often share their MLP: what was proved for it once holds again."""
    state = hashlib.sha256(repr((lefts, rights, points, arith.name)).encode())
    for part in (*mlp.weights, *mlp.biases, radius):
        state.update(repr(part.shape).encode() + np.ascontiguousarray(part).tobytes())
    return state.hexdigest()


def _is_whole(mlp: Mlp, channels: list[int], points: int, arith: Arithmetic) -> bool:
    """Whether every sum is one of multiples of a power of two that stays within the significand."""
    grain = np.ones(mlp.weights[0].shape[0])
    size = np.zeros(len(grain))
    size[channels] = points - 1
    for weight, bias in zip(mlp.weights, mlp.biases, strict=True):
        parts = np.where(weight != 0, grain[:, None] * _low(weight), np.inf).min(axis=0, initial=np.inf)
        grain = np.minimum(parts, _low(bias))
        grain = np.where(np.isinf(grain), 1.0, grain)
        size = size @ np.abs(weight) + np.abs(bias)
        if (
            (size > grain * 2.0**arith.bits).any()
            or (grain < arith.least).any()
            or (arith.half and (size > grain / arith.unit).any())
        ):
            return False
    return True


def _low(numbers: Array) -> Array:
    mantissa, exponent = np.frexp(np.abs(numbers))
    whole = (mantissa * 2.0**53).astype(np.int64)
    out: Array = np.where(numbers == 0, np.inf, np.ldexp((whole & -whole).astype(np.float64), exponent - 53))
    return out


def _last_units(
    mlp: Mlp,
    lefts: list[int],
    rights: list[int],
    radius: Array,
    points: int,
    arith: Arithmetic,
    record: Record,
) -> _Units:
    """Inputs of the last hidden layer with every left channel at x, every right one at y."""
    owner = _owners(mlp.weights[0], record) if len(mlp.weights) == 3 else None
    left_of = _reads(mlp, lefts, owner, record)
    right_of = _reads(mlp, rights, owner, record)
    left, left_size = _through(mlp, lefts, radius, points, arith)
    right, right_size = _through(mlp, rights, radius, points, arith)
    terms = (mlp.weights[-2] != 0).sum(axis=0) + 1.0
    return _Units(left, right, left_size, right_size, terms, mlp.biases[-2], left_of, right_of)


def _through(
    mlp: Mlp, channels: list[int], radius: Array, points: int, arith: Arithmetic
) -> tuple[Affine, Array]:
    """One side of the inputs of the last hidden layer, and the size of its terms.

    Every unit reads one channel of the side: all may hold the same value, and one symbol stands for the
    error of whichever it is.
    """
    values = np.arange(points, dtype=np.float64)
    slope, noise = mlp.weights[0][channels].sum(axis=0), radius[channels] @ np.abs(mlp.weights[0][channels])
    tied = np.copysign(noise, slope)[None, None, :]
    centre = values[:, None] * slope
    size = np.abs(centre) + noise
    if len(mlp.weights) == 2:
        return Affine(centre, tied, np.zeros_like(centre)), size
    mine = (mlp.weights[0][channels] != 0).any(axis=0)
    bias = mlp.biases[0]
    unit = arith.inner + OWN + (arith.unit if arith.half else 0.0)
    loose = SAFE * 3 * unit * (size + np.abs(bias)) + arith.tiny
    hidden = activate(Affine(centre + bias, tied, loose), mlp.activations[0], arith)
    hidden = Affine(hidden.centre * mine, hidden.tied * mine, hidden.loose * mine)
    size = (np.abs(hidden.centre) + hidden.radius()) @ np.abs(mlp.weights[1])
    return apply(hidden, mlp.weights[1], np.zeros(len(mlp.biases[1])), arith), size


def _owners(first: Array, record: Record) -> Integers:
    """The one channel that each unit of the first of two hidden layers reads."""
    used = first != 0
    if (used.sum(axis=0) > 1).any():
        raise record.refuse("composition", "a unit of the first layer mixes two values")
    return np.where(used.any(axis=0), used.argmax(axis=0), -1)


def _reads(mlp: Mlp, channels: list[int], owner: Integers | None, record: Record) -> Integers:
    """The channel of one side that each unit of the last hidden layer sees, −1 for none."""
    reach = mlp.weights[-2] != 0
    found = np.full(reach.shape[1], -1, dtype=np.int64)
    for channel in channels:
        seen = reach[channel] if owner is None else reach[owner == channel].any(axis=0)
        if (found[seen] >= 0).any():
            raise record.refuse("composition", "a unit sees two values of one map")
        found[seen] = channel
    return found


def _selection(
    units: _Units,
    rows: Integers,
    weights: Array,
    bias: float,
    rights: list[int],
    known: dict[bytes, tuple[tuple[int, ...], float]],
    exact: bool,
    arith: Arithmetic,
    record: Record,
) -> Selection:
    arguments = sorted({int(c) for c in units.left_of[rows]} - {-1})
    if len(arguments) != 1:
        raise record.refuse("composition", f"an output depends on {len(arguments)} arguments, not one")
    parts = (
        units.left.centre,
        units.right.centre,
        units.left.tied[0],
        units.right.tied[0],
        units.left.loose,
        units.right.loose,
        units.bias,
        units.terms,
    )
    shape = b"".join(np.ascontiguousarray(part[..., rows]).tobytes() for part in parts)
    key = shape + weights.tobytes() + units.right_of[rows].tobytes() + np.float64(bias).tobytes()
    if key not in known:
        known[key] = _evaluate(units, rows, weights, bias, rights, exact, arith, record)
    chosen, error = known[key]
    return Selection(arguments[0], chosen, error)


def _evaluate(
    units: _Units,
    rows: Integers,
    weights: Array,
    bias: float,
    rights: list[int],
    exact: bool,
    arith: Arithmetic,
    record: Record,
) -> tuple[tuple[int, ...], float]:
    """Φ on all (x, y), grouped by the right channel; the channel chosen by each x and the worst error."""
    points = len(units.left.centre)
    zero = np.zeros(points)
    rest, tilt, wobble, slips, loose = zero + bias, zero, zero, zero, zero
    high, low, terms = zero + max(bias, 0), zero + max(-bias, 0), zero + (bias != 0)
    chosen = np.full(points, -1, dtype=np.int64)
    values = np.arange(points, dtype=np.float64)
    for channel in [*rights, -1]:
        mine = units.right_of[rows] == channel
        if not mine.any():
            continue
        out, size = _table(units, rows[mine], arith, exact)
        own = weights[mine]
        phi = out.centre @ own
        base, change = phi[:, 0], phi - phi[:, :1]
        takes = np.abs(change - values).max(axis=1) < np.abs(change).max(axis=1)
        takes = takes & (chosen < 0)  # a second value that comes along is an error of its own size
        chosen = np.where(takes, channel, chosen) if points > 1 else np.full(1, rights[0])
        slips = slips + np.abs(change - np.where(takes[:, None], values, 0.0)).max(axis=1)
        rest = rest + base
        by_left, by_right = out.tied[0] @ own, out.tied[1] @ own
        middle = (by_left.max(axis=1) + by_left.min(axis=1)) / 2
        tilt, wobble = tilt + middle, wobble + np.ptp(by_left, axis=1) / 2 + np.abs(by_right).max(axis=1)
        loose = loose + (out.loose @ np.abs(own)).max(axis=1)
        high = high + (size @ np.maximum(own, 0)).max(axis=1)
        low = low + (size @ np.maximum(-own, 0)).max(axis=1)
        terms = terms + ((size != 0) @ (own != 0).astype(np.float64)).max(axis=1)
    if (chosen < 0).any():
        raise record.refuse("composition", "an output does not select a value of the map")
    error = np.abs(rest) + slips + np.abs(tilt) + wobble + loose
    if not exact:
        unit = arith.inner + OWN + (arith.unit if arith.half else 0.0)
        error = error + SAFE * unit * (terms + 2) * (high + low) + terms * arith.tiny
    return tuple(int(c) for c in chosen), float(error.max())


def _table(units: _Units, rows: Integers, arith: Arithmetic, exact: bool) -> tuple[Affine, Array]:
    """Units after their activation for all (x, y): symbols are the error of x and that of y."""

    def both(left: Array, right: Array) -> Array:
        return (left[:, None, :] + right[None, :, :]).reshape(-1, len(rows))

    points = len(units.left.centre)
    centre = both(units.left.centre[:, rows], units.right.centre[:, rows]) + units.bias[rows]
    shape = (points, len(rows))
    ties = [np.broadcast_to(side.tied[0][:, rows], shape) for side in (units.left, units.right)]
    tied = np.stack([both(ties[0], np.zeros(shape)), both(np.zeros(shape), ties[1])])
    loose = np.zeros_like(centre)
    if not exact:
        size = both(units.left_size[:, rows], units.right_size[:, rows]) + np.abs(units.bias[rows])
        unit = arith.inner + OWN + (arith.unit if arith.half else 0.0)
        loose = both(units.left.loose[:, rows], units.right.loose[:, rows])
        loose = loose + SAFE * unit * (units.terms[rows] + 1) * size + 4 * arith.tiny
    out = activate(Affine(centre, tied, loose), np.full(len(rows), RELU), arith)
    cube = (points, points, len(rows))
    shaped = Affine(out.centre.reshape(cube), out.tied.reshape(2, *cube), out.loose.reshape(cube))
    return shaped, np.abs(shaped.centre) + shaped.radius()
