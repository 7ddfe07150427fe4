"""Searches for references and radii that prove a horizon (``check.balls``); the checker trusts none of it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.automata.semiautomaton import Semiautomaton
from krohn.check.balls import (
    MAX_REFERENCES,
    Carried,
    DiagonalBalls,
    References,
    joined,
    letters_within,
    points,
    settled,
)
from krohn.check.cells import Cell
from krohn.check.closure import WORK
from krohn.check.stacks import DiagonalStack
from krohn.check.verdict import Budget, Refused

_NEAR = 0.25  # points within this distance of a reference of the same state are merged into it
_RATIOS = (1e-1, 1e-2, 1e-3, 1e-4)  # allowed error of a memory relative to that of the next one
_HALVINGS = 7  # bisection steps for the factor, between 1e-6 and 1


@dataclass(frozen=True)
class Horizon:
    """Length up to which every word is computed correctly, and the witness for ``check.balls``."""

    length: int
    witness: dict[str, Any]


def certified_horizon(cell: Cell, automaton: Semiautomaton, dtype: str = "float32") -> int | None:
    """Length up to which every word is computed correctly; ``None`` if undecided."""
    result = horizon_of(cell, automaton, dtype)
    return None if result is None else result.length


def horizon_of(cell: Cell, automaton: Semiautomaton, dtype: str = "float32") -> Horizon | None:
    """The longest horizon found, 0 if no length is proved; ``None`` if undecided."""
    if not isinstance(cell, DiagonalStack):
        return None
    budget, nothing = Budget(WORK), Horizon(0, {})
    try:
        with np.errstate(all="ignore"):
            balls = DiagonalBalls(cell, dtype)
            result = _references(balls, automaton)
            if result is None:
                return None
            origins, references = result
            exact, _ = settled(balls, references, [0.0] * cell.layers, budget)
            if not any(exact):  # nothing is rounded: the closure decides
                return None
            rounded = [loss > 0 for loss in exact]
            ratios = _RATIOS if sum(rounded) > 1 else _RATIOS[:1]
            length, allowed = max(
                (_largest(balls, references, rounded, ratio, budget) for ratio in ratios),
                key=lambda pair: pair[0],
            )
    except Refused:
        return nothing
    witness = {"references": origins, "follow": references.follow.tolist(), "allowed": allowed}
    return Horizon(length, witness) if length else nothing


def _largest(
    balls: DiagonalBalls, found: References, rounded: list[bool], ratio: float, budget: Budget
) -> tuple[int, list[float]]:
    """The horizon with the widest last memory that the read-out allows; those above are narrower."""
    best, radii, least, most = 0, [0.0] * len(rounded), 1e-6, 1.0
    lossy_after = [sum(rounded[i + 1 :]) for i in range(len(rounded))]
    for _ in range(_HALVINGS):
        size = (least * most) ** 0.5
        allowed = [size * ratio**n if lossy else 0.0 for lossy, n in zip(rounded, lossy_after, strict=True)]
        try:
            length, least = letters_within(balls, found, allowed, budget), size
        except Refused:
            most = size
            continue
        if length > best:
            best, radii = length, allowed
    return best, radii


def _references(balls: DiagonalBalls, automaton: Semiautomaton) -> tuple[list[list[int]], References] | None:
    """Breadth first; a point near a reference of the same state is merged into it."""
    states, right, origins = [balls.start()], [int(automaton.start)], list[list[int]]()
    flat, known = [_flat(states[0])], {int(automaton.start): [0]}
    follow: list[list[int]] = []
    while len(follow) < len(states):
        number, row = len(follow), []
        for letter in range(automaton.num_letters):
            after = points(balls.step(states[number], letter)[0])
            vector, q = _flat(after), int(automaton.table[right[number], letter])
            gaps = [(float(np.abs(vector - flat[n]).max()), n) for n in known.setdefault(q, [])]
            gap, near = min(gaps, default=(np.inf, 0))
            if not gap <= _NEAR:
                near = len(states)
                known[q].append(near)
                flat.append(vector)
                states.append(after)
                right.append(q)
                origins.append([number, letter])
            row.append(near)
        follow.append(row)
        if len(states) > MAX_REFERENCES or not np.isfinite(flat[-1]).all():
            return None
    result = References(joined(states), np.array(follow), automaton.table[np.array(right)].astype(np.int64))
    return origins, result


def _flat(state: Carried) -> npt.NDArray[np.complex128]:
    """The first row, flattened."""
    return np.concatenate([ball.middle[0] for block in state for ball in block])
