"""Attention operations as weights, a head for each: where it looks, what it copies, sharpness and error."""

from collections.abc import Callable
from math import pi, sqrt
from typing import Any

from krohn.base.portable import cos, exp, log, sin
from krohn.network.layout import Channel
from krohn.network.lowering.position_codes import (
    BOS,
    FREQUENCIES,
    LOG,
    ONE,
    RECENCY,
    PositionCodes,
    log_of_places,
    turning,
)
from krohn.network.lowering.symbolic_head import GAP, Column, SymbolicHead, copies, value_range
from krohn.network.operations import (
    EndWrite,
    LatestMatch,
    LatestWrite,
    LookBack,
    PlaceSum,
    PrefixSum,
)
from krohn.network.program import Program


def lower_prefix_sum(operation: PrefixSum, codes: PositionCodes, program: Program) -> SymbolicHead:
    """One head for all sums of the operation.

    Prefix sums by a uniform head (Lemma "modular counter").

    Meaning: Σ of the sources over visible positions. Weights: every position but BOS scores 0, BOS scores
    log(2^L − n_t), so each weight is exactly 1/2^L and W_V W_C = 2^L gives the sum itself. Error: only that
    of the logarithm, the softmax and the summation, relative ~ n_t·u; nothing leaks.
    """
    value, output = copies(operation.sources, operation.targets, codes.scale)
    off = _off_of_sums(program, operation.sources, codes)
    return SymbolicHead(({LOG: 1.0},), ({BOS: 1.0},), value, output, error=0.0, off=off)


def _off_of_sums(program: Program, sources: tuple[str, ...], codes: PositionCodes) -> float:
    registers = [program.register[name] for name in sources]
    return 8.0 * 8 * max(max(abs(register.low), register.high) for register in registers) * codes.scale


UNSEEN = 48.0
"""Nats between flagged positions and others: e^−48 < 2^−69."""


def lower_place_sum(operation: PlaceSum, codes: PositionCodes, program: Program) -> SymbolicHead:
    """One head for all sums over the same places.

    Sums over the positions of one rhythm: a uniform head that does not see the others.

    Meaning: Σ of the sources over visible positions whose place has flag 1. Weights: such positions score g,
    all others 0, BOS g + log(2^L − n_t) with n_t the number of visible flagged positions, so each flagged
    position has weight 1/2^L. Error: what the others weigh, T·e^{−g}·2^L of the largest value, besides that
    of a sum.
    """
    rhythm = next(place for place in program.places if place.register == operation.flag)
    value, output = copies(operation.sources, operation.targets, codes.scale)
    query = ({log_of_places(rhythm): 1.0}, {ONE: 1.0})
    key = ({BOS: 1.0}, {Channel(register=operation.flag): UNSEEN, BOS: UNSEEN})
    error = codes.count * codes.scale * value_range(program, operation.sources) * exp(-UNSEEN)
    off = _off_of_sums(program, operation.sources, codes)
    return SymbolicHead(query, key, value, output, error=error, off=off)


def lower_latest_write(operation: LatestWrite, codes: PositionCodes, program: Program) -> SymbolicHead:
    """One head for all values of the operation.

    The most recent flagged value (Lemma "memory").

    Meaning: the sources at the latest visible position with flag 1. Weights: score g·2^L·(flag_i + i/2^L),
    so a flagged position beats every unflagged one and a later one beats an earlier one, by at least g each.
    Error: Σ_{m≥1} e^{−gm} ≤ 1.01·e^{−g} of the range of values, plus 2·g·2^L·ε when flags are off by ε.
    """
    spread = value_range(program, operation.sources)
    gap = GAP + log(spread)
    gain = sqrt(gap * codes.scale)
    value, output = copies(operation.sources, operation.targets)
    key = {Channel(register=operation.flag): gain, RECENCY: gain}
    # Flagged positions m places older weigh e^(−gap·m), all unflagged ones together less than e^(−gap)·1.01.
    off = 4 * 2 * (GAP + 4) * codes.scale
    return SymbolicHead(({ONE: gain},), (key,), value, output, error=2.1 * spread * exp(-gap), off=off)


def lower_end_write(operation: EndWrite, codes: PositionCodes, program: Program) -> SymbolicHead:
    """One head for all values of the operation.

    The earliest or latest position with all of several flags.

    Meaning: the sources there, those at BOS if there is none. Weights: score g·2^L·(number of flags ±
    i/2^L), for letters a sum of what letter and place bring along; BOS scores n where n flags are needed and
    the latest position is asked for, n − 1 + 1/2^L where the earliest is: between the positions that have
    all flags and those that do not. The position itself, a wide register, is read off the code of recency.
    Error: as above.
    """
    counts = [place.register for place in program.places if program.register[place.register].kind == "wide"]
    far = [codes.count if name in counts else value_range(program, (name,)) for name in operation.sources]
    gap = GAP + log(max(far))
    gain, last = sqrt(gap * codes.scale), operation.end == "latest"
    at_bos = sum(program.at_bos[name] for name in operation.flags)
    base = len(operation.flags) if last else len(operation.flags) - 1 + 1 / codes.scale
    key: Column = {RECENCY: gain if last else -gain, BOS: gain * (base - at_bos)}
    key |= {Channel(register=name): gain for name in operation.flags}
    value, output = copies(operation.sources, operation.targets)
    value = tuple(
        {RECENCY: float(codes.scale)} if name in counts else column
        for name, column in zip(operation.sources, value, strict=True)
    )
    off = 4 * (1 + len(operation.flags)) * (GAP + 4 + log(codes.count)) * codes.scale
    return SymbolicHead(({ONE: gain},), (key,), value, output, error=2.1 * max(far) * exp(-gap), off=off)


def lower_latest_match(operation: LatestMatch, codes: PositionCodes, program: Program) -> SymbolicHead:
    """One head for all values of the operation.

    The most recent position with a given key (Theorem 3, keys on a circle of n values).

    Meaning: the sources at the latest visible i with key_i ≡ query_t + shift mod n, BOS if there is none.
    Weights: with d = 1 − cos(2π/n), a match scores β(1 + (d/3)·i/2^L), a mismatch at most β(1 − 2d/3), BOS
    β(1 − d/3); BOS's own key is subtracted through its flag. β = 3·g·2^L/d makes every gap at least g.
    Error: Σ e^{−gm} + N·e^{−g·2^L} of the range of values, plus the errors of the codes times β.
    """
    key_at_bos = program.at_bos[operation.key]
    turn = 2 * pi / operation.modulus
    lost = 1 - cos(turn)
    spread = value_range(program, operation.sources)
    gap = GAP + log(spread)
    gain = sqrt(3 * gap * codes.scale / lost)
    kx, ky = (Channel(register=operation.key, part=part) for part in ("cos", "sin"))
    c, s = gain * cos(turn * operation.shift), gain * sin(turn * operation.shift)
    query: tuple[Column, ...] = ({ONE: c}, {ONE: s}, {ONE: gain})
    if operation.query:
        qx, qy = (Channel(register=operation.query, part=part) for part in ("cos", "sin"))
        query = ({qx: c, qy: -s}, {qx: s, qy: c}, {ONE: gain})
    key = (
        {kx: gain, BOS: -gain * cos(turn * key_at_bos)},
        {ky: gain, BOS: -gain * sin(turn * key_at_bos)},
        {RECENCY: gain * lost / 3, BOS: gain * (1 - lost / 3)},
    )
    value, output = copies(operation.sources, operation.targets)
    # Older matches weigh e^(−gap·m); BOS and mismatches, 2^L·gap below, vanish.
    off = 4 * 3 * (GAP + 6) * codes.scale / lost
    return SymbolicHead(query, key, value, output, error=2.1 * spread * exp(-gap), off=off)


ONE_HOT = 112.0
"""Gap, in nats, at which float32 weights are exactly 1 and 0: values are copied exactly."""
MANY_VALUES = 20
"""Maps of more points than this are composed with sums that float32 supports only where they are exact."""


def lower_look_back(operation: LookBack, codes: PositionCodes, program: Program) -> SymbolicHead:
    """One head for all values of the operation.

    The value a fixed number of positions back (the heads of Theorem 1, with codes of two frequencies).

    Meaning: the sources at max(t − k, 0). Weights: the query is the position code turned back by k, the key
    the position code; a wrong shift loses at least ``shift_gap`` of the inner product F. BOS has no code and
    scores F − gap/2 instead, so it wins exactly when t − k ≤ 0. Error: N·e^{−g} of the range of values.
    """
    spread = value_range(program, operation.sources)
    gap = GAP + log(spread * codes.count)
    if codes.exact:
        gap = max(gap, 4 * ONE_HOT)  # a half type rounds codes, queries and keys: most of the gap may be lost
    elif spread >= MANY_VALUES:
        gap = max(gap, ONE_HOT)
    gain = sqrt(2 * gap / codes.shift_gap)
    query: list[Column] = []
    key: list[Column] = []
    for frequency in range(FREQUENCIES):
        x, y = turning(frequency)
        angle = 2 * pi * min(operation.distance, codes.count) / codes.base ** (frequency + 1)
        # (cos, sin)(θ_t − angle), so that its product with (cos, sin)(θ_i) is cos(θ_t − angle − θ_i).
        query += [{x: gain * cos(angle), y: gain * sin(angle)}, {x: -gain * sin(angle), y: gain * cos(angle)}]
        key += [{x: gain}, {y: gain}]
    query.append({ONE: gain})
    key.append({BOS: gain * (FREQUENCIES - codes.shift_gap / 2)})
    value, output = copies(operation.sources, operation.targets)
    # Exact ones have so large a gap that only its share counts.
    off = (6 if codes.exact else 4 * (GAP + 12)) * FREQUENCIES * 2 / codes.shift_gap
    error = codes.count * spread * exp(-gap)
    return SymbolicHead(tuple(query), tuple(key), value, output, error=error, off=off)


GADGETS: dict[type, Callable[[Any, PositionCodes, Program], SymbolicHead]] = {
    PrefixSum: lower_prefix_sum,
    PlaceSum: lower_place_sum,
    LatestWrite: lower_latest_write,
    EndWrite: lower_end_write,
    LookBack: lower_look_back,
    LatestMatch: lower_latest_match,
}
"""Every attention operation; a new one is one more line, and the contract tests require a case for it."""
