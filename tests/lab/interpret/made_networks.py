"""Small networks for tests of evaluations: random ones, and ones that are right by construction."""

import torch
from torch import Tensor

from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import parse_spec
from krohn.lab import random_streams
from krohn.lab.models.architectures.gpt import Gpt, GptConfig
from krohn.lab.models.architectures.lstm import LstmConfig
from krohn.lab.models.network import ModelConfig, Noise
from krohn.lab.models.parameters import Weights
from krohn.lab.tasks.batches import Task
from krohn.lab.tasks.task_config import TaskConfig
from krohn.lab.training.trained_network import TrainedNetwork

TINY = GptConfig(layers=2, dim=16, heads=2, mlp=16)


def untrained(task: TaskConfig, model: ModelConfig = TINY, replicates: int = 2) -> TrainedNetwork:
    automaton = parse_spec(task.spec)
    shape = Task(task, automaton, torch.device("cpu"))
    network = model.build(shape.vocabulary, shape.classes)
    keys = random_streams.replicate_keys(5, replicates, device=torch.device("cpu"))
    # Large weights, so that predictions differ from word to word.
    weights = network.layout.views(network.layout.initial(keys) * 8)
    return TrainedNetwork(network, weights, shape)


class Knowing(Gpt):
    """Replicate 0 is always right; replicate 1 is wrong wherever more than ``reach`` letters were read."""

    def __init__(self, automaton: Semiautomaton, reach: int) -> None:
        super().__init__(TINY, automaton.num_letters, automaton.num_states)
        self.automaton, self.reach = automaton, reach

    def logits(self, weights: Weights, tokens: Tensor, noise: Noise | None = None) -> Tensor:
        result = torch.zeros(*tokens.shape, self.classes)
        for replicate, word in ((r, n) for r in range(len(tokens)) for n in range(tokens.shape[1])):
            state = self.automaton.start
            for t, letter in enumerate(tokens[replicate, word].tolist()):
                state = int(self.automaton.table[state, letter])
                lost = replicate == 1 and t >= self.reach
                result[replicate, word, t, (state + 1) % self.classes if lost else state] = 1
        return result

    def loss(
        self, weights: Weights, tokens: Tensor, targets: Tensor, shown: Tensor, noise: Noise | None = None
    ) -> Tensor:
        return torch.zeros(len(tokens))


def knowing(task: TaskConfig, reach: int) -> TrainedNetwork:
    automaton = parse_spec(task.spec)
    weights = {"none": torch.zeros(2, 1)}
    shape = Task(task, automaton, torch.device("cpu"))
    return TrainedNetwork(Knowing(automaton, reach), weights, shape)


LSTM = LstmConfig(embedding=8, hidden=8)
