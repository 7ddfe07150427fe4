"""A length bound where the closure search does not end: how long rounding is harmless in a diagonal stack.

Every number is a ball: a middle, and a radius that bounds its rounding error in any order of sums. Every
state of the stack gets a few *references*, what short words leave. A letter takes a reference to within a
drift of another one, and a ball around it into a ball whose radius F depends on the radii before. Let them be
B (next to no error in the memories) or C (as large as allowed). In between, at (1 − λ)B + λC, the numbers of
the network stay within (1 − λ)F(B) + λF(C): *below the chord*. So after t letters the memories are off by at
most (1 − λ)B + λC, where λ ← f + gλ, f = max F(B)/C and g = max (F(C) − F(B))/C over the memories. The
read-out is right at C, so every word is run right while λ ≤ 1. One letter after the other: chunks multiply in
another order.

Below the chord, operation by operation, since each takes radii below a chord to radii below a chord: sums,
products with a matrix and their roundings are affine in the radii or convex; a unit is linear in its radius:
where it is on in the middle it passes the radius on, whether or not the ball reaches its bend, since a ReLU
moves two numbers no farther apart, and where it is off all over its ball it is 0 (``positive``); for the
product of two radii see ``mix``, for gates, which may have their bend inside the ball, see ``gates``.

Hypotheses, and where they are asked for: every number is finite (``Rounding.error``,
``Format.off_linear``); every unit is on in the middle of its ball or off all over it (``positive``);
references are followed by references of the right state, drift included (``_widest``); the right logit leads
all over its ball (``_widest``).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor, log1p
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.check.arithmetic.format import FORMATS
from krohn.check.arithmetic.sums import CALL, unit_of
from krohn.check.files.folders import whole_numbers
from krohn.check.files.reader import Automaton
from krohn.check.ground import Array, Integers, Real, Work, ample, lowest_bit, require
from krohn.check.recurrent.closure import leads
from krohn.check.recurrent.stacks import DiagonalStack
from krohn.errors import need

MAX_REFERENCES = 400
LEAST = 1e18
"""B is C divided by this: not 0, because at radius 0 more steps are exact."""
GROWN = 1.000001
"""Radii of the letter before are enlarged by this factor in each iteration, so that they settle."""
ALMOST = 0.999999999


@dataclass(frozen=True)
class Ball:
    """Numbers, real or complex, each known up to its radius."""

    middle: npt.NDArray[Any]
    radius: Array

    @property
    def size(self) -> Array:
        """The largest absolute value."""
        return np.asarray(np.abs(self.middle) + self.radius)

    def positive(self) -> "Ball":
        """ReLU; a unit must be off all over its ball, or on in the middle: its radius is then linear."""
        on = self.middle > 0
        require(on | (self.middle + self.radius <= 0), "a unit may be on, or off")
        return Ball(np.where(on, self.middle, 0.0), np.where(on, self.radius, 0.0))


Carried = list[tuple[Ball, Ball, Ball]]
"""For each block: its memory, and the stream before its mixer and before its MLP, all [N, ...]."""


class DiagonalBalls:
    """A diagonal stack on balls, in a format: the memories are float32, the rest is of the format.

    Its gates turn. Stacks with real gates need no horizon: what krohn builds of them is exact.
    """

    def __init__(self, cell: DiagonalStack, dtype: str) -> None:
        require(cell.gate == "complex", "a horizon is for gates that turn")
        self.cell, self.fmt = cell, FORMATS[dtype]
        self.wide = FORMATS["float32"] if self.fmt.coarse else self.fmt
        self.tensors = {
            name: self.fmt.stores(array.astype(np.float64), name) for name, array in cell.tensors.items()
        }

    def start(self) -> Carried:
        """One row of zeros."""
        cell, none = self.cell, Ball(np.zeros((1, self.cell.dim)), np.zeros((1, self.cell.dim)))
        zeros = np.zeros((1, cell.memory // 2))
        return [(Ball(zeros + 0j, zeros), none, none)] * cell.layers

    def step(self, states: Carried, letter: int) -> tuple[Carried, Ball]:
        """The carried state after a letter, and the logits."""
        row = np.repeat(self.tensors["wte"][letter : letter + 1], len(states[0][1].middle), axis=0)
        x, after = Ball(row, np.zeros(row.shape)), []
        for i, (memory, *before) in enumerate(states):
            w = self.cell.parts(self.tensors, i)
            *carried, x = self.cell.block(self, self.mix, w, x, memory, before)
            after.append(tuple(carried))
        return after, self.product(x, self.tensors["head.weight"], self.tensors["head.bias"])

    def beside(self, parts: Sequence[Ball]) -> Ball:
        """Columns side by side."""
        return Ball(np.hstack([part.middle for part in parts]), np.hstack([part.radius for part in parts]))

    def product(self, x: Ball, w: Array, bias: Array | None = None) -> Ball:
        """x w + b, added in any order."""
        b = np.zeros(w.shape[1]) if bias is None else bias
        unit = unit_of(np.where(x.radius == 0, lowest_bit(x.middle), np.inf), w, b)
        # A number with a radius is no known multiple of anything: a column that reads one is rounded. Which
        # radii are 0 is the same at B and at C, and so is what is exact.
        moving = (x.radius > 0).astype(np.float64) @ (w != 0).astype(np.float64) > 0
        exact = self.fmt.outer.holds(np.where(moving, 0.0, unit), x.size @ np.abs(w) + np.abs(b))
        lost = np.where(exact, 0.0, self.fmt.off_linear(x.size, w, b))
        return Ball(x.middle @ w + b, ample(x.radius @ np.abs(w)) + lost)

    def plus(self, x: Ball, y: Ball) -> Ball:
        """x + y; where both are points that fit, nothing is rounded."""
        unit = np.where(x.radius + y.radius > 0, 0.0, np.minimum(lowest_bit(x.middle), lowest_bit(y.middle)))
        exact = self.fmt.outer.holds(unit, x.size + y.size)
        lost = np.where(exact, 0.0, self.fmt.off_sum(x.size, y.size))
        return Ball(x.middle + y.middle, ample(x.radius + y.radius) + lost)

    def mix(self, w: Mapping[str, Array], window: Ball, memory: Ball) -> tuple[Ball, Ball]:
        """The real numbers that are read from the memory a·h + b, and this memory.

        Not by ``DiagonalStack.mix``, which computes the parts of a complex number one by one: boxes grow when
        they are turned, by up to √2 a letter, and balls do not.
        """
        gate = self.gates(self.product(window, w["gate.weight"], w["gate.bias"]))
        write = self.numbers(self.product(window, w["write"]))
        # |a·h − a₀·h₀| ≤ |a₀||h − h₀| + |h||a − a₀|, and |h| is up to the memory's middle *and* radius: the
        # product of both radii counts. Below a chord that is a product of two affine functions of λ that
        # are not negative and do not fall, so it is convex in λ.
        radius = np.abs(gate.middle) * memory.radius + memory.size * gate.radius + write.radius
        alone = (write.size == 0) | (memory.size == 0) | (gate.size == 0)
        turned = (gate.radius == 0) & np.isin(gate.middle, (0, 1, -1, 1j, -1j)) & alone
        # Each part passes three roundings, of a product and two additions, and both parts together are off
        # by √2 of that, 4.3; of four products √2 · 4, 5.7, may vanish.
        lost = self.wide.inner.error(gate.size * memory.size + write.size, 5.0, 6.0)
        lost = np.where(turned, 0.0, lost)
        after = Ball(gate.middle * memory.middle + write.middle, ample(radius) + lost)
        parts = np.hstack([after.middle.real, after.middle.imag])
        wide = np.hstack([after.radius, after.radius])
        known = (wide == 0) & (self.fmt.outer.cast(parts) == parts)
        rounded = np.where(known, 0.0, self.fmt.rounding(np.abs(parts) + wide))
        return Ball(parts, wide + rounded), after

    def numbers(self, parts: Ball) -> Ball:
        """Complex numbers from their parts."""
        (real, imaginary), (one, other) = (np.split(side, 2, axis=1) for side in (parts.middle, parts.radius))
        return Ball(real + 1j * imaginary, ample(np.hypot(one, other)))

    def gates(self, parts: Ball) -> Ball:
        """Gates from their inputs. z / max(1, |z|) moves by at most r / (|z| − r), and by r inside.

        Below the chord: where |z| ≤ 1 the bound is r, and where |z| − r ≥ 1 at C it is convex. Else it bends
        down on the way, and is not below its own chord (|z| = 1.5, r from 0.2 to 1.2: at 0.5 the bound is 0.5
        and the chord 0.467). But the movement M is. It grows by at most 1 for each unit of the radius, since
        z / max(1, |z|) is the nearest point of a disc, and at B it is at most the bound. The bound is at most
        r at B and r at C, so its chord rises by at least 1 for each unit.

        On an axis √(x² + 0) is |x| in every float format with correct rounding: quarter turns are exact.
        """
        z = self.numbers(parts)
        none = np.stack(np.split((parts.middle == 0) & (parts.radius == 0), 2, axis=1))
        sure = np.stack(np.split(np.abs(parts.middle) - parts.radius >= 1, 2, axis=1))
        quarter = none.all(axis=0) | (none & sure[::-1]).any(axis=0)
        across = none.any(axis=0) & ~quarter & (np.abs(z.middle) >= 1)
        require(~across, "a turn on an axis may lie inside the circle")
        size = np.abs(z.middle)
        self.wide.inner.error(2 * z.size * z.size, 2.0, 2.0)
        least = np.maximum(1.0, size - z.radius)
        # Two roundings of |z|², halved by the root, the root and the quotient: three, for both parts √2 · 3.
        # Nearly the same again is to spare.
        off = self.wide.inner.error(np.ones(size.shape), 8.0, 8.0)
        return Ball(z.middle / np.maximum(1.0, size), np.where(quarter, 0.0, ample(z.radius / least) + off))


@dataclass(frozen=True)
class References:
    """Reference states [N, ...], where each letter leads, and which state is right after it."""

    states: Carried
    follow: Integers
    right: Integers


def horizon(cell: DiagonalStack, automaton: Automaton, dtype: str, witness: Any, budget: Work) -> int:
    """The length up to which every word is run right, by the references and radii of a witness."""
    need(
        isinstance(witness, dict) and set(witness) == {"references", "follow", "allowed"},
        "the witness of a horizon must have references, follow and allowed",
    )
    balls = DiagonalBalls(cell, dtype)
    found = references_of(balls, automaton, witness["references"], witness["follow"], budget)
    allowed = witness["allowed"]
    fits = isinstance(allowed, list) and len(allowed) == cell.layers
    fits = fits and all(type(size) in (int, float) and 0 <= size < 1e9 for size in allowed)
    need(fits, "witness: allowed must have a radius for each layer")
    return letters_within(balls, found, [float(size) for size in allowed], budget)


def references_of(
    balls: DiagonalBalls, automaton: Automaton, origins: Any, follow: Any, budget: Work
) -> References:
    """The states that the witness names, each by a state before it and a letter; the first is the start."""
    letters = automaton.table.shape[1]
    fits = isinstance(origins, list) and len(origins) < MAX_REFERENCES
    need(fits, "witness: references must be a short list")
    states, right = [balls.start()], [automaton.start]
    for origin in origins:
        fits = whole_numbers(origin, len(states) + letters, 2) and origin[0] < len(states)
        need(fits and origin[1] < letters, "witness: no such reference")
        budget.spend(CALL * (1 + balls.cell.layers) + balls.cell.num_parameters, "references")
        states.append(points(balls.step(states[origin[0]], origin[1])[0]))
        right.append(int(automaton.table[right[origin[0]], origin[1]]))
    fits = whole_numbers(follow, len(right), len(right), letters)
    need(fits, "witness: follow must have a reference for each reference and letter")
    targets, states_of = np.array(follow, dtype=np.int64).reshape(len(right), letters), np.array(right)
    answers = automaton.table[states_of]
    require(states_of[targets] == answers, "a reference is followed by one of another state")
    return References(join(states), targets, automaton.shows[answers])


def points(state: Carried) -> Carried:
    """The middles, without radii."""
    return [tuple(Ball(ball.middle, np.zeros(ball.radius.shape)) for ball in block) for block in state]  # type: ignore[misc]


def join(states: Sequence[Carried]) -> Carried:
    """The rows of all states, one after another."""

    def whole(balls: Sequence[Ball]) -> Ball:
        return Ball(np.concatenate([b.middle for b in balls]), np.concatenate([b.radius for b in balls]))

    return [tuple(map(whole, zip(*blocks, strict=True))) for blocks in zip(*states, strict=True)]  # type: ignore[misc]


def letters_within(balls: DiagonalBalls, found: References, allowed: list[float], budget: Work) -> int:
    """How many letters keep the radii of the memories below ``allowed``, where the read-out is right."""
    high, right = settle(balls, found, allowed, budget)
    require(right, "the right logit does not lead as far out as memories may be")
    for size, most in zip(high, allowed, strict=True):
        require(most > 0 or size == 0, "a memory that must be exact is not")
    low, _ = settle(balls, found, [most / LEAST for most in allowed], budget)
    inexact = [(b / c, h / c) for b, h, c in zip(low, high, allowed, strict=True) if c > 0]
    require(bool(inexact), "nothing is rounded: the closure decides")
    # Radii are convex in λ, so below their chord: all memories together by the worst start and growth.
    # λ after t letters is f·((1 + growth)^t − 1) / growth; solved for the t at which it reaches 1.
    first = max(start for start, _ in inexact)
    growth = max(end - start for start, end in inexact) - 1
    steps = 1 / first if growth <= 0 else log1p(growth / first) / log1p(growth)
    return max(0, floor(steps * ALMOST))


def settle(
    balls: DiagonalBalls, found: References, memories: list[float], budget: Work
) -> tuple[list[float], bool]:
    """Radii of the memories after any letter, and whether the read-out is right.

    The radii of the streams that the next step looks back at are found first, by iterating until they settle.
    """
    near = [
        (np.zeros(mixer.middle.shape[1]), np.zeros(mlp.middle.shape[1])) for _, mixer, mlp in found.states
    ]
    for _ in range(3 * len(memories) + 3):
        calls = CALL * found.follow.shape[1] * (1 + balls.cell.layers)
        budget.spend(calls + found.follow.size * balls.cell.num_parameters, "radii")
        after, right = _widest(balls, found, memories, near)
        pairs = [pair for x, y in zip(after, near, strict=True) for pair in zip(x[1:], y, strict=True)]
        if all((new <= old).all() for new, old in pairs):
            return [memory for memory, _, _ in after], right
        near = [(mixer * GROWN, mlp * GROWN) for _, mixer, mlp in after]
    require(False, "radii of the letter before do not settle")
    return [], False


def _widest(
    balls: DiagonalBalls, found: References, memories: list[float], near: list[tuple[Array, Array]]
) -> tuple[list[tuple[float, Array, Array]], bool]:
    """The greatest radii over all references and letters, drift to the next reference included."""
    blown = [
        (
            Ball(memory.middle, np.full(memory.radius.shape, size)),
            Ball(mixer.middle, mixer.radius + wide),
            Ball(mlp.middle, mlp.radius + wider),
        )
        for (memory, mixer, mlp), size, (wide, wider) in zip(found.states, memories, near, strict=True)
    ]
    widest, right = [(0.0, 0.0 * wide, 0.0 * wider) for wide, wider in near], True
    for letter in range(found.follow.shape[1]):
        after, logits = balls.step(blown, letter)
        interval = Real(logits.middle - logits.radius, logits.middle + logits.radius)
        right &= bool((leads(interval, found.right[:, letter]) > 0).all())
        # The next letter sets out from the follower: its distance from where this one led is error, too.
        for i, (block, targets) in enumerate(zip(after, found.states, strict=True)):
            memory, mixer, mlp = (
                ample(ball.radius + np.abs(ball.middle - target.middle[found.follow[:, letter]])).max(axis=0)
                for ball, target in zip(block, targets, strict=True)
            )
            before = widest[i]
            most = float(np.maximum(before[0], memory.max(initial=0)))
            widest[i] = most, np.maximum(before[1], mixer), np.maximum(before[2], mlp)
    return widest, right
