"""Explicit weights of recurrent networks that track an automaton on words of every length."""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from krohn.automata.semiautomaton import Semiautomaton
from krohn.check.cells import Cell, Gru, Lstm, Tensors
from krohn.errors import LimitExceeded
from krohn.recurrent.delta_weights import deltaproduct
from krohn.recurrent.diagonal_weights import diagonal
from krohn.recurrent.one_step import deltanet
from krohn.recurrent.rankone_weights import rankone
from krohn.recurrent.stack_weights import MAX_PARAMETERS

GAIN = 512.0
"""Slope of the gates: half of it saturates a sigmoid in float32."""


def lstm(automaton: Semiautomaton) -> Lstm:
    """Units (p, a), "was in p and read a", and one unit "started"; each is an AND, by its input gate.

    Forget gate 0, output gate and candidate 1: a unit that is on holds tanh 1, one that is off 0.
    """
    comes, starts, letters = _conditions(automaton)
    units = len(comes) + 1
    _check_size(units * 4 * units)
    high = np.float64(np.float32(math.tanh(1.0)))
    recurrent = np.zeros((units, 4 * units))
    recurrent[:-1, : units - 1] = comes.T * GAIN / high
    recurrent[-1, : units - 1] = -starts * GAIN / high
    bias = np.repeat([0.0, -GAIN, GAIN, GAIN], units)
    bias[: units - 1] = (starts - 1.5) * GAIN
    bias[units - 1] = GAIN / 2
    inward = np.zeros((automaton.num_letters, 4 * units))
    inward[:, : units - 1] = letters * GAIN
    head = np.vstack([_targets(automaton), np.zeros(automaton.num_states)])
    return Lstm(
        _floats(
            {**_embedding(automaton), "weight_ih": inward, "weight_hh": recurrent, "bias": bias} | _head(head)
        )
    )


def gru(automaton: Semiautomaton) -> Gru:
    """The same units, ±1 by the candidate; update gate 0, reset gate 1. At the start all units are 0."""
    comes, starts, letters = _conditions(automaton)
    units = len(comes) + 1
    _check_size(units * 3 * units)
    first = slice(2 * units, 3 * units - 1)
    recurrent = np.zeros((units, 3 * units))
    recurrent[:-1, first] = comes.T * GAIN / 2
    sources = comes.sum(axis=1)
    recurrent[-1, first] = -(starts - sources / 2) * GAIN
    bias = np.repeat([GAIN, -GAIN, 0.0], units)
    bias[first] = (sources / 2 + (starts - sources / 2) - 1.5) * GAIN
    bias[-1] = GAIN
    inward = np.zeros((automaton.num_letters, 3 * units))
    inward[:, first] = letters * GAIN
    targets = np.vstack([_targets(automaton), np.zeros(automaton.num_states)]) / 2
    tensors = {"weight_ih": inward, "weight_hh": recurrent, "bias_ih": bias, "bias_hh": np.zeros(3 * units)}
    return Gru(_floats({**_embedding(automaton), **tensors} | _head(targets, targets.sum(axis=0))))


def _conditions(
    automaton: Semiautomaton,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """For each unit (p, a): which units lead to p; whether p is the start; whether a is each letter."""
    table, n, k = automaton.table, automaton.num_states, automaton.num_letters
    p, a = np.divmod(np.arange(n * k), k)
    comes = (table.reshape(-1)[None, :] == p[:, None]).astype(np.float64)
    return (
        comes,
        (p == automaton.start).astype(np.float64),
        (a[None] == np.arange(k)[:, None]).astype(np.float64),
    )


def _targets(automaton: Semiautomaton) -> npt.NDArray[np.float64]:
    return np.eye(automaton.num_states)[automaton.table.reshape(-1)]


def _embedding(automaton: Semiautomaton) -> dict[str, npt.NDArray[np.float64]]:
    return {"wte": np.eye(automaton.num_letters)}


def _head(
    weight: npt.NDArray[np.float64], bias: npt.NDArray[np.float64] | None = None
) -> dict[str, npt.NDArray[np.float64]]:
    return {"head.weight": weight, "head.bias": np.zeros(weight.shape[1]) if bias is None else bias}


def _floats(tensors: dict[str, npt.NDArray[np.float64]]) -> Tensors:
    return {name: np.ascontiguousarray(array, dtype=np.float32) for name, array in tensors.items()}


def _check_size(count: int) -> None:
    if count > MAX_PARAMETERS:
        raise LimitExceeded(
            f"a network may have at most {MAX_PARAMETERS:,} parameters; this one needs {count:,}"
        )


WEIGHTS: dict[str, Callable[[Semiautomaton], Cell]] = {
    "deltaproduct": deltaproduct,
    "deltanet": deltanet,
    "diagonal": diagonal,
    "rankone": rankone,
    "lstm": lstm,
    "gru": gru,
}
