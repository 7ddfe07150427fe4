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
import numpy.typing as npt

from krohn.recurrent.cells import MAX_STEPS, Cell, Sums, grain_of
from krohn.recurrent.linear_cells import DeltaStack, DiagonalStack

Wide = npt.NDArray[np.float64]
CHUNK = 64
"""Steps in a chunk of the training architectures."""
MAX_ROWS = 4_000
BITS = 2.0**24


def same_in_chunks(cell: Cell, sums: Sums) -> bool | None:
    """From what a closed search has seen: ``None`` if the architecture has no chunked form."""
    if not isinstance(cell, (DeltaStack, DiagonalStack)):
        return None
    if not sums.settled or any(len(rows) > MAX_STEPS for rows in sums.steps.values()):
        return False
    fits = _diagonal if isinstance(cell, DiagonalStack) else _delta
    return all(
        fits(cell, np.array([*rows.values()], dtype=np.float64), *sums.sizes[name])
        for name, rows in sums.steps.items()
    )


def _diagonal(cell: Cell, gates: Wide, top: float, grain: float) -> bool:
    """Parts of gates are 0 or ±1, and twice the largest number still has no more bits than a float."""
    return bool(np.isin(gates, (-1.0, 0.0, 1.0)).all()) and 4 * top <= BITS * grain


def _delta(cell: Cell, steps: Wide, top: float, grain: float) -> bool:
    assert isinstance(cell, DeltaStack)
    _, count, dk, _ = cell.sizes_of_heads
    gate, query, key, look, value = np.split(steps, np.cumsum([1, dk, count * dk, count * dk]), axis=1)
    if not np.isin(gate, (0.0, 1.0)).all():
        return False
    keys, looks = (part.reshape(len(steps), count, dk) for part in (key, look))
    rows = _carried_back(gate[:, 0], keys, looks)
    if rows is None:
        return False
    flat = keys.reshape(-1, dk)
    inverse, reach = rows @ flat.T, np.abs(query) @ np.abs(flat).T
    r, k, t, v = (float(np.abs(part).max()) for part in (rows, flat, inverse, value))
    gr, gk, gt, gq, gv = (_grain(part) for part in (rows, flat, inverse, query, value))
    gt = min(1.0, gt)
    seen, read = (float(np.abs(part).sum(axis=1).max()) * top for part in (rows, query))  # of a memory
    error = v + seen  # bounds what a step writes; from an empty memory it differs by what is seen
    own, g_own = error + seen, gt * gv
    g_error = min(g_own, gr * grain)
    sums = [
        (float((np.abs(rows) @ np.abs(flat).T).max()), gr * gk),  # entries of the system
        (CHUNK * t * max(own, r) + max(own, r), gt * min(g_own, gr)),  # substitution
        (CHUNK**2 * max(t, 1.0) ** 3, gt**3),  # an inverse by halves
        (CHUNK * t * (v + r), gt * min(gv, gr)),  # the inverse times the right side
        (own + seen, g_error),
        (read + CHUNK * float(reach.max()) * error, gq * min(grain, gk * g_error)),
        (top + CHUNK * k * error, min(grain, gk * g_error)),  # the memory after a chunk
    ]
    return all(size <= BITS * multiple for size, multiple in sums)


def _carried_back(gates: Wide, keys: Wide, looks: Wide) -> Wide | None:
    """All rows w, carried back over any steps that may come before; ``None`` if there are too many."""
    found: dict[bytes, Wide] = {}

    def back(rows: Wide, letter: int, last: int) -> Wide:
        """Over the steps of a letter from ``last`` down to the first, then over its gate."""
        for s in reversed(range(last)):
            rows = rows - (rows @ keys[letter, s])[:, None] * looks[letter, s] + 0.0
            found.update((row.tobytes(), row) for row in rows)
        return np.asarray(rows * gates[letter] + 0.0)

    letters, count = keys.shape[:2]
    found.update((row.tobytes(), row) for row in looks.reshape(-1, looks.shape[2]) + 0.0)
    front = np.concatenate([back(looks[a, s][None], a, s) for a in range(letters) for s in range(count)])
    ends: dict[bytes, Wide] = {}
    while len(front) and len(found) <= MAX_ROWS:
        fresh = {row.tobytes(): row for row in front if row.tobytes() not in ends}
        ends.update(fresh)
        rows = np.array([*fresh.values()]).reshape(-1, keys.shape[2])
        found.update(fresh)
        front = (
            np.concatenate([back(rows, letter, count) for letter in range(letters)]) if len(rows) else rows
        )
    return None if len(found) > MAX_ROWS else np.array([*found.values()])


def _grain(numbers: Wide) -> float:
    return float(grain_of(numbers.reshape(1, -1), 1)[0])
