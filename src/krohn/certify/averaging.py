"""Heads that give every letter the same weight: prefix sums (Lemma "modular counter").

A head may also give it to the letters at some places only, and almost nothing to the others, as long as it is
the place alone that decides.
"""

import numpy as np
import numpy.typing as npt

from krohn.certify.action import Averaging
from krohn.certify.arithmetic import EXP, OWN, Arithmetic, Array
from krohn.certify.findings import Record
from krohn.certify.machine import Integers
from krohn.certify.scores import Scores
from krohn.certify.stream import Stream
from krohn.certify.values import Values, delivered
from krohn.network.transformer import Head

UNSEEN = 30.0
"""Letters whose scores are that far below the best ones are not counted."""
EVEN = 1e-3
"""Letters whose scores differ by more do not have the same weight."""
MOST, LEAST = 1.6, 1e6
"""A head that gives a letter more than 1/1.6 or less than a millionth selects; it does not sum."""
ANY = 4.0
NEAR = 1e-4
MAX_MULTIPLE = 64


def average(
    stream: Stream, head: Head, scores: Scores, values: Values, arith: Arithmetic, record: Record
) -> Averaging | None:
    """The head as new counters, or ``None`` if it does not treat all letters alike."""
    counted = _counted(scores)
    found = _weights(scores, counted)
    if found is None:
        return None
    spread, reach, weight, pad_weight, leak = found
    scale = float(np.median(1 / weight))
    if not (MOST < scale < LEAST):
        return None
    scale = round(scale) if abs(scale - round(scale)) < NEAR * scale else scale
    relative = _relative_error(scores, weight, scale, spread, reach, arith) + leak
    record.require("prefix sum", relative, 0.1, f"every letter has weight 1/{scale:g}")
    if values.wide.any():
        raise record.refuse("prefix sum", "a head sums a prefix sum")
    pads = pad_weight @ values.rows[values.of_pad]  # [t, v]: what padding positions contribute
    origin = pads[len(pads) // 2]
    moved = np.abs(pads - origin).max(axis=0) + relative * (
        pad_weight @ np.abs(values.rows[values.of_pad])
    ).max(axis=0)
    largest = np.abs(values.rows).max(axis=0)
    most = stream.length * largest / scale
    error = (
        moved
        + leak * largest
        + relative * most * (1 + relative)
        + values.error * (1 + relative) * stream.length / scale
        + values.error
    )
    if arith.half:
        error = error + 2 * arith.unit * (most + np.abs(origin))
    _, _, out_error = delivered(head, values, error, arith)
    size = (most + np.abs(origin) + error) @ np.abs(head.output)
    out_error = out_error + 4 * (arith.unit + arith.inner) * size
    member = np.isin(scores.key_of, counted)
    added = values.rows[values.of] @ head.output / scale * member[:, None]
    quanta, steps = _quanta(added, record)
    strict = not scores.seen[0, stream.num_padding]
    wide = np.zeros((stream.nominal.shape[1], len(quanta)))
    for number, (channel, quantum) in enumerate(quanta):
        wide[channel, number] = quantum
    rounded = steps @ wide.T
    out_error = out_error + stream.length * np.abs(added - rounded).max(axis=0, initial=0.0)
    ends = stream.length * np.stack(
        [np.minimum(steps.min(axis=0), 0), np.maximum(steps.max(axis=0), 0)], axis=1
    )
    own = -rounded if strict else np.zeros_like(rounded)
    return Averaging(f"sums with weight 1/{scale:g}", steps, wide, origin @ head.output, own, ends, out_error)


def _counted(scores: Scores) -> list[int]:
    """The key classes of letters that a summing head would count: all, or those of the places it sees."""
    tau, keys = len(scores.key_of_pad), scores.letter_keys
    standing = scores.allowed[:, tau:]
    table = scores.table(0)[:, -1, tau:]
    best = [float(table[b][standing[b]].max()) if standing[b].any() else -np.inf for b in keys]
    chosen = [b for b, score in zip(keys, best, strict=True) if score > max(best) - UNSEEN]
    others = [b for b in keys if b not in chosen]
    apart = not (standing[chosen].any(axis=0) & standing[others].any(axis=0)).any() if others else True
    return chosen if chosen and apart else keys


def _weights(scores: Scores, counted: list[int]) -> tuple[float, float, Array, Array, float] | None:
    """Spread of the letters' scores, range of all scores, weight of a letter and of each padding per t; and
    what all letters that are not counted weigh, in units of one that is.
    """
    tau = len(scores.key_of_pad)
    here = scores.allowed[counted, tau:].any(axis=0)
    last = scores.table(0)[counted][:, -1, tau:][:, scores.seen[-1, tau:] & here]
    if last.size and last.max() - last.min() > EVEN:
        return None
    tables = [scores.table(query) for query in range(len(scores.queries))]
    letters = np.stack([table[counted][:, :, tau:] for table in tables])
    seen = scores.seen[:, tau:] & here
    high = np.where(seen, letters, -np.inf).max(axis=(0, 1, 3))
    low = np.where(seen, letters, np.inf).min(axis=(0, 1, 3))
    some: npt.NDArray[np.bool_] = np.asarray(seen.any(axis=1))
    spread = float((high - low)[some].max()) if some.any() else 0.0
    pads = np.stack([table[scores.key_of_pad, :, np.arange(tau)].T for table in tables])
    if spread > EVEN or np.ptp(pads, axis=0).max() > EVEN:
        return None
    level = np.where(some, (np.where(some, high, 0.0) + np.where(some, low, 0.0)) / 2, pads[0].max(axis=1))
    leak = _leaked(scores, tables, counted, np.where(some, level, pads[0].max(axis=1)))
    with np.errstate(over="ignore"):
        relative = np.exp(pads[0] - level[:, None])  # position 0 is seen by all
    seen_pads = scores.seen[:, :tau]
    total = seen.sum(axis=1) + (relative * seen_pads).sum(axis=1)
    weight = np.where(some, 1 / total, np.nan)
    # Where no letter is visible its weight does not matter: that of another position, or any.
    filled = np.where(some, weight, weight[some][0] if some.any() else 1 / ANY)
    shares = relative * seen_pads / total[:, None]
    only = np.exp(pads[0] - pads[0].max(axis=1, keepdims=True)) * seen_pads
    shares = np.where(some[:, None], shares, only / only.sum(axis=1, keepdims=True))
    reach = float(np.abs(pads[0] - level[:, None]).max())
    return spread + float(np.ptp(pads, axis=0).max()), reach, filled, shares, leak


def _leaked(scores: Scores, tables: list[Array], counted: list[int], level: Array) -> float:
    """The weight of all letters that are not counted, at worst, over that of one at the given level."""
    tau = len(scores.key_of_pad)
    others = [b for b in scores.letter_keys if b not in counted]
    if not others:
        return 0.0
    possible = scores.allowed[others][:, None, tau:] & scores.seen[None, :, tau:]
    best = np.max([np.where(possible, t[others][:, :, tau:], -np.inf).max(axis=0) for t in tables], axis=0)
    return float(np.exp(best + 2 * scores.error - level[:, None]).sum(axis=1).max())


def _relative_error(
    scores: Scores, weight: Array, scale: float, spread: float, reach: float, arith: Arithmetic
) -> float:
    """Relative error of weights and of the weighted sum of all visible positions."""
    positions = scores.seen.shape[1]
    scores_off = 2 * scores.error + spread + 4 * arith.inner * (1 + reach)
    rounding = (2 * positions + 12 + 2 * EXP) * arith.inner + positions * 4 * OWN
    drift = float(np.abs(weight * scale - 1).max())
    return float(np.expm1(scores_off) * 1.01 + rounding * 1.01 + drift)


def _quanta(added: Array, record: Record) -> tuple[list[tuple[int, float]], Integers]:
    """Per channel the quantum whose multiples the classes add; and the multiples ``[class, counter]``."""
    quanta: list[tuple[int, float]] = []
    columns: list[Integers] = []
    for channel in np.flatnonzero(np.abs(added).max(axis=0) > 1e-12):
        column = added[:, channel]
        least = float(np.abs(column)[np.abs(column) > 1e-9 * np.abs(column).max()].min())
        for divisor in range(1, MAX_MULTIPLE + 1):
            quantum = least / divisor
            multiples = np.rint(column / quantum)
            if np.abs(column / quantum - multiples).max() < NEAR:
                quanta.append((int(channel), quantum))
                columns.append(multiples.astype(np.int64))
                break
        else:
            raise record.refuse("prefix sum", "what the letters add has no common measure")
    steps = np.stack(columns, axis=1) if columns else np.zeros((len(added), 0), dtype=np.int64)
    return quanta, steps
