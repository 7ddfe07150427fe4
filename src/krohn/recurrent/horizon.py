"""A certified horizon for diagonal stacks whose floats do not close: how long rounding stays harmless.

Every state of the stack gets a few *references*, what short words leave. A letter takes a reference to within
a drift of another one, and a ball around it to a ball whose radius F is a convex function of the radii
before (``balls``). With radii B (no error in the memories) and C (as large as allowed) they are, after t
letters, at most (1 − λ)B + λC, where λ ← f + gλ, f = max F(B)/C and g = max (F(C) − F(B))/C over the
memories. The read-out is right at C, so every word is run right while λ ≤ 1. One letter after the other:
chunks multiply in another order.
"""

from dataclasses import dataclass
from math import floor, log1p

import numpy as np
import numpy.typing as npt

from krohn.automata.semiautomaton import Semiautomaton
from krohn.recurrent.balls import SLACK, TINY, Ball, Carried, DiagonalBalls, TooWide, Wide
from krohn.recurrent.cells import Cell
from krohn.recurrent.linear_cells import DiagonalStack

_MAX_REFERENCES = 400
_NEAR = 0.25  # what comes this near to a reference of the same state is taken for it
_RATIOS = (1e-1, 1e-2, 1e-3, 1e-4)  # of what a memory may be off to what the next one may
_HALVINGS = 7  # of the factor between a millionth and one


def certified_horizon(cell: Cell, automaton: Semiautomaton, dtype: str = "float32") -> int | None:
    """Letters up to which every word is run right; ``None`` if this cannot tell."""
    if not isinstance(cell, DiagonalStack):
        return None
    balls = DiagonalBalls(cell, dtype)
    try:
        found = _references(balls, automaton)
    except TooWide:
        return 0
    if found is None:
        return None
    try:
        exact, _ = _settled(balls, found, [0.0] * cell.layers)
        if not any(exact):  # nothing is rounded: the closure decides
            return None
        low, _ = _settled(balls, found, [TINY if loss > 0 else 0.0 for loss in exact])
    except TooWide:
        return 0
    ratios = _RATIOS if sum(loss > 0 for loss in low) > 1 else _RATIOS[:1]
    return max(_largest(balls, found, low, ratio) for ratio in ratios)


def _largest(balls: DiagonalBalls, found: "_References", low: list[float], ratio: float) -> int:
    """The horizon with the widest last memory that the read-out allows; those above are narrower.

    ``low`` is what a letter does to memories without error: where it is nothing, a memory stays exact.
    """
    best, least, most = 0, 1e-6, 1.0
    for _ in range(_HALVINGS):
        size = (least * most) ** 0.5
        behind = [sum(loss > 0 for loss in low[i + 1 :]) for i in range(len(low))]
        allowed = [size * ratio**n if loss > 0 else 0.0 for loss, n in zip(low, behind, strict=True)]
        try:
            best, least = max(best, _letters_within(balls, found, low, allowed)), size
        except TooWide:
            most = size
    return best


@dataclass(frozen=True)
class _References:
    """Reference states [N, ...], where each letter leads, and which state is right after it."""

    states: Carried
    follow: npt.NDArray[np.int64]
    right: npt.NDArray[np.int64]


def _references(balls: DiagonalBalls, automaton: Semiautomaton) -> _References | None:
    """Breadth first; what comes near a reference of the same state is that reference."""
    levels, right = [balls.start()], np.array([automaton.start])
    flat, known = [*_flat(levels[0])], {automaton.start: [0]}
    follow, answers = [], []
    while len(right):
        row, fresh, targets = [], [], list[int]()
        for letter in range(automaton.num_letters):
            after = balls.step(levels[-1], letter)[0]
            numbers, new = [], []
            for place, (vector, q) in enumerate(
                zip(_flat(after), automaton.table[right, letter], strict=True)
            ):
                gaps = [(float(np.abs(vector - flat[n]).max()), n) for n in known.setdefault(int(q), [])]
                gap, near = min(gaps, default=(np.inf, 0))
                if not gap <= _NEAR:
                    near = len(flat)
                    known[int(q)].append(near)
                    flat.append(vector)
                    new.append(place)
                    targets.append(int(q))
                numbers.append(near)
            row.append(numbers)
            fresh.append(_points(after, new))
        follow.append(np.array(row).T)
        answers.append(automaton.table[right])
        if len(flat) > _MAX_REFERENCES or not np.isfinite(flat[-1]).all():
            return None
        levels.append(_joined(fresh))
        right = np.array(targets, dtype=np.int64)
    return _References(_joined(levels), np.concatenate(follow), np.concatenate(answers))


def _flat(state: Carried) -> npt.NDArray[np.complex128]:
    """All numbers of each row."""
    return np.concatenate([ball.middle for block in state for ball in block], axis=1)


def _points(state: Carried, rows: list[int]) -> Carried:
    """Some rows, without radii."""

    def point(ball: Ball) -> Ball:
        return Ball(ball.middle[rows], np.zeros_like(ball.radius[rows]))

    return [(point(memory), point(mixer), point(mlp)) for memory, mixer, mlp in state]


def _joined(states: list[Carried]) -> Carried:
    """The rows of all."""

    def whole(balls: list[Ball]) -> Ball:
        return Ball(
            *(np.concatenate(part) for part in zip(*((b.middle, b.radius) for b in balls), strict=True))
        )

    return [
        (whole([b[0] for b in blocks]), whole([b[1] for b in blocks]), whole([b[2] for b in blocks]))
        for blocks in zip(*states, strict=True)
    ]


def _letters_within(balls: DiagonalBalls, found: _References, low: list[float], allowed: list[float]) -> int:
    """Letters for which the radii of the memories stay below ``allowed``, if the read-out is right there."""
    high, leads = _settled(balls, found, allowed)
    if not leads or any(h > 0 for h, c in zip(high, allowed, strict=True) if c == 0):
        raise TooWide
    inexact = [(b / c, h / c) for b, h, c in zip(low, high, allowed, strict=True) if c > 0]
    f = max(start for start, _ in inexact)
    growth = max(end - start for start, end in inexact) - 1
    steps = 1 / f if growth <= 0 else log1p(growth / f) / log1p(growth)
    return max(0, floor(steps * (1 - 1e-9)))


def _settled(balls: DiagonalBalls, found: _References, memories: list[float]) -> tuple[list[float], bool]:
    """Radii of the memories after any letter, and whether the read-out is right.

    The streams that are looked back at have the radii that a step gives them; these are found first.
    """
    near = [(0.0 * mixer.top(), 0.0 * mlp.top()) for _, mixer, mlp in found.states]
    for _ in range(3 * len(memories) + 3):
        after, leads = _widest(balls, found, memories, near)
        grown = [(mixer * SLACK, mlp * SLACK) for _, mixer, mlp in after]
        if all(
            (new <= old).all()
            for x, y in zip(after, near, strict=True)
            for new, old in zip(x[1:], y, strict=True)
        ):
            return [memory for memory, _, _ in after], leads
        near = grown
    raise TooWide


def _widest(
    balls: DiagonalBalls, found: _References, memories: list[float], near: list[tuple[Wide, Wide]]
) -> tuple[list[tuple[float, Wide, Wide]], bool]:
    """The greatest radii over all references and letters, drift to the next reference included."""
    blown = [
        (
            Ball(memory.middle, np.full_like(memory.radius, size)),
            Ball(mixer.middle, mixer.radius + wide),
            Ball(mlp.middle, mlp.radius + wider),
        )
        for (memory, mixer, mlp), size, (wide, wider) in zip(found.states, memories, near, strict=True)
    ]
    widest = [(0.0, 0.0 * wide, 0.0 * wider) for wide, wider in near]
    leads = True
    for letter in range(found.follow.shape[1]):
        after, logits = balls.step(blown, letter)
        leads &= _leads(logits, found.right[:, letter])
        for i, (block, targets) in enumerate(zip(after, found.states, strict=True)):
            tops = [
                (ball.radius + np.abs(ball.middle - target.middle[found.follow[:, letter]])).max(axis=0)
                for ball, target in zip(block, targets, strict=True)
            ]
            memory, mixer, mlp = widest[i]
            widest[i] = (
                max(memory, float(tops[0].max())),
                np.maximum(mixer, tops[1]),
                np.maximum(mlp, tops[2]),
            )
    return widest, leads


def _leads(logits: Ball, right: npt.NDArray[np.int64]) -> bool:
    """Whether the right logit is above all others wherever in their balls they are."""
    rows = np.arange(len(right))
    others = logits.middle + logits.radius
    own = (logits.middle - logits.radius)[rows, right]
    others[rows, right] = -np.inf
    return bool((own > others.max(axis=1)).all())
