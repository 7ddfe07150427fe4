"""Runs recurrent networks in plain float32, in numpy's summation order; nothing is proved here."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.check.cells import Cell
from krohn.check.format import FORMATS
from krohn.check.real import Array, Real
from krohn.check.sums import Sums

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class PlainSums(Sums):
    """The operations of layers on plain floats: both ends of every interval coincide."""

    @property
    def wide(self) -> Sums:
        """See ``Sums``."""
        return self

    def cast(self, x: Real) -> Real:
        """See ``Sums``."""
        return x

    def product(self, x: Real, weight: Array, bias: Array | None = None) -> Real:
        """See ``Sums``."""
        result = _float(x.lo) @ _float(weight)
        return _one(result if bias is None else result + _float(bias))

    def products(self, *parts: tuple[Real, Array, Array | None]) -> Real:
        """See ``Sums``."""
        total = self.product(*parts[0])
        for part in parts[1:]:
            total = self.plus(total, self.product(*part))
        return total

    def dot(self, x: Real, y: Real, axis: int) -> Real:
        """See ``Sums``."""
        return _one((_float(x.lo) * _float(y.lo)).sum(axis=axis))

    def plus(self, x: Real, y: Real) -> Real:
        """See ``Sums``."""
        return _one(_float(x.lo) + _float(y.lo))

    def sigmoid(self, x: Real) -> Real:
        """See ``Sums``."""
        with np.errstate(over="ignore", under="ignore"):
            return _one(np.float32(1) / (np.float32(1) + np.exp(-_float(x.lo))))

    def gate(self, x: Real) -> Real:
        """See ``Sums``."""
        return self.sigmoid(x)

    def tanh(self, x: Real) -> Real:
        """See ``Sums``."""
        return _one(np.tanh(_float(x.lo)))

    def normed(self, keys: Real) -> Real:
        """See ``Sums``: keys of any length."""
        size = np.sqrt(np.square(_float(keys.lo)).sum(axis=-1, keepdims=True))
        return _one(_float(keys.lo) / np.maximum(size, np.float32(1e-12)))

    def disc(self, x: Real, y: Real) -> tuple[Real, Real]:
        """See ``Sums``."""
        size = np.sqrt(np.maximum(np.square(_float(x.lo)) + np.square(_float(y.lo)), np.float32(1)))
        return _one(_float(x.lo) / size), _one(_float(y.lo) / size)

    def mixed(self, share: Real, new: Real, old: Real) -> Real:
        """See ``Sums``."""
        s = _float(share.lo)
        return _one((np.float32(1) - s) * _float(new.lo) + s * _float(old.lo))


def logits_of(cell: Cell, words: npt.NDArray[np.int64]) -> Floats:
    """Logits after each letter of words ``[batch, length]``, one letter after the other."""
    sums = PlainSums(FORMATS["float32"])
    rows, stages = cell.letters(sums), cell.stages(sums)
    carried = [_one(np.zeros((len(words), stage.size))) for stage in stages]
    result = np.zeros((*words.shape, cell.num_states), np.float32)
    with np.errstate(all="ignore"):
        for t in range(words.shape[1]):
            handed = rows[words[:, t]]
            for number, stage in enumerate(stages):
                carried[number], handed = stage.step(handed, carried[number])
            result[:, t] = handed.lo
    return result


def states_of(cell: Cell, words: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The states with the largest logits; −1 where a logit is NaN."""
    logits = logits_of(cell, words)
    answers: npt.NDArray[np.int64] = logits.argmax(axis=-1)
    return np.where(np.isnan(logits).any(axis=-1), -1, answers)


def _float(values: npt.NDArray[Any]) -> Floats:
    return values.astype(np.float32, copy=False)


def _one(values: npt.NDArray[Any]) -> Real:
    return Real(values, values)
