"""Hints for Coq, which checks every one of them, on networks for words of every length.

Of recurrent weights these are the reachable states, numbered, as the checker's own search finds them; of a
trained LSTM the boxes of its own certificate, grown a little, since Coq rounds images outwards.
"""

from dataclasses import dataclass, replace

import numpy as np

from krohn.automata.graph import explore as explore_from
from krohn.check.arithmetic.format import FORMATS
from krohn.check.arithmetic.sums import Sums
from krohn.check.claim import ANY, LEFT
from krohn.check.files.reader import Automaton
from krohn.check.ground import Refused, Work
from krohn.check.recurrent.boxes import BoxCell, Boxes
from krohn.check.recurrent.closure import Mealy, behind, beside_automaton, letters_of
from krohn.check.recurrent.stacks import StackCell
from krohn.coq.stored import StoredNetwork, StoredRun
from krohn.errors import LimitExceeded

MAX_PAIRS = 3_000
GRAIN, MOST = 256, 2**16
"""In any order Coq adds multiples of 1 / GRAIN up to MOST."""


@dataclass(frozen=True)
class Exploration:
    """``hints[p][a]``: the number of the pair that letter a leads to from pair p, in the order of discovery.

    ``right`` says whether the right logit led everywhere.
    """

    any_order: bool
    hints: tuple[tuple[int, ...], ...]
    right: bool


def explore(network: StoredNetwork, limit: int = MAX_PAIRS) -> Exploration:
    """All reachable pairs of a state of the network and a state of the automaton.

    Where a sum is rounded, its order matters, and the states are those of sums from left to right.
    """
    weights = [tensor.floats().astype(np.float64) for tensor in network.tensors]
    fine = all(((w * GRAIN % 1 == 0) & (np.abs(w) <= MOST)).all() for w in weights)
    with np.errstate(all="ignore"):
        for order in (ANY, LEFT) if fine else (LEFT,):
            try:
                return _number_states(network, order, limit)
            except Refused as refusal:
                reason = str(refusal)
    raise LimitExceeded(f"Coq is given states that are known to the last bit: {reason}")


def _number_states(network: StoredNetwork, order: str, limit: int) -> Exploration:
    cell, automaton = _carrying_all(network.cell), network.automaton
    budget, table = Work(np.inf), automaton.table.tolist()  # the limit bounds the work
    sums = Sums(FORMATS["float32"], order, budget=budget)
    too_many = (
        f"Coq is given at most {limit:,} states of a network; words reach more: "
        "rounding adds up, or the network is too large for this proof"
    )
    machine: Mealy = letters_of(cell, sums)
    for stage in cell.stages(sums):
        machine = behind(machine, replace(stage, linear=stage.size), limit, budget)
        if machine.reached > limit:
            raise LimitExceeded(too_many)
    follow = machine.follow.tolist()
    _, hints = explore_from(
        (0, automaton.start),
        lambda pair: zip(follow[pair[0]], table[pair[1]], strict=True),
        limit,
        too_many,
    )
    shown = Automaton(automaton.table.astype(np.int64), automaton.start, np.array(automaton.outputs))
    right, *_ = beside_automaton(machine, shown, budget)
    return Exploration(order == ANY, tuple(map(tuple, hints)), right)


def _carrying_all(cell: StackCell) -> StackCell:
    """The cell as ``Recurrent.v`` has it: it carries every channel of the letter before, read or not."""
    every, made = np.arange(cell.dim if cell.conv == 2 else 0), replace(cell)
    vars(made)["looks_back"] = [(every, every)] * cell.layers
    return made


ROOM = 2e-6
"""How far images must stay inside of boxes, since Coq rounds them outwards."""
MOST_ROUNDS = 200


def grow(run: StoredRun) -> tuple[Boxes, bool]:
    """Boxes with some room around each image, and whether they have it."""
    boxes, cell = run.boxes, BoxCell(run.cell, "float32")
    low, high = boxes.low, boxes.high
    for _ in range(MOST_ROUNDS):
        least, most = low.copy(), high.copy()
        for letter in range(run.automaton.num_letters):
            image = cell.image(low, high, letter)
            np.minimum.at(least, boxes.follower[:, letter], image[0] - ROOM)
            np.maximum.at(most, boxes.follower[:, letter], image[1] + ROOM)
        fit = bool((least == low).all() and (most == high).all())
        if fit:
            break
        low, high = least - ROOM * (least < low), most + ROOM * (most > high)
    return Boxes(boxes.state, boxes.follower, low, high), fit
