"""Residues: a staircase of wraps, two short staircases, or two sines (Lemma "modular counter").

Meaning: ``values[(Σ cᵢ·termᵢ + offset) mod n]``. With ReLU the residue is y − n·#wraps, two units per wrap
and one for y: the wraps are flat, so an error ε of y passes on as ε and no more, for ε < 1/4. ``narrow``
counts wraps in two rounds, coarse then fine, which takes about 2√K units instead of 2K. With sines the two
units sin(2πy/n), cos(2πy/n) say which residue it is, a staircase over a projection writes it.
"""

from math import ceil, cos, isqrt, pi, sin

import numpy as np

from krohn.construct.lowering.map_context import MapContext
from krohn.construct.lowering.signals import MlpBuilder, Signal
from krohn.construct.lowering.staircase import staircase
from krohn.network.layout import Channel
from krohn.network.operations import Modulo
from krohn.network.transformer import SIN

# Below this many wraps one round is as narrow as two.
FEW_WRAPS = 6


def lower_modulo(operation: Modulo, context: MapContext) -> None:
    """Chooses the cheapest of the three."""
    circle = context.program.register[operation.target].kind == "circle"
    total = context.sum_of(operation.terms, operation.offset)
    low, high = round(total.low), round(total.high)
    if context.activation == "sin":
        _by_sine(operation, total, context, circle)
    elif operation.values is None and not circle:
        context.write(operation.target, residue(context.builder, total, operation.modulus, context.narrow))
    else:
        values = np.arange(operation.modulus) if operation.values is None else np.array(operation.values)
        points = np.arange(low, high + 1)
        channels, columns = context.write_columns(
            (operation.target,), values[points % operation.modulus][:, None]
        )
        signals = staircase(context.builder, total, points.astype(np.float64), columns)
        for channel, signal in zip(channels, signals, strict=True):
            context.signals[channel] = signal


def residue(builder: MlpBuilder, total: Signal, modulus: int, narrow: bool) -> Signal:
    """y mod n for integers y between the signal's bounds."""
    origin = round(total.low) // modulus * modulus
    wraps = (round(total.high) - origin) // modulus
    if narrow and wraps > FEW_WRAPS:
        stride = ceil(wraps / isqrt(wraps))
        total = _minus_wraps(builder, total, modulus * stride, origin, wraps // stride)
        origin, wraps = 0, stride - 1
    return _minus_wraps(builder, total, modulus, origin, wraps)


def _minus_wraps(builder: MlpBuilder, total: Signal, modulus: int, origin: int, wraps: int) -> Signal:
    """y − origin, less the modulus once for every wrap point origin + k·modulus ≤ y, k = 1 … wraps."""
    if wraps == 0:
        return _with_bounds(builder.total([total], -origin), 0, round(total.high) - origin)
    points = np.array([origin + k * modulus + side for k in range(1, wraps + 1) for side in (-1, 0)])
    counts = np.array([k - 1 + side for k in range(1, wraps + 1) for side in (0, 1)])
    (count,) = staircase(builder, total, points.astype(np.float64), counts[:, None].astype(np.float64))
    out = builder.total([total, count.scaled(-modulus)], -origin)
    return _with_bounds(out, 0, modulus - 1)


def _with_bounds(signal: Signal, low: float, high: float) -> Signal:
    return Signal(signal.layer, signal.terms, signal.constant, low, high)


def _by_sine(operation: Modulo, total: Signal, context: MapContext, circle: bool) -> None:
    n = operation.modulus
    values = list(range(n)) if operation.values is None else list(operation.values)
    turn = 2 * pi / n
    across = Signal(total.layer + 1, {context.builder.unit(total, turn, pi / 2, SIN): 1.0}, 0.0, -1.0, 1.0)
    if n == 2 and not circle:
        half = context.builder.total([across.scaled((values[0] - values[1]) / 2)], sum(values) / 2)
        context.write(operation.target, half)
        return
    up = Signal(total.layer + 1, {context.builder.unit(total, turn, 0.0, SIN): 1.0}, 0.0, -1.0, 1.0)
    if circle and values == list(range(n)):
        context.signals[Channel(register=operation.target, part="cos")] = across
        context.signals[Channel(register=operation.target, part="sin")] = up
        return
    # The line at angle π/2n sees the n corners of the polygon at n different places.
    tilt = pi / (2 * n)
    places = np.array([cos(turn * r) * cos(tilt) + sin(turn * r) * sin(tilt) for r in range(n)])
    order = np.argsort(places)
    line = context.builder.total([across.scaled(cos(tilt)), up.scaled(sin(tilt))])
    channels, columns = context.write_columns((operation.target,), np.array(values)[order][:, None])
    for channel, signal in zip(
        channels, staircase(context.builder, line, places[order], columns), strict=True
    ):
        context.signals[channel] = signal
