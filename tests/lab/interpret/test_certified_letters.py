"""The proved length of LSTM and GRU: every word up to it is right, by running them all in torch."""

from itertools import product
from pathlib import Path

import pytest
import torch
from torch import nn

from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import parse_spec
from krohn.lab.cards import certified_letters as module_under_test
from krohn.lab.cards.certified_letters import certified_letters
from krohn.lab.cards.harness import Effort, trained
from krohn.lab.cards.layers import Alone, find_layer
from krohn.lab.training.trained_network import read_run

NETWORKS = Path(__file__).parents[3] / "results" / "networks"


def shortest_wrong(module: Alone, automaton: Semiautomaton, longest: int) -> int | None:
    """The length of the shortest word that torch answers wrongly, in float32 or float64."""
    words = torch.tensor(list(product(range(automaton.num_letters), repeat=longest)))
    states = torch.tensor([automaton.run(word.tolist()) for word in words])
    wrong = torch.zeros(longest, dtype=torch.bool)
    with torch.no_grad():
        for kind in (torch.float32, torch.float64):
            module = module.to(kind)
            wrong |= (module(words).argmax(-1) != states).any(0)
        module.to(torch.float32)
    return int(wrong.int().argmax()) + 1 if bool(wrong.any()) else None


@pytest.mark.parametrize(
    ("kind", "task", "longest", "boxes", "least"),
    [
        ("lstm", "C2", 9, 256, 8),
        ("gru", "C2", 9, 8, 3),
        ("gru", "FlipFlop", 6, 256, 4),
        ("lstm", "FlipFlop", 6, 8, 2),
    ],
)
def test_every_word_of_the_proved_length_is_right(kind, task, longest, boxes, least, monkeypatch) -> None:
    """While a network is trained: the proof never reaches the shortest wrong word, and does reach far."""
    monkeypatch.setattr(module_under_test, "BOXES", boxes)
    automaton, proved = parse_spec(task), []
    for steps in (5, 60, 250):
        effort = Effort(length=8, steps=steps, width=8, lr=1e-2)
        module = trained(find_layer(kind, 8).factory, automaton, effort, 0, "cpu").module
        proof = certified_letters(module, automaton, longest)
        wrong = shortest_wrong(module, automaton, longest)
        assert wrong is None or proof < wrong
        proved.append(proof)
    assert proved[0] < proved[-1]
    assert proved[-1] >= least


def stored(name: str) -> tuple[Alone, Semiautomaton]:
    """A kept network as a module, and its automaton."""
    states = read_run(NETWORKS / name)
    module = Alone(states.network)
    for own, value in states.weights.items():
        module.get_parameter(module.names[own]).data = value[0]
    return module, states.automaton


@pytest.mark.parametrize("name", ["c2-lstm-proved", "c3-lstm-proved"])
def test_networks_proved_for_every_length_are_proved_as_far_as_is_looked(name: str) -> None:
    module, automaton = stored(name)
    assert certified_letters(module, automaton, 40) == 40
    head = module.get_parameter(module.names["head.weight"])
    head.data[:, [0, 1]] = head.data[:, [1, 0]]  # two answers exchanged
    assert certified_letters(module, automaton, 40) == 0


class NoCell(nn.Module):
    """An LSTM of torch: not one that the checker reads."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.LSTM(2, 3, batch_first=True)


def test_other_networks_have_no_proved_length() -> None:
    assert certified_letters(NoCell(), parse_spec("C2"), 4) is None
    gpt = find_layer("gpt", 8).factory(2, 2)
    assert certified_letters(gpt, parse_spec("C2"), 4) is None
