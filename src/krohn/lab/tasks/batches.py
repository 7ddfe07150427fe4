"""Fresh batches on the device: letters from counters, states by one gather per position for many steps.

Every letter is a pure function of 64-bit keys, so that words are the same on every device.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from krohn.automata.distributions import Distribution, feasible_letters, parse_distribution
from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import Unsupported
from krohn.lab import random_streams
from krohn.lab.tasks.task_config import TaskConfig


def letters(distribution: Distribution, keys: Tensor, num_letters: int | Tensor, length: int) -> Tensor:
    """Words [..., T] from one key per sequence [...]; not for distributions that follow the state."""
    place = torch.arange(length, device=keys.device)
    draws = random_streams.derive(keys[..., None], place)
    if distribution.name == "uniform":
        return random_streams.integers(draws, num_letters)
    if distribution.name == "bernoulli":
        return (random_streams.uniform(draws) < distribution.probability).long()
    if distribution.name == "ones":
        # The K smallest of T independent draws mark a uniformly random K-subset.
        rank = random_streams.uniform(draws, torch.float64).argsort(-1).argsort(-1)
        return (rank < distribution.count).long()
    random = random_streams.integers(draws, num_letters)
    repeated = random_streams.uniform(random_streams.derive(keys, -2))[..., None] < distribution.probability
    return torch.where(repeated, _repeat(distribution.word, place), random)


def _repeat(word: tuple[int, ...], place: Tensor) -> Tensor:
    # built by comparisons, since a captured graph cannot copy a list to the device
    phase = place % len(word)
    return sum((letter * (phase == index) for index, letter in enumerate(word)), torch.zeros_like(place))


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
        self.distribution = self._check(config, automaton)
        self.vocabulary = automaton.num_letters + (automaton.num_states if config.scratchpad else config.bos)
        observed = config.target == "observation"
        self.classes = automaton.num_observations if observed else automaton.num_states
        labels = automaton.observe if observed else None
        self._table = torch.tensor(automaton.table.reshape(-1), dtype=torch.int64, device=device)
        self._labels = None if labels is None else torch.tensor(labels, device=device)
        allowed = torch.tensor(feasible_letters(automaton), device=device)
        self._choices, self._num_choices = choice_table(allowed)
        self.num_letters = automaton.num_letters
        # With many automata these are tensors, with an entry for each replicate.
        self._letters: int | Tensor = automaton.num_letters
        self._start: int | Tensor = automaton.start
        self._held_out_rows = 1

    def of(self, replicates: Sequence[int]) -> "Task":
        """The task of these replicates: row i of what it draws belongs to ``replicates[i]``."""
        return self

    def close(self, bias: Tensor) -> None:
        """Sets the bias [R, …] of classes that a replicate lacks so low that they are never chosen."""

    @staticmethod
    def _check(config: TaskConfig, automaton: Semiautomaton) -> Distribution:
        wrong = task_reasons(config, automaton)
        if wrong:
            raise Unsupported("; ".join(wrong))
        return parse_distribution(config.distribution, automaton)

    @property
    def num_tokens(self) -> int:
        """Tokens per sequence: T, T + 1 with BOS, or 2T − 1 with a scratchpad."""
        return self.config.num_tokens

    def begun(self, words: Tensor) -> Tensor:
        """Words [..., T] as input without a scratchpad: with the BOS token prepended, if any."""
        return functional.pad(words, (1, 0), value=self.num_letters) if self.config.bos else words

    def sample(self, keys: Tensor, steps: Tensor | int, batch: int) -> tuple[Tensor, Tensor]:
        """Letters and states, int64 [..., batch, T], for keys that broadcast with ``steps``."""
        index = torch.arange(batch, device=self.device)
        sequences = random_streams.derive(random_streams.derive(keys, steps)[..., None], index)
        state = torch.zeros_like(sequences) + self._start
        if self.distribution.follows_state:
            return self._follow(sequences, state)
        words = letters(self.distribution, sequences, self._letters, self.config.length)
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
        return self._label(words, states, shown)

    def _label(self, words: Tensor, states: Tensor, shown: Tensor) -> Batch:
        targets = states if self._labels is None else self._labels[states]
        if not self.config.scratchpad:
            before = (int(self.config.bos), 0)
            unasked = functional.pad(targets, before), functional.pad(shown, before)
            return _narrow(Batch(self.begun(words), *unasked))
        return _narrow(self._interleave(words, states, targets, shown))

    def held_out(self, seed: int, count: int) -> tuple[Tensor, Batch]:
        """``count`` sequences that training never sees: letters and batch, all labels shown.

        They are [1, count, T], the same for all replicates; with many automata [R, count, T].
        """
        keys = random_streams.replicate_keys(seed, 1, device=self.device).expand(self._held_out_rows)
        words, states = self.sample(keys, HELD_OUT, count)
        return words, self._label(words, states, torch.ones_like(states))

    def _step(self, state: Tensor, letter: Tensor) -> Tensor:
        return self._table[state * self.num_letters + letter]

    def _follow(self, sequences: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        shape = (*sequences.shape, self.config.length)
        words = torch.empty(shape, dtype=torch.int64, device=self.device)
        states = torch.empty_like(words)
        for position in range(self.config.length):
            draw = random_streams.integers(
                random_streams.derive(sequences, position), self._num_choices[state]
            )
            letter = self._choices[state * self.num_letters + draw]
            state = self._step(state, letter)
            words[..., position], states[..., position] = letter, state
        return words, states

    def _interleave(self, words: Tensor, states: Tensor, targets: Tensor, shown: Tensor) -> Batch:
        """σ₁ q₁ σ₂ q₂ … σ_T; only the positions of letters carry a label."""
        hidden = torch.zeros_like(shown)
        tokens = torch.stack((words, states + self.num_letters), -1).flatten(-2)[..., :-1]
        mask = torch.stack((shown, hidden), -1).flatten(-2)[..., :-1]
        wanted = torch.stack((targets, hidden), -1).flatten(-2)[..., :-1]
        return Batch(tokens, wanted, mask)


MAX_STATES = 2**16
"""States that a network may be trained to tell apart: it has an output for each of them at every letter."""


def size_reasons(automaton: Semiautomaton) -> list[str]:
    """The reason if the automaton has too many states to be learned; checked before anything is built."""
    if automaton.num_states <= MAX_STATES:
        return []
    name = automaton.name or "the automaton"
    return [f"networks are trained on at most {MAX_STATES:,} states; {name} has {automaton.num_states:,}"]


def task_reasons(config: TaskConfig, automaton: Semiautomaton) -> list[str]:
    """Every reason why the task cannot be built for this automaton."""
    wrong = config.reasons()
    if config.target != "observation" or config.scratchpad:
        wrong += size_reasons(automaton)
    if config.target == "observation" and automaton.observe is None:
        wrong.append("target observation needs an automaton with an observation map; this one has none")
    if config.target == "observation" and config.scratchpad:
        wrong.append("a scratchpad holds states; use target state with scratchpad")
    try:
        distribution = parse_distribution(config.distribution, automaton)
    except ValueError as error:
        return [*wrong, str(error)]
    if distribution.name == "ones" and distribution.count > config.length:
        wrong.append(f"ones:K must have K ≤ length {config.length}; got {distribution.count}")
    return wrong


def choice_table(allowed: Tensor) -> tuple[Tensor, Tensor]:
    """The letters that each state allows, first and in order, and how many they are; ``allowed`` [n, K]."""
    return (~allowed).to(torch.int8).argsort(dim=-1, stable=True).flatten(), allowed.sum(-1)


def _narrow(batch: Batch) -> Batch:
    return Batch(batch.tokens.int(), batch.targets.int(), batch.shown.int())
