"""Recurrent cells of a few units: random ones, one that does nothing, and claims about small automata."""

import numpy as np

from krohn.check.files.reader import Automaton
from krohn.check.recurrent.boxes import BoxCell, Boxes, build_gated

Tensors = dict[str, np.ndarray]
KINDS = ("lstm", "gru")


def shapes(kind: str, hidden: int, *, letters: int = 2, states: int = 2) -> dict[str, tuple[int, ...]]:
    width = {"lstm": 4, "gru": 3}[kind] * hidden
    result: dict[str, tuple[int, ...]] = {
        "wte": (letters, 3),
        "weight_ih": (3, width),
        "weight_hh": (hidden, width),
        "head.weight": (hidden, states),
        "head.bias": (states,),
    }
    return result | dict.fromkeys(["bias"] if kind == "lstm" else ["bias_ih", "bias_hh"], (width,))


def random_tensors(kind: str, hidden: int, scale: float, seed: int, **sizes: int) -> Tensors:
    rng = np.random.default_rng(seed)
    given = shapes(kind, hidden, **sizes)
    return {name: rng.normal(0, scale, shape).astype(np.float32) for name, shape in given.items()}


def zeros(kind: str, hidden: int, **sizes: int) -> Tensors:
    return {name: np.zeros(shape, np.float32) for name, shape in shapes(kind, hidden, **sizes).items()}


def cell(kind: str, tensors: Tensors) -> BoxCell:
    return BoxCell(build_gated(kind, tensors, len(tensors["wte"]), len(tensors["head.bias"])), "float32")


def showing_states(table: np.ndarray, start: int = 0) -> Automaton:
    """The automaton with this table, whose outputs are its states."""
    return Automaton(table, start, np.arange(len(table)))


def always_zero(letters: int = 2) -> Automaton:
    """The automaton that never leaves its first of two states."""
    return showing_states(np.array([[0] * letters, [1] * letters]))


def quiet_proof() -> tuple[BoxCell, Boxes, Automaton]:
    """A cell whose state only shrinks, which always answers 0, and one box that proves it."""
    tensors = zeros("lstm", 2)
    tensors["head.bias"][0] = 1.0
    one = np.ones((1, 4))
    return cell("lstm", tensors), Boxes(np.array([0]), np.array([[0, 0]]), -one, one), always_zero()


def step(kind: str, w: Tensors, letter: int, state: np.ndarray) -> np.ndarray:
    """One step from the definition of the cell, in float64, for states [N, D]."""
    w = {name: value.astype(np.float64) for name, value in w.items()}
    hidden = len(w["weight_hh"])

    def sigmoid(x: np.ndarray) -> np.ndarray:
        return 0.5 * (1 + np.tanh(0.5 * x))

    given, old = w["wte"][letter] @ w["weight_ih"], state[:, :hidden] @ w["weight_hh"]
    if kind == "lstm":
        i, f, g, o = np.split(given + old + w["bias"], 4, axis=1)
        c = sigmoid(f) * state[:, hidden:] + sigmoid(i) * np.tanh(g)
        return np.concatenate([sigmoid(o) * np.tanh(c), c], axis=1)
    (xr, xz, xn), (hr, hz, hn) = np.split(given + w["bias_ih"], 3), np.split(old + w["bias_hh"], 3, axis=1)
    z, n = sigmoid(xz + hz), np.tanh(xn + sigmoid(xr + hr) * hn)
    return (1 - z) * n + z * state
