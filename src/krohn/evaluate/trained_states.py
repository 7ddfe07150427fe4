"""A trained run as a function from words to states, whatever its architecture."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.spec import parse_spec
from krohn.errors import InvalidFile
from krohn.models.layout import Weights
from krohn.models.network import Network
from krohn.strict_json import read_json
from krohn.tasks.batches import Task
from krohn.training.directory import read_config, read_weights
from krohn.training.metrics import read_step_by_step

Words = npt.NDArray[np.int64]

PER_PASS = 512


@dataclass(frozen=True, eq=False)
class TrainedStates:
    """``forward`` maps words ``[batch, length]`` to states; ``length`` is that of training."""

    forward: Callable[[Words], Words]
    automaton: Semiautomaton
    length: int
    replicate: int


def trained_states(directory: Path) -> TrainedStates:
    """The best replicate of a run directory, in float32 on the CPU."""
    config = read_config(directory)
    if config.task.target != "state":
        raise InvalidFile(f"{directory} must hold networks that output states; they output observations")
    automaton = parse_spec(config.task.spec)
    replicate = best_replicate(directory)
    task = Task(config.task, automaton, torch.device("cpu"))
    network = config.model.build(task.vocabulary, task.classes)
    found = read_weights(directory, replicate, network.layout)
    weights = {name: value[None] for name, value in found.items()}
    letters = automaton.num_letters if config.task.scratchpad else 0

    def forward(words: Words) -> Words:
        parts = [words[first : first + PER_PASS] for first in range(0, len(words), PER_PASS)]
        return np.concatenate([_states(network, weights, part, letters, task) for part in parts])

    return TrainedStates(forward, automaton, config.task.length, replicate)


@torch.no_grad()
def _states(network: Network, weights: Weights, words: Words, scratchpad_letters: int, task: Task) -> Words:
    """States of a few words; with a scratchpad the network reads its own states back."""
    tokens = torch.from_numpy(np.ascontiguousarray(words))[None]
    if scratchpad_letters:
        found = read_step_by_step(network, weights, tokens, scratchpad_letters)
    else:
        found = network.logits(weights, task.begun(tokens)).argmax(-1)[..., -words.shape[1] :]
    out: Words = found[0].numpy().astype(np.int64)
    return out


def best_replicate(directory: Path) -> int:
    """The replicate with the highest accuracy, by the result of a finished run."""
    try:
        payload = read_json(directory / "result.json")
        scores = [float(replicate["accuracy"]) for replicate in payload["replicates"]]
        return int(np.argmax(scores))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidFile(f"{directory} must hold the result.json of a finished run; {error}") from error
