"""The stream: what is claimed of it at one moment, and the forward pass from moment to moment.

A moment of a proof is a finite machine over letters, with a box for each class of its states that holds the
stream, and what states know of counters.

The forward pass is written once over an arithmetic. Each operation and each store of a run stands here, where
it happens. Numbers of a float type run it in the tests, in several orders of adding, and equal
``krohn.network`` and torch there; enclosures run it here.

Plain intervals run it on padding, and on everything that a stream can hold. The second shows that every
number is finite, for each block before any rule is applied, read or not, padding
included: queries, keys and values, all scores, the sums of softmax, the averages as stored, what heads add
(silent ones too), every unit of every hidden layer, the stream after it, the logits. 0 times infinity is NaN,
so nothing may overflow, not even what no output depends on. The rules rely on this: they bound errors and
need not check for overflow.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import numpy as np

from krohn.check.arithmetic.format import Box, Format, Norm, normalise, whole
from krohn.check.files.reader import Layer, Network
from krohn.check.files.witness import Lift, Merge, Tabulate
from krohn.check.ground import (
    Array,
    Flags,
    Integers,
    Real,
    Work,
    ample,
    between,
    distinct,
    hull,
    inside,
    join,
    point,
    require,
    runs_of,
    total_of,
)

MAX_COUNT = 2.0**50
"""Upper bound on counters: integers up to it stay exact in every operation."""


Note = Callable[[str, object], None]


def unheard(name: str, claim: object) -> None:
    """Nobody listens to the claims that a proof makes on its way."""


@dataclass(frozen=True)
class Setting:
    """What every step needs: the arithmetic and how much work is left.

    ``note`` hears what is claimed of each tensor, by name, before the next one: the tests compare these
    claims with runs, whatever becomes of the proof.
    """

    fmt: Format
    budget: Work
    root: float = 1.0  # scores are divided by it
    epsilon: float = 0.0  # of LayerNorm
    note: Note = unheard


@dataclass(frozen=True)
class Machine:
    """``follow[s, a]`` next state, ``shown[s, a]`` class, ``steps[s, a, k]`` added to counter k; start 0.

    A letter of the automaton may occur several times in the machine's alphabet, as choices: see ``letter``.
    """

    follow: Integers
    shown: Integers
    steps: Integers
    letter: Integers

    def standing(self, classes: int, length: int) -> Flags:
        """[class, t]: whether some word shows the class at its t-th letter."""
        where, states = np.zeros((classes, length), dtype=bool), np.zeros(1, dtype=np.int64)
        for t in range(length):
            where[self.shown[states].reshape(-1), t] = True
            states = np.unique(self.follow[states])
        return where

    def ranges(self, length: int, budget: Work) -> tuple[Integers, Integers]:
        """Least and greatest value of every counter after 1 to ``length`` letters, over all runs."""
        # Over all runs, also those that no word has: a range can only be too wide.
        count = self.steps.shape[2]
        budget.spend(length * self.steps.size, "ranges of counters")
        flat, steps = self.follow.reshape(-1), np.concatenate([self.steps, -self.steps], axis=2) + 0.0
        low, least = np.full((len(self.follow), 2 * count), np.inf), np.zeros(2 * count)
        low[0] = 0.0
        order, first = runs_of(flat)
        for _ in range(length if count else 0):  # max z = −min(−z)
            after = (low[:, None] + steps).reshape(-1, 2 * count)
            least, low = np.minimum(least, after.min(axis=0)), np.full_like(low, np.inf)
            low[flat[order[first]]] = np.minimum.reduceat(after[order], first)
        least, most = least[:count], -least[count:]
        require((least > -MAX_COUNT) & (most < MAX_COUNT), "witness: a counter is too large")
        return least.astype(np.int64), most.astype(np.int64)


def live_states(follow: Integers, length: int) -> Flags:
    """States that some word of fewer than ``length`` letters reaches: only these read a letter."""
    live = np.zeros(len(follow), dtype=bool)
    frontier = np.array([0])
    for _ in range(length):
        live[frontier] = True
        frontier = np.unique(follow[frontier])
        frontier = frontier[~live[frontier]]
        if not len(frontier):
            break
    return live


@dataclass(frozen=True)
class Moment:
    """For every word there is a run of the machine such that at every letter t the computed stream is finite
    and in ``box[c] + wide @ Z + places[t]``: c the class shown, Z the counters then. Padding is in ``pads``.
    """

    machine: Machine
    box: Real  # classes × d
    wide: Array  # d × counters
    places: Array  # T × d
    pads: Real  # padding positions × d
    low: Integers  # ends of the counters
    high: Integers

    @property
    def length(self) -> int:
        """T, the letters of the longest word."""
        return len(self.places)

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return len(self.box)

    @property
    def positions(self) -> int:
        """Padding and letters."""
        return len(self.pads) + self.length

    @property
    def most(self) -> Array:
        """The largest absolute value of each counter."""
        return np.maximum(np.abs(self.low), np.abs(self.high)).astype(np.float64)

    @property
    def counted(self) -> Array:
        """The size of what counters add to each channel."""
        return ample(np.abs(self.wide) @ self.most)

    @property
    def codes(self) -> Real:
        """The hull of the position codes."""
        return between(self.places.min(axis=0), self.places.max(axis=0))

    @property
    def anywhere(self) -> Real:
        """[channel]: what any position can hold."""
        rows = self.over_counters(self.box, self.wide) + self.codes
        return join([rows, self.pads]).over(0)

    def over_counters(self, box: Real, wide: Array) -> Real:
        """The box with wide @ Z for all Z in range."""
        return box + between(self.low, self.high) @ wide.T

    def remainder(self, exact: Real, taken: Array) -> Real:
        """(exact − taken) @ Z for all Z in range: what is left if counters count as worth ``taken``."""
        rest, reach = exact - point(taken), between(self.low, self.high)
        nothing = point(np.zeros(len(taken)))
        return total_of([nothing, *(rest[:, k] * reach[k].spread(len(taken)) for k in range(len(self.low)))])

    def computed(self, box: Real) -> Box:
        """The computed numbers, where ``box`` is the part without counters and position codes."""
        return Box(box, np.broadcast_to(self.counted + self.codes.size, box.lo.shape))


@dataclass(frozen=True)
class Lifted:
    """A machine that covers the moment's: each state has a base state there and moves as that one does."""

    step: Lift
    live: Flags
    moves: Flags  # (state, letter): both the state and the next one read letters
    own: Integers  # class of the claim's machine at each (state, letter)
    steps: Integers
    letter: Integers
    choices: int

    def machine(self, *more: Integers) -> Machine:
        """The new machine, with ``more`` counters besides those of the claim's."""
        steps = np.concatenate([self.steps, *more], axis=2)
        return Machine(self.step.follow, self.step.shown, steps, self.letter)

    @property
    def rows(self) -> Flags:
        """The (state, letter) pairs that occur."""
        return np.repeat(self.live[:, None], self.step.follow.shape[1], axis=1)


# Rule: a machine over another one.
# Hypotheses: state 0 lies over state 0; where both a state and the next one read letters, moving and then
# going down is going down and then moving. Conclusion: each run below has a run above it, letter by letter.
# Why: induction over letters. A state that only the last letter reaches is followed by nothing.
def lift_machine(moment: Moment, step: Lift) -> Lifted:
    """Proves that every run of the moment's machine lifts to a run of the new machine."""
    old, follow, base = moment.machine, step.follow, step.base
    choices = follow.shape[1] // old.follow.shape[1]
    require(choices >= 1 and follow.shape[1] == choices * old.follow.shape[1], "witness: letters")
    require(base < len(old.follow), "witness: base")
    live = live_states(follow, moment.length)
    moves = live[:, None] & live[follow]
    below = old.follow[base].repeat(choices, axis=1)
    covers = base[0] == 0 and (base[follow] == below)[moves].all()
    require(covers, "witness: the machine does not cover the one before it")
    own, steps = old.shown[base].repeat(choices, axis=1), old.steps[base].repeat(choices, axis=1)
    return Lifted(step, live, moves, own, steps, old.letter.repeat(choices), choices)


# Rule: merging.
# Hypotheses: states with one label act, show and count alike, for those that read letters; new counters are
# turn · (old ones). Conclusion: the claim holds of the merged machine, with boxes joined class by class.
# Why: wide · Z = wide' · turn · Z + (wide − wide' · turn) · Z, and the last part, over the range of Z, joins
# the box.
def merge(moment: Moment, step: Merge) -> Moment:
    """Merges states and classes; replaces counters by new ones, or absorbs their values into the boxes."""
    old, states, classes, turn = moment.machine, step.states, step.classes, step.turn
    fits = (states.shape, classes.shape) == ((len(old.follow),), (moment.classes,))
    fits = fits and turn.shape == (step.wide.shape[1], len(moment.low)) and len(step.wide) == len(moment.wide)
    require(fits and states[0] == 0, "witness: merge")
    require(np.abs(old.steps).astype(np.float64) @ np.abs(turn).T < MAX_COUNT, "witness: a step is too large")
    live, count = live_states(old.follow, moment.length), int(states.max()) + 1
    own, moved = np.flatnonzero(live), old.steps @ turn.T
    shape = (count, old.follow.shape[1])
    follow, shown = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    steps = np.zeros((*shape, len(turn)), dtype=np.int64)
    follow[states[own]], shown[states[own]] = states[old.follow[own]], classes[old.shown[own]]
    steps[states[own]] = moved[own]
    goes = live[old.follow[own]]
    require((follow[states[own]] == states[old.follow[own]])[goes], "witness: merged states do not act alike")
    require(shown[states[own]] == classes[old.shown[own]], "witness: merged states do not show the same")
    require(steps[states[own]] == moved[own], "witness: merged states do not count alike")
    # (wide − wide' turn) Z goes into the box: exactly nothing where a counter is kept as it is.
    rest = point(moment.wide) - point(step.wide) @ turn.astype(np.float64)
    box = moment.box + moment.remainder(rest, np.zeros_like(moment.wide))
    machine = replace(old, follow=follow, shown=shown, steps=steps)
    return replace(moment, machine=machine, wide=step.wide, box=hull(box, classes))


def recount(moment: Moment, budget: Work) -> Moment:
    """The claim with the ranges of its counters recomputed."""
    low, high = moment.machine.ranges(moment.length, budget)
    return replace(moment, low=low, high=high)


MOST_VALUES = 1 << 24
"""Values of a counter that are listed, with their folds: 134 MB for each array of them."""
NOTHING = -(1 << 50)
"""The fold of a state after the last letter: it reads no letter, so its fold is unconstrained."""


@dataclass(frozen=True)
class Situations:
    """Each row: class, value of every fold before, steps, value of every fold after, and the label shown."""

    table: Integers
    counters: int

    def columns(self, read: Integers) -> Integers:
        """Class and the columns of some counters."""
        wanted = [0, *(1 + n * self.counters + k for n in range(3) for k in read.tolist())]
        return self.table[:, wanted]


# Rule: what states know of counters.
# Hypotheses: the start knows the fold of 0; for each value that a state allows some choice of the letter
# leads to a state that allows the value after it; at most one counter needs choices.
# Conclusion: each run lifts to one in which every state knows the fold of each counter before its letter.
# Why: choose by that one counter. After the last letter no state rules anything out, so all values stay.
def follow_folds(setting: Setting, moment: Moment, step: Tabulate, new: Lifted) -> Situations:
    """Proves that for each value of a counter some choice leads to a value that the next state allows."""
    follow, counters = step.lift.follow, len(moment.low)
    require(step.kept.shape == (len(follow), counters) and len(step.folds) == counters, "witness: folds")
    require(step.wide.shape == moment.wide.shape, "witness: worth of counters")
    uncertain = 0
    for k in range(counters):
        uncertain += not _one_fold(setting, moment, step, new, k)
    require(uncertain <= 1, "choices of two folds at once need not be right together")
    later = np.where(new.live[follow][..., None], step.kept[follow], NOTHING)
    held = np.broadcast_to(step.kept[:, None], new.steps.shape)
    parts = [new.own[..., None], held, new.steps, later, step.lift.shown[..., None]]
    return Situations(distinct(np.concatenate(parts, axis=2)[new.rows])[0], counters)


def _one_fold(setting: Setting, moment: Moment, step: Tabulate, new: Lifted, k: int) -> bool:
    """Refuses unless each value has a right choice; returns whether every choice is right for every value."""
    fold, kept = step.folds[k], step.kept[:, k]
    require(moment.high[k] - moment.low[k] < MOST_VALUES, "witness: a counter has too many values")
    values = np.arange(moment.low[k], moment.high[k] + 1)
    names = fold(values)
    require(fold(np.zeros(1, dtype=np.int64))[0] == kept[0], "witness: the start of a fold")
    follow, choices = step.lift.follow, new.choices
    shape = (len(follow), follow.shape[1] // choices, choices)
    jumps = new.steps[:, ::choices, k]  # all choices of a letter have its steps (``lift_machine``)
    # A (state, letter) matters only by the fold before, the step, and the folds that may follow.
    after = np.where(new.live[follow], kept[follow], NOTHING).reshape(shape)
    held = np.broadcast_to(kept[:, None, None], (*shape[:2], 1))
    every = np.concatenate([held, jumps[..., None], after], axis=2)[new.live]
    cases = distinct(every.reshape(-1, 2 + choices))[0]
    setting.budget.spend(len(cases) * len(values) * (1 + choices), "folds")
    certain = True
    for case in cases:
        possible = np.flatnonzero(names == case[0])
        # No run leaves the range of its counter, so values outside need no choice.
        index = possible + case[1]
        index = index[(index >= 0) & (index < len(values))]
        right = (names[index][:, None] == case[2:]) | (case[2:] == NOTHING)
        require(right.any(axis=1), "witness: a fold does not follow its counter")
        certain = certain and bool(right.all())
    return certain


@dataclass(frozen=True)
class MachineRows:
    """Inputs of a block: each (class, values of counters) once, and to which situations they belong."""

    box: Real
    sums: Integers
    back: Integers  # entry → input
    names: Integers  # entry → distinct situation
    where: Integers  # situation → distinct situation


def rows_of(
    setting: Setting, moment: Moment, step: Tabulate, situations: Situations, read: Integers
) -> MachineRows:
    """All values that the counters ``read`` can have in each situation; other counters are left at 0."""
    different, where = distinct(situations.columns(read))
    ranges = [np.arange(moment.low[k], moment.high[k] + 1) for k in range(len(moment.low))]
    folds = [fold(values) for fold, values in zip(step.folds, ranges, strict=True)]
    setting.budget.spend(len(different) * sum(map(len, ranges)), "values of counters")
    sets = [np.zeros(1, dtype=np.int64)]
    chosen = np.zeros((len(different), len(moment.low)), dtype=np.int64)
    for n, k in enumerate(read.tolist()):
        cases, which = distinct(different[:, 1 + n :: len(read)])
        chosen[:, k] = len(sets) + which
        for was, jump, then in cases.tolist():  # values with this fold before the step and after it
            before = np.arange(len(ranges[k])) - jump
            inside = (before >= 0) & (before < len(ranges[k]))
            fits = inside & (folds[k][np.where(inside, before, 0)] == was)
            sets.append(ranges[k][fits & ((folds[k] == then) | (then == NOTHING))])
    sizes = np.array([len(values) for values in sets])
    counts = sizes[chosen].prod(axis=1, dtype=np.float64)
    setting.budget.spend(100.0 * counts.sum() * (1 + moment.box.lo.shape[1]), "rows of counters")  # memory
    names = np.repeat(np.arange(len(different)), counts.astype(np.int64))
    inputs, back = distinct(np.concatenate([different[names, :1], every_choice(sets, chosen)], axis=1))
    box = moment.box[inputs[:, 0]] + point(inputs[:, 1:]) @ moment.wide.T
    return MachineRows(box, inputs[:, 1:], back, names, where)


def every_choice(sets: list[Integers], chosen: Integers) -> Integers:
    """For each row of ``chosen``, a list of sets: their Cartesian product, the last set varying fastest."""
    sizes = np.array([len(values) for values in sets])
    pool, start = np.concatenate(sets), np.cumsum(sizes) - sizes
    counts = sizes[chosen].prod(axis=1)
    rows = np.repeat(np.arange(len(chosen)), counts)
    left = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    made = np.zeros((len(rows), chosen.shape[1]), dtype=np.int64)
    for k in reversed(range(chosen.shape[1])):
        own = chosen[rows, k]
        left, digit = np.divmod(left, sizes[own])
        made[:, k] = pool[start[own] + digit]
    return made


T = TypeVar("T")
NO_BIASES = (None, None, None)


class Pointwise(Protocol[T]):
    """Tensors whose last axis is that of channels or units; each position by itself."""

    def normalise(self, x: T, gain: Array | None, shift: Array | None = None) -> T:
        """LayerNorm; x itself without a gain."""

    def linear(self, x: T, weight: Array, bias: Array | None = None) -> T:
        """A product with a matrix, stored, and a bias, stored again; or both at once."""

    def activate(self, x: T, sine: Flags) -> T:
        """ReLU, or what else the network's units do; the sine where ``sine`` says so; stored."""

    def kept(self, x: T, flags: Array) -> T:
        """The product with 0 or 1: exact."""

    def total(self, parts: list[T]) -> T:
        """The sum of several tensors, each partial sum stored."""


class Arithmetic(Pointwise[T], Protocol[T]):
    """Tensors with an axis of positions, too."""

    def attend(self, query: T, key: T, value: T) -> T:
        """Scores, softmax, stored, and the average of the values that each position sees, stored."""

    def beside(self, parts: list[T]) -> T:
        """Tensors side by side: exact."""


def after_heads(run: Arithmetic[T], layer: Layer, x: T) -> T:
    """``x ← keep x + Σ heads``; a GPT-2 adds biases, and multiplies what all heads average by one matrix."""
    shifts, parts, averages = layer.shifts, [run.kept(x, layer.keep_attention)], list[T]()
    read = run.normalise(x, layer.gain_attention, shifts.attention if shifts else None)
    for number, head in enumerate(layer.heads):
        with inside(f"head {number + 1}"):
            biases = shifts.heads[number] if shifts else NO_BIASES
            sides = zip((head.query, head.key, head.value), biases, strict=True)
            averages.append(run.attend(*(run.linear(read, matrix, bias) for matrix, bias in sides)))
            if shifts is None:
                parts.append(run.linear(averages[-1], head.output))
    if shifts is not None:
        together = np.concatenate([head.output for head in layer.heads])
        parts.append(run.linear(run.beside(averages), together, shifts.written))
    return run.total(parts)


def through(run: Pointwise[T], layer: Layer, units: T, first: int, last: int) -> T:
    """The matrices ``first`` to ``last`` − 1 of an MLP, and what units make of their sums."""
    for index in range(first, last):
        with inside(f"MLP matrix {index + 1}"):
            units = run.linear(units, layer.weights[index], layer.biases[index])
            units = run.activate(units, layer.sine[index]) if index + 1 < len(layer.weights) else units
    return units


def after_mlp(run: Pointwise[T], layer: Layer, x: T) -> T:
    """``x ← keep x + mlp(x)``."""
    read = run.normalise(x, layer.gain_mlp, layer.shifts.mlp if layer.shifts else None)
    units = through(run, layer, read, 0, len(layer.weights))
    return run.total([run.kept(x, layer.keep_mlp), units])


def logits(run: Pointwise[T], network: Network, x: T) -> T:
    """What is read out."""
    return run.linear(run.normalise(x, network.gain, network.shift), network.readout, network.readout_bias)


@dataclass(frozen=True)
class Rows:
    """Rows of computed numbers; with a ``norm``, what LayerNorm makes of them."""

    box: Box
    norm: Norm | None = None


class Intervals:
    """All that any order of adding computes; rows are positions, and ``stream`` bounds every position."""

    def __init__(self, setting: Setting, stream: Real) -> None:
        self.setting, self.fmt, self.stream = setting, setting.fmt, stream

    def normalise(self, x: Rows, gain: Array | None, shift: Array | None = None) -> Rows:
        """LayerNorm, bounded for all positions; a network with shifts is refused before."""
        return Rows(x.box, normalise(self.fmt, self.stream, gain, self.setting.epsilon))

    def linear(self, x: Rows, weight: Array, bias: Array | None = None) -> Rows:
        """A product with a matrix, and a bias."""
        return Rows((x.norm or self.fmt).linear(x.box, weight, bias))

    def activate(self, x: Rows, sine: Flags) -> Rows:
        """ReLU or sine."""
        units = x.box.part
        waves = np.broadcast_to(sine, units.lo.shape)
        return Rows(whole(self.fmt.sine(units).where(waves, units.positive())))

    def attend(self, query: Rows, key: Rows, value: Rows) -> Rows:
        """Each row sees those before it."""
        scores = self.fmt.scores(query.box.part, key.box.part, self.setting.root)
        seen = np.tri(len(scores), dtype=bool)
        weights = self.fmt.weights(scores, seen, np.ones_like(scores.lo))
        return Rows(whole(self.fmt.mixed(weights, value.box.part)))

    def beside(self, parts: list[Rows]) -> Rows:
        """Side by side."""
        return Rows(whole(join([part.box.part for part in parts], axis=1)))

    def kept(self, x: Rows, flags: Array) -> Rows:
        """The product with 0 or 1."""
        return Rows(x.box.kept(flags))

    def total(self, parts: list[Rows]) -> Rows:
        """A sum in any order."""
        return Rows(self.fmt.gathered([part.box for part in parts]))


# Hypotheses: ``stream`` bounds each channel at every position. Conclusion: nothing overflows, read or not.
# Why: plain intervals through the network's own operations; a sum is refused if its terms, all positive,
# could reach the end of the format, so no order of adding overflows.
class Anywhere(Intervals):
    """One row that holds at each of some positions."""

    def __init__(self, setting: Setting, stream: Real, positions: int) -> None:
        super().__init__(setting, stream)
        self.positions, self.row = float(positions), Rows(whole(stream.reshape(1, -1)))

    def attend(self, query: Rows, key: Rows, value: Rows) -> Rows:
        """Whatever is seen, and with what weights."""
        # All scores, also of keys that are not visible, and their differences are finite.
        size, width = np.asarray(query.box.size[0] @ key.box.size[0]), float(len(query.box.size[0]))
        self.fmt.inner.error(2 * size, width + 2, width)
        most = self.fmt.finite_average(value.box.size[0], self.positions)
        return Rows(whole(Real(-most, most).reshape(1, -1)))

    def total(self, parts: list[Rows]) -> Rows:
        """No partial sum overflows; of two parts there is none but the sum."""
        if len(parts) > 2:
            self.fmt.finite(np.sum([part.box.size[0] for part in parts], axis=0), len(parts) - 1.0)
        return super().total(parts)


def bound_padding(setting: Setting, moment: Moment, layer: Layer) -> Real:
    """Padding after a block of heads; refuses unless all that they compute is finite, at each position."""
    everything = Anywhere(setting, moment.anywhere, moment.positions)
    after_heads(everything, layer, everything.row)
    return after_heads(Intervals(setting, everything.stream), layer, Rows(whole(moment.pads))).box.part


def finite_mlp(setting: Setting, stream: Real, layer: Layer) -> Real:
    """What the stream holds after an MLP; refuses unless every number of it is finite."""
    everything = Anywhere(setting, stream, 1)
    return after_mlp(everything, layer, everything.row).box.part[0]
