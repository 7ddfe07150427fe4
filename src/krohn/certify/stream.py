"""The abstract residual stream: at every moment, for every word at once, by a finite machine.

A machine reads a letter in a state, shows a number (the class of the position's vector) and adds integers
to running counters. Layers of a network are folded into it one by one; after every layer it is minimised,
so that what no later layer can see is forgotten.

A letter's position t holds ``nominal[c] + wide @ Z_t + places[t]`` up to ``radius``, where c is the class
the machine shows and Z_t are its running counters (prefix sums). Padding positions see no letter: their
vectors ``pads`` are plain numbers up to ``pad_radius``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from krohn.automata.semiautomaton import Semiautomaton
from krohn.certify.arithmetic import Array
from krohn.certify.certificate import Check, Record, Refuted
from krohn.check.machine import Moment
from krohn.check.reader import Network
from krohn.errors import LimitExceeded

Integers = npt.NDArray[np.int64]

MAX_STATES = 400_000


@dataclass(frozen=True, eq=False)
class Machine:
    """``follow[s, a]`` next state, ``shown[s, a]`` class, ``steps[s, a, k]`` added to counter k; start 0.

    A machine may know less than it needs to know what comes next. Then every letter stands ``choices`` times
    in its alphabet, ``choices·letter + choice``, and for every word there are choices that give the truth.
    """

    follow: Integers
    shown: Integers
    steps: Integers
    choices: int = 1

    @property
    def num_states(self) -> int:
        """States that some word reaches."""
        return len(self.follow)


Expand = Callable[[Integers], tuple[Integers, Integers]]
"""Rows ``[n, w]`` to next rows ``[n, letters, w]`` and outputs ``[n, letters, p]``."""


def explore(start: Integers, expand: Expand, depth: int) -> tuple[Integers, Integers]:
    """Breadth-first: ``follow[s, a]`` and outputs ``[s, a, p]`` of all states that ≤ ``depth`` letters reach.

    Nothing is said about longer words: a state first reached by the last letter has the start's row.
    """
    number: dict[bytes, int] = {start.tobytes(): 0}
    frontier = start[None, :]
    follows: list[Integers] = []
    outputs: list[Integers] = []
    for _ in range(depth):
        if not len(frontier):
            break
        rows, shown = expand(frontier)
        flat = np.ascontiguousarray(rows.reshape(-1, rows.shape[2]))
        distinct, where = distinct_rows(flat)
        known, fresh = np.empty(len(distinct), dtype=np.int64), []
        for index, row in enumerate(np.ascontiguousarray(distinct)):
            key = row.tobytes()
            if key not in number:
                number[key] = len(number)
                fresh.append(row)
                if len(number) > MAX_STATES:
                    raise LimitExceeded(
                        f"the discrete proof may use at most {MAX_STATES:,} states; it needs more"
                    )
            known[index] = number[key]
        follows.append(known[where].reshape(rows.shape[:2]))
        outputs.append(shown)
        frontier = np.array(fresh, dtype=np.int64).reshape(len(fresh), rows.shape[2])
    if len(frontier):
        follows.append(np.repeat(follows[0], len(frontier), axis=0))
        outputs.append(np.repeat(outputs[0], len(frontier), axis=0))
    return np.concatenate(follows), np.concatenate(outputs)


def distinct_rows(rows: Integers) -> tuple[Integers, Integers]:
    """The distinct rows ``[n, w]`` and the number of each row among them."""
    codes = np.zeros(len(rows), dtype=np.int64)
    size = 1
    for column in rows.T:
        low, high = int(column.min()), int(column.max())
        if size * (high - low + 1) >= 1 << 62:
            found, codes = np.unique(codes, return_inverse=True)
            codes, size = codes.reshape(-1), len(found)
        codes = codes * (high - low + 1) + (column - low)
        size *= high - low + 1
    _, first, where = np.unique(codes, return_index=True, return_inverse=True)
    return rows[first], where.reshape(-1)


def minimise(machine: Machine) -> Machine:
    """Merges states that no word tells apart (Moore's refinement); the start state stays number 0.

    Rows of block numbers are compared by random 64-bit sums; the partition that results is then checked
    to be a congruence exactly, so chance decides nothing but the time.
    """
    count = len(machine.follow)
    seen = np.concatenate([machine.shown, machine.steps.reshape(count, -1)], axis=1)
    _, first = distinct_rows(seen)
    labels = _refined(first, machine.follow, exact=False)
    chosen = _leaders(labels)
    if (seen != seen[chosen[labels]]).any() or (
        labels[machine.follow] != labels[machine.follow[chosen[labels]]]
    ).any():
        labels = _refined(first, machine.follow, exact=True)
    labels = _start_first(labels)
    chosen = _leaders(labels)
    return replace(
        machine,
        follow=labels[machine.follow[chosen]],
        shown=machine.shown[chosen],
        steps=machine.steps[chosen],
    )


def _leaders(labels: Integers) -> Integers:
    """The first state of every block."""
    first: Integers = np.unique(labels, return_index=True)[1]
    return first


def _refined(labels: Integers, follow: Integers, *, exact: bool) -> Integers:
    blocks = int(labels.max()) + 1
    dice = np.random.default_rng(0)
    while True:
        if exact:
            _, finer = distinct_rows(np.concatenate([labels[:, None], labels[follow]], axis=1))
        else:
            marks = dice.integers(-(2**62), 2**62, size=(blocks, 1 + follow.shape[1]))
            codes = marks[labels, 0].copy()
            for letter in range(follow.shape[1]):
                codes += marks[labels[follow[:, letter]], 1 + letter]
            finer = np.unique(codes, return_inverse=True)[1].reshape(-1)
        labels, before, blocks = finer, blocks, int(finer.max()) + 1
        if blocks == before:
            return labels


def _start_first(labels: Integers) -> Integers:
    swapped = labels.copy()
    swapped[labels == 0], swapped[labels == labels[0]] = labels[0], 0
    return swapped


def used_classes(machine: Machine, classes: Integers) -> Machine:
    """Renumbers the shown classes: class c becomes ``classes[c]``."""
    return replace(machine, shown=classes[machine.shown])


@dataclass(frozen=True, eq=False)
class Rhythm:
    """``channels`` repeat with ``period`` once ``early`` letters have been read."""

    channels: npt.NDArray[np.bool_]
    early: int
    period: int

    @property
    def readings(self) -> int:
        """States of the clock."""
        return self.early + self.period

    def clock(self, letters: int) -> Machine:
        """The machine that shows (reading, letter) as class ``reading · letters + letter``."""
        readings = np.arange(self.readings)
        following = np.where(readings + 1 < self.readings, readings + 1, self.early)
        shown = readings[:, None] * letters + np.arange(letters)[None, :]
        follow = np.repeat(following[:, None], letters, axis=1)
        return Machine(follow, shown, np.zeros((self.readings, letters, 0), dtype=np.int64))


def standing(machine: Machine, length: int) -> npt.NDArray[np.bool_]:
    """``[class, letter]``: which classes some word shows at its first, second, … letter."""
    where = np.zeros((int(machine.shown.max()) + 1, length), dtype=bool)
    states: Integers = np.zeros(1, dtype=np.int64)
    for place in range(length):
        where[np.unique(machine.shown[states]), place] = True
        states = np.unique(machine.follow[states])
    return where


MANY_PAIRS = 1 << 24
"""With more pairs of machine and automaton states the machine is minimised before they are compared."""


def check_simulation(
    machine: Machine, states: Integers, automaton: Semiautomaton, length: int, record: Record
) -> None:
    """Breadth-first over pairs (machine state, automaton state), up to words of the given length."""
    size = automaton.num_states
    if machine.num_states * size > MANY_PAIRS:
        machine, states = minimise(used_classes(machine, states)), np.arange(int(states.max()) + 1)
    table = automaton.table.astype(np.int64).repeat(machine.choices, axis=1)
    outputs = np.array(automaton.outputs)
    seen = np.zeros(machine.num_states * size, dtype=bool)
    frontier = np.array([automaton.start], dtype=np.int64)
    seen[frontier] = True
    trail: list[tuple[Integers, Integers]] = []  # per level: parent's place in the level before, letter
    for _ in range(length):
        state, right = np.divmod(frontier, size)
        wanted, shown = table[right], states[machine.shown[state]]
        wrong = np.argwhere(outputs[wanted] != shown)
        if len(wrong):
            place, letter = (int(number) for number in wrong[0])
            word = tuple(drawn // machine.choices for drawn in (*_spelled(trail, place), letter))
            pair = f"{shown[place, letter]}, not {outputs[wanted[place, letter]]}"
            reason = f"after {len(word)} letters the network is in {pair}"
            record.checks.append(Check("simulation", record.layer, 1.0, 0.0, False, reason))
            raise Refuted("simulation", record.layer, reason, word)
        pairs, first = np.unique((machine.follow[state] * size + wanted).reshape(-1), return_index=True)
        fresh = ~seen[pairs]
        trail.append((first[fresh] // table.shape[1], first[fresh] % table.shape[1]))
        frontier = pairs[fresh]
        seen[frontier] = True
        if not len(frontier):
            break
    record.note(
        "simulation", f"all {int(seen.sum()):,} reachable pairs of machine and automaton states agree"
    )


def _spelled(trail: list[tuple[Integers, Integers]], place: int) -> tuple[int, ...]:
    """The word that leads to a place of the last level."""
    letters = []
    for parents, chosen in reversed(trail):
        letters.append(int(chosen[place]))
        place = int(parents[place])
    return tuple(reversed(letters))


Flags = npt.NDArray[np.bool_]

DIGITS = 5
"""Vectors that agree to this many decimals (of their channel's size) are one class; the rest is radius."""


@dataclass(frozen=True, eq=False)
class Stream:
    """One moment of the forward pass; see the module's text. ``reach[k]`` are the ends of counter k."""

    machine: Machine
    nominal: Array  # classes × d
    radius: Array  # d
    wide: Array  # d × counters
    reach: Integers  # counters × 2
    pads: Array  # τ × d
    pad_radius: Array  # d
    places: Array  # (τ + T) × d: the position codes that vary along letters (already part of pads)
    lost: Array  # d: size of what was forgotten; nothing reads it, but infinity times 0 is not 0
    clocked: bool = False  # whether classes know places, so that not all of them stand everywhere

    @property
    def num_padding(self) -> int:
        """τ, the number of padding positions."""
        return len(self.pads)

    @property
    def length(self) -> int:
        """T, the longest word considered."""
        return len(self.places) - len(self.pads)

    def carries_code(self, weight: Array) -> bool:
        """Whether a matrix looks at a position code, even if its terms cancel."""
        codes = (self.places[self.num_padding :] != 0).any(axis=0)
        return bool((codes & (weight != 0).any(axis=1)).any())

    def size(self) -> Array:
        """The largest absolute value of each channel at a letter's position."""
        far = np.abs(self.reach).max(axis=1, initial=0)
        out: Array = (
            np.abs(self.nominal).max(axis=0, initial=0.0)
            + np.abs(self.wide) @ far
            + np.abs(self.places).max(axis=0, initial=0.0)
            + self.radius
        )
        return out


def cluster(vectors: Array) -> tuple[Array, Integers, Array]:
    """Representatives, the representative of each vector, and the largest distance per channel."""
    if not vectors.size:
        found, where = distinct_rows(np.zeros((len(vectors), 0), dtype=np.int64))
        return vectors[: len(found)], where, np.zeros(vectors.shape[1])
    scale = np.maximum(np.abs(vectors).max(axis=0), 1e-300)
    grid = np.rint(vectors / scale * 10.0**DIGITS).astype(np.int64)
    _, where = distinct_rows(grid)
    _, first = np.unique(where, return_index=True)
    chosen = vectors[first]
    return chosen, where, np.abs(vectors - chosen[where]).max(axis=0)


ROUGH = 0.1
"""A channel whose interval is wider than this share of its size is not known well enough to be compared."""


def streams_of(moments: Sequence[Moment], network: Network) -> list[Stream]:
    """Claims about several moments of one network."""
    letters, codes = len(network.embedding), network.positions[: len(network.padding)]
    return [stream_of(moment, letters, codes) for moment in moments]


def stream_of(moment: Moment, letters: int, codes: Array) -> Stream:
    """A claim of the checker; ``codes`` are the position codes of padding where they vary along letters."""
    middle, half = _ball(moment.box.lo, moment.box.hi)
    pads, pad_half = _ball(moment.pads.lo, moment.pads.hi)
    radius, pad_radius = half.max(axis=0), pad_half.max(axis=0, initial=0.0)
    whole = np.maximum(moment.box.size.max(axis=0), moment.pads.size.max(axis=0, initial=0.0))
    whole = whole + moment.counted + moment.placed
    known = radius <= ROUGH * whole
    known = known | (radius == 0)
    keep, old = known.astype(np.float64), moment.machine
    machine = Machine(old.follow, old.shown, old.steps, old.follow.shape[1] // letters)
    places = np.concatenate([np.where((moment.places != 0).any(axis=0), codes, 0.0), moment.places])
    return Stream(
        machine,
        middle * keep,
        radius * keep,
        moment.wide * keep[:, None],
        np.stack([moment.low, moment.high], axis=1),
        pads * keep,
        pad_radius * keep,
        places * keep,
        whole * (1 - keep),
    )


def _ball(low: Array, high: Array) -> tuple[Array, Array]:
    """Middle and half width, the latter generously rounded up."""
    middle = (low + high) / 2
    half = np.maximum(high - middle, middle - low)
    return middle, np.where(low == high, 0.0, half * 1.001)
