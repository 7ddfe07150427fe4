"""The network under study: a training run, a compiled network, an export, or a GPT-2 that others made."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from krohn.automata.sampling import sample
from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import Unsupported
from krohn.lab.interpret.readings import Numbers
from krohn.lab.interpret.stages import Stages, stages_of_decoder, stages_of_transformer
from krohn.network.compiled import CompiledNetwork
from krohn.network.gpt2.decoder import Decoder
from krohn.network.gpt2.stock import decoder_of_stock, stock_of
from krohn.proving.stock import require_automaton

NO_STATES = "a network can be understood if it outputs states; this one outputs observations"

Draw = Callable[[int, int, int], Numbers]
"""Seed, number of words, letters of a word → words."""


@dataclass(frozen=True, eq=False)
class Subject:
    """A network, the automaton it should compute, and the words it is meant for."""

    title: str
    kind: str
    automaton: Semiautomaton
    stages: Stages
    draw: Draw

    def __post_init__(self) -> None:
        if self.automaton.outputs != tuple(range(self.automaton.num_states)):
            raise Unsupported(NO_STATES)

    @property
    def length(self) -> int:
        """The longest word it is meant for."""
        return self.stages.length


def subject_of_compiled(network: CompiledNetwork) -> Subject:
    """A compiled network as the paper writes it."""
    name = f"{network.automaton.name or 'an automaton'}, compiled by method {network.method}"
    stages = stages_of_transformer(network.transformer)
    return Subject(name, "compiled", network.automaton, stages, drawing(network.automaton))


def subject_of_stock(network: Any, automaton: Semiautomaton | None, tokens: Any) -> Subject:
    """A GPT-2 of ``transformers``, saved or in memory, with the automaton it should compute."""
    meant = require_automaton(automaton, tokens)
    return subject_of_decoder(decoder_of_stock(stock_of(network, meant, tokens)), meant, "GPT-2")


def subject_of_decoder(decoder: Decoder, automaton: Semiautomaton, kind: str) -> Subject:
    """A decoder in GPT-2's names; in float64 where that is cheap."""
    dtype = torch.float64 if decoder.dim <= 100 else torch.float32
    name = f"{automaton.name or 'an automaton'}, {kind}"
    return Subject(name, kind, automaton, stages_of_decoder(decoder, dtype), drawing(automaton))


def subject_of_run(directory: Path, length: int | None = None) -> Subject:
    """The best replicate of a run, with the words it was trained on; for words up to ``length``, if given."""
    from krohn.lab.tasks.batches import Task
    from krohn.lab.training.directory import read_config
    from krohn.lab.training.run_decoder import decoder_of_run

    config = read_config(directory)
    if config.model.kind != "gpt":
        raise Unsupported(
            f"understand needs blocks with a residual stream, as a gpt has; {directory} holds a run of "
            f"{config.model.kind}: krohn verify and krohn extract read it"
        )
    result = decoder_of_run(directory, length=length)
    task = Task(config.task, result.automaton, torch.device("cpu"))

    def draw(seed: int, count: int, length: int) -> Numbers:
        # Its own seed: disjoint from the training words and the validation set.
        words: Numbers = task.held_out((1 << 44) + seed, count)[0][0].numpy()[:, :length]
        return words.astype(np.int64)

    built = subject_of_decoder(result.decoder, result.automaton, f"trained, replicate {result.replicate}")
    return Subject(built.title, "trained", built.automaton, built.stages, draw)


def drawing(automaton: Semiautomaton) -> Draw:
    """Words of the automaton's usual distribution."""

    def draw(seed: int, count: int, length: int) -> Numbers:
        return sample(automaton, length=length, count=count, seed=seed).letters.astype(np.int64)

    return draw
