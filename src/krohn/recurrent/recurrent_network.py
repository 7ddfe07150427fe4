"""A recurrent network: how it runs, and its files.

It runs in plain float32, in numpy's summation order; nothing is proved here. On disk it is
``model.safetensors`` (tensors) and ``recurrent.json`` (automaton and cell).
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.automata.reader import Reader
from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.files import RECURRENT, shown
from krohn.check.arithmetic.format import FORMATS
from krohn.check.arithmetic.sums import Sums
from krohn.check.ground import Array, Real
from krohn.check.recurrent.cells import Cell, Tensors
from krohn.check.recurrent.rules import CELLS
from krohn.errors import InvalidFile
from krohn.recurrent.network_files import read_network, write_network

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

    def either(self, first: Real, second: Real) -> Real:
        """See ``Sums``: the formula of a loop over letters."""
        return first

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

    def normalise(self, keys: Real) -> Real:
        """See ``Sums``: keys of any length."""
        size = np.sqrt(self.dot(keys, keys, -1).lo)[..., None]
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
    step = stepper(cell, len(words))
    result = np.zeros((*words.shape, cell.num_states), np.float32)
    for t in range(words.shape[1]):
        result[:, t] = step(words[:, t])
    return result


def stepper(cell: Cell, many: int) -> Callable[[npt.NDArray[np.int64]], Floats]:
    """A function from the next letter of each of ``many`` words to its logits; it remembers the state."""
    sums = PlainSums(FORMATS["float32"])
    rows, stages = cell.letters(sums), cell.stages(sums)
    carried = [_one(np.zeros((many, stage.size))) for stage in stages]

    def step(letters: npt.NDArray[np.int64]) -> Floats:
        handed = rows[letters]
        with np.errstate(all="ignore"):
            for number, stage in enumerate(stages):
                carried[number], handed = stage.step(handed, carried[number])
        return handed.lo.astype(np.float32, copy=False)

    return step


def states_of(cell: Cell, words: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The states with the largest logits; −1 where a logit is NaN."""
    return _answers(logits_of(cell, words))


def _answers(logits: Floats) -> npt.NDArray[np.int64]:
    answers: npt.NDArray[np.int64] = logits.argmax(axis=-1)
    return np.where(np.isnan(logits).any(axis=-1), -1, answers)


def _float(values: npt.NDArray[Any]) -> Floats:
    return values.astype(np.float32, copy=False)


def _one(values: npt.NDArray[Any]) -> Real:
    return Real(values, values)


VERSION = 2


@dataclass(frozen=True, repr=False)
class RecurrentNetwork(Reader):
    """A cell and the automaton it claims to track."""

    cell: Cell
    automaton: Semiautomaton

    def forward(self, words: npt.NDArray[np.int64], /, dtype: Any = "float64") -> npt.NDArray[np.int64]:
        """States after each letter of words ``[batch, length]``, one letter after the other, in float32."""
        return states_of(self.cell, words)

    def online(self) -> Callable[[int], int]:
        """See ``Reader``."""
        step = stepper(self.cell, 1)
        return lambda letter: int(_answers(step(np.array([letter])))[0])

    def save(self, directory: str | Path) -> None:
        """Writes it to a directory, as ``krohn.save`` does."""
        save(self, directory)

    def __repr__(self) -> str:
        sizes = f"{sum(tensor.size for tensor in self.cell.tensors.values()):,} parameters"
        return f"<{self.cell.kind} network for {self.automaton.name or 'an automaton'}: {sizes}>"


@dataclass(frozen=True)
class RecurrentReport:
    """The sizes of a recurrent network."""

    network: RecurrentNetwork
    architecture: str
    notes: tuple[str, ...] = ()

    def to_json(self, out: Path | None = None) -> dict[str, Any]:
        """One JSON object; ``out`` is where the network was written."""
        cell = self.network.cell
        return {
            "automaton": self.network.automaton.name,
            "architecture": self.architecture,
            "layers": getattr(cell, "layers", 1),
            "steps": getattr(cell, "steps", 1),
            "size": cell.size,
            "num_parameters": cell.num_parameters,
            "out": None if out is None else str(out),
        }

    def text(self) -> str:
        """Two lines."""
        known = self.to_json()
        return (
            f"{known['automaton'] or 'the automaton'}: layers of {known['architecture']}: {known['layers']}, "
            f"steps per letter: {known['steps']}, numbers of state: {known['size']}, "
            f"parameters: {known['num_parameters']:,}\n"
            "it reads words of any length; krohn verify says up to which length it is right"
        )


def save(network: RecurrentNetwork, directory: str | Path) -> None:
    """Writes both files or none; an existing network is replaced."""
    cell = network.cell
    about = {"architecture": cell.kind, "options": cell.options}
    write_network(directory, RECURRENT, VERSION, about, network.automaton, cell.tensors)


def load(directory: str | Path) -> RecurrentNetwork:
    """The network in a directory; anything that does not fit is refused in one line."""
    sizes = ("architecture", "options")
    return read_network(directory, RECURRENT, VERSION, sizes, _of_files, "recurrent")


def _of_files(
    payload: dict[str, Any], tensors: Callable[[], Tensors], automaton: Semiautomaton
) -> RecurrentNetwork:
    kind = payload["architecture"]
    if not isinstance(kind, str) or kind not in CELLS:
        raise InvalidFile(f"architecture must be one of {', '.join(CELLS)}; got {shown(kind)}")
    return RecurrentNetwork(_cell(kind, tensors(), payload["options"]), automaton)


def _cell(kind: str, tensors: Tensors, options: object) -> Cell:
    if not isinstance(options, dict):
        raise InvalidFile(f"options must be an object; got {shown(options)}")
    cell = CELLS[kind].of(tensors, options)
    # Types too: 1 is not true.
    given, right = ({name: (type(v), v) for name, v in each.items()} for each in (options, cell.options))
    wrong = sorted(name for name in {*given, *right} if given.get(name) != right.get(name))
    if wrong:
        raise InvalidFile(f"options must be those of the tensors; {shown(wrong[0])} is not")
    return cell
