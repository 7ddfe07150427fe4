"""Rounded states: closures against words run one by one; a network that returns to its start wrong."""

from pathlib import Path

import numpy as np
import pytest

from krohn.automata.simulation import simulate
from krohn.evaluate.trained_states import trained_states
from krohn.trained.box_check import CELLS
from krohn.trained.box_search import Claim
from krohn.trained.proving import cell_of, claim_of, tensors_of
from krohn.trained.rounded import close
from krohn.trained.sampled import habitual

NETWORKS = Path(__file__).parents[2] / "results" / "networks"


def rounded_states(w: dict[str, np.ndarray], words: np.ndarray, bits: int) -> np.ndarray:
    """The answers of the rounded network, in float64, letter by letter."""
    h = c = np.zeros((len(words), len(w["weight_hh"])))
    w, answers = {name: value.astype(float) for name, value in w.items()}, []
    for column in words.T:
        i, f, g, o = np.split(w["wte"][column] @ w["weight_ih"] + w["bias"] + h @ w["weight_hh"], 4, 1)
        c = c / (1 + np.exp(-f)) + np.tanh(g) / (1 + np.exp(-i))
        h = np.tanh(c) / (1 + np.exp(-o))
        h, c = (np.rint(value * 2**bits) / 2**bits for value in (h, c))
        answers.append((h @ w["head.weight"] + w["head.bias"]).argmax(1))
    return np.stack(answers, 1)


@pytest.mark.parametrize("bits", [2, 3])
def test_a_closure_without_wrong_word_is_right_on_long_words(bits: int) -> None:
    trained = trained_states(NETWORKS / "grid4-lstm-proved")
    found = close(cell_of(trained), claim_of(trained, trained.automaton, "all"), bits)
    assert found.proved
    words = habitual(trained.automaton, 100)
    got = rounded_states(tensors_of(trained), words, bits)
    assert (got == np.asarray(simulate(trained.automaton, words))).all()


def test_a_wrong_word_is_one_of_the_rounded_network() -> None:
    trained = trained_states(NETWORKS / "grid4-lstm-proved")
    tensors = {name: value.copy() for name, value in tensors_of(trained).items()}
    tensors["head.bias"][2] += 25.0
    states, letters = trained.automaton.table.shape
    cell = CELLS["lstm"](tensors, letters, states)
    found = close(cell, claim_of(trained, trained.automaton, "all"), 3)
    assert found.wrong
    got = rounded_states(tensors, np.array([found.wrong]), 3)[0]
    wanted = trained.automaton.run(list(found.wrong))
    assert got[-1] != wanted[-1]
    assert list(got[:-1]) == list(wanted[:-1])


def test_the_start_is_asked_when_it_is_reached_again() -> None:
    hidden = 2
    shapes = {
        "wte": (1, 1),
        "weight_ih": (1, 8),
        "weight_hh": (2, 8),
        "bias": (8,),
        "head.weight": (hidden, 2),
    }
    tensors = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
    tensors["head.bias"] = np.array([0.0, 1.0], np.float32)
    stays = Claim(np.array([[0], [1]]), 0, np.ones((2, 1), dtype=bool))
    assert close(CELLS["lstm"](tensors, 1, 2), stays, 3).wrong == (0,)
    tensors["head.bias"] = np.array([1.0, 0.0], np.float32)
    assert close(CELLS["lstm"](tensors, 1, 2), stays, 3).proved
    tensors["head.bias"] = np.zeros(2, np.float32)
    assert close(CELLS["lstm"](tensors, 1, 2), stays, 3).reason  # a tie of answers decides nothing
