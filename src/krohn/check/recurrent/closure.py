"""The proof for words of every length: all boxes of floats that words reach, layer by layer, each decoded.

A layer is searched breadth first over pairs (state of the machine of the layers before it, carried numbers),
under every letter. A carried number is an interval, nearly always a point, that holds every value a device
may compute. If no new pair appears, the layers so far are a finite machine from letters to output vectors.
The last machine outputs logits, and is run in step with the automaton: nothing about the construction is
assumed.

Hypotheses, and where they are asked for: every number is finite (``sums``); a linear recurrence carries
points (``behind``), for its errors never shrink; the right logit is above every other all over its interval
(``beside_automaton``); nothing is left unsearched (the limits below).
"""

from dataclasses import dataclass

import numpy as np

from krohn.check.arithmetic.format import FORMATS
from krohn.check.arithmetic.sums import CALL, Notes, Sums
from krohn.check.claim import ANY, LEFT
from krohn.check.files.reader import Automaton
from krohn.check.ground import Array, Integers, Real, Work, point, require
from krohn.check.recurrent.cells import Cell, Stage

CLOSURE_WORK, WORK_PER_NUMBER = 8e9, 1e4
"""Work of a proof, and what each number of the network adds to it; a unit is one or two nanoseconds."""
ROW = 5e3
"""Work of a pair of a state and a box that is looked up."""
MAX_HELD = 3e8
"""Most bytes in the boxes that a layer reaches or outputs."""
MAX_PAIRS = 50_000
"""Most pairs of a state and a box that a layer may reach."""
MAX_LEVELS = 2_000
"""Longest words, in letters, in the search of a layer."""
UNKNOWN = -1
"""A state that was reached but not searched."""


@dataclass(frozen=True)
class Closure:
    """What the search found.

    Attributes:
        proved: every pair was searched, and every answer is right.
        layers: pairs that were reached, for each layer.
        margin: the least lead of the right logit.
        horizon: all words up to this length have right answers.
        doubt: a shortest word after which the right logit need not be the largest.
        notes: what letters do to the memories.
    """

    proved: bool
    layers: tuple[int, ...]
    margin: float
    horizon: int
    doubt: tuple[int, ...] | None
    notes: Notes


def budget_for(cell: Cell, work: float | None = None) -> Work:
    """The work that a proof about this cell may take, unless it is given."""
    return Work(work or CLOSURE_WORK + WORK_PER_NUMBER * cell.num_parameters)


def close(
    cell: Cell, automaton: Automaton, dtype: str, order: str = ANY, limit: int = MAX_PAIRS, *, budget: Work
) -> Closure:
    """Searches each layer until nothing new appears or more than ``limit`` pairs are reached."""
    require(
        (cell.num_letters, cell.num_states) == automaton.table.shape[::-1],
        f"the network must have the automaton's {automaton.table.shape[1]} letters and "
        f"{automaton.table.shape[0]} states; it has {cell.num_letters} and {cell.num_states}",
    )
    require(dtype in FORMATS, f"there is no format {dtype}")
    require(order in cell.orders, f"{cell.kind} networks are not proved for sums {order}")
    require(order != LEFT or not FORMATS[dtype].coarse, f"{dtype} is proved for any order of sums only")
    sums = Sums(FORMATS[dtype], order, Notes(), budget)
    machine, layers = letters_of(cell, sums), list[int]()
    for stage in cell.stages(sums):
        machine = behind(machine, stage, limit, budget)
        layers.append(machine.reached)
    proved, margin, horizon, doubt = beside_automaton(machine, automaton, budget)
    return Closure(proved, tuple(layers), margin, horizon, doubt, sums.notes or Notes())


@dataclass(frozen=True)
class Mealy:
    """From letters to vectors: ``follow[s, a]`` is the next state, ``vectors[given[s, a]]`` the output.

    It starts in state 0; ``reached`` counts all pairs, including those beyond the limit of the search.
    """

    follow: Integers
    given: Integers
    vectors: Real
    reached: int


def letters_of(cell: Cell, sums: Sums) -> Mealy:
    """The machine before the first layer: each letter outputs its embedding."""
    count = cell.num_letters
    return Mealy(np.zeros((1, count), np.int64), np.arange(count)[None], cell.letters(sums), 1)


def behind(machine: Mealy, stage: Stage, limit: int, budget: Work) -> Mealy:
    """The machine with one more layer: breadth first over its states and what the layer carries."""
    pairs, handed = _Numbers(), _Numbers()
    states, carried = np.zeros(1, np.int64), point(np.zeros((1, stage.size)))
    pairs.of(states, carried)
    follow: list[Integers] = []
    given: list[Integers] = []
    while len(states) and len(pairs) <= limit and len(follow) < MAX_LEVELS:
        columns, outs, origins, fresh = [], [], [], []
        for letter in range(machine.follow.shape[1]):
            budget.spend(CALL + 2 * ROW * len(states), "pairs of a layer")
            after, out = stage.step(machine.vectors[machine.given[states, letter]], carried)
            # An error that never shrinks makes a new box after every letter: the search would not end.
            require(after.known[:, : stage.linear], "a memory is rounded, or depends on a library's last bit")
            # A state above that was not searched has no number here either; it is no row to go on from.
            target, before = machine.follow[states, letter], len(pairs)
            columns.append(pairs.of(target, after))
            outs.append(handed.of(np.zeros(len(out), np.int64), out))
            # Several rows may reach the same new pair; one of them is searched on.
            found, places = np.unique(columns[-1], return_index=True)
            new = places[found >= before]
            origins.append(target[new])
            fresh.append(after[new])
        follow.append(np.stack(columns, axis=1))
        given.append(np.stack(outs, axis=1))
        states = np.concatenate(origins)
        carried = Real(*(np.concatenate([getattr(part, end) for part in fresh]) for end in ("lo", "hi")))
    ways = np.concatenate(follow)
    ways = np.where(ways < len(ways), ways, UNKNOWN)  # pairs that were not searched have no row
    return Mealy(ways, np.concatenate(given), handed.rows(), len(pairs))


class _Numbers:
    """Pairs of a state and a box, numbered in order of appearance; −0 counts as 0."""

    def __init__(self) -> None:
        self._number: dict[tuple[int, bytes], int] = {}
        self._rows: list[tuple[bytes, bytes]] = []

    def __len__(self) -> int:
        return len(self._number)

    def of(self, states: Integers, boxes: Real) -> Integers:
        """The number of each pair; ``UNKNOWN`` if its state is unknown."""
        # −0 + 0 is 0: equal numbers must have equal bytes.
        found, low, high = [], boxes.lo + 0.0, boxes.hi + 0.0
        require(
            (len(self) + len(low)) * (400 + 4 * low.itemsize * low.shape[1]) <= MAX_HELD,
            "boxes take too much memory",
        )
        for state, lo, hi in zip(states.tolist(), low, high, strict=True):
            row = lo.tobytes(), hi.tobytes()
            number = UNKNOWN
            if state != UNKNOWN:
                number = self._number.setdefault((state, b"".join(row)), len(self._number))
                if number == len(self._rows):
                    self._rows.append(row)
            found.append(number)
        return np.array(found, dtype=np.int64)

    def rows(self) -> Real:
        """The boxes in the order of their numbers."""
        ends = (np.array([np.frombuffer(row[end]) for row in self._rows]) for end in (0, 1))
        return Real(*ends)


Pair = tuple[int, int]


def beside_automaton(
    machine: Mealy, automaton: Automaton, budget: Work
) -> tuple[bool, float, int, tuple[int, ...] | None]:
    """Runs the whole network's machine in step with the automaton, breadth first: whether the search was
    complete and all answers right, the least lead, the length up to which all are, and a doubtful word."""
    came: dict[Pair, tuple[Pair, int] | None] = {(0, automaton.start): None}
    front, margin, length = [(0, automaton.start)], np.inf, 0
    while front:
        states, truth = np.array(front).T
        after: list[Pair] = []
        for letter in range(automaton.table.shape[1]):
            budget.spend(CALL + ROW * len(front), "pairs beside the automaton")
            right = automaton.table[truth, letter]
            lead = leads(machine.vectors[machine.given[states, letter]], automaton.shows[right])
            # Not ``lead <= 0``: a NaN is neither, and must not pass.
            if not (lead > 0).all():
                first = int(np.flatnonzero(~(lead > 0))[0])
                return False, float(lead[first]), length, (*_way(came, front[first]), letter)
            margin = float(np.minimum(margin, lead.min()))
            targets = zip(machine.follow[states, letter].tolist(), right.tolist(), strict=True)
            for pair, target in zip(front, targets, strict=True):
                if target not in came:
                    came[target] = (pair, letter)
                    after.append(target)
        length += 1
        # Up to here all words of this length are right; of longer ones some were not searched.
        if any(state == UNKNOWN for state, _ in after):
            return False, margin, length, None
        front = after
    return True, margin, length, None


def _way(came: dict[Pair, tuple[Pair, int] | None], pair: Pair) -> tuple[int, ...]:
    """The letters by which a pair was first reached."""
    word: list[int] = []
    while (step := came[pair]) is not None:
        pair, letter = step
        word.append(letter)
    return tuple(reversed(word))


def leads(logits: Real, right: Integers) -> Array:
    """A lower bound on the lead of the right logit over all others; NaN never leads."""
    rows = np.arange(len(right))
    own, others = logits.lo[rows, right], logits.hi.copy()
    others[rows, right] = -np.inf
    lead: Array = own - others.max(axis=1)
    return lead
