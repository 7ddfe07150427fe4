"""A certified horizon for one diagonal layer whose floats do not close: how long rounding stays harmless.

Each state q gets a reference vector x_q, what a shortest word leaves. A letter moves x_q to within a drift of
x_{q·a}, and a step stretches distances by at most the largest |a|. So after t letters every word is within a
computed distance of its state's reference, and the read-out is right while that is less than its lead. The
bound is for one letter after the other, with or without fused operations; chunks add in another order.
"""

from dataclasses import replace
from math import floor, log1p

import numpy as np
import numpy.typing as npt

from krohn.automata.semiautomaton import Semiautomaton
from krohn.recurrent.cells import Cell, Floats, Sums, grain_of
from krohn.recurrent.stack_cells import DiagonalStack

_UNIT = 2.0**-24  # of float32, in which the memory is kept
_ROUNDING = {"float32": 2.0**-22, "bfloat16": 2.0**-6}  # of a read-out's sum, relative to its terms
_GATE_ERROR = 8 * _UNIT  # of a square root and a division, on any machine
Wide = npt.NDArray[np.float64]


def certified_horizon(cell: Cell, automaton: Semiautomaton, dtype: str = "float32") -> int | None:
    """Letters up to which every word is run right; ``None`` if this cannot tell."""
    if not isinstance(cell, DiagonalStack) or cell.layers > 1 or cell.mlp or cell.conv > 1:
        return None
    if dtype == "bfloat16":
        cell = replace(cell, tensors={name: _bfloat16(array) for name, array in cell.tensors.items()})
    cell = replace(cell, sums=Sums())
    gates, writes = _letters(cell, dtype)
    references = _references(cell, automaton)
    if gates is None or writes is None or references is None:
        return None
    size = float(np.abs(references).max()) + 1  # what is carried stays this small while the bound holds
    stretch = float(np.abs(gates).max()) * (1 + _GATE_ERROR)
    drift = 0.0
    for q in np.flatnonzero(np.isfinite(references).all(axis=1)):
        for a in range(automaton.num_letters):
            target = references[automaton.step(int(q), a)]
            drift = max(drift, float(np.abs(gates[a] * references[q] + writes[a] - target).max()))
    step = drift * (1 + 1e-9) + 10 * _UNIT * (size + float(np.abs(writes).max())) + _GATE_ERROR * size
    allowed = min(1.0, _allowed(cell, references, size, dtype))
    if allowed <= 0:
        return 0
    growth = max(0.0, stretch - 1)
    steps = allowed / step if growth == 0 else log1p(allowed * growth / step) / log1p(growth)
    return max(0, floor(steps * (1 - 1e-9)) - 1)


def _letters(cell: DiagonalStack, dtype: str) -> tuple[Wide | None, Wide | None]:
    """a and b of every letter; none if a sum of inputs is rounded."""
    bits, table = 8 if dtype == "bfloat16" else 24, cell.tensors
    bias = table["h.0.mix.gate.bias"]
    z = _exact_sum(table["wte"], np.vstack([table["h.0.mix.gate.weight"], bias]), bits)
    b = _exact_sum(table["wte"], np.vstack([table["h.0.mix.write"], 0 * bias]), bits)
    if z is None or b is None:
        return None, None
    return _complex(cell, cell.bent(z)), _complex(cell, b)


def _exact_sum(rows: Floats, matrix: Floats, bits: int) -> Floats | None:
    """(rows, 1) times the matrix, if no order of adding rounds."""
    whole = np.hstack([rows, np.ones((len(rows), 1), np.float32)]).astype(np.float64)
    terms = whole[:, :, None] * matrix.astype(np.float64)[None]
    fits = np.abs(terms).sum(axis=1) <= grain_of(terms, 1) * 2.0**bits
    return terms.sum(axis=1).astype(np.float32) if fits.all() else None


def _complex(cell: DiagonalStack, parts: Floats) -> Wide:
    wide = parts.astype(np.float64)
    if cell.gate != "complex":
        return wide
    real, imaginary = np.split(wide, 2, axis=1)
    return real + 1j * imaginary


def _references(cell: DiagonalStack, automaton: Semiautomaton) -> Wide | None:
    """The vector of each state by a shortest word; NaN for states that no word reaches."""
    found = {automaton.start: np.zeros((1, cell.size), np.float32)}
    queue = [automaton.start]
    for q in queue:
        for a in range(automaton.num_letters):
            target = automaton.step(q, a)
            if target not in found:
                found[target] = cell.step(found[q], a)
                queue.append(target)
    table = np.full((automaton.num_states, cell.size), np.nan, np.float32)
    for q, row in found.items():
        table[q] = row
    reached = table[list(found)]
    whole = _complex(cell, table)
    return whole if np.isfinite(reached).all() and np.abs(reached).max() < 100 else None


def _allowed(cell: DiagonalStack, references: Wide, size: float, dtype: str) -> float:
    """The largest distance from a reference at which every read-out is still right, rounding included."""
    outward = cell.tensors["h.0.mix.out"].astype(np.float64) @ cell.tensors["head.weight"].astype(np.float64)
    letters = cell.tensors["wte"].astype(np.float64) @ cell.tensors["head.weight"].astype(np.float64)
    bias = cell.tensors["head.bias"].astype(np.float64) + letters  # [letter, state]
    parts = np.hstack([references.real, references.imag]) if cell.gate == "complex" else references
    least = np.inf
    channels = references.shape[1]
    pairs = outward.reshape(-1, channels, outward.shape[1])
    noise = _ROUNDING[dtype] * (size * np.abs(outward).sum(axis=0).max() + np.abs(bias).max()) * 4
    for q in np.flatnonzero(np.isfinite(parts).all(axis=1)):
        for own in bias:
            scores = parts[q] @ outward + own
            for rival in range(len(scores)):
                if rival != q:
                    slope = np.sqrt(np.square(pairs[..., q] - pairs[..., rival]).sum(axis=0)).sum()
                    least = min(least, (scores[q] - scores[rival] - noise) / max(slope, 1e-30))
    return float(least)


def _bfloat16(array: Floats) -> Floats:
    bits = array.view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return np.ascontiguousarray(rounded.astype(np.uint32)).view(np.float32)
