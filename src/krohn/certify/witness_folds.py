"""Part of the search for witnesses: what an MLP reads off a counter, and the machine that keeps it."""

from dataclasses import dataclass
from itertools import product

import numpy as np

from krohn.certify.witness_machines import explore, labelled, middle
from krohn.check.machine import Claim, live_states
from krohn.check.mlp import untouched
from krohn.check.reader import Layer
from krohn.check.real import Array, Integers
from krohn.check.witness import Fold, Lift, Tabulate
from krohn.errors import LimitExceeded

MAX_CHOICES = 4
SAMPLES = 5
MANY_ROWS = 3000
CLOSE = 1e-4
MAX_FOLD_WORK = 1 << 28
MAX_RUN = 1 << 31
MAX_HELD = 1 << 26
MOST_GRID = 64
CHUNK = 1 << 22


def tabulate_step(claim: Claim, layer: Layer, *, choices: bool) -> Tabulate:
    """An MLP block: folds found by running it on middles."""
    wide = np.where(untouched(layer)[:, None], claim.wide, 0.0)
    folds, unsure, many, cut = [], -1, 1, _cut(claim, layer)
    for k in range(len(claim.low)):
        # Where every last unit reads one counter, outputs are sums: the others may stay at 0.
        samples = 1 if cut == len(layer.weights) - 1 else SAMPLES
        fold = _fold_of(claim, layer, wide, k, samples)
        if not fold.modulus:
            fold, count = _exact_ends(claim, fold, k, choices=choices and unsure < 0)
            if count > 1:
                unsure, many = k, count
        folds.append(fold)
    if cut:
        wide = claim.wide * layer.keep_mlp[:, None]
    return _machine(claim, folds, unsure, many, Layout(True, wide, cut))


def resolve_step(claim: Claim, counters: list[int]) -> Tabulate:
    """Writes counters out, because a head looks at them."""
    ends = zip(claim.low.tolist(), claim.high.tolist(), strict=True)
    folds = [Fold(0, low, high) if k in counters else Fold(1, 0, 0) for k, (low, high) in enumerate(ends)]
    wide = claim.wide.copy()
    wide[:, counters] = 0.0
    return _machine(claim, folds, -1, 1, Layout(False, wide, 0))


def _fold_of(claim: Claim, layer: Layer, wide: Array, k: int, samples: int) -> Fold:
    """What the outputs tell of counter k: a residue, or its place between two ends."""
    others = [
        [0] if j == k else sorted({int(v) for v in np.linspace(claim.low[j], claim.high[j], samples)})
        for j in range(len(claim.low))
    ]
    grid = np.array(list(product(*others))[:MOST_GRID], dtype=np.int64).reshape(-1, len(claim.low))
    spread = int(claim.high[k]) - int(claim.low[k]) + 1
    rows = spread * claim.classes * len(grid)
    width = max(weight.shape[1] for weight in layer.weights)
    if rows * width > MAX_RUN or rows * len(claim.wide) > MAX_HELD:
        raise LimitExceeded(f"counter {k + 1} may take {spread:,} values, too many to run an MLP on all")
    values = np.arange(claim.low[k], claim.high[k] + 1)
    sums = np.repeat(grid[:, None], len(values), axis=1)
    sums[:, :, k] = values
    given = middle(claim.box)[:, None, None] + (sums @ claim.wide.T)[None]
    out = _run(layer, given.reshape(-1, given.shape[-1])).reshape(given.shape) - (sums @ wide.T)[None]
    return _find_fold(out.reshape(-1, len(values), given.shape[-1]), values)


def _run(layer: Layer, rows: Array) -> Array:
    """The block on all rows, some at a time: wide MLPs would need gigabytes."""
    many = max(1, CHUNK // max(weight.shape[1] for weight in layer.weights))
    parts = [_run_some(layer, rows[first : first + many]) for first in range(0, len(rows), many)]
    return np.concatenate(parts) if parts else rows


def _run_some(layer: Layer, rows: Array) -> Array:
    hidden = rows
    for index, (weight, bias) in enumerate(zip(layer.weights, layer.biases, strict=True)):
        hidden = hidden @ weight + bias
        if index + 1 < len(layer.weights):
            hidden = np.where(layer.sine[index], np.sin(hidden), np.maximum(hidden, 0.0))
    out: Array = rows * layer.keep_mlp + hidden
    return out


def _find_fold(table: Array, values: Integers) -> Fold:
    """``table[row, value, channel]``: the least period, or the ends beyond which nothing changes."""
    close = CLOSE * np.maximum(np.ptp(table, axis=(0, 1)), 1e-9) + 1e-12
    first = np.flatnonzero((np.abs(table - table[:, :1]).max(axis=0) > close).any(axis=1))
    if not len(first):
        return Fold(1, 0, 0)
    last = np.flatnonzero((np.abs(table - table[:, -1:]).max(axis=0) > close).any(axis=1))
    low, high = int(values[first[0] - 1]), int(values[min(last[-1] + 1, len(values) - 1)])
    tries = min(len(values) // 2, high - low + 1, MAX_FOLD_WORK // table.size)
    for period in range(1, tries + 1):
        if (np.abs(table[:, period:] - table[:, :-period]).max(axis=(0, 1)) <= close).all():
            return Fold(period, 0, 0)
    return Fold(0, low, high)


def _exact_ends(claim: Claim, fold: Fold, k: int, *, choices: bool) -> tuple[Fold, int]:
    """Ends with which a counter can be followed; at an end it may leave again, all that may be is tried."""
    steps, bottom, top = claim.machine.steps[:, :, k], int(claim.low[k]), int(claim.high[k])
    if steps.min() >= 0:
        return Fold(0, bottom, fold.high), 1
    if steps.max() <= 0:
        return Fold(0, fold.low, top), 1
    back = -int(steps.min()) if fold.high < top else 0
    forth = int(steps.max()) if fold.low > bottom else 0
    many = 1 + max(back, forth)
    if choices and many <= MAX_CHOICES and 2 * (fold.high - fold.low + 1) <= top - bottom + 1:
        return fold, many
    return Fold(0, bottom, top), 1


def _cut(claim: Claim, layer: Layer) -> int:
    """The last hidden layer whose units read one counter each, where there are too many rows to run."""
    sizes = (claim.high - claim.low + 1).astype(np.float64)
    cut = 0
    if len(sizes) >= 2 and claim.classes * sizes.prod() > MANY_ROWS:
        reads = claim.wide != 0
        for index, weight in enumerate(layer.weights[:-1], 1):
            reads = (weight != 0).T.astype(np.int64) @ reads > 0
            if (reads.sum(axis=1) <= 1).all():
                cut = index
    return cut


@dataclass(frozen=True)
class Layout:
    """What the step says besides its machine."""

    block: bool
    wide: Array
    cut: int


def _machine(claim: Claim, folds: list[Fold], unsure: int, many: int, layout: Layout) -> Tabulate:
    old, letters = claim.machine, claim.machine.follow.shape[1]
    zero = np.zeros(1, dtype=np.int64)

    def expand(rows: Integers) -> tuple[Integers, Integers]:
        state = rows[:, 0]
        steps, pick = old.steps[state].repeat(many, axis=1), np.tile(np.arange(many), letters)
        after = np.repeat(rows[:, None], letters * many, axis=1)
        after[:, :, 0] = old.follow[state].repeat(many, axis=1)
        for k, fold in enumerate(folds):
            held, step = after[:, :, 1 + k].copy(), steps[:, :, k]
            sums = held + step
            if k == unsure:
                if fold.high < claim.high[k]:
                    sums = sums + np.where((held == fold.high) & (step < 0), np.minimum(pick, -step), 0)
                if fold.low > claim.low[k]:
                    sums = sums - np.where((held == fold.low) & (step > 0), np.minimum(pick, step), 0)
            after[:, :, 1 + k] = fold(sums)
        shown = np.concatenate([old.shown[state].repeat(many, axis=1)[..., None], after[:, :, 1:]], axis=2)
        return after, shown

    start = [0, *(int(fold(zero)[0]) for fold in folds)]
    rows, follow, outputs = explore(start, expand, claim.length)
    lift = Lift(follow, rows[:, 0], labelled(outputs, live_states(follow, claim.length)))
    return Tabulate(lift, layout.block, tuple(folds), rows[:, 1:], layout.wide, layout.cut)
