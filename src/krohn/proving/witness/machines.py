"""Parts of the search for witnesses: exploring and merging machines, what MLPs read off counters.

And what the matrices alone tell: scans, and channels that something later reads.
"""

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np

from krohn.check.files.reader import Head, Layer, Network
from krohn.check.files.witness import Cut, Fold, Lift, Merge, Scan, Tabulate
from krohn.check.ground import Array, Flags, Integers, Real, Work, distinct
from krohn.check.transformer.checker import readings_of
from krohn.check.transformer.mlp import read_through, untouched
from krohn.check.transformer.stream import Moment, after_mlp, live_states
from krohn.errors import LimitExceeded

MAX_STATES = 100_000
AT_ONCE = 1 << 20
"""Array entries of next states that are computed at once."""
DIGITS = 5
"""Numbers that agree to this many decimals (relative to their channel's size) count as equal."""
WORTH = 6
"""Counters whose worth agrees to this many digits count as one."""

Expand = Callable[[Integers], tuple[Integers, Integers]]
"""Rows ``[n, w]`` to next rows ``[n, letters, w]`` and outputs ``[n, letters, p]``."""


def middle(box: Real) -> Array:
    """The middles of intervals."""
    out: Array = (box.lo + box.hi) / 2
    return out


def rows_alike(rows: Integers) -> Integers:
    """A label for each row: equal rows, equal labels."""
    return distinct(rows)[1]


def dense(labels: Integers) -> Integers:
    """Labels 0, 1, … in the order in which they first appear."""
    _, first, where = np.unique(labels, return_index=True, return_inverse=True)
    out: Integers = np.argsort(np.argsort(first))[where.reshape(-1)]
    return out


def groups(vectors: Array) -> Integers:
    """Labels for rows: those that agree to ``DIGITS`` digits have the same label."""
    if not vectors.shape[1]:
        return np.zeros(len(vectors), dtype=np.int64)
    # Relative to the channel: weights of several sizes stand side by side in a stream.
    scale = np.maximum(np.abs(vectors).max(axis=0), 1e-300)
    return dense(rows_alike(np.rint(vectors / scale * 10.0**DIGITS).astype(np.int64)))


def explore(
    start: list[int], expand: Expand, depth: int, most: int = MAX_STATES
) -> tuple[Integers, Integers, Integers]:
    """Breadth-first: rows, ``follow[s, a]`` and outputs of all states that ≤ ``depth`` letters reach."""
    first = np.array(start, dtype=np.int64)
    number = {first.tobytes(): 0}
    result, frontier = [first[None]], first[None]
    follows: list[Integers] = []
    outputs: list[Integers] = []
    many = 1
    for _ in range(depth):
        if not len(frontier):
            break
        fresh: list[Integers] = []
        for part in np.split(frontier, range(many, len(frontier), many)):
            after, shown = expand(part)
            many = max(1, AT_ONCE // after[0].size)
            different, where = distinct(np.ascontiguousarray(after.reshape(-1, after.shape[2])))
            known = np.empty(len(different), dtype=np.int64)
            for index, row in enumerate(different):
                key = row.tobytes()
                if key not in number:
                    number[key] = len(number)
                    fresh.append(row.copy())
                known[index] = number[key]
            if len(number) > most:
                raise LimitExceeded(f"the search may use at most {most:,} states; it needs more")
            follows.append(known[where].reshape(after.shape[:2]))
            outputs.append(shown)
        frontier = np.array(fresh, dtype=np.int64).reshape(len(fresh), len(first))
        result.append(frontier)
    # States that only the last letter reaches read nothing: any row will do for them.
    if len(frontier):
        follows.append(np.zeros((len(frontier), follows[0].shape[1]), dtype=np.int64))
        outputs.append(np.repeat(outputs[0][:1], len(frontier), axis=0))
    return np.concatenate(result), np.concatenate(follows), np.concatenate(outputs)


def label(outputs: Integers, live: Flags) -> Integers:
    """One class per different output of a live state."""
    flat, rows = outputs.reshape(-1, outputs.shape[2]), np.repeat(live, outputs.shape[1])
    labels = np.zeros(len(flat), dtype=np.int64)
    labels[rows] = dense(rows_alike(flat[rows]))
    return labels.reshape(outputs.shape[:2])


def merge_alike(moment: Moment, live: Flags) -> Merge:
    """Merges states and classes that agree in all channels that are read later; drops counters that nothing
    reads, and replaces counters of the same worth by their sum.
    """
    machine, keep = moment.machine, live.astype(np.float64)
    worth: dict[tuple[str, ...], list[int]] = {}
    for counter in np.flatnonzero((moment.wide * keep[:, None] != 0).any(axis=0)).tolist():
        about = tuple(f"{entry + 0.0:.{WORTH}g}" for entry in moment.wide[:, counter].tolist())
        worth.setdefault(about, []).append(counter)
    turn = np.zeros((len(worth), len(moment.low)), dtype=np.int64)
    for number, alike in enumerate(worth.values()):
        turn[number, alike] = 1
    first = [alike[0] for alike in worth.values()]
    classes = groups(middle(moment.box) * keep)
    reading = live_states(machine.follow, moment.length)
    width = machine.follow.shape[1] * len(turn)
    steps = (machine.steps @ turn.T).reshape(len(machine.follow), width)
    seen = np.concatenate([classes[machine.shown], steps], axis=1)
    states = _refine(machine.follow, seen, reading)
    return Merge(states, classes, turn, moment.wide[:, first])


def _refine(follow: Integers, seen: Integers, live: Flags) -> Integers:
    """Moore's partition refinement; states that never read a letter join the start."""
    # The checker asks nothing of states that read no letter, so these may join any other.
    labels = rows_alike(np.concatenate([live[:, None].astype(np.int64), seen * live[:, None]], axis=1))
    while True:
        finer = rows_alike(np.concatenate([labels[:, None], labels[follow] * live[:, None]], axis=1))
        if finer.max() == labels.max():
            break
        labels = finer
    return dense(np.where(live, finer, finer[0]))


MAX_CHOICES = 4
CLOSE = 1e-4
MANY_ROWS = 3000
MAX_FOLD_WORK = 1 << 28
MAX_RUN = 1 << 31
MAX_HELD = 1 << 26
PER_HELD = 24.0
"""Work that the checker is expected to need for an entry held here: it counts 100 for every value that a
counter can have in a class, and a class may rule out most of them. A budget of 1.6e9 allows MAX_HELD entries.
"""
MOST_GRID = 64
CHUNK = 1 << 22


def tabulate_step(moment: Moment, layer: Layer, budget: Work, *, choices: bool) -> Tabulate:
    """The step for an MLP; folds are found by running it on middles of boxes."""
    wide = np.where(untouched(layer)[:, None], moment.wide, 0.0)
    folds, unsure, many, alone = [], -1, 1, _adds_counters(moment, layer)
    for k in range(len(moment.low)):
        fold = _fold_of(moment, layer, wide, k, budget, alone=alone)
        if not fold.modulus:
            fold, count = _exact_ends(moment, fold, k, choices=choices and unsure < 0)
            if count > 1:
                unsure, many = k, count
        folds.append(fold)
    return _machine(moment, folds, unsure, many, wide)


def _fold_of(moment: Moment, layer: Layer, wide: Array, k: int, budget: Work, *, alone: bool) -> Fold:
    """What the outputs depend on in counter k: a residue, or its value clamped to two ends."""
    ends = np.stack([moment.low, moment.high], axis=1)
    # A fold must fit whatever the other counters are; some of their values are tried, the checker tries all.
    few = [
        {low} if alone else {low, *np.clip([0, 1, (low + high) // 2], low, high), high} for low, high in ends
    ]
    others = [[0] if j == k else sorted(values) for j, values in enumerate(few)]
    grid = np.array(list(product(*others))[:MOST_GRID], dtype=np.int64).reshape(-1, len(moment.low))
    spread = int(moment.high[k]) - int(moment.low[k]) + 1
    rows = spread * moment.classes * len(grid)
    width = max(weight.shape[1] for weight in layer.weights)
    if rows * width > MAX_RUN or rows * len(moment.wide) > MAX_HELD:
        raise LimitExceeded(f"counter {k + 1} may take {spread:,} values, too many to run an MLP on all")
    units = sum(weight.shape[1] for weight in layer.weights)
    budget.foresee(PER_HELD * rows * len(moment.wide), f"all values of counter {k + 1}")
    budget.spend(float(rows) * units, f"an MLP on all values of counter {k + 1}")
    values = np.arange(moment.low[k], moment.high[k] + 1)
    sums = np.repeat(grid[:, None], len(values), axis=1)
    sums[:, :, k] = values
    given = middle(moment.box)[:, None, None] + (sums @ moment.wide.T)[None]
    out = _run(layer, given.reshape(-1, given.shape[-1])).reshape(given.shape) - (sums @ wide.T)[None]
    absent = np.repeat(_absent(moment, values, k), len(grid), axis=0)
    return _find_fold(out.reshape(-1, len(values), given.shape[-1]), values, absent)


def _absent(moment: Moment, values: Integers, k: int) -> Flags:
    """[class, value]: values that counter k cannot have there, since the letter has just moved it."""
    shown, steps = moment.machine.shown.reshape(-1), moment.machine.steps[:, :, k].reshape(-1)
    least, most = np.full(moment.classes, steps.max()), np.full(moment.classes, steps.min())
    np.minimum.at(least, shown, steps)
    np.maximum.at(most, shown, steps)
    out: Flags = (values < values[0] + least[:, None]) | (values > values[-1] + most[:, None])
    return out


def _run(layer: Layer, rows: Array) -> Array:
    """Runs the MLP on all rows, in batches: a wide one would need gigabytes."""
    many = max(1, CHUNK // max(weight.shape[1] for weight in layer.weights))
    parts = (after_mlp(Numbers(), layer, rows[at : at + many]) for at in range(0, len(rows), many))
    return np.concatenate([rows[:0], *parts])


class Numbers:
    """The arithmetic of plain numbers, without error bounds and LayerNorm; ``place`` as in ``Forms``."""

    def __init__(self, place: Integers | None = None) -> None:
        self.place = place

    def normalise(self, x: Array, gain: Array | None, shift: Array | None = None) -> Array:
        """The search has a network without LayerNorm."""
        return x

    def linear(self, x: Array, weight: Array, bias: Array | None = None) -> Array:
        """A product with a matrix, and a bias."""
        out: Array = x @ weight + (0.0 if bias is None else bias)
        return out

    def activate(self, x: Array, sine: Flags) -> Array:
        """ReLU or sine."""
        made = np.maximum(x, 0.0)
        made[:, sine] = np.sin(x[:, sine])  # of few units, and a sine takes longer than a product
        return made

    def kept(self, x: Array, flags: Array) -> Array:
        """The product with 0 or 1."""
        made, some = np.zeros((len(x), len(flags))), np.flatnonzero(flags)
        made[:, some] = x[:, some if self.place is None else self.place[some]]
        return made

    def total(self, parts: list[Array]) -> Array:
        """The sum."""
        return parts[0] + parts[1]


def _find_fold(table: Array, values: Integers, absent: Flags) -> Fold:
    """``table[row, value, channel]``: the least period, or the ends beyond which nothing changes."""
    close = CLOSE * np.maximum(np.ptp(table, axis=(0, 1)), 1e-9) + 1e-12
    first = np.flatnonzero((np.abs(table - table[:, :1]).max(axis=0) > close).any(axis=1))
    if not len(first):
        return Fold(1, 0, 0)
    last = np.flatnonzero((np.abs(table - table[:, -1:]).max(axis=0) > close).any(axis=1))
    low, high = int(values[first[0] - 1]), int(values[min(last[-1] + 1, len(values) - 1)])
    # A residue is tried first: clamping needs as many states as there are values between the ends.
    tries = min(len(values) // 2, high - low + 1, MAX_FOLD_WORK // table.size)
    for period in range(1, tries + 1):
        there = ~(absent[:, period:] | absent[:, :-period])
        if (np.abs(table[:, period:] - table[:, :-period])[there] <= close).all():
            return Fold(period, 0, 0)
    return Fold(0, low, high)


def _exact_ends(moment: Moment, fold: Fold, k: int, *, choices: bool) -> tuple[Fold, int]:
    """Ends to which a counter can be clamped, and the number of choices: it may leave an end by any step."""
    steps, bottom, top = moment.machine.steps[:, :, k], int(moment.low[k]), int(moment.high[k])
    if steps.min() >= 0:
        return Fold(0, bottom, fold.high), 1
    if steps.max() <= 0:
        return Fold(0, fold.low, top), 1
    # Clamped at an end, the machine no longer knows how far beyond it the counter is. When a step leads back,
    # it may still be beyond or not: each possibility is a choice of the letter, and one of them is right.
    back = -int(steps.min()) if fold.high < top else 0
    forth = int(steps.max()) if fold.low > bottom else 0
    many = 1 + max(back, forth)
    if choices and many <= MAX_CHOICES and 2 * (fold.high - fold.low + 1) <= top - bottom + 1:
        return fold, many
    return Fold(0, bottom, top), 1


def _adds_counters(moment: Moment, layer: Layer) -> bool:
    """Whether each last hidden unit reads at most one counter: outputs are sums, and when one counter varies
    the others need not. False if there are few rows anyway.
    """
    sizes, counters = (moment.high - moment.low + 1).astype(np.float64), moment.wide != 0
    few = len(sizes) < 2 or moment.classes * sizes.prod() <= MANY_ROWS
    if few or len(layer.weights) < 2:
        return False
    units = read_through(layer.weights[:-1]).T @ counters > 0
    return all((side.sum(axis=1) <= 1).all() for side in (counters, units))


def _machine(moment: Moment, folds: list[Fold], unsure: int, many: int, wide: Array) -> Tabulate:
    old, letters = moment.machine, moment.machine.follow.shape[1]
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
                if fold.high < moment.high[k]:
                    sums = sums + np.where((held == fold.high) & (step < 0), np.minimum(pick, -step), 0)
                if fold.low > moment.low[k]:
                    sums = sums - np.where((held == fold.low) & (step > 0), np.minimum(pick, step), 0)
            after[:, :, 1 + k] = fold(sums)
        shown = np.concatenate([old.shown[state].repeat(many, axis=1)[..., None], after[:, :, 1:]], axis=2)
        return after, shown

    start = [0, *(int(fold(zero)[0]) for fold in folds)]
    rows, follow, outputs = explore(start, expand, moment.length)
    lift = Lift(follow, rows[:, 0], label(outputs, live_states(follow, moment.length)))
    return Tabulate(lift, tuple(folds), rows[:, 1:], wide)


def compares_repeating_codes(network: Network) -> bool:
    """Whether keys read periodic position codes: heads may compare them, as they do with binary codes."""
    repeats = readings_of(network.positions[len(network.padding) :])[0]
    return any(bool((head.key[repeats] != 0).any()) for layer in network.layers for head in layer.heads)


def scans(network: Network) -> Iterator[Scan]:
    """Witnesses of scans: letters and padding as maps of points, read off the embedding."""
    heads = [head for layer in network.layers for head in layer.heads]
    codes = (network.positions != 0).any(axis=0)
    if (
        not heads
        or not len(network.padding)
        or any(head.query[~codes].any() or head.key[~codes].any() for head in heads)
        or any(_adds_letters(network, head) for head in heads)
    ):
        return
    # Points are the channels that the first heads copy and that hold no position code; if the padding token
    # has each of 0, 1, … once, it is the identity and says which point is which.
    first = [(head.value @ head.output).any(axis=1) for head in network.layers[0].heads]
    used = np.any(first, axis=0) if first else np.zeros(len(codes), dtype=bool)
    channels = np.flatnonzero(used & ~codes)
    pads = network.padding[0, channels]
    if sorted(pads.tolist()) == list(range(len(channels))):
        channels, pads = channels[np.argsort(pads)], np.sort(pads)
    maps = network.embedding[:, channels]
    both = np.concatenate([maps, pads[None]])
    if both.size and (both == np.rint(both)).all() and both.min() >= 0 and both.max() < len(channels):
        moments = [channels]
        for layer in network.layers:
            moments.append(_follow_points(layer, moments[-1]))
        rounds = zip(network.layers, moments, strict=False)
        cuts = tuple(tuple(_rounds(network, layer, channels)) for layer, channels in rounds)
        parts = maps.astype(np.int64), pads.astype(np.int64), np.stack(moments)
        yield Scan(*parts, cuts if any(cuts) else ())


def _rounds(network: Network, layer: Layer, channels: Integers) -> Iterator[Cut]:
    """The units between two rounds of an MLP that composes many windows.

    Each sees all points of one window and a single point of the window before it; or a single point only.
    """
    held = {int(channel): (0, p) for p, channel in enumerate(channels)}
    distances = {_distance(network, head): head for head in layer.heads if head.output.any()}
    for window, distance in enumerate(sorted(distances.keys() | {0})):
        if distance:
            through = distances[distance].value @ distances[distance].output
            held |= {
                int(copy): (window, p) for p, c in enumerate(channels) for copy in np.flatnonzero(through[c])
            }
    windows, reach = len(distances.keys() | {0}), np.eye(len(layer.weights[0]))
    # A round halves the windows: units that hold points of two neighbours lead to units of both together.
    for stage, weight in enumerate(layer.weights[:-1], 1):
        reach = (reach @ (weight != 0) > 0).astype(np.float64)
        if windows <= 2:
            return
        result: dict[tuple[int, int], int] = {}
        for unit, column in enumerate(reach.T):
            seen = [held[int(c)] for c in np.flatnonzero(column) if int(c) in held]
            left = [pair for pair in seen if pair[0] == max(window for window, _ in seen)] if seen else []
            both = {window // 2 for window, _ in seen}
            if len(left) == 1 and len(both) == 1 and len(seen) in (1 + len(channels), 1):
                if len(seen) == 1 and (left[0][0] % 2 or left[0][0] + 1 < windows):
                    continue
                result[both.pop(), left[0][1]] = unit
        shape = ((windows + 1) // 2, len(channels))
        if len(result) == shape[0] * shape[1]:
            units = np.array([[result[i, p] for p in range(shape[1])] for i in range(shape[0])])
            yield stage, units
            held = {int(unit): (i, p) for (i, p), unit in result.items()}
            windows, reach = shape[0], np.eye(weight.shape[1])


def _distance(network: Network, head: Head) -> int:
    """The distance back to the best position at the last letter, for a head that scores positions only."""
    scores = _last_scores(network, head)
    return len(scores) - 1 - int(scores.argmax())


def _adds_letters(network: Network, head: Head) -> bool:
    """Whether such a head sees all of several letters alike: it selects none, as heads of scans do."""
    letters = _last_scores(network, head)[len(network.padding) :]
    return bool(len(letters) > 2 and head.output.any() and not np.ptp(letters))


def _last_scores(network: Network, head: Head) -> Array:
    codes = network.positions
    out: Array = (codes[-1] @ head.query) @ (codes @ head.key).T
    return out


def _follow_points(layer: Layer, channels: Integers) -> Integers:
    """The channel to which the MLP writes each point: the one output that depends on a copy of it."""
    reads = (layer.weights[0] != 0).astype(np.float64)
    for weight in layer.weights[1:]:
        reads = reads @ (weight != 0).astype(np.float64)
    out = channels.copy()
    for head in layer.heads:
        through = head.value @ head.output
        for point, channel in enumerate(channels):
            for copy in np.flatnonzero(through[channel]):
                own = [] if copy in channels else [copy]  # it may also erase itself
                written = np.setdiff1d(np.flatnonzero(reads[copy]), own)
                if len(written) == 1:
                    out[point] = written[0]
    return out


def live_channels(network: Network) -> list[Flags]:
    """Which channels something later reads: after the embedding, after each attention, after each MLP."""
    # Backwards: a channel is live if a matrix after it reads it, or if it is kept and live later.
    live: Flags = (network.readout != 0).any(axis=1)
    moments = [live]
    for layer in reversed(network.layers):
        wanted = live
        for weight in reversed(layer.weights):
            wanted = (weight[:, wanted] != 0).any(axis=1)
        live = ((layer.keep_mlp > 0) & live) | wanted
        moments.append(live)
        before = (layer.keep_attention > 0) & live
        for head in layer.heads:
            for matrix in (head.query, head.key, head.value):
                before = before | (matrix != 0).any(axis=1)
        live = before
        moments.append(live)
    return moments[::-1]
