"""Input distributions, each a pure function of 64-bit keys: the same words on every device.

``uniform``            every letter equally likely.
``feasible``           uniform over the letters that do not lead into a sink, position by position.
``bernoulli:P``        letter 1 with probability P, else letter 0 (two letters).
``ones:K``             exactly K letters 1 among letters 0, at uniformly chosen places.
``weights:W,W,…``      letter i with probability proportional to the i-th integer.
``periodic:WORD:P``    WORD (digits 0–9) repeated, with probability P; uniform otherwise.
``auto``               feasible for Dyck, where the paper draws legal moves only; uniform for everything else.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate

import torch
from torch import Tensor

from krohn import random_streams
from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import InvalidInput

FORMS = "auto, uniform, feasible, bernoulli:P, ones:K, weights:W,W,…, periodic:WORD:P"


@dataclass(frozen=True)
class Distribution:
    """A parsed distribution: ``name`` and its parameters."""

    name: str
    probability: float = 1.0
    count: int = 0
    word: tuple[int, ...] = ()

    @property
    def follows_state(self) -> bool:
        """True if the next letter depends on the state reached so far."""
        return self.name == "feasible"


def parse_distribution(text: str, automaton: Semiautomaton) -> Distribution:
    """Reads a distribution and checks that it fits the automaton."""
    if text == "auto":
        text = "feasible" if automaton.name.startswith("Dyck") else "uniform"
    name, *values = text.split(":")
    parsers: dict[str, Callable[[list[str], Semiautomaton], Distribution]] = {
        "uniform": lambda values, _: _without_values("uniform", values),
        "feasible": _feasible,
        "bernoulli": _bernoulli,
        "ones": _ones,
        "weights": _weights,
        "periodic": _periodic,
    }
    if name not in parsers:
        raise InvalidInput(f"a distribution must be one of {FORMS}; got {text!r}")
    return parsers[name](values, automaton)


def letters(distribution: Distribution, keys: Tensor, num_letters: int, length: int) -> Tensor:
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
    if distribution.name == "weights":
        drawn = random_streams.integers(draws, sum(distribution.word))
        bounds = list(accumulate(distribution.word))[:-1]
        return sum(((drawn >= bound).long() for bound in bounds), torch.zeros_like(drawn))
    random = random_streams.integers(draws, num_letters)
    repeated = random_streams.uniform(random_streams.derive(keys, -2))[..., None] < distribution.probability
    return torch.where(repeated, _repeat(distribution.word, place), random)


def feasible_letters(automaton: Semiautomaton) -> list[list[int]]:
    """For each state the letters that avoid every sink; all letters where none does."""
    table = automaton.table
    sinks = {state for state in range(automaton.num_states) if all(table[state] == state)} - {automaton.start}
    choices = []
    for row in table.tolist():
        allowed = [letter for letter, target in enumerate(row) if target not in sinks]
        choices.append(allowed or list(range(automaton.num_letters)))
    return choices


def _repeat(word: tuple[int, ...], place: Tensor) -> Tensor:
    # built by comparisons, since a captured graph cannot copy a list to the device
    phase = place % len(word)
    return sum((letter * (phase == index) for index, letter in enumerate(word)), torch.zeros_like(place))


def _without_values(name: str, values: list[str]) -> Distribution:
    if values:
        raise InvalidInput(f"{name} takes no parameter; got {':'.join(values)!r}")
    return Distribution(name)


def _feasible(values: list[str], automaton: Semiautomaton) -> Distribution:
    return _without_values("feasible", values)


def _bernoulli(values: list[str], automaton: Semiautomaton) -> Distribution:
    _needs_two_letters("bernoulli:P", automaton)
    return Distribution("bernoulli", probability=_probability("bernoulli:P", values))


def _ones(values: list[str], automaton: Semiautomaton) -> Distribution:
    _needs_two_letters("ones:K", automaton)
    if len(values) != 1 or not re.fullmatch("[0-9]{1,18}", values[0]):
        raise InvalidInput(f"ones:K must have a count K; got {':'.join(['ones', *values])!r}")
    return Distribution("ones", count=int(values[0]))


def _weights(values: list[str], automaton: Semiautomaton) -> Distribution:
    if len(values) != 1 or not re.fullmatch("[0-9]{1,4}(,[0-9]{1,4})*", values[0]):
        raise InvalidInput(
            f"weights:W,W,… must have whole numbers below 10,000; got {':'.join(values)[:60]!r}"
        )
    result = tuple(map(int, values[0].split(",")))
    if len(result) != automaton.num_letters or not any(result):
        raise InvalidInput(
            f"weights:W,W,… must have one for each of {automaton.num_letters} letters, not all 0; "
            f"got {values[0][:60]!r}"
        )
    return Distribution("weights", word=result)


def _periodic(values: list[str], automaton: Semiautomaton) -> Distribution:
    if len(values) != 2 or not re.fullmatch("[0-9]+", values[0]):
        raise InvalidInput(f"periodic:WORD:P must have digits and a probability; got {':'.join(values)!r}")
    word = tuple(int(digit) for digit in values[0])
    if max(word) >= automaton.num_letters:
        raise InvalidInput(
            f"letters of periodic:WORD:P must lie in [0, {automaton.num_letters}); got {values[0]!r}"
        )
    return Distribution("periodic", probability=_probability("periodic:WORD:P", values[1:]), word=word)


def _probability(form: str, values: list[str]) -> float:
    try:
        (probability,) = (float(value) for value in values)
    except ValueError:
        probability = -1.0
    if not 0.0 <= probability <= 1.0:
        raise InvalidInput(f"P of {form} must lie in [0, 1]; got {':'.join(values)!r}")
    return probability


def _needs_two_letters(form: str, automaton: Semiautomaton) -> None:
    if automaton.num_letters != 2:
        raise InvalidInput(f"{form} must be used with two letters; the automaton has {automaton.num_letters}")
