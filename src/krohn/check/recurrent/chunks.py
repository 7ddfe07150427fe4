"""Whether the chunked form of a linear recurrence gives the floats of the sequential one, bit for bit.

*Diagonal*: a chunk runs from zero, then adds P·h₀, where P is a product of gates. If all gates are 0, ±1 or
±i, the chunk's own numbers are h − P·h₀ for vectors h, h₀ that words reach: on the same grain, at most twice
as large.

*Delta rule*: a letter is a gate 0 or 1, then steps S ← S + k (v − wᵀS). A chunk solves a triangular system
with entries w·k. Every entry of its inverse and of its solution is r·k or r, where r is a w carried back over
the steps before it, r ← r − (r·k)w: a finite set here, searched breadth first, over every order of letters.
So all numbers in a chunk are multiples of known powers of two with known bounds, and no sum of them, in any
order, needs more bits than float32 has.
"""

import numpy as np

from krohn.check.arithmetic.format import FORMATS
from krohn.check.arithmetic.sums import CALL, ENTRY, MAX_RECORDED, Notes
from krohn.check.claim import CHUNK
from krohn.check.ground import Array, Work, ample, lowest_bit
from krohn.check.recurrent.cells import Cell
from krohn.check.recurrent.stacks import DeltaStack, DiagonalStack

MAX_ROWS = 4_000
MEMORY = FORMATS["float32"].inner


def same_in_chunks(cell: Cell, notes: Notes, budget: Work) -> bool:
    """Whether both forms agree, given the notes of a search that has closed."""
    if not notes.exact or any(len(rows) > MAX_RECORDED for rows in notes.steps.values()):
        return False
    if isinstance(cell, DiagonalStack):
        return all(
            _diagonal(np.array([*rows.values()]), *notes.sizes[name]) for name, rows in notes.steps.items()
        )
    return isinstance(cell, DeltaStack) and all(
        _delta(cell, np.array([*rows.values()]), *notes.sizes[name], budget)
        for name, rows in notes.steps.items()
    )


def _fits(size: float, unit: float) -> bool:
    """Whether sums of multiples of ``unit``, of at most this total size, are exact in every order."""
    most = ample(np.asarray(size))
    return bool(MEMORY.holds(unit, most) & (most < MEMORY.largest))


def _diagonal(gates: Array, top: float, unit: float) -> bool:
    """Real and imaginary parts of gates are 0 or ±1, and four times the largest number is still exact."""
    return bool(np.isin(gates, (-1.0, 0.0, 1.0)).all()) and _fits(4 * top, unit)


def _delta(cell: DeltaStack, steps: Array, top: float, unit: float, budget: Work) -> bool:
    _, count, dk, _ = cell.sizes_of_heads
    gate, query, key, look, value = np.split(steps, np.cumsum([1, dk, count * dk, count * dk]), axis=1)
    if count > CHUNK or not np.isin(gate, (0.0, 1.0)).all():  # a letter is never split
        return False
    keys, looks = (part.reshape(len(steps), count, dk) for part in (key, look))
    rows = carry_back(gate[:, 0], keys, looks, budget)
    if rows is None:
        return False
    flat = keys.reshape(-1, dk)
    inverse, reach = rows @ flat.T, np.abs(query) @ np.abs(flat).T
    r, k, t, v = (float(np.abs(part).max(initial=0)) for part in (rows, flat, inverse, value))
    gr, gk, gt, gq, gv = (_unit(part) for part in (rows, flat, inverse, query, value))
    gt, larger = float(np.fmin(1.0, gt)), float(np.fmax(1.0, t))
    seen, read = (float(np.abs(part).sum(axis=1).max()) * top for part in (rows, query))  # of a memory
    error = v + seen  # bounds what a step writes; an empty memory changes it by at most ``seen``
    own, g_own = error + seen, gt * gv
    g_error = min(g_own, gr * unit)
    sums = [
        (float((np.abs(rows) @ np.abs(flat).T).max()), gr * gk),  # entries of the system
        (CHUNK * t * max(own, r) + max(own, r), gt * min(g_own, gr)),  # substitution
        (CHUNK**2 * larger**3, gt**3),  # an inverse by halves
        (CHUNK * t * (v + r), gt * min(gv, gr)),  # the inverse times the right side
        (own + seen, g_error),
        (read + CHUNK * float(reach.max()) * error, gq * min(unit, gk * g_error)),
        (top + CHUNK * k * error, min(unit, gk * g_error)),  # the memory after a chunk
    ]
    return all(_fits(size, multiple) for size, multiple in sums)


def carry_back(gates: Array, keys: Array, looks: Array, budget: Work) -> Array | None:
    """All rows w, carried back over any steps that may come before; ``None`` if there are too many."""
    found: dict[bytes, Array] = {}

    def back(rows: Array, letter: int, last: int) -> Array:
        """Over the steps of a letter from ``last`` down to the first, then over its gate."""
        for s in reversed(range(last)):
            budget.spend(CALL / 4 + len(rows) * (ENTRY * rows.shape[1] + 1000), "rows carried back")
            rows = rows - (rows @ keys[letter, s])[:, None] * looks[letter, s] + 0.0
            found.update((row.tobytes(), row) for row in rows)
        return np.asarray(rows * gates[letter] + 0.0)

    letters, count = keys.shape[:2]
    found.update((row.tobytes(), row) for row in looks.reshape(-1, looks.shape[2]) + 0.0)
    front = np.concatenate([back(looks[a, s][None], a, s) for a in range(letters) for s in range(count)])
    ends: dict[bytes, Array] = {}
    while len(front) and len(found) <= MAX_ROWS:
        fresh = {row.tobytes(): row for row in front if row.tobytes() not in ends}
        ends.update(fresh)
        rows = np.array([*fresh.values()]).reshape(-1, keys.shape[2])
        found.update(fresh)
        front = (
            np.concatenate([back(rows, letter, count) for letter in range(letters)]) if len(rows) else rows
        )
    return None if len(found) > MAX_ROWS else np.array([*found.values()])


def _unit(numbers: Array) -> float:
    return float(lowest_bit(numbers).min(initial=np.inf))
