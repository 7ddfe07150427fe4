"""Any network as a function from words to answers: trained runs and compiled networks."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from krohn.automata.semiautomaton import Semiautomaton
from krohn.certify.search import all_words, runner
from krohn.errors import InvalidInput, LimitExceeded
from krohn.folder import COMPILED, TRAINED, Folder
from krohn.network.storage import load
from krohn.study.exact import Level, longest, walk
from krohn.training.trained_states import TrainedStates, trained_states

Words = npt.NDArray[np.int64]
Levels = list[Words]

MAX_WORDS = 1 << 22
"""Words of the longest level that a table may hold."""
COMPILED_WORDS = 1 << 16
"""The same for compiled networks, which are run word by word, at effort 1."""


@dataclass(frozen=True, eq=False)
class Answers:
    """A network's answers: ``of`` words [batch, length], and ``levels``, for all words of each length.

    Attributes:
        automaton: the one it was trained on or built for.
        longest: length of the longest word it reads; none if unbounded.
    """

    of: Callable[[Words], Words]
    levels: Callable[[int], Levels]
    automaton: Semiautomaton
    longest: int | None


def answers_of(directory: Path, effort: float = 1.0, device: str = "cpu") -> Answers:
    """The network in a run directory or a compiled directory."""
    if Folder(directory).require("extract needs", COMPILED, TRAINED) == TRAINED:
        return _of_run(trained_states(directory, device), effort)
    network = load(directory)
    if network.automaton.target != "state":
        raise InvalidInput(f"{directory} must hold a network that outputs states; it outputs observations")
    run = runner(network.transformer, "float64")
    return Answers(run, _by_words(run, network.automaton, effort), network.automaton, network.length)


def _of_run(trained: TrainedStates, effort: float) -> Answers:
    letters = trained.automaton.num_letters

    def levels(length: int) -> Levels:
        if longest(trained, length, effort) < length or letters**length > MAX_WORDS:
            raise _too_long(length)
        return _tree_levels(trained, length)

    return Answers(trained.forward, levels, trained.automaton, None)


def _tree_levels(trained: TrainedStates, length: int) -> Levels:
    letters = trained.automaton.num_letters
    result = [np.zeros(letters**depth, dtype=np.int64) for depth in range(1, length + 1)]

    def keep(level: Level) -> Tensor | None:
        depth = level.words.shape[1]
        worth = torch.tensor([letters**place for place in range(depth)][::-1], device=level.words.device)
        result[depth - 1][(level.words * worth).sum(1).cpu().numpy()] = level.answers.cpu().numpy()
        return None

    walk(trained, length, keep)
    return result


def _by_words(
    run: Callable[[Words], Words], automaton: Semiautomaton, effort: float
) -> Callable[[int], Levels]:
    letters = automaton.num_letters

    def levels(length: int) -> Levels:
        if letters**length > min(COMPILED_WORDS * effort, MAX_WORDS):
            raise _too_long(length)
        got = run(all_words(letters, length))
        return [got[:: letters ** (length - depth), depth - 1] for depth in range(1, length + 1)]

    return levels


def _too_long(length: int) -> LimitExceeded:
    return LimitExceeded(
        f"all words of --length {length} are too many for this effort: lower --length or raise --effort"
    )
