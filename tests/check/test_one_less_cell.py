"""One hypothesis of a recurrent network is taken away: it is wrong when run, and never certified."""

from contextlib import suppress

import numpy as np

from every import every
from krohn.automata.zoo import parse_spec
from krohn.errors import KrohnError
from krohn.proving.recurrent import close
from krohn.recurrent.recurrent_network import RecurrentNetwork
from krohn.recurrent.recurrent_weights import WEIGHTS

CELLS = {
    "a gate that is always open": ("diagonal", "FlipFlop", "gate", lambda gate: 0 * gate),
    "keys that are not known to the last bit": (
        "deltaproduct",
        "C2",
        "key",
        lambda key: key + np.float32(0.25),
    ),
    "a rate that writes nothing": ("deltaproduct", "C2", "beta", np.negative),
    "gates between 0 and 1": ("lstm", "C2", "weight_hh", lambda weight: weight / 50),
    "updates between 0 and 1": ("gru", "C2", "weight_hh", lambda weight: weight / 50),
    "a head that is turned": ("rankone", "C2", "head.weight", np.negative),
}


@every("idea", CELLS)
def test_a_recurrent_network_without_one_hypothesis_is_wrong_and_not_proved(idea: str) -> None:
    kind, name, part, change = CELLS[idea]
    automaton = parse_spec(name)
    cell = WEIGHTS[kind](automaton)
    assert close(cell, automaton).every_length
    names = [key for key in cell.tensors if part in key]
    assert names, sorted(cell.tensors)
    changed = {key: (change(value) if key in names else value) for key, value in cell.tensors.items()}
    made = type(cell).of({key: value.astype(np.float32) for key, value in changed.items()}, cell.options)
    words = np.random.default_rng(0).integers(automaton.num_letters, size=(50, 12))
    runs = np.array(RecurrentNetwork(made, automaton).run(words.tolist()))
    assert not np.array_equal(runs, np.array([automaton.run(word) for word in words.tolist()]))
    with suppress(KrohnError):
        assert not close(made, automaton, limit=2_000).every_length
