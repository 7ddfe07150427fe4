"""Fresh batches on the device: letters from counters, states by one gather per position for many steps."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from krohn import random_streams
from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import Unsupported
from krohn.tasks.input_distributions import Distribution, feasible_letters, letters, parse_distribution
from krohn.tasks.task_config import TaskConfig

HELD_OUT = -1  # pseudo-step of held-out sequences, never trained on
_REVEAL = -3


@dataclass(frozen=True)
class Batch:
    """Sequences ready for a network; all tensors have the same leading axes and the token axis last.

    Attributes:
        tokens: input tokens.
        targets: class at each position (0 where there is no label).
        shown: 1 where the loss counts, 0 elsewhere.
    """

    tokens: Tensor
    targets: Tensor
    shown: Tensor


class Task:
    """A task on a device: draws batches as a function of (replicate key, step, index in the batch)."""

    def __init__(self, config: TaskConfig, automaton: Semiautomaton, device: torch.device) -> None:
        self.config, self.automaton, self.device = config, automaton, device
        self.distribution = self._checked(config, automaton)
        self.vocabulary = automaton.num_letters + (automaton.num_states if config.scratchpad else config.bos)
        observed = config.target == "observation"
        self.classes = automaton.num_observations if observed else automaton.num_states
        labels = automaton.observe if observed else None
        self._table = torch.tensor(automaton.table.reshape(-1), dtype=torch.int64, device=device)
        self._labels = None if labels is None else torch.tensor(labels, device=device)
        self._choices, self._num_choices = _choice_table(automaton, device)

    @staticmethod
    def _checked(config: TaskConfig, automaton: Semiautomaton) -> Distribution:
        result = task_reasons(config, automaton)
        if result:
            raise Unsupported("; ".join(result))
        return parse_distribution(config.distribution, automaton)

    @property
    def num_tokens(self) -> int:
        """Tokens per sequence: T, T + 1 with BOS, or 2T − 1 with a scratchpad."""
        return self.config.num_tokens

    def begun(self, words: Tensor) -> Tensor:
        """Words [..., T] as input without a scratchpad: with the BOS token prepended, if any."""
        return functional.pad(words, (1, 0), value=self.automaton.num_letters) if self.config.bos else words

    def sample(self, keys: Tensor, steps: Tensor | int, batch: int) -> tuple[Tensor, Tensor]:
        """Letters and states, int64 [..., batch, T], for keys that broadcast with ``steps``."""
        index = torch.arange(batch, device=self.device)
        sequences = random_streams.derive(random_streams.derive(keys, steps)[..., None], index)
        state = torch.full(sequences.shape, self.automaton.start, device=self.device)
        if self.distribution.follows_state:
            return self._follow(sequences, state)
        words = letters(self.distribution, sequences, self.automaton.num_letters, self.config.length)
        states = torch.empty_like(words)
        for position, letter in enumerate(words.unbind(-1)):
            state = self._step(state, letter)
            states[..., position] = state
        return words, states

    def batch(self, keys: Tensor, steps: Tensor | int, batch: int) -> Batch:
        """Training data of those steps."""
        words, states = self.sample(keys, steps, batch)
        shown = torch.ones_like(states)
        if self.config.reveal < 1.0:
            secret = random_streams.derive(random_streams.derive(keys, steps), _REVEAL)[..., None, None]
            cell = torch.arange(batch * self.config.length, device=self.device).view(batch, -1)
            draws = random_streams.derive(secret, cell)
            shown = (random_streams.uniform(draws) < self.config.reveal).long()
        return self._labelled(words, states, shown)

    def _labelled(self, words: Tensor, states: Tensor, shown: Tensor) -> Batch:
        targets = states if self._labels is None else self._labels[states]
        if not self.config.scratchpad:
            before = (int(self.config.bos), 0)
            unasked = functional.pad(targets, before), functional.pad(shown, before)
            return _narrow(Batch(self.begun(words), *unasked))
        return _narrow(self._interleave(words, states, targets, shown))

    def held_out(self, seed: int, count: int) -> tuple[Tensor, Batch]:
        """``count`` sequences that training never sees: letters [1, count, T] and batch, all labels shown."""
        keys = random_streams.replicate_keys(seed, 1, device=self.device)
        words, states = self.sample(keys, HELD_OUT, count)
        return words, self._labelled(words, states, torch.ones_like(states))

    def _step(self, state: Tensor, letter: Tensor) -> Tensor:
        return self._table[state * self.automaton.num_letters + letter]

    def _follow(self, sequences: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        shape = (*sequences.shape, self.config.length)
        words = torch.empty(shape, dtype=torch.int64, device=self.device)
        states = torch.empty_like(words)
        for position in range(self.config.length):
            draw = random_streams.integers(
                random_streams.derive(sequences, position), self._num_choices[state]
            )
            letter = self._choices[state * self.automaton.num_letters + draw]
            state = self._step(state, letter)
            words[..., position], states[..., position] = letter, state
        return words, states

    def _interleave(self, words: Tensor, states: Tensor, targets: Tensor, shown: Tensor) -> Batch:
        """σ₁ q₁ σ₂ q₂ … σ_T; only the positions of letters carry a label."""
        blank = torch.zeros_like(shown)
        tokens = torch.stack((words, states + self.automaton.num_letters), -1).flatten(-2)[..., :-1]
        asked = torch.stack((shown, blank), -1).flatten(-2)[..., :-1]
        wanted = torch.stack((targets, blank), -1).flatten(-2)[..., :-1]
        return Batch(tokens, wanted, asked)


def task_reasons(config: TaskConfig, automaton: Semiautomaton) -> list[str]:
    """Every reason why the task cannot be built for this automaton."""
    result = config.reasons()
    if config.target == "observation" and automaton.observe is None:
        result.append("target observation needs an automaton with an observation map; this one has none")
    if config.target == "observation" and config.scratchpad:
        result.append("a scratchpad holds states; use target state with scratchpad")
    try:
        distribution = parse_distribution(config.distribution, automaton)
    except ValueError as error:
        return [*result, str(error)]
    if distribution.name == "ones" and distribution.count > config.length:
        result.append(f"ones:K must have K ≤ length {config.length}; got {distribution.count}")
    return result


def _choice_table(automaton: Semiautomaton, device: torch.device) -> tuple[Tensor, Tensor]:
    choices = feasible_letters(automaton)
    full = [[*row, *([0] * (automaton.num_letters - len(row)))] for row in choices]
    counts = torch.tensor([len(row) for row in choices], device=device)
    return torch.tensor(full, device=device).flatten(), counts


def _narrow(batch: Batch) -> Batch:
    return Batch(batch.tokens.int(), batch.targets.int(), batch.shown.int())
